"""Receipts: what was read, queried, done and not done for an answer, according to the log. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from handoff.answering.fixed_words import render_phrase
from handoff.evidence.statements import find_figure_context
from handoff.materials.material_lists import LAST_ANSWER_NAME, REQUEST_NAME, list_unneeded_files
from handoff.state.job_state import RequestState, SubtaskState

_ROW_COUNT = re.compile(r": ([\d,]+) of ([\d,]+) rows$")
_CONDITION = re.compile(r"(?P<words>.*?)(?: \((?P<count>[\d,]+/[\d,]+)\))?", re.DOTALL)
_SQL_SYNTAX = re.compile(r"\b(?:and|or|not|in|is|like|ilike|between|case|null)\b|[(*]|::", re.IGNORECASE)
"""Parts of a condition that only people who know SQL understand."""
_PASSAGE_SUFFIX = re.compile(r', section ".*"(?: \(https?://\S+\))?$')
_LONG_URL = re.compile(r"(https?://[^?\s]+)\?\S{40,}")
"""A web address with a long query part, which is not shown."""
_MAX_FIGURE_WORDS = 3
"""The most words of a statement with a digit that counts as a bare figure with its unit."""
MAX_NAMES = 4
"""The most names in one part of a receipt line; the others are counted."""


@dataclass(frozen=True, slots=True)
class Receipts:
    """The work behind an answer according to the log, in words for people."""

    sources_read: tuple[str, ...] = ()
    """The materials and web pages that were read in full."""
    sources_read_partly: tuple[str, ...] = ()
    """The materials and web pages of which tools showed parts."""
    unopened_files: tuple[str, ...] = ()
    """The files that no specialist read, apart from those named as gaps."""
    queries: tuple[str, ...] = ()
    """The queries that were run."""
    filters: tuple[str, ...] = ()
    """The conditions of the rows that figures count."""
    workings: tuple[str, ...] = ()
    """The calculations of figures."""
    completed_actions: tuple[str, ...] = ()
    """The calls that changed something outside the job, and the files that were posted in the thread."""
    failed_calls: tuple[str, ...] = ()
    """The calls that failed, each with the reason."""


def collect_receipts(request: RequestState) -> Receipts:
    """Return the receipts of a request, including those of work that a second try reused."""
    subtasks = request.list_all_subtasks("")
    results = [subtask.result for subtask in subtasks if subtask.result is not None]
    conversation_names = {
        REQUEST_NAME,
        *request.subtasks,
        *(one.name for one in request.materials if one.kind != "file" and not one.is_channel_history),
    }
    readings = [
        one
        for result in results
        for one in result.readings
        if one.name not in conversation_names
        and one.name != LAST_ANSWER_NAME
        and not one.name.startswith(f"{LAST_ANSWER_NAME} ")
    ]
    whole = dict.fromkeys(one.name for one in readings if one.is_whole)
    parts = dict.fromkeys(one.name for one in readings if one.name not in whole)
    known_names = {*whole, *parts}
    files = (one for one in request.materials if one.kind == "file" and not one.fault)
    known_names |= {one.name for one in list_unneeded_files(request)}  # these are named as gaps
    return Receipts(
        sources_read=tuple(whole),
        sources_read_partly=tuple(parts),
        unopened_files=tuple(one.name for one in files if one.name not in known_names),
        queries=tuple(dict.fromkeys(query for result in results for query in result.queries)),
        filters=tuple(dict.fromkeys(_render_condition(one) for result in results for one in result.filters)),
        workings=tuple(dict.fromkeys((*request.run.workings, *(one for result in results for one in result.workings)))),
        completed_actions=tuple(
            dict.fromkeys((*_yield_completed_writes(request, subtasks), *_list_posted_files(subtasks)))
        ),
        failed_calls=tuple(dict.fromkeys(_yield_failed_writes(subtasks))),
    )


def _yield_completed_writes(request: RequestState, subtasks: Iterable[SubtaskState]) -> Iterable[str]:
    for subtask in subtasks:
        for one in subtask.all_writes:
            if one.is_confirmed:
                what = f"{one.what} ({one.address})" if one.address else one.what
                yield render_phrase("reused", request.text, what=what) if subtask.is_reused else what


def _list_posted_files(subtasks: Iterable[SubtaskState]) -> Iterable[str]:
    results = (subtask.result for subtask in subtasks if subtask.result is not None)
    return (one.name for result in results for one in result.artifacts if one.publish_as != "nothing")


def _yield_failed_writes(subtasks: Iterable[SubtaskState]) -> Iterable[str]:
    """Yield the calls that failed, without those that people denied, which are gaps of the answer."""
    for subtask in subtasks:
        denied_tools = {approval.tool for approval, _ in subtask.unapproved_calls}
        failed_writes = subtask.result.failed_writes if subtask.result is not None else ()
        yield from (one for one in failed_writes if one.partition(":")[0] not in denied_tools)


def render_receipt_lines(request: RequestState) -> list[str]:
    """Return the receipts as at most two lines in the request's language; none if no subtask has a result.

    The first line is about reading, the second about actions. Documents are named without sections.
    """
    if not any(subtask.result is not None for subtask in request.list_all_subtasks("")):
        return []
    receipts, text = collect_receipts(request), request.text
    rows = tuple(dict.fromkeys(filter(None, map(_render_condition_without_sql, receipts.filters))))
    document_names = _list_document_names((*receipts.sources_read, *receipts.sources_read_partly))
    reading_parts = [
        render_phrase(
            "read",
            text,
            what=_join_limited_names(tuple(_add_message_count(one, request) for one in document_names), text),
        )
        if document_names
        else "",
        render_phrase("not_opened", text, what=_join_limited_names(receipts.unopened_files, text))
        if receipts.unopened_files
        else "",
        render_phrase("filters", text, what=_join_limited_names(rows, text)) if rows else "",
        render_phrase("queries", text, n=len(receipts.queries)) if receipts.queries else "",
    ]
    action_parts = [
        render_phrase("done", text, what=_join_limited_names(receipts.completed_actions, text))
        if receipts.completed_actions
        else render_phrase("nothing_done", text),
        render_phrase("not_done", text, what=_join_limited_names(receipts.failed_calls, text))
        if receipts.failed_calls
        else "",
    ]
    return [line for line in (" · ".join(filter(None, parts)) for parts in (reading_parts, action_parts)) if line]


def _add_message_count(name: str, request: RequestState) -> str:
    """Return the name of a material; for a channel, followed by the number of messages that were read."""
    count = next((len(one.outline) for one in request.materials if one.is_channel_history and one.name == name), 0)
    if not count:
        return name
    return render_phrase("messages" if count > 1 else "one_message", request.text, what=name, n=count)


def _list_document_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return each document's name once, without section and address, and web addresses without a long query part."""
    return tuple(dict.fromkeys(_LONG_URL.sub(r"\1", _PASSAGE_SUFFIX.sub("", name)) for name in names))


def _render_condition(condition: str) -> str:
    """Return a condition with its count in a form for any language: `status = paid (6/10)`."""
    return _ROW_COUNT.sub(r" (\1/\2)", condition)


def _render_condition_without_sql(condition: str) -> str:
    """Return a condition in a form for people, such as `status = paid, plan = Pro (6/10)`.

    If it cannot be written without SQL, return its count alone, such as `6/10`.
    """
    match = _CONDITION.fullmatch(condition)
    words, count = (match["words"], match["count"] or "") if match else (condition, "")
    plain = re.sub(r"\bDATE (?=\d)", "", re.sub(r" AND ", ", ", words))
    return count if _SQL_SYNTAX.search(plain) else condition.replace(words, plain)


def list_unsourced_statements(request: RequestState) -> tuple[str, ...]:
    """Return the figures, quotations and sentences of the answer, as written, without a source in what was read."""
    answer = request.run.answer or ""
    results = (subtask.result for subtask in request.list_all_subtasks("") if subtask.result is not None)
    unbound_statements = (one for result in results for one in result.unbound if one in answer)
    unfound_statements = request.run.verification.unfound if request.run.verification is not None else ()
    return tuple(dict.fromkeys((*request.run.unsupported_figures, *unbound_statements, *unfound_statements)))


def describe_unsourced_statements(request: RequestState) -> tuple[str, ...]:
    """Return the unsourced statements for people: bare figures with their context, figures of one sentence joined."""
    statements_by_context: dict[str, list[str]] = {}
    for one in list_unsourced_statements(request):
        is_figure = any(sign.isdigit() for sign in one) and len(one.split()) <= _MAX_FIGURE_WORDS
        context = find_figure_context(one, request.run.answer or "") if is_figure else ""
        statements_by_context.setdefault(context or one, []).append(one)
    return tuple(
        f"{', '.join(figures)} (“{context}”)" if figures != [context] else context
        for context, figures in statements_by_context.items()
    )


def _join_limited_names(names: tuple[str, ...], request_text: str) -> str:
    more = [render_phrase("more", request_text, n=len(names) - MAX_NAMES)] if len(names) > MAX_NAMES else []
    return ", ".join((*names[:MAX_NAMES], *more))
