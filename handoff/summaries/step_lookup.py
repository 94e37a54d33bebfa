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
MAX_SUGGESTED_STEPS = 5
"""The most steps that are suggested if the words mean no step, or several."""


def find_step(request: RequestState, step_words: str) -> str | tuple[str, ...]:
    """Return the id of the step that `step_words` mean; if that is not clear, a tuple of likely ids, the best first."""
    words = step_words.strip().strip("`'\"“”").strip()
    there = [subtask for subtask in request.list_all_subtasks("") if not subtask.is_dropped]
    if not there:
        return ()
    card_rows = list_card_rows(request)
    if (number := _STEP_NUMBER.match(words)) and not any(_has_id(subtask, words) for subtask in there):
        place = int(number[1])
        return card_rows[place - 1].spec.id if 1 <= place <= len(card_rows) else _find_similar_steps(there, words)
    for text in dict.fromkeys((words, _STEP_NOUN.sub("", words))):
        for fits in (_has_id, _has_title, _title_begins_with, _contains_words):
            matches = [subtask for subtask in there if fits(subtask, text)]
            if len(matches) == 1:
                return matches[0].spec.id
            if matches:
                return tuple(subtask.spec.id for subtask in matches[:MAX_SUGGESTED_STEPS])
    return _find_similar_steps(there, words)


def render_step_line(request: RequestState, step: str) -> str:
    """Return a line for people about a step: its number on the plan card if it has one, its title and its id."""
    subtask = request.subtasks[step]
    ids = [one.spec.id for one in list_card_rows(request)]
    number = f"{ids.index(step) + 1}. " if step in ids else ""
    return f"{number}{render_title(request, subtask)} ({step})"


def _has_id(subtask: SubtaskState, words: str) -> bool:
    name = subtask.spec.id.casefold()
    return words.casefold() in {name, name.rpartition(PATH_SEPARATOR)[2]}


def _has_title(subtask: SubtaskState, words: str) -> bool:
    return bool(split_words(words)) and split_words(subtask.spec.title) == split_words(words)


def _title_begins_with(subtask: SubtaskState, words: str) -> bool:
    title, wanted_words = split_words(subtask.spec.title), split_words(words)
    return bool(wanted_words) and title[: len(wanted_words)] == wanted_words


def _contains_words(subtask: SubtaskState, words: str) -> bool:
    wanted_words = set(split_words(words))
    return bool(wanted_words) and wanted_words <= {*split_words(subtask.spec.title), *split_words(subtask.spec.id)}


def _find_similar_steps(subtasks: list[SubtaskState], words: str) -> tuple[str, ...]:
    """Return the ids of the steps with the most similar ids or titles."""
    wanted_text = " ".join(split_words(words))

    def compute_likeness(subtask: SubtaskState) -> float:
        names = (subtask.spec.id, subtask.spec.title, *split_words(subtask.spec.title))
        return max(SequenceMatcher(None, wanted_text, name.casefold()).ratio() for name in names)

    return tuple(
        subtask.spec.id for subtask in sorted(subtasks, key=compute_likeness, reverse=True)[:MAX_SUGGESTED_STEPS]
    )
