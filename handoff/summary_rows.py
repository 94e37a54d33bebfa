"""How crews inside crews are told to people: which subtasks are shown, and what they are called. Plain text."""

from __future__ import annotations

from collections.abc import Iterable

from handoff.engine.nested import SLASH, all_inside, inside, is_open
from handoff.state import Ask, Work

APART = " \u203a "
"""Between the crews that a subtask is inside, and its own title."""


def title_of(ask: Ask, work: Work) -> str:
    """A subtask's title, behind the names of the crews that it is inside, the outermost first."""
    return APART.join((*_around(ask, work), work.subtask.title))


def _around(ask: Ask, work: Work) -> tuple[str, ...]:
    outer = ask.work.get(work.within)
    if outer is None:
        return ()
    crew = outer.specialist.rpartition(SLASH)[2].replace("_", " ").replace("-", " ")
    return (*_around(ask, outer), crew[:1].upper() + crew[1:])


def rows(ask: Ask) -> tuple[Work, ...]:
    """The subtasks to show, each before those inside it. What is inside one that is done is told as a number only."""
    done = {work.subtask.id for work in all_inside(ask, "") if work.state == "complete"}
    return tuple(work for work in all_inside(ask, "") if not done & _ids_around(ask, work))


def _ids_around(ask: Ask, work: Work) -> set[str]:
    return {work.within} | _ids_around(ask, ask.work[work.within]) if work.within else set()


def parts_words(ask: Ask, work: Work) -> str:
    """How far a crew is with its subtask, in a few words; empty where none is at it and none was."""
    parts = [one for one in inside(ask, work.subtask.id) if not one.dropped]
    if work.level is None:
        return ""
    if not parts:
        return "planning" if is_open(work) else ""
    count = f"{len(parts)} part{'' if len(parts) == 1 else 's'}"
    if is_open(work):
        return f"{sum(one.state == 'complete' for one in parts)} of {count} done"
    return f"{count} inside"


def at_hand(ask: Ask) -> tuple[Work, ...]:
    """The subtasks without those that a crew is at: what is inside stands in their place."""
    return tuple(_at_hand(ask, ask.own))


def _at_hand(ask: Ask, works: Iterable[Work]) -> Iterable[Work]:
    for work in works:
        parts = inside(ask, work.subtask.id) if is_open(work) else ()
        yield from _at_hand(ask, parts) if parts else (work,)
