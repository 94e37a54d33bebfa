"""Receipts: what was read, asked, done and not done for an answer, as the log has it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from handoff.answering.fixed_words import phrase
from handoff.evidence.statements import words_around
from handoff.materials.material_lists import LAST_ANSWER, REQUEST, list_unneeded_files
from handoff.state.job_state import RequestState, SubtaskState

_COUNTED = re.compile(r": ([\d,]+) of ([\d,]+) rows$")
_CONDITION = re.compile(r"(?P<words>.*?)(?: \((?P<count>[\d,]+/[\d,]+)\))?", re.DOTALL)
_SQL = re.compile(r"\b(?:and|or|not|in|is|like|ilike|between|case|null)\b|[(*]|::", re.IGNORECASE)
"""Parts of a condition that only readers of SQL understand."""
_PASSAGE = re.compile(r', section ".*"(?: \(https?://\S+\))?$')
_QUERY = re.compile(r"(https?://[^?\s]+)\?\S{40,}")
"""An address with a query that takes more room than it tells."""
_FIGURE_WORDS = 3
"""Words of the longest statement that is a bare figure with its unit."""
SHOWN = 4
"""Names on a line of receipts; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Receipts:
    """What the log says of the work behind an answer, each in words for people.

    `read` are the materials and pages that were read whole, `read_in_part` those of which tools showed parts, and
    `not_opened` the files that nobody read. `filters` are the conditions of the rows that figures count. `done` are the
    calls that changed something outside of the job and the files that were put into the thread; `not_done` are the
    calls that failed, each with the reason.
    """

    read: tuple[str, ...] = ()
    read_in_part: tuple[str, ...] = ()
    not_opened: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    workings: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    not_done: tuple[str, ...] = ()


def receipts_of(ask: RequestState) -> Receipts:
    """Return the receipts of a request's work. Work that a second try took over counts, as its result does."""
    works = ask.list_all_subtasks("")
    results = [work.result for work in works if work.result is not None]
    spoken = {
        REQUEST,
        *ask.work,
        *(one.name for one in ask.materials if one.kind != "file" and not one.is_channel_talk),
    }
    readings = [
        one
        for result in results
        for one in result.readings
        if one.name not in spoken and one.name != LAST_ANSWER and not one.name.startswith(f"{LAST_ANSWER} ")
    ]
    whole = dict.fromkeys(one.name for one in readings if one.is_whole)
    parts = dict.fromkeys(one.name for one in readings if one.name not in whole)
    known = {*whole, *parts}
    there = (one for one in ask.materials if one.kind == "file" and not one.fault)
    known |= {one.name for one in list_unneeded_files(ask)}  # which is told as a gap
    return Receipts(
        read=tuple(whole),
        read_in_part=tuple(parts),
        not_opened=tuple(one.name for one in there if one.name not in known),
        queries=tuple(dict.fromkeys(query for result in results for query in result.queries)),
        filters=tuple(dict.fromkeys(_render_condition(one) for result in results for one in result.filters)),
        workings=tuple(dict.fromkeys((*ask.run.workings, *(one for result in results for one in result.workings)))),
        done=tuple(dict.fromkeys((*_render_writes(ask, works), *_list_file_names(works)))),
        not_done=tuple(dict.fromkeys(_failed_writes(works))),
    )


def _render_writes(ask: RequestState, works: Iterable[SubtaskState]) -> Iterable[str]:
    for work in works:
        for one in work.own_writes:
            if one.known:
                what = f"{one.what} ({one.address})" if one.address else one.what
                yield phrase("reused", ask.text, what=what) if work.kept else what


def _list_file_names(works: Iterable[SubtaskState]) -> Iterable[str]:
    results = (work.result for work in works if work.result is not None)
    return (one.name for result in results for one in result.artifacts if one.publish_as != "nothing")


def _failed_writes(works: Iterable[SubtaskState]) -> Iterable[str]:
    """Yield the calls that failed; those that people denied are gaps of the answer."""
    for work in works:
        denied = {approval.tool for approval, _ in work.unapproved_calls}
        failed = work.result.failed_writes if work.result is not None else ()
        yield from (one for one in failed if one.partition(":")[0] not in denied)


def receipt_lines(ask: RequestState) -> list[str]:
    """Return at most two lines of receipts in the request's language, the first about reading; none without work.

    A passage of a document is told by the document's name alone.
    """
    if not any(work.result is not None for work in ask.list_all_subtasks("")):
        return []
    found, text = receipts_of(ask), ask.text
    rows = tuple(dict.fromkeys(filter(None, map(_render_condition_without_sql, found.filters))))
    read = _list_document_names((*found.read, *found.read_in_part))
    reading = [
        phrase("read", text, what=_join_first_names(tuple(_add_message_count(one, ask) for one in read), text))
        if read
        else "",
        phrase("not_opened", text, what=_join_first_names(found.not_opened, text)) if found.not_opened else "",
        phrase("filters", text, what=_join_first_names(rows, text)) if rows else "",
        phrase("queries", text, n=len(found.queries)) if found.queries else "",
    ]
    doing = [
        phrase("done", text, what=_join_first_names(found.done, text)) if found.done else phrase("nothing_done", text),
        phrase("not_done", text, what=_join_first_names(found.not_done, text)) if found.not_done else "",
    ]
    return [line for line in (" · ".join(filter(None, parts)) for parts in (reading, doing)) if line]


def _add_message_count(name: str, ask: RequestState) -> str:
    """Add to the name of a channel how many messages of it were there to read."""
    count = next((len(one.outline) for one in ask.materials if one.is_channel_talk and one.name == name), 0)
    if not count:
        return name
    return phrase("messages" if count > 1 else "one_message", ask.text, what=name, n=count)


def _list_document_names(names: Iterable[str]) -> tuple[str, ...]:
    """Name each document once, without the section and the address of what was read there; of a long one its page."""
    return tuple(dict.fromkeys(_QUERY.sub(r"\1", _PASSAGE.sub("", name)) for name in names))


def _render_condition(condition: str) -> str:
    """Write a condition as people read it in any language: `status = paid (6/10)`."""
    return _COUNTED.sub(r" (\1/\2)", condition)


def _render_condition_without_sql(condition: str) -> str:
    """Write a condition for people: `status = paid, plan = Pro (6/10)`. Of one that takes SQL to say, return `6/10`."""
    found = _CONDITION.fullmatch(condition)
    words, count = (found["words"], found["count"] or "") if found else (condition, "")
    plain = re.sub(r"\bDATE (?=\d)", "", re.sub(r" AND ", ", ", words))
    return count if _SQL.search(plain) else condition.replace(words, plain)


def list_unsourced_statements(ask: RequestState) -> tuple[str, ...]:
    """Return the figures, quotations and sentences of the answer, as written, that stand in nothing that was read."""
    answer = ask.run.answer or ""
    results = (work.result for work in ask.list_all_subtasks("") if work.result is not None)
    unbound = (one for result in results for one in result.unbound if one in answer)
    unfound = ask.run.verified.unfound if ask.run.verified is not None else ()
    return tuple(dict.fromkeys((*ask.run.unsupported, *unbound, *unfound)))


def list_statements(ask: RequestState) -> tuple[str, ...]:
    """Return `list_unsourced_statements` for people: figures with the words around them, one entry per sentence."""
    together: dict[str, list[str]] = {}
    for one in list_unsourced_statements(ask):
        is_figure = any(sign.isdigit() for sign in one) and len(one.split()) <= _FIGURE_WORDS
        around = words_around(one, ask.run.answer or "") if is_figure else ""
        together.setdefault(around or one, []).append(one)
    return tuple(
        f"{', '.join(figures)} (“{around}”)" if figures != [around] else around for around, figures in together.items()
    )


def _join_first_names(names: tuple[str, ...], text: str) -> str:
    more = [phrase("more", text, n=len(names) - SHOWN)] if len(names) > SHOWN else []
    return ", ".join((*names[:SHOWN], *more))
