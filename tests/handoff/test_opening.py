"""A log opened quickly is the log folded, whatever stands in it; and what befalls a job's owners changes no request."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.slack.receive.thread_reader import find_last_read_ts
from bot.slack.show.session import has_new_title
from handoff import events as ev
from handoff.briefs.addresses import list_known_addresses
from handoff.briefs.handoff_builder import join_earlier_requests, make_handoff
from handoff.briefs.provenance import derive_provenance
from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import Place, Plan, Request, Result, Subtask, ToolReply, Turn, Usage
from handoff.effects import make_answer_key, make_card_end_key, make_card_key
from handoff.engine.engine import apply_event, fold_log
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.engine.replay import _select_needed_lines, parse_log
from handoff.events import NewerEventError
from handoff.materials.material_lists import collect_log_texts
from handoff.planning.plan_brief import make_request_brief
from handoff.state.job_state import ENDED_STATES, Job, RequestState, replace
from handoff.state.value_cache import cache_on_value
from handoff.summaries.audit_events import derive_audit_entries
from handoff.summaries.summary import make_summary_fields
from handoff.summaries.thread_subject import find_subject_request
from tests.bench.long_log import long_log
from tests.handoff.kit import MEMBERS, PLACE, job, require
from tests.handoff.test_engine_properties import MEMBERS as CREW
from tests.handoff.test_engine_properties import World

OWNERS = (ev.TakenOver, ev.SetAside, ev.Released)
SEEDS = st.integers(0, 2**32)


def make_request_event(request: str, at: float) -> ev.RequestAdded:
    place = Place(team="T", channel="C", thread_ts="1.0")
    return ev.RequestAdded(at=at, place=place, request=Request(id=request, user="U", text="t", at=at))


def of_owners(rng: random.Random, at: float) -> ev.Event:
    kind = rng.choice(OWNERS)
    if kind is ev.TakenOver:
        return ev.TakenOver(at=at, owner="o", lost=rng.randint(1, 3))
    return ev.SetAside(at=at, step="s", reason="r") if kind is ev.SetAside else ev.Released(at=at, user="U")


def odd(rng: random.Random, log: Sequence[ev.Event], at: float) -> ev.Event:
    """What may come in between, fitting or not: checkpoints, ends, and things that were there before."""
    about: dict[str, Any] = {
        "at": at,
        "request": "1.0",
        "subtask": rng.choice(("s0", "s1")),
        "attempt": rng.randint(1, 3),
    }
    turn = {"text": 'a "quoted" \\ text', "stop": "end", "usage": {}}
    reply = {"call_id": "c", "text": "", "failed": False}
    kinds: list[ev.Event] = [
        rng.choice(log),
        ev.TurnTaken(**about, turn=turn),
        ev.ToolReturned(**about, reply=reply),
        ev.AttemptFailed(**about, kind="model", message="m"),
        ev.AnswerWritten(at=at, request="1.0", text="t"),
        ev.RequestFailed(at=at, request="1.0", step="s", reason="r", advice="a"),
        ev.PlanRejected(at=at, request="1.0", faults=("f",)),
        ev.CancelRequested(at=at, user="U"),
    ]
    return rng.choice(kinds)


def play_requests(seed: int, *, owners: float = 0.0, oddities: float = 0.0) -> list[ev.Event]:
    """The log of two requests that were worked on, each to its end, with other events strewn in."""
    world = World(seed)
    rng = random.Random(seed + 1)
    log: list[ev.Event] = [make_request_event("1.0", 1.0)]
    job = apply_event(None, log[0])
    for step in range(300):
        while (new := world.take_step(job)) == []:
            pass
        if not new and len(job.requests) == 1:
            new = [make_request_event("2.0", world.now)]
        if not new:
            break
        if rng.random() < owners:
            new = [*new, of_owners(rng, world.now)]
        if rng.random() < oddities and step > 2:
            new = [*new, *(odd(rng, log, world.now) for _ in range(rng.randint(1, 3)))]
        world.now += 0.5
        for event in new:
            job = apply_event(job, event)
        log += new
    return log


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_a_log_opened_is_the_log_folded(seed: int) -> None:
    log = play_requests(seed, owners=0.1, oddities=0.2)
    lines = [ev.dump_event(event) for event in log]
    assert parse_log(lines) == fold_log(log)
    rng = random.Random(seed)
    rng.shuffle(log)
    mixed = [ev.dump_event(log[0]), *(other_form(rng, ev.dump_event(event)) for event in log[1:])]
    if isinstance(log[0], ev.RequestAdded):
        assert parse_log(mixed) == fold_log(log)
    else:
        with pytest.raises(ValueError, match="begins with RequestAdded"):
            parse_log(mixed)


def other_form(rng: random.Random, line: str) -> str:
    """The same event as something else may have written it."""
    event = json.loads(line)
    names = list(event)
    rng.shuffle(names)
    return rng.choice(
        [line, line.replace(f'"v":{ev.SCHEMA}}}', '"v":1}'), json.dumps({name: event[name] for name in names})]
    )


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_what_befalls_the_owners_changes_no_request(seed: int) -> None:
    log = play_requests(seed, owners=0.3)
    job = require(fold_log(log))
    assert job.seq == len(log)
    assert all(request.state in ENDED_STATES for request in job.requests)
    assert job.takeover_count == sum(isinstance(event, ev.TakenOver) for event in log)
    last = next((event for event in reversed(log) if isinstance(event, ev.SetAside | ev.Released)), None)
    assert (job.quarantine is not None) == isinstance(last, ev.SetAside)
    without = require(fold_log(event for event in log if not isinstance(event, OWNERS)))
    assert replace(job, seq=0, takeover_count=0, quarantine=None) == replace(without, seq=0)
    assert list_outstanding_effects(job, 1e9) == list_outstanding_effects(without, 1e9)


def make_running_log(*names: str) -> list[ev.Event]:
    """A job whose subtasks are all under way, each with a turn taken."""
    subtasks = tuple(Subtask(id=name, title=name, intent="do all of this", specialist="a") for name in names)
    log: list[ev.Event] = [make_request_event("1.0", 1.0)]
    log.append(ev.PlanProposed(at=2.0, request="1.0", plan=Plan(goal="g", subtasks=subtasks), members=CREW))
    log += [ev.AttemptStarted(**of(name), specialist="a", tier="balanced") for name in names]
    return log + [ev.TurnTaken(**of(name), turn=Turn(text=name, stop="end", usage=Usage())) for name in names]


def of(name: str) -> dict[str, Any]:
    return {"at": 3.0, "request": "1.0", "subtask": name, "attempt": 1}


def make_result_event(name: str) -> ev.Event:
    return ev.ResultReturned(**of(name), result=Result(summary="s", content="c"))


def test_an_end_that_came_too_late_ends_nothing_and_names_with_quotes_are_kept_apart() -> None:
    state = job(*make_running_log("s0", "s1"), ev.CancelRequested(at=4.0, user="U"), make_result_event("s0"))
    assert len(state.latest_request.subtasks["s0"].checkpoints) == 1, "the request had ended before the attempt did"
    state = job(*make_running_log('"a', '"b'), make_result_event('"a'))
    assert len(state.latest_request.subtasks['"b'].checkpoints) == 1


def test_what_an_attempt_wrote_is_remembered_in_whatever_form_it_stands() -> None:
    intent = ev.ToolStarted(**of("s0"), call="c", tool="post", what="post it", digest="d")
    log = [
        *make_running_log("s0", "s1"),
        intent,
        ev.ToolReturned(**of("s0"), reply=ToolReply(call_id="c", text="")),
        make_result_event("s0"),
    ]
    lines = [ev.dump_event(event) for event in log]
    for form in (lines, [json.dumps(json.loads(line)) if "ToolStarted" in line else line for line in lines]):
        job = parse_log(form)
        assert job == fold_log(log)
        assert job is not None
        assert job.latest_request.subtasks["s0"].earlier_writes


def test_lines_that_do_not_matter_are_not_read() -> None:
    lines = [ev.dump_event(event) for event in long_log(1200)]
    kept = _select_needed_lines(lines)
    assert len(kept) < len(lines) / 4
    whole = fold_log(map(ev.load_event, lines))
    assert parse_log(lines) == whole
    assert whole is not None
    assert any(subtask.checkpoints for subtask in whole.latest_request.subtasks.values()), (
        "those of the attempts under way are kept"
    )
    damaged = [line if line in kept else line.replace('"turn":{', '"turn":{{') for line in lines]
    assert parse_log(damaged) == whole, "what an attempt left that is over may even be damaged"


def test_a_look_at_a_result_keeps_nobody_from_not_reading_what_ended() -> None:
    refined = ev.BriefRefined(**of("s0"), intent="i")
    log = [*make_running_log("s0", "s1"), make_result_event("s0"), refined, make_result_event("s1")]
    lines = [ev.dump_event(event) for event in log]
    assert not any("TurnTaken" in line for line in _select_needed_lines(lines))
    assert parse_log(lines) == fold_log(log)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_newer_event_anywhere_is_named(place: int) -> None:
    lines = [
        ev.dump_event(make_request_event("1.0", 1.0)),
        ev.dump_event(ev.Released(at=1.0, user="U")),
        ev.dump_event(make_request_event("2.0", 1.0)),
    ]
    lines[place] = lines[place].replace(f'"v":{ev.SCHEMA}}}', f'"v":{ev.SCHEMA + 5}}}')
    with pytest.raises(
        NewerEventError, match=rf"schema {ev.SCHEMA + 5}, and this release knows up to {ev.SCHEMA}: run the"
    ):
        parse_log(lines)


# ---------------------------------------------------------------- threads of hundreds of requests

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
    yield ev.Posted(at=at, request=name, key=make_card_key(name), ts=f"{at + 0.1}")
    part = Subtask(id="a", title="Look it up", intent=f"Look up how long way {number} is.", specialist="analyst")
    yield ev.PlanProposed(at=at, request=name, plan=Plan(goal="The way", subtasks=(part,)), members=MEMBERS)
    yield ev.AttemptStarted.model_validate({**of, "specialist": "analyst", "tier": "balanced"})
    said = Result(summary="Steep.", content=f"Way {number} is steep: see https://example.com/{number}.")
    yield ev.ResultReturned.model_validate({**of, "result": said, "private": False})
    yield ev.AnswerWritten(at=at, request=name, text=f"Way {number} is {number + 400} km, and steep.")
    yield ev.Posted(at=at, request=name, key=make_answer_key(name), ts=f"{at + 0.2}")
    yield ev.Posted(at=at, request=name, key=make_card_end_key(name), ts=f"{at + 0.1}")


def looked_at(before: Job | None, event: ev.Event) -> Job:
    """A job after an event, looked at as a bot does."""
    after = apply_event(before, event)
    list_outstanding_effects(after, event.at)
    make_summary_fields(after)
    derive_audit_entries(before, event, after)
    if before is not None:
        has_new_title(before, after)
    request = after.latest_request
    if isinstance(event, ev.RequestAdded):
        find_last_read_ts(after, request)
    if isinstance(event, ev.MaterialGathered):
        make_request_brief(after, request)
    if isinstance(event, ev.AttemptStarted):
        make_handoff(after, request, request.subtasks["a"], event.at, collect_log_texts(after, request))
        derive_provenance(after, request, request.subtasks["a"])
    if isinstance(event, ev.AnswerWritten):
        list_known_addresses(after, request)
        find_unsupported_figures("Way 7 is 1,407 km.", ("1,407 km", join_earlier_requests(after, request)))
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

    def note(_frame: FrameType, what: str, _argument: object) -> None:
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
    assert late.requests[-1].state == "completed"


def test_whose_words_are_in_a_brief_is_found_in_a_thread_of_any_length() -> None:
    job: Job | None = None
    for number in range(1, DEEP):
        for event in log_of(number):
            job = apply_event(job, event)
    for event in list(log_of(DEEP))[:4]:
        job = apply_event(job, event)
    assert job is not None
    found = derive_provenance(job, job.latest_request, job.latest_request.subtasks["a"])
    assert len(found.requester_texts) == DEEP
    assert found.private_names == ()


# ---------------------------------------------------------------- what is kept with a value


@cache_on_value
def letters(request: RequestState) -> list[str]:
    """A new list each time that it is worked out."""
    return list(request.spec.text)


@cache_on_value
def together(job: Job, request: RequestState) -> list[str]:
    """The same, of a request in a job."""
    return [one.id for one in job.requests if one is not request]


def test_what_is_kept_belongs_to_one_value_and_to_no_copy_of_it() -> None:
    job = with_requests(1, 3)
    one, other = job.requests
    assert letters(one) is letters(one)
    assert together(job, one) is together(job, one)
    assert (together(job, one), together(job, other)) == ([other.id], [one.id])
    changed = replace(one, spec=one.spec.model_copy(update={"text": "No"}))
    assert letters(changed) == ["N", "o"]
    assert replace(one) == one
    assert letters(replace(one)) is not letters(one)
    assert together(replace(job, requests=(changed, other)), changed) == [other.id]


def test_a_thread_is_named_anew_where_a_request_before_is_withdrawn() -> None:
    """What is kept of a row of requests holds only for that row."""
    job = with_requests(1, 4)
    assert find_subject_request(job) is job.requests[0]
    gone = replace(job, requests=(replace(job.requests[0], is_withdrawn=True), *job.requests[1:]))
    assert find_subject_request(gone) is gone.requests[1]
    assert find_subject_request(job) is job.requests[0]
