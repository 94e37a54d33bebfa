"""The rehearsed analyst: profiles the file, queries what it understood of the task, and declines the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from bot.models.rehearsal.moves import Move, give_up, hand_in, what_failed
from bot.models.rehearsal.rehearsed_brief import WORKED_OUT, Brief, File, is_greeting, say_declined, sum_in
from bot.models.rehearsal.rehearsed_profile import Table, read_profile
from bot.models.rehearsal.rehearsed_query import Query, settle
from bot.models.rehearsal.rehearsed_request import read_request
from bot.models.rehearsal.rehearsed_sql import Question, in_words, question_of, unit_of
from bot.models.rehearsal.rehearsed_telling import Rows, capital, read_rows, statements
from bot.models.rehearsal.rehearsed_words import FILLERS, OVERVIEW, word_set
from handoff.contracts import ToolCall, ToolReply
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import RETURN

_WHAT_IS_IN = re.compile(r"\bwhat(?:'s|\u2019s|\s+is)\s+in\b|\bwas\s+(?:steht|ist)\s+in\b|\bqué\s+hay\s+en\b")
_OF_OVERVIEWS = OVERVIEW | FILLERS | word_set("table file data sheet csv xlsx tabelle datei daten tabla archivo datos")
"""All words of a request that asks what a table holds."""
History = Sequence[tuple[ToolCall, ToolReply]]

_MOST_GROUPS, _TRIES = 25, 2
_NO_REASON = "These are the figures; finding the reason behind them takes a language model, or a person."


def next_move(brief: Brief, history: History, tools: Mapping[str, ToolSpec]) -> Move:
    """Return the analyst's next move, from its task and the tool calls so far."""
    attached = any(file.is_table for file in brief.files)
    if "calculate" in tools and not attached and (found := sum_in(brief.objective)):
        return _calculate(*found, history)
    file = _file(brief)
    if isinstance(file, Move):
        return file
    profiles = [reply for call, reply in history if call.name == "profile_table"]
    if not profiles:
        if "profile_table" not in tools:
            return give_up("out_of_scope", "There are no more turns left to look at the file.")
        return Move((("profile_table", {"file": file.name}),), "I look at the data first.")
    tables = [table for reply in profiles if not reply.failed for table in read_profile(reply.text)]
    if not tables:
        return give_up("out_of_scope", f"The table could not be read. {what_failed(profiles)}".strip())
    if is_greeting(brief.objective):
        tries = " or ".join(f"“{one}”" for one in _tries(tables, brief))
        said = f"Hello! I can work out figures from {file.name}" + (f": ask {tries}, for example." if tries else ".")
        return hand_in(said, said)
    if _is_overview(brief):
        return _describe(tables)
    query = _query_for(tables, brief)
    return query if isinstance(query, Move) else _work(query, history, tools)


def _calculate(said: str, code: str, history: History) -> Move:
    """Work out plain arithmetic with the tool."""
    replies = [reply for call, reply in history if call.name == "calculate"]
    if not replies:
        return Move((("calculate", {"code": code}),))
    if replies[-1].failed:
        return give_up("out_of_scope", f"It could not be worked out. {what_failed(replies)}")
    told = f"{said} = {replies[-1].text.strip()}"
    return hand_in(told, told)


def _file(brief: Brief) -> File | Move:
    """Return the table that the task is about, or the question which."""
    tables = [file for file in brief.files if file.is_table]
    if not tables:
        return give_up("out_of_scope", "No table is attached (CSV, TSV, XLSX, Parquet or JSON).")
    for text in (*reversed(brief.answers), brief.objective):
        named = [file for file in tables if file.is_named_in(text)]
        if len(named) > 1:
            return give_up("out_of_scope", f"One query reads one file, not {' and '.join(one.name for one in named)}.")
        if named or len(tables) == 1:
            return (named or tables)[0]
    return give_up("ambiguous_input", "Which of the files do you mean?", [file.name for file in tables])


def _is_overview(brief: Brief) -> bool:
    """Return True if the task asks what a table holds, and nothing else."""
    text = brief.objective.casefold()
    for file in brief.files:
        text = text.replace(file.name.casefold(), " ")
    rest, phrases = _WHAT_IS_IN.subn(" ", text)
    words = set(re.findall(r"[^\W_]+", rest))
    return bool(phrases or words & OVERVIEW) and words <= _OF_OVERVIEWS


def _describe(tables: Sequence[Table]) -> Move:
    """Say what tables hold, column by column."""
    heads = [f"{table.file} has {table.rows:,} rows and {len(table.columns)} columns:" for table in tables]
    lines: list[str] = []
    for head, table in zip(heads, tables, strict=True):
        lines.append(f"- {head}")
        for column in table.columns:
            span = f", {column.first} to {column.last}" if column.first else ""
            lines.append(f"  - {column.name}: {column.distinct:,} different values{span}")
    findings = [{"message": head, "source": table.file} for head, table in zip(heads, tables, strict=True)]
    return hand_in(" ".join(heads[:3]), "\n".join(lines), findings=findings[:3])


def _read(tables: Sequence[Table], brief: Brief) -> Query:
    """Return what is asked of the table or sheet that fits best, with the trouble if it is declined."""
    names = [file.name for file in brief.files]
    read = [
        read_request(table, brief.objective, [*names, *filter(None, [table.sheet])], brief.before) for table in tables
    ]
    best = max(read, key=lambda one: (not one.trouble, one.understood, -len(one.unused)))
    same = [one.table.file for one in read if not one.trouble and one.understood == best.understood]
    return replace(best, trouble=f"which of {' and '.join(same)} is meant") if len(same) > 1 else best


def _query_for(tables: Sequence[Table], brief: Brief) -> Query | Move:
    """Return the query that a task asks for; or the question which figure it means, or why it is declined."""
    best = _read(tables, brief)
    if best.choices and not best.trouble:
        named = [one for answer in brief.answers for one in best.choices if one.name.casefold() in answer.casefold()]
        if not named:
            names = [one.name for one in best.choices]
            asked = f"Which figure in {best.table.file} do you mean: {', '.join(names)}?"
            return give_up("ambiguous_input", asked, names)
        best = settle(replace(best, measure=max(named, key=lambda one: len(one.name)), choices=()))
    if best.trouble:
        reason = f"In {best.table.file} I can't tell {best.trouble}."
        return give_up("out_of_scope", say_declined(reason, _tries(tables, brief, best), again=brief.follows_refusal))
    return best


def _tries(tables: Sequence[Table], brief: Brief, about: Query | None = None) -> list[str]:
    """List questions about the file that are answered: nearest to what was asked, and read as a request would be."""
    table = about.table if about else tables[0]
    figures = [column for column in table.columns if column.is_measure]
    groups = [one for one in table.columns if one.is_text and 1 < one.distinct <= min(_MOST_GROUPS, table.rows - 1)]
    figures.sort(key=lambda one: (about is None or one != about.measure, not one.is_flow or one.is_stock))
    groups.sort(key=lambda one: about is None or one != about.group)
    ends = [*(one.name for one in groups[:2]), *(["month"] if table.dates else [])]
    how = {one.name: "total" if one.is_flow and not one.is_stock else "average" for one in figures}
    if about and about.measure and about.fold == "mean":
        how[about.measure.name] = "average"
    heads = [f"{how[one.name]} {one.name}" for one in figures[:2]]
    texts = [f"{head} by {end}" for head in heads[:1] for end in ends[:1]]
    texts += [f"how many rows by {end}" for end in ends]
    texts += [f"{head} by {end}" for end in ends for head in reversed(heads)] + heads
    texts = [text.replace("_", " ") for text in dict.fromkeys(texts)]
    read = ((text, _read(tables, replace(brief, task=text, answers=()))) for text in texts)
    known = (text for text, one in read if not (one.trouble or one.choices) and text != brief.objective.casefold())
    return list(islice(known, _TRIES))


def _work(query: Query, history: History, tools: Mapping[str, ToolSpec]) -> Move:
    """Query, draw and report what was understood."""
    question = question_of(query)
    replies = [reply for call, reply in history if call.arguments.get("sql") == question.sql]
    if not replies and "query_table" in tools:
        return Move((("query_table", {"sql": question.sql}),))
    rows = read_rows(replies[0].text) if replies and not replies[0].failed else None
    failed = what_failed([reply for call, reply in history if call.name != RETURN])
    if rows is None:
        return give_up("out_of_scope", f"The query brought nothing. {failed}".strip())
    is_drawn = any(call.name == "draw_chart" for call, _ in history)
    if question.kind != "one" and len(rows.rows) > 1 and "draw_chart" in tools and not is_drawn:
        return Move((("draw_chart", _chart(question)),))
    return _report(query, question, rows, failed)


def _chart(question: Question) -> dict[str, object]:
    """Return the arguments for a chart of a query."""
    return {
        "sql": question.sql,
        "title": capital(question.title),
        "kind": "line" if question.kind == "time" else "bar",
        "x": question.label,
        "y": [question.figure],
        "x_label": question.label.capitalize(),
        "y_label": capital(in_words(question.figure, bare=True)),
        "unit": unit_of(question.figure),
    }


def _report(query: Query, question: Question, rows: Rows, failed: str) -> Move:
    table, said = query.table, statements(question, rows)
    if not said:
        return give_up("out_of_scope", f"No row of {table.file} that this asks for has a figure.")
    lines = [*said, _NO_REASON] if query.reasons else said
    cut = rows.note if re.match(r"\(the first", rows.note) else ""
    shown = f"**{capital(question.title)}**\n\n{rows.as_markdown()}\n\n{cut}".rstrip()
    parts = [
        "\n".join(f"- {line}" for line in lines),
        shown if question.kind != "one" else "",
        f"{WORKED_OUT} {table.rows:,} rows of {table.file}.",  # its SQL: a click below
        f"What did not work: {failed}" if failed else "",
    ]
    findings = [{"message": line, "source": table.file} for line in (said or [table.file])[:3]]
    return hand_in(" ".join(said[:3]), "\n\n".join(filter(None, parts)), findings=findings)
