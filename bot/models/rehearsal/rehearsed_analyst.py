"""The rehearsed analyst: profiles the table, reads the task as a query and runs it, or declines the task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from bot.models.rehearsal import word_lists as lexicon
from bot.models.rehearsal.brief_parsing import METHOD_PREFIX, Brief, ListedFile, find_arithmetic, render_decline
from bot.models.rehearsal.moves import Move, join_failures, make_escalation_move, make_result_move
from bot.models.rehearsal.query_sql import SqlQuery, find_figure_unit, make_sql_query, render_figure_name
from bot.models.rehearsal.request_reading import read_request
from bot.models.rehearsal.result_sentences import (
    QueryRows,
    describe_empty_cells,
    make_sentences,
    read_rows,
)
from bot.models.rehearsal.table_profile import ProfiledTable, read_profile
from bot.models.rehearsal.table_query import MAX_GROUPS, Query, complete_query
from handoff.contracts import ToolCall, ToolReply
from handoff.text.capitalization import capitalize_first
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import RETURN_RESULT

History = Sequence[tuple[ToolCall, ToolReply]]

_OVERVIEW_WORDS = lexicon.OVERVIEW | lexicon.FILLERS | lexicon.read_word_list("of_files")
"""All words that a request for an overview of a table may have."""
_MAX_SUGGESTIONS = 2
_NO_REASON_TEXT = "These are the figures; finding the reason behind them takes a language model, or a person."


def choose_move(brief: Brief, history: History, tools: Mapping[str, ToolSpec]) -> Move:
    """Return the analyst's next move, from its task and the tool calls so far."""
    has_table = any(file.is_table for file in brief.files)
    if "calculate" in tools and not has_table and (arithmetic := find_arithmetic(brief.objective)):
        return _choose_calculation_move(*arithmetic, history)
    file = _choose_file(brief)
    if isinstance(file, Move):
        return file
    profiles = [reply for call, reply in history if call.name == "profile_table"]
    if not profiles:
        if "profile_table" not in tools:
            return make_escalation_move("out_of_scope", "There are no more turns left to look at the file.")
        return Move((("profile_table", {"file": file.name}),), "I look at the data first.")
    tables = [table for reply in profiles if not reply.failed for table in read_profile(reply.text)]
    if not tables:
        return make_escalation_move("out_of_scope", f"The table could not be read. {join_failures(profiles)}".strip())
    if _asks_for_overview(brief):
        return _describe_tables(tables)
    query = _choose_query(tables, brief)
    return query if isinstance(query, Move) else _choose_query_move(query, history, tools)


def _choose_calculation_move(expression: str, code: str, history: History) -> Move:
    """Return the move that computes arithmetic with the tool `calculate`, or that reports the result or its failure."""
    replies = [reply for call, reply in history if call.name == "calculate"]
    if not replies:
        return Move((("calculate", {"code": code}),))
    if replies[-1].failed:
        return make_escalation_move("out_of_scope", f"It could not be worked out. {join_failures(replies)}")
    result_text = f"{expression} = {replies[-1].text.strip()}"
    return make_result_move(result_text, result_text)


def _choose_file(brief: Brief) -> ListedFile | Move:
    """Return the table that the task is about, or a move that asks which one is meant, or declines."""
    tables = [file for file in brief.files if file.is_table]
    if not tables:
        return make_escalation_move("out_of_scope", "No table is attached (CSV, TSV, XLSX, Parquet or JSON).")
    for text in (*reversed(brief.answers), brief.objective):
        named_files = [file for file in tables if file.is_named_in(text)]
        if len(named_files) > 1:
            return make_escalation_move(
                "out_of_scope", f"One query reads one file, not {' and '.join(one.name for one in named_files)}."
            )
        if named_files or len(tables) == 1:
            return (named_files or tables)[0]
    return make_escalation_move("ambiguous_input", "Which of the files do you mean?", [file.name for file in tables])


def _asks_for_overview(brief: Brief) -> bool:
    """Return True if the task asks what a table contains, and nothing else."""
    text = brief.objective.casefold()
    for file in brief.files:
        text = text.replace(file.name.casefold(), " ")
    asks = any(" ".join(phrase) in text for phrase in lexicon.PHRASES["content"])
    words = set(re.findall(r"[^\W_]+", re.sub(r"['\u2019]s\b", "", text)))
    return (asks or bool(words & lexicon.OVERVIEW)) and words <= _OVERVIEW_WORDS


def _describe_tables(tables: Sequence[ProfiledTable]) -> Move:
    """Return a result that describes tables column by column."""
    heads = [f"{table.file} has {table.row_count:,} rows and {len(table.columns)} columns:" for table in tables]
    lines: list[str] = []
    for head, table in zip(heads, tables, strict=True):
        lines.append(f"- {head}")
        for column in table.columns:
            span = f"{column.first_date} to {column.last_date}" if column.first_date else ""
            parts = (f"{column.name}: {column.distinct_count:,} different values", span, describe_empty_cells(column))
            lines.append(f"  - {', '.join(filter(None, parts))}")
    findings = [{"message": head, "source": table.file} for head, table in zip(heads, tables, strict=True)]
    return make_result_move(" ".join(heads[:3]), "\n".join(lines), findings=findings[:3])


def _read_query(tables: Sequence[ProfiledTable], brief: Brief) -> Query:
    """Read the task as a query on the table or sheet that fits best. It has a `trouble` if none or several fit."""
    names = [file.name for file in brief.files]
    queries = [
        read_request(one, brief.objective, [*names, one.sheet] if one.sheet else names, brief.earlier_requests)
        for one in tables
    ]
    fitting_files = [one.table.file for one in queries if not one.decline_reason]
    best = min(queries, key=lambda one: (bool(one.decline_reason), len(one.unused_words)))
    return (
        replace(best, decline_reason=f"which of {' and '.join(fitting_files)} is meant")
        if len(fitting_files) > 1
        else best
    )


def _choose_query(tables: Sequence[ProfiledTable], brief: Brief) -> Query | Move:
    """Return the query that a task asks for, or a move that asks which figure it means or declines."""
    best = _read_query(tables, brief)
    if best.measure_choices and not best.decline_reason:
        named_columns = [
            one for answer in brief.answers for one in best.measure_choices if one.name.casefold() in answer.casefold()
        ]
        if not named_columns:
            names = [one.name for one in best.measure_choices]
            question = f"Which figure in {best.table.file} do you mean: {', '.join(names)}?"
            return make_escalation_move("ambiguous_input", question, names)
        best = complete_query(
            replace(best, measure=max(named_columns, key=lambda one: len(one.name)), measure_choices=())
        )
    if not best.decline_reason:
        return best
    reason = f"In {best.table.file} I can't tell {best.decline_reason}."
    return make_escalation_move("out_of_scope", render_decline(reason, _suggest_questions(tables, brief, best)))


def _suggest_questions(tables: Sequence[ProfiledTable], brief: Brief, query: Query) -> list[str]:
    """List at most `_MAX_SUGGESTIONS` questions on the table that rules can answer, the closest to `query` first."""
    table = query.table
    figures = [column for column in table.columns if column.is_measure]
    groups = [
        one for one in table.columns if one.is_text and 1 < one.distinct_count <= min(MAX_GROUPS, table.row_count - 1)
    ]
    figures.sort(key=lambda one: (one != query.measure, not one.is_flow or one.is_stock))
    groups.sort(key=lambda one: one != query.group)
    group_names = [*(one.name for one in groups[:2]), *(["month"] if table.date_columns else [])]
    heads = [f"{'total' if one.is_flow and not one.is_stock else 'average'} {one.name}" for one in figures[:2]]
    texts = (
        [f"{head} by {end}" for head in heads for end in group_names]
        + [f"how many rows by {end}" for end in group_names]
        + heads
    )
    plain = (text.replace("_", " ") for text in texts)
    suggested_queries = ((text, _read_query(tables, replace(brief, task=text))) for text in plain)
    return list(
        islice(
            (text for text, one in suggested_queries if not (one.decline_reason or one.measure_choices)),
            _MAX_SUGGESTIONS,
        )
    )


def _choose_query_move(query: Query, history: History, tools: Mapping[str, ToolSpec]) -> Move:
    """Return the next move for a query: run it, draw a chart of it, then report its rows."""
    question = make_sql_query(query)
    replies = [reply for call, reply in history if call.arguments.get("sql") == question.sql]
    if not replies and "query_table" in tools:
        return Move((("query_table", {"sql": question.sql}),))
    rows = read_rows(replies[0].text) if replies and not replies[0].failed else None
    failures = join_failures([reply for call, reply in history if call.name != RETURN_RESULT])
    if rows is None:
        return make_escalation_move("out_of_scope", f"The query brought nothing. {failures}".strip())
    is_drawn = any(call.name == "draw_chart" for call, _ in history)
    if question.kind != "one" and len(rows.rows) > 1 and "draw_chart" in tools and not is_drawn:
        return Move((("draw_chart", _make_chart_arguments(question)),))
    return _report_rows(query, question, rows, failures)


def _make_chart_arguments(question: SqlQuery) -> dict[str, object]:
    """Return the arguments for a chart of a query."""
    return {
        "sql": question.sql,
        "title": capitalize_first(question.title),
        "kind": "line" if question.kind == "time" else "bar",
        "x": question.label_column,
        "y": [question.figure_column],
        "x_label": question.label_column.capitalize(),
        "y_label": capitalize_first(render_figure_name(question.figure_column, without_unit=True)),
        "unit": find_figure_unit(question.figure_column),
    }


def _report_rows(query: Query, question: SqlQuery, rows: QueryRows, failures: str) -> Move:
    """Return a result with the rows as sentences and as a table, their empty cells, and calls that failed."""
    table, sentences = query.table, make_sentences(question, rows)
    if not sentences:
        return make_escalation_move("out_of_scope", f"No row of {table.file} that this asks for has a figure.")
    shown_columns = (query.measure, query.group, query.date_column if query.period_unit or query.period else None)
    empty = [describe_empty_cells(column) for column in shown_columns if column and column.empty_count]
    lines = [
        *sentences,
        *([f"In {table.file}, {', '.join(empty)}."] if empty else []),
        *([_NO_REASON_TEXT] if query.asks_why else []),
    ]
    cut_note = rows.tool_note if rows.tool_note.startswith("(the first") else ""
    table_text = f"**{capitalize_first(question.title)}**\n\n{rows.as_markdown()}\n\n{cut_note}".rstrip()
    parts = [
        "\n".join(f"- {line}" for line in lines),
        table_text if question.kind != "one" else "",
        f"{METHOD_PREFIX} {table.row_count:,} rows of {table.file}.",  # people see the SQL by a button
        f"What did not work: {failures}" if failures else "",
    ]
    findings = [{"message": line, "source": table.file} for line in sentences[:3]]
    return make_result_move(" ".join(sentences[:3]), "\n\n".join(filter(None, parts)), findings=findings)
