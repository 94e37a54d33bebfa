"""What follows for a request when one of its subtasks has ended. Only `handoff.changes` calls it."""

from __future__ import annotations

from types import MappingProxyType

from handoff.job import SETTLED, Ask, Failure, Work, replace

_CHECK_FIRST = "Look first at what is unknown, then mention me again and say what is still to be done."


def settle(ask: Ask, at: float) -> Ask:
    """After a subtask ended: skip what can no longer run, and end a request that needs no synthesis."""
    ask = _skip_the_stranded(ask, at)
    if any(work.state not in SETTLED for work in ask.work.values()):
        return ask
    results = [work for work in ask.work.values() if work.result is not None]
    if not results:
        return replace(ask, failure=_nothing_came_of_it(ask), written=at)
    if len(ask.work) == 1 and results[0].result is not None:
        return replace(ask, answer=results[0].result.content or results[0].result.summary, written=at)
    return ask


def _skip_the_stranded(ask: Ask, at: float) -> Ask:
    """A pending subtask is skipped when everything that it waits for ended without a result."""
    while stranded := [work for work in ask.work.values() if work.state == "pending" and _is_stranded(ask, work)]:
        for work in stranded:
            titles = ", ".join(repr(ask.work[name].subtask.title) for name in work.subtask.after)
            ask = with_work(ask, replace(work, state="skipped", reason=f"it needed {titles}", ended=at))
    return ask


def _is_stranded(ask: Ask, work: Work) -> bool:
    after = [ask.work[name] for name in work.subtask.after]
    return bool(after) and all(other.state in {"error", "skipped"} for other in after)


def _nothing_came_of_it(ask: Ask) -> Failure:
    first = next(work for work in ask.work.values() if work.state == "error")
    return Failure(
        first.subtask.title,
        first.reason,
        _CHECK_FIRST if ask.unknown else "Mend that if you can, then mention me again with the same request.",
    )


def with_work(ask: Ask, work: Work) -> Ask:
    """The request with one subtask's work changed."""
    return replace(ask, work=MappingProxyType({**ask.work, work.subtask.id: work}))
