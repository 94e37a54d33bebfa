"""Finds the step of a plan that a person names: by its id, its number on the plan card, or its title. Pure."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from handoff.contracts import PATH_SEPARATOR
from handoff.conversation.message_kinds import split_words
from handoff.state.job_state import RequestState, SubtaskState
from handoff.summaries.summary import list_card_rows, render_title

_STEP_NUMBER = re.compile(r"^(?:step|part|number|no\.?|#)?\s*#?\s*(\d{1,3})$", re.IGNORECASE)
_STEP_NOUN = re.compile(r"^(?:step|part)\s+", re.IGNORECASE)
MAX_SUGGESTED = 5
"""The most steps that are suggested if no single step is meant."""


def find_step(ask: RequestState, step_words: str) -> str | tuple[str, ...]:
    """Return the id of the step that `step_words` mean; otherwise a tuple of similar ids, the likeliest first."""
    words = step_words.strip().strip("`'\"“”").strip()
    there = [work for work in ask.list_all_subtasks("") if not work.dropped]
    if not there:
        return ()
    shown = list_card_rows(ask)
    if (number := _STEP_NUMBER.match(words)) and not any(_has_id(work, words) for work in there):
        place = int(number[1])
        return shown[place - 1].subtask.id if 1 <= place <= len(shown) else _find_similar_steps(there, words)
    for text in dict.fromkeys((words, _STEP_NOUN.sub("", words))):
        for fits in (_has_id, _has_title, _title_begins_with, _contains_words):
            found = [work for work in there if fits(work, text)]
            if len(found) == 1:
                return found[0].subtask.id
            if found:
                return tuple(work.subtask.id for work in found[:MAX_SUGGESTED])
    return _find_similar_steps(there, words)


def render_step_line(ask: RequestState, step: str) -> str:
    """Return a line for people about a step: its number on the plan card if it has one, its title and its id."""
    work = ask.work[step]
    ids = [one.subtask.id for one in list_card_rows(ask)]
    number = f"{ids.index(step) + 1}. " if step in ids else ""
    return f"{number}{render_title(ask, work)} ({step})"


def _has_id(work: SubtaskState, words: str) -> bool:
    name = work.subtask.id.casefold()
    return words.casefold() in {name, name.rpartition(PATH_SEPARATOR)[2]}


def _has_title(work: SubtaskState, words: str) -> bool:
    return bool(split_words(words)) and split_words(work.subtask.title) == split_words(words)


def _title_begins_with(work: SubtaskState, words: str) -> bool:
    title, wanted = split_words(work.subtask.title), split_words(words)
    return bool(wanted) and title[: len(wanted)] == wanted


def _contains_words(work: SubtaskState, words: str) -> bool:
    wanted = set(split_words(words))
    return bool(wanted) and wanted <= {*split_words(work.subtask.title), *split_words(work.subtask.id)}


def _find_similar_steps(subtasks: list[SubtaskState], words: str) -> tuple[str, ...]:
    """Return the ids of the steps with the most similar ids or titles."""
    wanted = " ".join(split_words(words))

    def compute_likeness(work: SubtaskState) -> float:
        names = (work.subtask.id, work.subtask.title, *split_words(work.subtask.title))
        return max(SequenceMatcher(None, wanted, name.casefold()).ratio() for name in names)

    return tuple(work.subtask.id for work in sorted(subtasks, key=compute_likeness, reverse=True)[:MAX_SUGGESTED])
