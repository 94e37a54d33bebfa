"""Leads from the results of a run to one answer: what is left to do for it, its material, and what each event changes.

The steps: judge contradictions, condense material that is too long, write, and (if the crew wants it) have the critic
read the draft, with one rewrite at most. Each step ends with an event, so that a crash repeats no finished step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from handoff import events as ev
from handoff.answering import reducing
from handoff.answering.material import whole
from handoff.checking.conflicts import JUDGED, candidates
from handoff.checking.duplicates import without_duplicates
from handoff.contracts import Conflict, Note, Result
from handoff.effects import Effect, JudgeConflicts, ReduceMaterial, ReviewAnswer, SelectAnswer, WriteAnswer
from handoff.state import PLEASE_CHECK, Ask, Run, Work, replace

LATE = 60.0
"""The least seconds that a model call for the answer gets, even if the run's time is up."""
UNJUDGED = 5
"""The number of unjudged claims that are quoted among the gaps; the others are only counted."""

# ---------------------------------------------------------------- what is still to be done


def steps(ask: Ask, run: Run, now: float) -> tuple[list[Effect], float | None]:
    """Return the effects that are due now that all subtasks of a run have ended, and the time to look again.

    At the run's deadline the answer is written from what there is: nobody judges, condenses or reviews any more.
    """
    late = is_late(run, now)
    effects = _before_writing(ask, run) if run.draft is None and not late else []
    if effects:
        return effects, run.deadline
    if run.draft is None:
        return [_writing(ask, run)], None
    if run.review is None:
        return [ReviewAnswer(ask.id, late, run.within)], None if late else run.deadline
    return [_writing(ask, run, run.review)], None


def _writing(ask: Ask, run: Run, faults: tuple[str, ...] = ()) -> WriteAnswer | SelectAnswer:
    chosen = run.plan is not None and run.plan.strategy == "select"
    return SelectAnswer(ask.id, faults, run.within) if chosen else WriteAnswer(ask.id, faults, run.within)


def is_late(run: Run, now: float) -> bool:
    """Return True if the run's time is up."""
    return run.deadline is not None and run.deadline <= now


def is_draft(run: Run, now: float) -> bool:
    """Return True if the critic is to read what is written now before people see it."""
    return run.terms.critic and run.draft is None and not is_late(run, now)


def seconds_for_call(run: Run, now: float, most: float) -> float:
    """Return how long a call for the answer may take: `most`, but not far beyond the run's deadline."""
    return most if run.deadline is None else min(most, max(LATE, run.deadline - now))


def _before_writing(ask: Ask, run: Run) -> list[Effect]:
    """Return the effects that come before writing. All of them may run side by side."""
    effects: list[Effect] = []
    if run.conflicts is None and disputed(ask, run):
        effects.append(JudgeConflicts(ask.id, run.within))
    return effects + [ReduceMaterial(ask.id, part.round, part.part, run.within) for part in stage(ask, run).parts]


# ---------------------------------------------------------------- of what the answer is made


def results(ask: Ask, run: Run) -> dict[str, Result]:
    """Return the results of a run by subtask, in the order of the plan."""
    return {work.subtask.id: work.result for work in ask.inside(run.within) if work.result is not None}


def rivals(ask: Ask, run: Run) -> dict[str, Work]:
    """Return the subtasks that the strategy `select` chooses from: those whose result no other result builds on."""
    there = results(ask, run)
    used = {name for other in there for name in ask.work[other].subtask.after}
    return {name: ask.work[name] for name in there if name not in used}


def told(ask: Ask, run: Run) -> tuple[Conflict, ...]:
    """Return the contradictions that the answer has to show, with those found inside its parts.

    If the arbiter had no time, the first `JUDGED` claims that may contradict each other are shown as not judged.
    """
    inside = tuple(
        one
        for work in ask.inside(run.within)
        if work.result is not None and work.run is not None
        for one in told(ask, work.run)
    )
    if run.conflicts is not None:
        return (*run.conflicts, *inside)
    late = (one.model_copy(update={"reason": "there was no time to judge it"}) for one in disputed(ask, run)[:JUDGED])
    return (*late, *inside)


def disputed(ask: Ask, run: Run) -> tuple[Conflict, ...]:
    """Return claims of a run's results that may contradict each other, found without a model.

    Those with figures come first. Only the first `JUDGED` go to the arbiter. They are computed when they are needed
    and not with each event, as that would dominate the time to read a long log.
    """
    there = results(ask, run)
    if len(there) < 2:
        return ()
    rival = run.plan is not None and run.plan.strategy == "select"
    titles = () if rival else tuple((name, ask.work[name].subtask.title) for name in there)
    return _disputed(tuple(there.items()), run.terms.confidence, titles)


@lru_cache(maxsize=64)
def _disputed(
    there: tuple[tuple[str, Result], ...], threshold: int, titles: tuple[tuple[str, str], ...]
) -> tuple[Conflict, ...]:
    return candidates(dict(there), threshold=threshold, titles=dict(titles))


def beyond(ask: Ask, run: Run) -> tuple[str, ...]:
    """Return the claims of `disputed` beyond the first `JUDGED`; none once the arbiter has judged."""
    return () if run.conflicts is not None else tuple(conflict.claim for conflict in disputed(ask, run)[JUDGED:])


def contents(ask: Ask, run: Run) -> tuple[dict[str, str], dict[str, int]]:
    """Return the content of each result, and how many of its passages were replaced by a pointer to another result.

    If several results share a passage, the one that builds on the others keeps it.
    """
    texts = {name: whole(result) for name, result in results(ask, run).items()}
    if run.plan is not None and run.plan.strategy == "select":
        return texts, {}
    last = rivals(ask, run)
    order = (*last, *(name for name in texts if name not in last))
    titles = tuple((name, ask.work[name].subtask.title) for name in texts)
    fresh, lost = _fresh(tuple(texts.items()), order, titles)
    return dict(fresh), dict(lost)


@lru_cache(maxsize=64)
def _fresh(
    texts: tuple[tuple[str, str], ...], order: tuple[str, ...], titles: tuple[tuple[str, str], ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]]:
    """Return the contents without repeated passages. Cached: each step of a run asks for the same contents."""
    kept, lost = without_duplicates(dict(texts), order, dict(titles))
    return tuple(kept.items()), tuple(lost.items())


def stage(ask: Ask, run: Run) -> reducing.Stage:
    """Return how far condensing is. Rival results are not condensed: one of them is the answer, word for word."""
    texts, _ = contents(ask, run)
    notes = tuple(Note(source=ask.work[name].subtask.title, text=text) for name, text in texts.items())
    if run.plan is not None and run.plan.strategy == "select":
        return reducing.Stage(notes)
    return reducing.stage(notes, run.reduced, room(run))


def room(run: Run) -> int:
    """Return the tokens that the results may take in the synthesizer's call."""
    return reducing.room(run.terms.context.balanced)


# ---------------------------------------------------------------- what the answer lacks


def missing(ask: Ask, run: Run) -> tuple[Work, ...]:
    """Return the subtasks of a run that brought no result. What is missing inside a subtask is a gap of its result."""
    return tuple(work for work in ask.inside(run.within) if work.state in {"error", "skipped"} and not work.dropped)


def out_of_reach(ask: Ask, run: Run) -> tuple[str, ...]:
    """Return in words what no work could bring: files not fetched, and parts that nobody in the crew can do."""
    files = () if run.within else ask.file_faults
    return (*files, *(f"nobody in the crew can {part}" for part in (run.plan.missing if run.plan else ())))


def gaps(ask: Ask, run: Run) -> tuple[str, ...]:
    """Return what the answer lacks, each in words for people."""
    lines = [f"{work.subtask.title}: {work.reason}" for work in missing(ask, run)]
    own = ask.inside(run.within)
    lines += [gap for work in own if work.result is not None for gap in _gaps_of(work, work.result, len(own) == 1)]
    if run.left_out:
        lines.append(f"{len(run.left_out)} passages of long results could not be read or kept in full")
    if run.unjudged:
        claims = "; ".join(run.unjudged[:UNJUDGED]) + ("; …" if len(run.unjudged) > UNJUDGED else "")
        lines.append(f"{len(run.unjudged)} more statements may contradict each other, unjudged: {claims}")
    if not run.within:  # writes in doubt are named once, by the request's own run
        lines += [f"{PLEASE_CHECK}: {what}" for what in ask.unknown]
    return tuple(dict.fromkeys((*out_of_reach(ask, run), *lines)))


def _gaps_of(work: Work, result: Result, alone: bool) -> list[str]:  # noqa: FBT001 - of a private function
    """Return the gaps of one result, each with its title unless the result is the only one."""
    title = work.subtask.title
    return [gap if alone or gap.startswith(title) else f"{title}: {gap}" for gap in result.gaps]


# ---------------------------------------------------------------- what each step changes


def conflicts_judged(ask: Ask, run: Run, event: ev.ConflictsJudged) -> Ask:
    """Keep the arbiter's verdicts. A pair that it found to be the same is dropped; its reason stays in the log."""
    if run.conflicts is not None:
        return ask
    why = f"{len(event.conflicts)} claims may contradict each other: " + "; ".join(one.claim for one in event.conflicts)
    if event.unjudged:
        why += f"; {len(event.unjudged)} more are too many to be judged: " + "; ".join(event.unjudged)
    ask = ask.with_decision(event.at, run.within, "ask the arbiter", why)
    kept = tuple(one for one in event.conflicts if one.verdict != "same")
    ask = ask.with_run(replace(run, conflicts=kept, unjudged=event.unjudged))
    ask = ask.with_pack(event.at, run.within, event.pack)
    for one in event.conflicts:
        ask = ask.with_decision(event.at, run.within, f"contradiction: {one.verdict}", f"{one.claim}: {one.reason}")
    return ask


def material_reduced(ask: Ask, run: Run, event: ev.MaterialReduced) -> Ask:
    """Keep the notes of one part of a round."""
    key = (event.round, event.part)
    if key in run.reduced:
        return ask
    reduced = MappingProxyType({**run.reduced, key: event.notes})
    ask = ask.with_run(replace(run, reduced=reduced, left_out=(*run.left_out, *event.left_out)))
    ask = ask.with_pack(event.at, run.within, event.pack)
    why = f"the material exceeds {room(run):,} tokens"
    if event.left_out:
        why += "; left out: " + "; ".join(event.left_out)
    return ask.with_decision(event.at, run.within, f"condense, round {event.round}, part {event.part}", why)


def answer_written(ask: Ask, run: Run, event: ev.AnswerWritten) -> Ask:
    """Keep the first draft for the critic; any other text is the answer."""
    if run.concluded:
        return ask
    run = replace(run, unjudged=run.unjudged or event.unjudged)
    if event.chosen:
        ask = ask.with_decision(event.at, event.chosen, "select", event.why)
        run = replace(run, chosen=event.chosen)
    ask = ask.with_pack(event.at, run.within, event.pack)
    if event.draft and run.draft is None:
        return ask.with_run(replace(run, draft=event.text))
    return ask.with_run(replace(run, answer=event.text, written=event.at))


def answer_reviewed(ask: Ask, run: Run, event: ev.AnswerReviewed) -> Ask:
    """Make a draft without faults the answer. A draft with faults is written once more, and not reviewed again."""
    if run.draft is None or run.review is not None or run.concluded:
        return ask
    run = replace(run, review=event.faults)
    ask = ask.with_pack(event.at, run.within, event.pack)
    if event.faults:
        ask = ask.with_decision(event.at, run.within, "write the answer again", "; ".join(event.faults))
        return ask.with_run(run)
    ask = ask.with_decision(event.at, run.within, "let the answer out", event.doubt or "the critic found no fault")
    return ask.with_run(replace(run, answer=run.draft, written=event.at))


TRANSITIONS: Mapping[str, Callable[[Ask, Run, Any], Ask]] = {
    "ConflictsJudged": conflicts_judged,
    "MaterialReduced": material_reduced,
    "AnswerReviewed": answer_reviewed,
    "AnswerWritten": answer_written,
}
"""The function for each event of these steps. It changes the run that the event's `within` names."""
