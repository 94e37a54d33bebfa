"""From results to one answer: what is still to be done for it, and of what. Pure.

The steps: judge what contradicts itself, condense what is too much, write, and (where the crew wants it) have the
critic read it, with one rewrite at most. Each step's outcome is an event (see `handoff.engine.answered`), so that a
crash repeats none of them.
"""

from __future__ import annotations

from functools import lru_cache

from handoff.answering import reducing
from handoff.answering.material import whole
from handoff.checking.conflicts import JUDGED, candidates
from handoff.checking.duplicates import without_duplicates
from handoff.contracts import Conflict, Note, Result
from handoff.effects import Effect, JudgeConflicts, ReduceMaterial, ReviewAnswer, WriteAnswer
from handoff.engine.nested import below
from handoff.state import Ask, Work

LATE = 60.0
"""Seconds that a call for the answer gets where the request's time is up; then the parts are the answer."""


def steps(ask: Ask, now: float) -> tuple[list[Effect], float | None]:
    """What is to be done now that all subtasks of a request have ended, and when to look again.

    At the request's deadline the answer is written from what there is: nobody judges, condenses or reviews any more.
    """
    late = is_late(ask, now)
    effects = _before(ask) if ask.draft is None and not late else []
    if effects:
        return effects, ask.deadline
    if ask.draft is None:
        return [WriteAnswer(ask.id, within=ask.within)], None
    if ask.review is None:
        return [ReviewAnswer(ask.id, late, ask.within)], None if late else ask.deadline
    return [WriteAnswer(ask.id, ask.review, ask.within)], None


def is_late(ask: Ask, now: float) -> bool:
    """Whether the request's time is up."""
    return ask.deadline is not None and ask.deadline <= now


def seconds_for(ask: Ask, now: float, most: float) -> float:
    """How long a call for the answer may take: `most`, but not far beyond the request's deadline."""
    return most if ask.deadline is None else min(most, max(LATE, ask.deadline - now))


def told(ask: Ask) -> tuple[Conflict, ...]:
    """The contradictions that the answer is to show, those found inside of its parts with them.

    What nobody had the time to judge is among them.
    """
    inside = tuple(one for work in ask.own if work.result and work.level for one in told(below(ask, work.subtask.id)))
    if ask.conflicts is not None:
        return (*ask.conflicts, *inside)
    late = (one.model_copy(update={"reason": "there was no time to judge it"}) for one in disputed(ask)[:JUDGED])
    return (*late, *inside)


def disputed(ask: Ask) -> tuple[Conflict, ...]:
    """Claims of its results that may contradict each other, as found without a model; those on figures first.

    Only the first `JUDGED` are put to the arbiter. They are looked for when they are needed, not with each event: in a
    long log that would take longer than all the rest.
    """
    there = results(ask)
    if len(there) < 2:
        return ()
    rival = ask.plan is not None and ask.plan.strategy == "select"
    titles = () if rival else tuple((name, ask.work[name].subtask.title) for name in there)
    return _disputed(tuple(there.items()), ask.terms.confidence, titles)


@lru_cache(maxsize=64)
def _disputed(
    there: tuple[tuple[str, Result], ...], threshold: int, titles: tuple[tuple[str, str], ...]
) -> tuple[Conflict, ...]:
    return candidates(dict(there), threshold=threshold, titles=dict(titles))


def beyond(ask: Ask) -> tuple[str, ...]:
    """The claims among `disputed` that are too many to be judged or told one by one; none once they were judged."""
    return () if ask.conflicts is not None else tuple(conflict.claim for conflict in disputed(ask)[JUDGED:])


def _before(ask: Ask) -> list[Effect]:
    """What comes before writing, all of it side by side."""
    effects: list[Effect] = []
    if ask.conflicts is None and disputed(ask):
        effects.append(JudgeConflicts(ask.id, ask.within))
    return effects + [ReduceMaterial(ask.id, part.round, part.part, part, ask.within) for part in stage(ask).parts]


def results(ask: Ask) -> dict[str, Result]:
    """What came back, by subtask, in the plan's order."""
    return {work.subtask.id: work.result for work in ask.own if work.result is not None}


def rivals(ask: Ask) -> dict[str, Work]:
    """The results that a plan with the strategy `select` chooses from: those that no other result builds on."""
    there = results(ask)
    used = {name for other in there for name in ask.work[other].subtask.after}
    return {name: ask.work[name] for name in there if name not in used}


def contents(ask: Ask) -> tuple[dict[str, str], dict[str, int]]:
    """The content of each result, and how many long passages of it point to another one that says the same.

    What results build on gives way to what was made of it: the note keeps its passage, not the analysis.
    """
    texts = {name: whole(result) for name, result in results(ask).items()}
    if ask.plan is not None and ask.plan.strategy == "select":
        return texts, {}
    last = rivals(ask)
    order = (*last, *(name for name in texts if name not in last))
    titles = tuple((name, ask.work[name].subtask.title) for name in texts)
    fresh, lost = _fresh(tuple(texts.items()), order, titles)
    return dict(fresh), dict(lost)


@lru_cache(maxsize=64)
def _fresh(
    texts: tuple[tuple[str, str], ...], order: tuple[str, ...], titles: tuple[tuple[str, str], ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]]:
    """Looked at with every step of a request, and the same each time."""
    kept, lost = without_duplicates(dict(texts), order, dict(titles))
    return tuple(kept.items()), tuple(lost.items())


def stage(ask: Ask) -> reducing.Stage:
    """Where condensing stands. Rival results are not condensed: one of them is the answer, word for word."""
    texts, _ = contents(ask)
    notes = tuple(Note(source=ask.work[name].subtask.title, text=text) for name, text in texts.items())
    if ask.plan is not None and ask.plan.strategy == "select":
        return reducing.Stage(notes)
    return reducing.stage(notes, ask.reduced, reducing.room(ask.terms.context.balanced))
