"""Renders tables and charts as blocks that Slack draws: people can page through a long table of an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import unescape

from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.outgoing import Block, make_context
from handoff.contracts import Artifact, ChartSeries, ChartShape
from handoff.state.job_state import RequestState

MIN_TABLE_ROWS = 8
"""Minimum number of rows, without the heading, of a table that becomes a block: a shorter one reads well as text."""
MAX_TABLE_ROWS = 100
MAX_COLUMNS = 20
PAGE_SIZE = 10
MAX_CELL_CHARACTERS = 500
"""Maximum number of characters of a cell."""
DEFAULT_CAPTION = "Table"
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_MARKUP_CHARACTER = re.compile(r"[`*_\[\]<>~]")
"""Characters of Markdown, which a cell of the block cannot render."""
_NUMBER = re.compile(r"[-\u2212+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")
_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t]*#*")


def split_native_table(block: Block) -> list[Block]:
    """Split a `markdown` block around its first table that Slack can draw; return [block] if there is none."""
    lines = str(block.get("text", "")).split("\n")
    for first, last in _find_tables(lines):
        table_block = _make_data_table(lines, first, last)
        if table_block is not None:
            text_above = "\n".join(lines[:first]).rstrip()
            before, _, title = text_above.rpartition("\n")
            text_above = before if _HEADING.fullmatch(title.strip()) else text_above  # the heading becomes the caption
            texts = (text_above.strip("\n"), "\n".join(lines[last:]).strip("\n"))
            above, below = ([{"type": "markdown", "text": text}] if text.strip() else [] for text in texts)
            return [*above, table_block, *below]
    return [block]


def _find_tables(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Find the tables outside of code, as pairs of (line of the heading, line after the last row)."""
    tables, is_fenced, at = [], False, 0
    while at < len(lines):
        is_fenced ^= bool(_FENCE.match(lines[at]))
        if is_fenced or at + 1 == len(lines) or "|" not in lines[at] or not _TABLE_RULE.fullmatch(lines[at + 1]):
            at += 1
            continue
        end = at + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        tables.append((at, end))
        at = end
    return tables


def _make_data_table(lines: Sequence[str], first: int, last: int) -> Block | None:
    heading, rows = _split_cells(lines[first]), [_split_cells(line) for line in lines[first + 2 : last]]
    if not MIN_TABLE_ROWS <= len(rows) <= MAX_TABLE_ROWS or not 1 < len(heading) <= MAX_COLUMNS:
        return None
    cells = [cell for row in (heading, *rows) for cell in row]
    if any(len(row) != len(heading) for row in rows) or any(_MARKUP_CHARACTER.search(cell) for cell in cells):
        return None
    numeric = [all(not row[at] or _NUMBER.fullmatch(row[at]) for row in rows) for at in range(len(heading))]
    cell_rows = [[_make_cell(cell, is_number=False) for cell in heading]]
    cell_rows += [
        [_make_cell(cell, is_number=number) for cell, number in zip(row, numeric, strict=True)] for row in rows
    ]
    return {"type": "data_table", "caption": _find_caption(lines[:first]), "rows": cell_rows, "page_size": PAGE_SIZE}


def _split_cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    bare = bare[:-1] if bare.endswith("|") and not bare.endswith("\\|") else bare
    return [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(bare)]


def _make_cell(text: str, *, is_number: bool) -> Block:
    if is_number and text:
        return {"type": "raw_number", "value": float(text.replace(",", "").replace("\u2212", "-")), "text": text}
    return {"type": "raw_text", "text": to_plain_line(unescape(text), MAX_CELL_CHARACTERS) or "\u2013"}


def _find_caption(lines_above: Sequence[str]) -> str:
    """Return the last heading above a table, without markup, or a default caption if there is none."""
    titles = [match[1] for line in lines_above if (match := _HEADING.fullmatch(line.strip()))]
    return _MARKUP_CHARACTER.sub("", titles[-1])[:100].strip() or DEFAULT_CAPTION if titles else DEFAULT_CAPTION


MAX_CHARTS = 2
"""Maximum number of charts in a message."""
MAX_SEGMENTS = MAX_SERIES = 12
MAX_CATEGORIES = 20
TITLE_LIMIT, LABEL_LIMIT = 50, 20
"""Maximum number of characters: of a title or an axis label, and of the name of a category, slice or series."""


def find_native_charts(request: RequestState) -> Mapping[str, list[Block]]:
    """Return the blocks of the first `MAX_CHARTS` charts of a request that Slack can draw, by the artifact's id."""
    artifacts = [
        file for subtask in request.list_subtasks("") if subtask.result is not None for file in subtask.result.artifacts
    ]
    chart_blocks: dict[str, list[Block]] = {}
    for artifact in artifacts:
        if len(chart_blocks) < MAX_CHARTS and (blocks := make_chart_blocks(artifact)):
            chart_blocks[artifact.id] = blocks
    return chart_blocks


def make_chart_blocks(artifact: Artifact) -> list[Block]:
    """Return the blocks of a chart, with its notes below; [] if the artifact is no chart that Slack can draw."""
    shape = artifact.chart
    if shape is None or artifact.publish_as != "file":
        return []
    names = _make_labels(shape.categories, MAX_SEGMENTS if shape.kind == "pie" else MAX_CATEGORIES)
    series = _make_labels([one.name for one in shape.series], MAX_SERIES)
    if not names or not series or any(len(one.values) != len(names) for one in shape.series):
        return []
    if shape.kind == "pie" and (len(series) > 1 or min(shape.series[0].values) <= 0):
        return []
    title = to_plain_line(shape.title, TITLE_LIMIT) or "Chart"
    chart = _make_pie(names, shape.series[0]) if shape.kind == "pie" else _make_plot(shape, names, series)
    notes = " · ".join(clean_mrkdwn(note, limit=200) for note in shape.notes)
    block: Block = {"type": "data_visualization", "title": title, "chart": chart}
    return [block, make_context(notes)] if notes else [block]


def _make_labels(texts: Sequence[str], most: int) -> list[str]:
    """Return labels as plain lines; [] if there are more than `most`, or some are too long, empty or equal."""
    labels = [to_plain_line(text) for text in texts]
    fits = len(labels) <= most and all(0 < len(label) <= LABEL_LIMIT for label in labels)
    return labels if fits and len(set(labels)) == len(labels) else []


def _make_pie(names: Sequence[str], series: ChartSeries) -> Block:
    pairs = zip(names, series.values, strict=True)
    return {"type": "pie", "segments": [{"label": name, "value": value} for name, value in pairs]}


def _make_plot(shape: ChartShape, names: Sequence[str], series: Sequence[str]) -> Block:
    axes: Block = {"categories": list(names)}
    axes |= {key: label for key in ("x_label", "y_label") if (label := to_plain_line(getattr(shape, key), TITLE_LIMIT))}
    series_data = [
        {"name": name, "data": [{"label": x, "value": value} for x, value in zip(names, one.values, strict=True)]}
        for name, one in zip(series, shape.series, strict=True)
    ]
    return {"type": shape.kind, "series": series_data, "axis_config": axes}
