"""The rehearsed analyst: profiles the files, queries them, draws a chart, and reports the rows as they came."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.models.rehearsal.moves import Move, choice, fitted, give_up, hand_in, what_failed
from bot.models.rehearsal.rehearsed_brief import SUM, WORKED_OUT, Brief, File
from bot.models.rehearsal.rehearsed_profile import (
    Column,
    Table,
    best_fitting,
    category,
    is_timed,
    measures,
    read_profile,
    time_column,
)
from bot.models.rehearsal.rehearsed_sql import Question, Rows, in_words, questions, read_rows, statements, unit_of
from handoff.contracts import ToolCall, ToolReply
from specialists.toolkits.tool import ToolSpec

History = Sequence[tuple[ToolCall, ToolReply]]

_COUNTS = re.compile(r"\b(how many|number of|counts?)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(all|both|each|every)\b", re.IGNORECASE)
_OVERVIEW = re.compile(
    r"\b(summar\w+|overview|describe|profile|explain|look at|"
    r"what('s| is| does)? (in|this|these|it|the (file|data)))\b",
    re.IGNORECASE,
)
_MOST_FILES = 4
_MOST_MEASURES = 3


def next_move(brief: Brief, history: History, tools: Mapping[str, ToolSpec]) -> Move:
    """Return the analyst's next move, from its task and the tool calls so far."""
    text = " ".join([brief.objective, *brief.answers])
    attached = any(file.is_table for file in brief.files)
    if "calculate" in tools and not attached and (found := SUM.search(brief.objective)):
        return _calculated(found[0], history)
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
        return give_up("confidence_too_low", f"The table could not be read. {what_failed(profiles)}".strip())
    chosen = {table.name: _measures(table, text, brief) for table in tables}
    for unclear in chosen.values():
        if isinstance(unclear, Move):
            return unclear
    asked = [
        question
        for table in tables
        if isinstance(columns := chosen[table.name], list)
        for question in questions(table, columns, category(table, text), time_column(table, text), text)
    ]
    replies = {str(call.arguments.get("sql")): reply for call, reply in history if call.name == "query_table"}
    if not replies and "query_table" in tools:
        return Move(tuple(("query_table", {"sql": question.sql}) for question in asked))
    chart = _chart(asked, replies, history, tools, text)
    return chart or _report(tables, asked, replies, history, text)


def _calculated(sum_: str, history: History) -> Move:
    """Plain arithmetic, worked out by the tool."""
    replies = [reply for call, reply in history if call.name == "calculate"]
    if not replies:
        return Move((("calculate", {"code": sum_.replace("\u00d7", "*").replace("\u00f7", "/")}),))
    if replies[-1].failed:
        return give_up("confidence_too_low", f"It could not be worked out. {what_failed(replies)}")
    said = f"{' '.join(sum_.split())} = {replies[-1].text.strip()}"
    return hand_in(said, said, confidence=95)


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


def _measures(table: Table, text: str, brief: Brief) -> list[Column] | Move:
    """The numbers that the task is about, none for a plain count, or the question which."""
    numbers = measures(table)
    for said in (*reversed(brief.answers), brief.objective, brief.task):
        fitting = best_fitting(numbers, said)
        if fitting:
            return fitting[:_MOST_MEASURES]
    if _OVERVIEW.search(text) and not brief.answers:
        return numbers[:_MOST_MEASURES]
    if len(numbers) < 2 or _COUNTS.search(text):
        return [] if _COUNTS.search(text) else numbers
    if brief.answers:
        return numbers[:1]
    names = [column.name for column in numbers]
    return give_up("ambiguous_input", f"Which figure in {table.file} do you mean: {', '.join(names)}?", names)


def _chart(
    asked: Sequence[Question],
    replies: Mapping[str, ToolReply],
    history: History,
    tools: Mapping[str, ToolSpec],
    text: str,
) -> Move | None:
    """A chart of the rows that say most, once: the course over time if the task is about that."""
    tool = tools.get("draw_chart")
    if tool is None or any(call.name == "draw_chart" for call, _ in history):
        return None
    drawable = [
        question
        for question in asked
        if question.figure != "change" and (rows := _rows(question, replies)) is not None and len(rows.rows) > 1
    ]
    if not drawable:
        return None
    question = max(drawable, key=lambda each: each.over_time) if is_timed(text) else drawable[0]
    kind = ("line", "bar") if question.over_time else ("bar", "column")
    wishes: dict[str, Any] = {
        "sql": question.sql,
        "title": _capital(question.title),
        "x": question.label,
        "y": question.figure,
        "x_label": question.label.capitalize(),
        "unit": unit_of(question.figure) or None,
        "y_label": _capital(in_words(question.figure, bare=True)),
    }
    for name in ("kind", "type", "chart"):
        wishes[name] = choice(tool, name, *kind)
    if tool.parameters.get("properties", {}).get("y", {}).get("type") == "array":
        wishes["y"] = [question.figure]
    arguments = fitted(tool, wishes)
    return Move((("draw_chart", arguments),)) if arguments is not None else None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _about(table: Table) -> str:
    names = ", ".join(column.name for column in table.columns)
    return f"{table.file} has {table.rows:,} rows and {len(table.columns)} columns: {names}."


def _rows(question: Question, replies: Mapping[str, ToolReply]) -> Rows | None:
    reply = replies.get(question.sql)
    return read_rows(reply.text) if reply is not None and not reply.failed else None


def _report(
    tables: Sequence[Table],
    asked: Sequence[Question],
    replies: Mapping[str, ToolReply],
    history: History,
    text: str,
) -> Move:
    blocks: list[str] = []
    said = [_about(table) for table in tables] if _OVERVIEW.search(text) else []
    for question in asked:
        rows = _rows(question, replies)
        if rows is None:
            continue
        said += statements(question, rows, text)
        note = rows.note if rows.note.startswith("(the first") else ""
        blocks.append(f"### {_capital(question.title)}\n\n{rows.as_markdown()}\n\n{note}".rstrip())
    failed = what_failed([reply for _, reply in history])
    if not blocks:
        return give_up("confidence_too_low", f"The queries brought nothing. {failed}".strip())
    source = ", ".join(dict.fromkeys(table.file for table in tables))
    counted = "; ".join(f"{table.rows:,} rows of {table.file}" for table in tables)
    method = f"{WORKED_OUT} {counted}; the queries follow from the request's words, and all figures from them."
    trouble = f"\n\nWhat did not work: {failed}" if failed else ""
    head = "\n".join(f"- {statement}" for statement in said)
    doubtful = bool(failed) or any("Parse report:" in reply.text for _, reply in history)
    return hand_in(
        " ".join(said[:3]) or f"{len(blocks)} tables from {source}.",
        "\n\n".join(part for part in (head, *blocks, method + trouble) if part),
        confidence=65 if doubtful else 85,
        findings=[{"message": statement, "source": source, "confidence": 85} for statement in said],
    )
