"""Finds the step of a plan that a person names: by its id, its number on the plan card, or its title. Pure."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from handoff.contracts import SLASH
from handoff.conversation.message_kinds import words_of
from handoff.state.job_state import RequestState, SubtaskState
from handoff.summaries.summary import rows, title_of

_NUMBER = re.compile(r"^(?:step|part|number|no\.?|#)?\s*#?\s*(\d{1,3})$", re.IGNORECASE)
_NOUN = re.compile(r"^(?:step|part)\s+", re.IGNORECASE)
MOST = 5
"""The most steps that are suggested if no single step is meant."""


def find_step(ask: RequestState, said: str) -> str | tuple[str, ...]:
    """Return the id of the step that the words `said` mean; otherwise a tuple of similar ids, the likeliest first."""
    words = said.strip().strip("`'\"“”").strip()
    there = [work for work in ask.list_all_subtasks("") if not work.dropped]
    if not there:
        return ()
    shown = rows(ask)
    if (number := _NUMBER.match(words)) and not any(_is_id(work, words) for work in there):
        place = int(number[1])
        return shown[place - 1].subtask.id if 1 <= place <= len(shown) else _find_similar_steps(there, words)
    for text in dict.fromkeys((words, _NOUN.sub("", words))):
        for fits in (_is_id, _is_titled, _title_begins_with, _contains_words):
            found = [work for work in there if fits(work, text)]
            if len(found) == 1:
                return found[0].subtask.id
            if found:
                return tuple(work.subtask.id for work in found[:MOST])
    return _find_similar_steps(there, words)


def step_line(ask: RequestState, step: str) -> str:
    """Return a line for people about a step: its number on the plan card if it has one, its title and its id."""
    work = ask.work[step]
    ids = [one.subtask.id for one in rows(ask)]
    number = f"{ids.index(step) + 1}. " if step in ids else ""
    return f"{number}{title_of(ask, work)} ({step})"


def _is_id(work: SubtaskState, said: str) -> bool:
    name = work.subtask.id.casefold()
    return said.casefold() in {name, name.rpartition(SLASH)[2]}


def _is_titled(work: SubtaskState, said: str) -> bool:
    return bool(words_of(said)) and words_of(work.subtask.title) == words_of(said)


def _title_begins_with(work: SubtaskState, said: str) -> bool:
    title, wanted = words_of(work.subtask.title), words_of(said)
    return bool(wanted) and title[: len(wanted)] == wanted


def _contains_words(work: SubtaskState, said: str) -> bool:
    wanted = set(words_of(said))
    return bool(wanted) and wanted <= {*words_of(work.subtask.title), *words_of(work.subtask.id)}


def _find_similar_steps(there: list[SubtaskState], said: str) -> tuple[str, ...]:
    """Return the ids of the steps with the most similar ids or titles."""
    wanted = " ".join(words_of(said))

    def likeness(work: SubtaskState) -> float:
        names = (work.subtask.id, work.subtask.title, *words_of(work.subtask.title))
        return max(SequenceMatcher(None, wanted, name.casefold()).ratio() for name in names)

    return tuple(work.subtask.id for work in sorted(there, key=likeness, reverse=True)[:MOST])
