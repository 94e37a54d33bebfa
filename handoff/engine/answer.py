"""From the results of a run to one answer: what is still to be done for it, of what, and what each step changes.

The steps: judge what contradicts itself, condense what is too much, write, and (if the crew wants it) have the critic
read it, with one rewrite at most. Each step's outcome is an event, so that a crash repeats none of them.
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
from handoff.engine.decisions import with_decision, with_pack
from handoff.state import PLEASE_CHECK, Ask, Run, Work, replace

LATE = 60.0
"""Seconds that a call for the answer gets once the run's time is up; then the parts are the answer."""
UNJUDGED = 5
"""How many of the claims that nobody judged are told by name."""

# ---------------------------------------------------------------- what is still to be done


def steps(ask: Ask, run: Run, now: float) -> tuple[list[Effect], float | None]:
    """What is to be done now that all subtasks of a run have ended, and when to look again.

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
    """True if the run's time is up."""
    return run.deadline is not None and run.deadline <= now


def is_draft(run: Run, now: float) -> bool:
    """True if what is written now is read by the critic before people see it."""
    return run.terms.critic and run.draft is None and not is_late(run, now)


def seconds_for_call(run: Run, now: float, most: float) -> float:
    """How long a call for the answer may take: `most`, but not far beyond the run's deadline."""
    return most if run.deadline is None else min(most, max(LATE, run.deadline - now))


def _before_writing(ask: Ask, run: Run) -> list[Effect]:
    """What comes before writing, all of it side by side."""
    effects: list[Effect] = []
    if run.conflicts is None and disputed(ask, run):
        effects.append(JudgeConflicts(ask.id, run.within))
    return effects + [ReduceMaterial(ask.id, part.round, part.part, run.within) for part in stage(ask, run).parts]


# ---------------------------------------------------------------- of what the answer is made


def results(ask: Ask, run: Run) -> dict[str, Result]:
    """The results of a run by subtask, in the plan's order."""
    return {work.subtask.id: work.result for work in ask.inside(run.within) if work.result is not None}


def rivals(ask: Ask, run: Run) -> dict[str, Work]:
    """The results that a plan with the strategy `select` chooses from: those that no other result builds on."""
    there = results(ask, run)
    used = {name for other in there for name in ask.work[other].subtask.after}
    return {name: ask.work[name] for name in there if name not in used}


def told(ask: Ask, run: Run) -> tuple[Conflict, ...]:
    """The contradictions that the answer is to show, with those found inside its parts.

    What nobody had the time to judge is among them.
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
    """Claims of a run's results that may contradict each other, as found without a model; those on figures first.

    Only the first `JUDGED` are put to the arbiter. They are looked for when they are needed, not with each event: in a
    long log that would take longer than all the rest.
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
    """The claims among `disputed` that are too many to be judged or told one by one; none once they were judged."""
    return () if run.conflicts is not None else tuple(conflict.claim for conflict in disputed(ask, run)[JUDGED:])


def contents(ask: Ask, run: Run) -> tuple[dict[str, str], dict[str, int]]:
    """The content of each result, and how many of its long passages only point to another one that says the same.

    What results build on gives way to what was made of it: the note keeps its passage, not the analysis.
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
    """The contents without their repeated passages. Asked for with every step of a run, and the same each time."""
    kept, lost = without_duplicates(dict(texts), order, dict(titles))
    return tuple(kept.items()), tuple(lost.items())


def stage(ask: Ask, run: Run) -> reducing.Stage:
    """Where condensing stands. Rival results are not condensed: one of them is the answer, word for word."""
    texts, _ = contents(ask, run)
    notes = tuple(Note(source=ask.work[name].subtask.title, text=text) for name, text in texts.items())
    if run.plan is not None and run.plan.strategy == "select":
        return reducing.Stage(notes)
    return reducing.stage(notes, run.reduced, room(run))


def room(run: Run) -> int:
    """How many tokens the results may take in the synthesizer's call."""
    return reducing.room(run.terms.room_of("synthesizer"))


# ---------------------------------------------------------------- what the answer lacks


def missing(ask: Ask, run: Run) -> tuple[Work, ...]:
    """The subtasks of a run that brought no result. What is missing inside a subtask is a gap of its result."""
    return tuple(work for work in ask.inside(run.within) if work.state in {"error", "skipped"} and not work.dropped)


def out_of_reach(ask: Ask, run: Run) -> tuple[str, ...]:
    """What no work could bring, in words: files that could not be had, and what nobody in the crew can do."""
    files = () if run.within else ask.file_faults
    return (*files, *(f"nobody in the crew can {part}" for part in (run.plan.missing if run.plan else ())))


def gaps(ask: Ask, run: Run) -> tuple[str, ...]:
    """What the answer lacks, each in words fit for people."""
    lines = [f"{work.subtask.title}: {work.reason}" for work in missing(ask, run)]
    own = ask.inside(run.within)
    lines += [gap for work in own if work.result is not None for gap in _gaps_of(work, work.result, len(own) == 1)]
    if run.left_out:
        lines.append(f"{len(run.left_out)} passages of long results could not be read or kept in full")
    if run.unjudged:
        claims = "; ".join(run.unjudged[:UNJUDGED]) + ("; …" if len(run.unjudged) > UNJUDGED else "")
        lines.append(f"{len(run.unjudged)} more statements may contradict each other, unjudged: {claims}")
    if not run.within:  # it is named once, by the request's own run
        lines += [f"{PLEASE_CHECK}: {what}" for what in ask.unknown]
    return tuple(dict.fromkeys((*out_of_reach(ask, run), *lines)))


def _gaps_of(work: Work, result: Result, alone: bool) -> list[str]:  # noqa: FBT001 - of a private function
    """The gaps of one result, by its title if it is not alone."""
    title = work.subtask.title
    return [gap if alone or gap.startswith(title) else f"{title}: {gap}" for gap in result.gaps]


# ---------------------------------------------------------------- what each step changes


def conflicts_judged(ask: Ask, run: Run, event: ev.ConflictsJudged) -> Ask:
    """Keep the arbiter's verdicts. What it found to be the same is dropped; its reason stays in the log."""
    if run.conflicts is not None:
        return ask
    why = f"{len(event.conflicts)} claims may contradict each other: " + "; ".join(one.claim for one in event.conflicts)
    if event.unjudged:
        why += f"; {len(event.unjudged)} more are too many to be judged: " + "; ".join(event.unjudged)
    ask = with_decision(ask, event.at, run.within, "ask the arbiter", why)
    kept = tuple(one for one in event.conflicts if one.verdict != "same")
    ask = ask.with_run(replace(run, conflicts=kept, unjudged=event.unjudged))
    ask = with_pack(ask, event.at, run.within, event.pack)
    for one in event.conflicts:
        ask = with_decision(ask, event.at, run.within, f"contradiction: {one.verdict}", f"{one.claim}: {one.reason}")
    return ask


def material_reduced(ask: Ask, run: Run, event: ev.MaterialReduced) -> Ask:
    """Keep the notes of one part of a round."""
    key = (event.round, event.part)
    if key in run.reduced:
        return ask
    reduced = MappingProxyType({**run.reduced, key: event.notes})
    ask = ask.with_run(replace(run, reduced=reduced, left_out=(*run.left_out, *event.left_out)))
    ask = with_pack(ask, event.at, run.within, event.pack)
    why = f"the material exceeds {room(run):,} tokens"
    if event.left_out:
        why += "; left out: " + "; ".join(event.left_out)
    return with_decision(ask, event.at, run.within, f"condense, round {event.round}, part {event.part}", why)


def answer_written(ask: Ask, run: Run, event: ev.AnswerWritten) -> Ask:
    """Keep a draft for the critic; anything else is the answer."""
    if run.concluded:
        return ask
    run = replace(run, unjudged=run.unjudged or event.unjudged)
    if event.chosen:
        ask = with_decision(ask, event.at, event.chosen, "select", event.why)
        run = replace(run, chosen=event.chosen)
    ask = with_pack(ask, event.at, run.within, event.pack)
    if event.draft and run.draft is None:
        return ask.with_run(replace(run, draft=event.text))
    return ask.with_run(replace(run, answer=event.text, written=event.at))


def answer_reviewed(ask: Ask, run: Run, event: ev.AnswerReviewed) -> Ask:
    """Let a draft without faults be the answer; one with faults is written once more, and not read again."""
    if run.draft is None or run.review is not None or run.concluded:
        return ask
    run = replace(run, review=event.faults)
    ask = with_pack(ask, event.at, run.within, event.pack)
    if event.faults:
        ask = with_decision(ask, event.at, run.within, "write the answer again", "; ".join(event.faults))
        return ask.with_run(run)
    ask = with_decision(ask, event.at, run.within, "let the answer out", event.doubt or "the critic found no fault")
    return ask.with_run(replace(run, answer=run.draft, written=event.at))


TRANSITIONS: Mapping[str, Callable[[Ask, Run, Any], Ask]] = {
    "ConflictsJudged": conflicts_judged,
    "MaterialReduced": material_reduced,
    "AnswerReviewed": answer_reviewed,
    "AnswerWritten": answer_written,
}
"""What the event of each step changes in the run that its `within` names."""
