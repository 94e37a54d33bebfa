"""A thread of hundreds of requests: what one more asks of each before it is next to nothing, counted in calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType

from bot.slack.receive.thread_reader import read_until
from bot.slack.show.session import has_new_title
from handoff import events as ev
from handoff.briefs.addresses import known_addresses
from handoff.briefs.context import handoff_for, said_before
from handoff.briefs.provenance import provenance_of
from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import Plan, Request, Result, Subtask
from handoff.effects import answer_key, card_end_key, card_key
from handoff.engine.engine import apply
from handoff.engine.outstanding import outstanding
from handoff.materials.at_hand import texts_of
from handoff.planning.plan_brief import of_request
from handoff.state.job_state import Ask, Job, replace
from handoff.state.once import once
from handoff.summaries.deeds import deeds_of
from handoff.summaries.subject import subject_of
from handoff.summaries.summary import projection
from tests.handoff.kit import MEMBERS, PLACE

FEW, MANY = 20, 200
A_REQUEST = 25
"""Calls that one more request may cost for each before it, all that is done for it together."""
DEEP = 400


def log_of(number: int) -> Iterator[ev.Event]:
    """A request that is planned, worked on and answered. No two have the same words."""
    name, at = f"{number}.0", float(number)
    of = {"at": at, "request": name, "subtask": "a", "attempt": 1}
    text = f"How far is it to the fell by way {number}, and is it steep?"
    request = Request(id=name, user="U1", text=text, at=at, look_back="thread")
    yield ev.RequestAdded(at=at, place=PLACE, request=request)
    yield ev.MaterialGathered(at=at, request=name)
    yield ev.Posted(at=at, request=name, key=card_key(name), ts=f"{at + 0.1}")
    part = Subtask(id="a", title="Look it up", intent=f"Look up how long way {number} is.", specialist="analyst")
    yield ev.PlanProposed(at=at, request=name, plan=Plan(goal="The way", subtasks=(part,)), members=MEMBERS)
    yield ev.AttemptStarted.model_validate({**of, "specialist": "analyst", "tier": "balanced"})
    said = Result(summary="Steep.", content=f"Way {number} is steep: see https://example.com/{number}.")
    yield ev.ResultReturned.model_validate({**of, "result": said, "private": False})
    yield ev.AnswerWritten(at=at, request=name, text=f"Way {number} is {number + 400} km, and steep.")
    yield ev.Posted(at=at, request=name, key=answer_key(name), ts=f"{at + 0.2}")
    yield ev.Posted(at=at, request=name, key=card_end_key(name), ts=f"{at + 0.1}")


def looked_at(before: Job | None, event: ev.Event) -> Job:
    """A job after an event, looked at as a bot does."""
    after = apply(before, event)
    outstanding(after, event.at)
    projection(after)
    deeds_of(before, event, after)
    if before is not None:
        has_new_title(before, after)
    ask = after.latest
    if isinstance(event, ev.RequestAdded):
        read_until(after, ask)
    if isinstance(event, ev.MaterialGathered):
        of_request(after, ask)
    if isinstance(event, ev.AttemptStarted):
        handoff_for(after, ask, ask.work["a"], event.at, texts_of(after, ask))
        provenance_of(after, ask, ask.work["a"])
    if isinstance(event, ev.AnswerWritten):
        known_addresses(after, ask)
        find_unsupported_figures("Way 7 is 1,407 km.", ("1,407 km", said_before(after, ask)))
    return after


def with_requests(first: int, last: int, job: Job | None = None) -> Job:
    """A thread after so many requests."""
    for number in range(first, last):
        for event in log_of(number):
            job = looked_at(job, event)
    assert job is not None
    return job


def calls_of(work: Callable[[], object]) -> int:
    """How many calls of functions some work makes."""
    count = 0

    def note(_frame: FrameType, what: str, _given: object) -> None:
        nonlocal count
        count += what == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_a_request_costs_next_to_nothing_for_each_before_it() -> None:
    early = with_requests(1, FEW)
    first = calls_of(lambda: with_requests(FEW, FEW + 1, early))
    late = with_requests(FEW, MANY, early)
    last = calls_of(lambda: with_requests(MANY, MANY + 1, late))
    assert (last - first) / (MANY - FEW) <= A_REQUEST
    assert late.asks[-1].state == "completed"


def test_whose_words_are_in_a_brief_is_found_in_a_thread_of_any_length() -> None:
    job: Job | None = None
    for number in range(1, DEEP):
        for event in log_of(number):
            job = apply(job, event)
    for event in list(log_of(DEEP))[:4]:
        job = apply(job, event)
    assert job is not None
    found = provenance_of(job, job.latest, job.latest.work["a"])
    assert len(found.words) == DEEP
    assert found.private == ()


# ---------------------------------------------------------------- what is kept with a value


@once
def letters(ask: Ask) -> list[str]:
    """A new list each time that it is worked out."""
    return list(ask.request.text)


@once
def together(job: Job, ask: Ask) -> list[str]:
    """The same, of a request in a job."""
    return [one.id for one in job.asks if one is not ask]


def test_what_is_kept_belongs_to_one_value_and_to_no_copy_of_it() -> None:
    job = with_requests(1, 3)
    one, other = job.asks
    assert letters(one) is letters(one)
    assert together(job, one) is together(job, one)
    assert (together(job, one), together(job, other)) == ([other.id], [one.id])
    changed = replace(one, request=one.request.model_copy(update={"text": "No"}))
    assert letters(changed) == ["N", "o"]
    assert replace(one) == one
    assert letters(replace(one)) is not letters(one)
    assert together(replace(job, asks=(changed, other)), changed) == [other.id]


def test_a_thread_is_named_anew_where_a_request_before_is_withdrawn() -> None:
    """What is kept of a row of requests holds only for that row."""
    job = with_requests(1, 4)
    assert subject_of(job) is job.asks[0]
    gone = replace(job, asks=(replace(job.asks[0], withdrawn=True), *job.asks[1:]))
    assert subject_of(gone) is gone.asks[1]
    assert subject_of(job) is job.asks[0]
