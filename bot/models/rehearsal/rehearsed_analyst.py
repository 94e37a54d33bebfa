"""The rehearsed analyst: profiles the files, queries what it understood of the task, and names what it did not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.models.rehearsal.moves import Move, choice, fitted, give_up, hand_in, what_failed
from bot.models.rehearsal.rehearsed_brief import WORKED_OUT, Brief, File, sum_in
from bot.models.rehearsal.rehearsed_profile import Table, read_profile
from bot.models.rehearsal.rehearsed_request import Query, read_request
from bot.models.rehearsal.rehearsed_sql import Question, in_words, questions, unit_of
from bot.models.rehearsal.rehearsed_telling import Rows, cut, read_rows, statements
from handoff.contracts import ToolCall, ToolReply
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import RETURN

History = Sequence[tuple[ToolCall, ToolReply]]

_ALL = re.compile(r"\b(all|both|each|every)\b", re.IGNORECASE)
_USE = re.compile(r"\n+Use [^\n]*\.\s*$")
_MOST_FILES = 4
_MOST_LOOKED_UP = 12
_CAN = (
    "As a rehearsal without a language model I give totals, averages, medians, shares, counts, the largest and the "
    "smallest, by column, month or quarter"
)


def next_move(brief: Brief, history: History, tools: Mapping[str, ToolSpec]) -> Move:
    """Return the analyst's next move, from its task and the tool calls so far."""
    attached = any(file.is_table for file in brief.files)
    if "calculate" in tools and not attached and (found := sum_in(brief.objective)):
        return _calculated(*found, history)
    files = _files(brief)
    if isinstance(files, Move):
        return files
    profiles = [reply for call, reply in history if call.name == "profile_table"]
    if not profiles:
        if "profile_table" not in tools:
            return give_up("out_of_scope", "There are no more turns left to look at the file.")
        return Move(tuple(("profile_table", {"file": file.name}) for file in files), "I look at the data first.")
    tables = [table for reply in profiles if not reply.failed for table in read_profile(reply.text)]
    if not tables:
        return give_up("out_of_scope", f"The table could not be read. {what_failed(profiles)}".strip())
    replies = {str(call.arguments.get("sql")): reply for call, reply in history if call.name == "query_table"}
    look_up = _look_up(tables, brief)
    if look_up and look_up not in replies and "query_table" in tools:
        return Move((("query_table", {"sql": look_up}),))
    tables = _with_values(tables, replies.get(look_up))
    return _worked(_about(tables, brief), replies, history, tools)


def _worked(
    found: list[Query] | Move, replies: Mapping[str, ToolReply], history: History, tools: Mapping[str, ToolSpec]
) -> Move:
    """Query, draw and report what was understood."""
    if isinstance(found, Move):
        return found
    asked = [replace(question, sheet=one.table.sheet) for one in found for question in questions(one)]
    fresh = [question.sql for question in asked if question.sql not in replies]
    if len(fresh) == len(asked) and fresh and "query_table" in tools:
        return Move(tuple(("query_table", {"sql": sql}) for sql in fresh))
    chart = _chart(asked, replies, history, tools)
    return chart or _report(found, asked, replies, history)


def _calculated(said: str, code: str, history: History) -> Move:
    """Plain arithmetic, worked out by the tool."""
    replies = [reply for call, reply in history if call.name == "calculate"]
    if not replies:
        return Move((("calculate", {"code": code}),))
    if replies[-1].failed:
        return give_up("out_of_scope", f"It could not be worked out. {what_failed(replies)}")
    told = f"{said} = {replies[-1].text.strip()}"
    return hand_in(told, told)


def _files(brief: Brief) -> list[File] | Move:
    """The tables that the task is about, or the question which."""
    tables = [file for file in brief.files if file.is_table]
    if not tables:
        return give_up("out_of_scope", "No table is attached (CSV, TSV, XLSX, Parquet or JSON).")
    for text in (*reversed(brief.answers), brief.objective, brief.task):
        named = [file for file in tables if file.is_named_in(text)]
        if named:
            return named[:_MOST_FILES]
    if len(tables) == 1 or any(_ALL.search(answer) for answer in brief.answers):
        return tables[:_MOST_FILES]
    if brief.answers:
        return tables[:1]
    names = [file.name for file in tables]
    return give_up("ambiguous_input", "Which of the files do you mean?", names)


# ---------------------------------------------------------------- what is asked, and of which table


def _read(table: Table, brief: Brief) -> Query:
    """What the task asks of a table, with a column that a person chose."""
    own = _of_sheet(table).sub(" ", _USE.sub("", brief.own_words))
    names = [file.name for file in brief.files]
    query = read_request(table, own, names, brief.before)
    if brief.message and (query.trouble or query.choices or not query.understood):
        # "Is that so?" asks for what the message names.
        query = read_request(table, brief.message, names, brief.before)
    for answer in reversed(brief.answers):
        for column in table.measures:
            if query.choices and re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", answer, re.IGNORECASE):
                return replace(query, measures=(column,), fold=query.fold or "sum", choices=())
    return query


def _about(tables: Sequence[Table], brief: Brief) -> list[Query] | Move:
    """What is asked of the table that fits best, of each where several fit as well; or why it is declined."""
    named = [table for table in tables if table.sheet and _of_sheet(table).search(brief.own_words)]
    read = [_read(table, brief) for table in named or tables]
    fit = [one for one in read if not one.trouble]
    if not fit:
        nearest = max(read, key=lambda one: (one.understood, -len(one.unused)))
        what = nearest.trouble.replace(nearest.table.name, nearest.table.file)
        return give_up("out_of_scope", f"I can't work out {what} in {nearest.table.file}. {_CAN}.")
    best = max(one.understood for one in fit)
    fit = [one for one in fit if one.understood == best]
    if names := fit[0].choices:
        which = f"Which figure in {fit[0].table.file} do you mean: {', '.join(names)}?"
        return give_up("ambiguous_input", which, list(names))
    return fit[:_MOST_FILES]


def _of_sheet(table: Table) -> re.Pattern[str]:
    """Make the pattern of the words that name the sheet of a table; it matches nothing where there is none."""
    name = (
        rf"(?:\b(?:in|on|of|for|from)\s+)?(?:the\s+)?(?:sheet\s+)?(?<!\w){re.escape(table.sheet)}(?!\w)(?:\s+sheet\b)?"
    )
    return re.compile(name if table.sheet else r"(?!)", re.IGNORECASE)


def _look_up(tables: Sequence[Table], brief: Brief) -> str:
    """A query for words that may be values which the profile does not list; empty if there are none to look for."""
    parts: list[str] = []
    for table in tables:
        left = [word.casefold() for word in _read(table, brief).unused][:_MOST_LOOKED_UP]
        wanted = ", ".join("'" + form.replace("'", "''") + "'" for word in left for form in {word, word.rstrip("s")})
        for one in table.columns if wanted else ():
            if one.kind == "VARCHAR" and one.distinct > len(one.values):
                quoted = one.name.replace("'", "''")
                parts.append(
                    f"SELECT DISTINCT '{table.name}' AS of_table, '{quoted}' AS of_column, {one.sql} AS found "  # noqa: S608 - names are quoted, and reading is all that tables allow
                    f'FROM "{table.name}" WHERE lower({one.sql}) IN ({wanted})'
                )
    return " UNION ALL ".join(parts)


def _with_values(tables: list[Table], reply: ToolReply | None) -> list[Table]:
    """The tables with the values that were looked up."""
    rows = read_rows(reply.text) if reply is not None and not reply.failed else None
    if rows is None or rows.columns != ("of_table", "of_column", "found"):
        return tables
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for table_name, column_name, value in rows.rows:
        found[table_name, column_name] = (*found.get((table_name, column_name), ()), value)
    return [
        replace(
            table,
            columns=tuple(
                replace(one, values=(*one.values, *found.get((table.name, one.name), ()))) for one in table.columns
            ),
        )
        for table in tables
    ]


# ---------------------------------------------------------------- what is shown


def _titled(question: Question) -> str:
    """Give the title of what answers a question, with the sheet that it is about."""
    return _capital(question.title) + (f" ({question.sheet})" if question.sheet else "")


def _chart(
    asked: Sequence[Question], replies: Mapping[str, ToolReply], history: History, tools: Mapping[str, ToolSpec]
) -> Move | None:
    """A chart of the first query with several rows, once."""
    tool = tools.get("draw_chart")
    if tool is None or any(call.name == "draw_chart" for call, _ in history):
        return None
    drawable = [
        question
        for question in asked
        if question.kind in {"time", "groups", "periods"} and (rows := _rows(question, replies)) and len(rows.rows) > 1
    ]
    if not drawable:
        return None
    question = drawable[0]
    wishes: dict[str, Any] = {
        "sql": question.sql,
        "title": _titled(question),
        "x": question.label,
        "y": question.figure,
        "x_label": question.label.capitalize(),
        "unit": unit_of(question.figure) or None,
        "y_label": _capital(in_words(question.figure, bare=True)),
    }
    kinds = ("line", "bar") if question.kind == "time" else ("bar", "column")
    for name in ("kind", "type", "chart"):
        wishes[name] = choice(tool, name, *kinds)
    if tool.parameters.get("properties", {}).get("y", {}).get("type") == "array":
        wishes["y"] = [question.figure]
    arguments = fitted(tool, wishes)
    return Move((("draw_chart", arguments),)) if arguments is not None else None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rows(question: Question, replies: Mapping[str, ToolReply]) -> Rows | None:
    reply = replies.get(question.sql)
    return read_rows(reply.text) if reply is not None and not reply.failed else None


def _contents(table: Table) -> str:
    """What a file holds, column by column."""
    lines = [f"- {table.file} has {table.rows:,} rows and {len(table.columns)} columns:"]
    for column in table.columns:
        span = f", {column.first} to {column.last}" if column.first else ""
        lines.append(f"  - {column.name}: {column.distinct:,} different values{span}")
    return "\n".join(lines)


def _report(
    found: Sequence[Query], asked: Sequence[Question], replies: Mapping[str, ToolReply], history: History
) -> Move:
    said: list[str] = []
    blocks: list[str] = []
    used = False
    for question in asked:
        rows = _rows(question, replies)
        if rows is None:
            continue
        said += statements(question, rows)
        used = True
        if question.kind != "one":
            blocks.append(f"**{_titled(question)}**\n\n{rows.as_markdown()}\n\n{cut(rows)}".rstrip())
    overview = [_contents(one.table) for one in found if one.overview]
    failed = what_failed([reply for call, reply in history if call.name != RETURN])
    if not used and not overview:
        return give_up("out_of_scope", f"The queries brought nothing. {failed}".strip())
    said += [line for one in found for line in _premise(one, said)]
    head = "\n".join([*overview, *(f"- {line}" for line in said)])
    source = ", ".join(dict.fromkeys(one.table.file for one in found))
    counted = "; ".join(f"{one.table.rows:,} rows of {one.table.file}" for one in found)
    method = f"{WORKED_OUT} {counted}." if used else f"From the profile of {counted}."  # its SQL: a click below
    return hand_in(
        " ".join(said[:3]) or f"What {source} holds.",
        "\n\n".join(
            part for part in (head, *blocks, method, *([f"What did not work: {failed}"] if failed else [])) if part
        ),
        findings=[{"message": line, "source": source, "confidence": 100} for line in (said or [source])[:3]],
    )


def _premise(query: Query, said: Sequence[str]) -> list[str]:
    """Contradict a rise or a fall that the request takes for granted and that the data does not show."""
    course = next((line for line in said if line.startswith("From ")), "")
    word = "fell" if " fell from " in course else "rose" if " rose from " in course else "stayed the same"
    claimed = {1: "rose", -1: "fell"}.get(query.change)
    if not course or claimed is None or claimed == word:
        return []
    return [f"So from the first to the last period it did not {'rise' if claimed == 'rose' else 'fall'}: it {word}."]
