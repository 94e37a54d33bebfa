"""How a subtask ends, and what its end means for the others: values in, values out."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from handoff.answering.material import whole
from handoff.checking.checks import quoted, without_unsure
from handoff.contracts import Packed, Result, Usage
from handoff.engine import replan
from handoff.engine.nested import below, put_back, seconds_for, terms_of
from handoff.events import TurnTaken
from handoff.state import SETTLED, Ask, Decision, Failure, Upset, Work, replace, written

_CHECK_FIRST = "Look first at what is unknown, then mention me again and say what is still to be done."


def with_work(ask: Ask, work: Work) -> Ask:
    """The request with that subtask as it is now."""
    return replace(ask, work=MappingProxyType({**ask.work, work.subtask.id: work}))


def decided(ask: Ask, at: float, subtask: str, what: str, why: str) -> Ask:
    """The request with one more decision, for its trace."""
    return replace(ask, decisions=(*ask.decisions, Decision(at, subtask, what, why)))


def packed(ask: Ask, at: float, subtask: str, pack: Packed) -> Ask:
    """The request with one more decision, where something was let go to fit a budget."""
    if not pack.left_out:
        return ask
    why = f"{pack.tokens:,} of {pack.budget:,} tokens; left out: " + "; ".join(pack.left_out)
    return decided(ask, at, subtask, "pack", why)


def charged(ask: Ask, work: Work, usage: Usage) -> tuple[Ask, Work]:
    """Both with that usage added, and so is what the subtask is inside."""
    ask = charged_around(ask, work.within, usage)
    return replace(ask, usage=ask.usage + usage), replace(work, usage=work.usage + usage)


def charged_around(ask: Ask, name: str, usage: Usage) -> Ask:
    """The request with that usage added to that subtask and those that it is inside: each tells what it took in all."""
    while work := ask.work.get(name):
        ask = with_work(ask, replace(work, usage=work.usage + usage))
        name = work.within
    return ask


def charged_so_far(ask: Ask, works: Iterable[Work]) -> Ask:
    """Charge the turns of attempts that are cut off, as these will not report their usage themselves."""
    for work in works:
        usage = sum((point.turn.usage for point in work.checkpoints if isinstance(point, TurnTaken)), Usage())
        ask, now = charged(ask, ask.work[work.subtask.id], usage)
        ask = with_work(ask, now)
    return ask


def attempt_over(work: Work, took: float = 0.0) -> Work:
    """Its checkpoints go; what it wrote, or may have written, is remembered, and so are its seconds."""
    writes = (*work.writes, *written(work.checkpoints))
    return replace(work, checkpoints=(), writes=writes, spent=work.spent + took, resumed=0.0)


def seconds_left(ask: Ask, work: Work) -> float:
    """Seconds of the subtask's deadline that its attempts so far have left."""
    return max(0.0, seconds_for(ask, work) - work.spent)


def complete(ask: Ask, work: Work, result: Result, at: float) -> Ask:
    """End the subtask with a result, whose usage is charged already. Findings that are not sure enough stay out."""
    ask, kept = only_sure(ask, work, result, at)
    if lost := _went_without(ask, work):
        kept = kept.model_copy(update={"gaps": (*kept.gaps, *lost)})
    done = replace(work, state="complete", result=kept, ended=at, look=None, refining="", question=None, not_before=0.0)
    return settle(_doubted(with_work(ask, done), done, at), at, work.within)


def _went_without(ask: Ask, work: Work) -> tuple[str, ...]:
    """What it should have been built on and is not there, in words, whether its specialist says so or not."""
    others = [ask.work[name] for name in work.subtask.after]
    lost = [repr(other.subtask.title) for other in others if other.result is None and not other.dropped]
    return (f"{work.subtask.title}: done without {', '.join(lost)}",) if lost else ()


def only_sure(ask: Ask, work: Work, result: Result, at: float) -> tuple[Ask, Result]:
    """The result without the findings that are not sure enough, and the request with each of them in its trace."""
    least = terms_of(ask, work.within).confidence
    kept, unsure = without_unsure(result, least)
    for finding in unsure:
        why = f"{quoted(finding.message)} is {finding.confidence} sure, below {least}"
        ask = decided(ask, at, work.subtask.id, "left out", why)
    return ask, kept


def _doubted(ask: Ask, work: Work, at: float) -> Ask:
    """The planner is to be asked again where the result says that the plan may be wrong."""
    words = replan.upset_by(work.result) if work.result is not None else ""
    if not words:
        return ask
    if why_not := replan.why_not(ask, work.within):
        return decided(ask, at, work.subtask.id, "plan kept", f"{quoted(words)}: {why_not}")
    ask = decided(ask, at, work.subtask.id, "ask the planner again", words)
    return replan.with_upset(ask, Upset(work.subtask.id, words, "finding", work.within))


def failed(ask: Ask, work: Work, reason: str, at: float) -> Ask:
    """End the subtask without a result."""
    over = replace(work, state="error", reason=reason, ended=at, look=None, refining="", question=None)
    return settle(with_work(ask, over), at, work.within)


def settle(ask: Ask, at: float, within: str = "") -> Ask:
    """After a subtask ended: skip what can no longer run, and end a request that needs no synthesis.

    `within` is the subtask that it was inside: a crew inside the crew is then through with that one.
    """
    return put_back(ask, _settled(below(ask, within), at))


def _settled(ask: Ask, at: float) -> Ask:
    ask = _skip_the_stranded(ask, at)
    own = ask.own
    if any(work.state not in SETTLED for work in own):
        return ask
    results = [work for work in own if work.result is not None]
    if not results:
        return replace(ask, failure=_nothing_came_of_it(ask), written=at)
    if sum(not work.dropped for work in own) == 1 and results[0].result is not None:
        alone, level = results[0].result, results[0].level
        text = alone.content if level is not None else whole(alone)
        read = level is not None and level.review is not None  # by the critic of the crew inside
        return replace(ask, draft=text) if ask.terms.critic and not read else replace(ask, answer=text, written=at)
    return ask


def _skip_the_stranded(ask: Ask, at: float) -> Ask:
    """The cascade: a pending subtask is skipped when everything that it waits for ended without a result."""
    while stranded := [work for work in ask.own if work.state == "pending" and _is_stranded(ask, work)]:
        for work in stranded:
            titles = ", ".join(repr(ask.work[name].subtask.title) for name in work.subtask.after)
            reason = f"it needed {titles}"
            ask = with_work(ask, replace(work, state="skipped", reason=reason, ended=at))
            ask = decided(ask, at, work.subtask.id, "skipped", reason)
    return ask


def _is_stranded(ask: Ask, work: Work) -> bool:
    after = [ask.work[name] for name in work.subtask.after]
    return bool(after) and all(other.state in {"error", "skipped"} for other in after)


def _nothing_came_of_it(ask: Ask) -> Failure:
    first = next((work for work in ask.own if work.state == "error"), ask.own[0])
    return Failure(
        first.subtask.title,
        first.reason,
        _CHECK_FIRST if ask.unknown else "Mend that if you can, then mention me again with the same request.",
    )
