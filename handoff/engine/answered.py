"""What the steps from the results to the answer change in a request: the same for a crew inside the crew."""

from __future__ import annotations

from types import MappingProxyType

from handoff import events as ev
from handoff.answering import reducing
from handoff.engine.subtask import decided, packed
from handoff.state import Ask, replace


def conflicts_judged(ask: Ask, event: ev.ConflictsJudged) -> Ask:
    """The arbiter has spoken. What it found to be the same is dropped; its reason stays in the log."""
    if ask.conflicts is not None:
        return ask
    why = f"{len(event.conflicts)} claims may contradict each other: " + "; ".join(one.claim for one in event.conflicts)
    if event.unjudged:
        why += f"; {len(event.unjudged)} more are too many to be judged: " + "; ".join(event.unjudged)
    ask = decided(ask, event.at, ask.within, "ask the arbiter", why)
    kept = tuple(one for one in event.conflicts if one.verdict != "same")
    ask = replace(ask, conflicts=kept, unjudged=event.unjudged)
    ask = packed(replace(ask, usage=ask.usage + event.usage), event.at, ask.within, event.pack)
    for conflict in event.conflicts:
        ask = decided(
            ask, event.at, ask.within, f"contradiction: {conflict.verdict}", f"{conflict.claim}: {conflict.reason}"
        )
    return ask


def material_reduced(ask: Ask, event: ev.MaterialReduced) -> Ask:
    """One part of a round is condensed."""
    key = (event.round, event.part)
    if key in ask.reduced:
        return ask
    ask = replace(ask, reduced=MappingProxyType({**ask.reduced, key: event.notes}), usage=ask.usage + event.usage)
    ask = replace(packed(ask, event.at, ask.within, event.pack), let_go=(*ask.let_go, *event.left_out))
    why = f"the material exceeds {reducing.room(ask.terms.context.balanced):,} tokens"
    if event.left_out:
        why += "; left out: " + "; ".join(event.left_out)
    return decided(ask, event.at, ask.within, f"condense, round {event.round}, part {event.part}", why)


def answer_written(ask: Ask, event: ev.AnswerWritten) -> Ask:
    """A draft waits for the critic; anything else is the answer."""
    if ask.answer is not None or ask.failure is not None:
        return ask
    ask = replace(ask, usage=ask.usage + event.usage, unjudged=ask.unjudged or event.unjudged)
    if event.chosen:
        ask = replace(decided(ask, event.at, event.chosen, "select", event.why), chosen=event.chosen)
    ask = packed(ask, event.at, ask.within, event.pack)
    if event.draft and ask.draft is None:
        return replace(ask, draft=event.text)
    return replace(ask, answer=event.text, written=event.at)


def answer_reviewed(ask: Ask, event: ev.AnswerReviewed) -> Ask:
    """Without faults the draft is the answer; with faults it is written once more, and not read again."""
    if ask.draft is None or ask.review is not None or ask.answer is not None or ask.failure is not None:
        return ask
    ask = packed(replace(ask, review=event.faults, usage=ask.usage + event.usage), event.at, ask.within, event.pack)
    if event.faults:
        return decided(ask, event.at, ask.within, "write the answer again", "; ".join(event.faults))
    ask = decided(ask, event.at, ask.within, "let the answer out", event.doubt or "the critic found no fault")
    return replace(ask, answer=ask.draft, written=event.at)
