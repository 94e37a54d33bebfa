"""Charts that Slack draws itself: as blocks of the answer, where they keep within what these blocks may hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Block, context
from handoff.contracts import Artifact, ChartSeries, ChartShape
from handoff.state.job_state import RequestState

MOST_CHARTS = 2
"""Charts of a message."""
MOST_SEGMENTS = MOST_SERIES = 12
MOST_CATEGORIES = 20
TITLE, LABEL = 50, 20
"""Characters of a title and of an axis's label; of a category, a slice or a series."""


def native_charts(ask: RequestState) -> Mapping[str, list[Block]]:
    """Return the blocks of the charts that stand in a request's answer, by the artifact's id: the first that fit."""
    made = [file for work in ask.inside("") if work.result is not None for file in work.result.artifacts]
    found: dict[str, list[Block]] = {}
    for artifact in made:
        if len(found) < MOST_CHARTS and (blocks := chart_blocks(artifact)):
            found[artifact.id] = blocks
    return found


def chart_blocks(artifact: Artifact) -> list[Block]:
    """Return the blocks of a chart, with its notes below; none for what has to stay a picture."""
    shape = artifact.chart
    if shape is None or artifact.publish_as != "file":
        return []
    names = _find_labels(shape.categories, MOST_SEGMENTS if shape.kind == "pie" else MOST_CATEGORIES)
    series = _find_labels([one.name for one in shape.series], MOST_SERIES)
    if not names or not series or any(len(one.values) != len(names) for one in shape.series):
        return []
    if shape.kind == "pie" and (len(series) > 1 or min(shape.series[0].values) <= 0):
        return []
    title = plain(shape.title, TITLE) or "Chart"
    chart = _make_pie(names, shape.series[0]) if shape.kind == "pie" else _plot(shape, names, series)
    notes = " · ".join(clean(note, limit=200) for note in shape.notes)
    block: Block = {"type": "data_visualization", "title": title, "chart": chart}
    return [block, context(notes)] if notes else [block]


def _find_labels(texts: Sequence[str], most: int) -> list[str]:
    """Return labels as Slack takes them; none if they are too many, too long, empty or not told apart."""
    labels = [plain(text) for text in texts]
    fits = len(labels) <= most and all(0 < len(label) <= LABEL for label in labels)
    return labels if fits and len(set(labels)) == len(labels) else []


def _make_pie(names: Sequence[str], series: ChartSeries) -> Block:
    pairs = zip(names, series.values, strict=True)
    return {"type": "pie", "segments": [{"label": name, "value": value} for name, value in pairs]}


def _plot(shape: ChartShape, names: Sequence[str], series: Sequence[str]) -> Block:
    axes: Block = {"categories": list(names)}
    axes |= {key: label for key in ("x_label", "y_label") if (label := plain(getattr(shape, key), TITLE))}
    drawn = [
        {"name": name, "data": [{"label": x, "value": value} for x, value in zip(names, one.values, strict=True)]}
        for name, one in zip(series, shape.series, strict=True)
    ]
    return {"type": shape.kind, "series": drawn, "axis_config": axes}
