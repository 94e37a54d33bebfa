"""Whom a question is for, who is reminded of it and when by their own clock, and what follows without an answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff import events as ev
from handoff.approval_values import Approval, ApprovalTerms
from handoff.briefs.provenance import list_people_words
from handoff.contracts import (
    AskingTerms,
    ChannelTerms,
    KnownPerson,
    MadeSpecialist,
    Member,
    Plan,
    QuietTimes,
    Request,
    RequestSetting,
    Subtask,
    Terms,
)
from handoff.conversation.working_time import add_working_seconds, format_duration, parse_duration
from handoff.effects import ExpireQuestion, PostMessage, RemindOfQuestion, make_question_key, make_reminder_key
from handoff.engine.engine import apply_event
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.engine.questions import MAX_REMINDERS, list_askable_people
from handoff.planning.adhoc import AdhocAllowance
from handoff.planning.tier_cap import cap_allowance, cap_members, cap_plan
from handoff.state.job_state import Job, replace
from handoff.state.state_values import may_answer
from handoff.summaries.summary import list_notes
from tests.handoff.kit import (
    R,
    ask,
    job,
    make_escalation_event,
    make_request_event,
    make_start_event,
    require,
    subtask,
)

HOUR = 3600.0
MONDAY_9 = 1_793_610_000.0 - 1_793_610_000.0 % 86_400 + 9 * HOUR
"""9:00 UTC of a Monday."""
PEOPLE = (
    KnownPerson(user="U2", names=("Ben Baker", "ben")),
    KnownPerson(user="U3", names=("Cleo Cole", "cleo"), offset=9 * 3600),
    KnownPerson(user="U4", names=("Ben Best",)),
)


def question(asking: AskingTerms, *, asks: tuple[str, ...] = (), **more: Any) -> Job:
    """A job whose only specialist asks at nine on Monday, and whose thread shows the question."""
    return make_waiting_job(asking, "a", make_escalation_event("a", "ambiguous_input", at=MONDAY_9, **more), asks=asks)


def make_waiting_job(asking: AskingTerms, name: str, *events: ev.Event, asks: tuple[str, ...] = ()) -> Job:
    """A job of one part whose last events, at nine on Monday, ask people something that its thread shows."""
    members = (Member(name="analyst", asks=asks),)
    plan = Plan(goal="Find out", subtasks=(subtask(name),))
    return job(
        make_request_event(),
        ev.SettingKnown(at=1.5, request=R, setting=RequestSetting(requester="Ana", people=PEOPLE)),
        ev.PlanProposed(at=2.0, request=R, plan=plan, members=members, terms=Terms(asking=asking)),
        ev.Posted(at=2.0, request=R, key=f"{R}:card", ts="9.0"),
        make_start_event(name),
        *events,
        ev.Posted(at=MONDAY_9, request=R, key=make_question_key(R, name, 1), ts="10.0"),
    )


def whom(state: Job) -> tuple[str, ...]:
    return ask(state).open_questions["a"].whom


@pytest.mark.parametrize(
    ("crew", "own", "question_fields", "expected"),
    [
        ((), (), {}, ("U1",)),
        (("anyone",), (), {}, ()),
        (("requester", "S1"), (), {}, ("U1", "S1")),
        (("U9",), ("requester",), {}, ("U1",)),
        (("U9",), (), {"message": "Cleo, which one?"}, ("U9",)),
        ((), (), {"message": "Cleo, which one?"}, ("U3",)),
        ((), (), {"message": "@U2 which one?"}, ("U2",)),
        ((), (), {"message": "<@U2>: which one?"}, ("U2",)),
        ((), (), {"whom": ["Cleo"]}, ("U3",)),
        ((), (), {"whom": ["U2", "cleo cole"]}, ("U2", "U3")),
        ((), (), {"whom": ["Ben"]}, ("U1",)),
        ((), (), {"whom": ["Ben Best"]}, ("U4",)),
        ((), (), {"message": "Ben, which one?"}, ("U1",)),
        ((), (), {"message": "Cleo wrote two figures: which one?"}, ("U1",)),
        ((), (), {"message": "@U66 which one?"}, ("U1",)),
        ((), (), {"whom": ["U66", "S1", "Mallory", "anyone"]}, ("U1",)),
    ],
)
def test_whom_a_question_is_for(
    crew: tuple[str, ...], own: tuple[str, ...], question_fields: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert whom(question(AskingTerms(whom=crew), asks=own, **question_fields)) == expected


def test_groups_count_as_their_members() -> None:
    assert may_answer(("S1",), "U5", ("S0", "S1"))
    assert not may_answer(("S1",), "U5", ("S0",))
    assert not may_answer(("U1",), "U5")
    assert may_answer((), "U5")
    answer = {"at": MONDAY_9 + 1, "request": R, "subtask": "a", "text": "this", "number": 1}
    state = question(AskingTerms(whom=("S1",)))
    assert ask(apply_event(state, ev.QuestionAnswered(**answer, user="U5"))).open_questions
    assert not ask(apply_event(state, ev.QuestionAnswered(**answer, user="U5", groups=("S1",)))).open_questions


def test_only_who_was_mentioned_or_spoke_may_be_named() -> None:
    state = job(make_request_event(text="ask @U2 and mail x@U7, @ben"))
    state = apply_event(state, ev.MessageHeard(at=2.0, message=Request(id="2.0", user="U5", text="hm", at=2.0)))
    state = apply_event(state, ev.MaterialGathered(at=2.0, request=R, speakers=("U8", "U1")))
    assert list_askable_people(state, ask(state)) == ("U2", "U8", "U5")


def test_the_planners_question_is_for_whom_it_names_too() -> None:
    setting = ev.SettingKnown(at=1.5, request=R, setting=RequestSetting(people=PEOPLE))
    asks = ev.PlannerAsked(at=2.0, request=R, question="Cleo, which year?", asking=AskingTerms())
    assert ask(job(make_request_event(), setting, asks)).open_questions[""].whom == ("U3",)
    ruled = asks.model_copy(update={"asking": AskingTerms(whom=("anyone",))})
    assert ask(job(make_request_event(), setting, ruled)).open_questions[""].whom == ()


# ---------------------------------------------------------------- reminders


def next_of(state: Job, now: float = 1e12) -> RemindOfQuestion | ExpireQuestion | None:
    found = [
        one for one in list_outstanding_effects(state, now)[0] if isinstance(one, RemindOfQuestion | ExpireQuestion)
    ]
    assert len(found) <= 1
    return found[0] if found else None


def remind_people(state: Job, at: float) -> Job:
    """The job after the reminder that is due, and its message."""
    effect = next_of(state, at)
    assert isinstance(effect, RemindOfQuestion)
    state = apply_event(state, ev.QuestionReminded(at=at, request=R, subtask="a", number=1, to=effect.recipients))
    key = make_reminder_key(R, "a", 1, len(ask(state).open_questions["a"].reminders))
    assert PostMessage(R, key) in list_outstanding_effects(state, at)[0]
    return apply_event(state, ev.Posted(at=at, request=R, key=key, ts=f"{at}"))


def test_nobody_is_reminded_unless_it_is_set_and_a_requester_who_was_asked_once() -> None:
    assert list_outstanding_effects(question(AskingTerms()), 1e12) == ([], None)
    state = remind_people(question(AskingTerms(remind_after=HOUR)), MONDAY_9 + HOUR)
    assert list_outstanding_effects(state, 1e12) == ([], None)
    anybody = question(AskingTerms(whom=("anyone",), then=("U2",), remind_after=HOUR))
    assert next_of(anybody, MONDAY_9 + HOUR) == RemindOfQuestion(R, "a", 1, ("U1",))
    assert whom(remind_people(remind_people(anybody, MONDAY_9 + HOUR), MONDAY_9 + 2 * HOUR)) == (), (
        "it stays for anybody"
    )


def test_first_who_was_asked_then_the_next_then_the_requester_and_then_nobody() -> None:
    state = question(AskingTerms(whom=("U2",), then=("U3", "S1"), remind_after=4 * HOUR))
    first = MONDAY_9 + 4 * HOUR
    assert list_outstanding_effects(state, first - 1) == ([], first)
    state = remind_people(state, first)
    assert whom(state) == ("U2",)
    second = list_outstanding_effects(state, first)[1]
    assert second == MONDAY_9 + 19 * HOUR, "four hours of U3's work, who is nine hours ahead and off until the morning"
    state = remind_people(state, second)
    assert whom(state) == ("U2", "U3"), "who is brought in may answer"
    for expected in (("U2", "U3", "S1"), ("U2", "U3", "S1", "U1")):
        due = require(list_outstanding_effects(state, second)[1])
        state = remind_people(state, due)
        assert whom(state) == expected
    assert list_outstanding_effects(state, 1e12) == ([], None)
    assert len(ask(state).open_questions["a"].reminders) == MAX_REMINDERS


def test_an_answer_ends_reminders_and_a_late_one_changes_nothing() -> None:
    state = question(AskingTerms(remind_after=HOUR))
    said = ev.QuestionAnswered(at=MONDAY_9 + 60, request=R, subtask="a", user="U1", text="this", number=1)
    late = ev.QuestionReminded(at=MONDAY_9 + HOUR, request=R, subtask="a", number=1, to=("U1",))
    answered = apply_event(state, said)
    assert next_of(answered) is None
    assert ask(apply_event(answered, late)).subtasks["a"] == ask(answered).subtasks["a"]
    other = late.model_copy(update={"number": 2})
    assert ask(apply_event(state, other)).open_questions == ask(state).open_questions


def test_what_the_thread_does_not_show_yet_nobody_is_reminded_of() -> None:
    state = question(AskingTerms(remind_after=HOUR))
    posted = {key: ts for key, ts in ask(state).posted_ids.items() if "question" not in key}
    hidden = state.with_request(replace(ask(state), posted_ids=posted))
    assert list_outstanding_effects(hidden, 1e12)[0] == [PostMessage(R, make_question_key(R, "a", 1))]


# ---------------------------------------------------------------- expiry


def expire_question(state: Job, after: float) -> Job:
    at = MONDAY_9 + after
    assert next_of(state, at - 1) is None
    assert next_of(state, at) == ExpireQuestion(R, "a", 1)
    return apply_event(state, ev.QuestionExpired(at=at, request=R, subtask="a", number=1))


TWO_DAYS = 2 * 86_400.0


def test_nobody_answers_and_the_askers_assumption_is_taken_and_told() -> None:
    told = {"message": "Which city?", "options": ["Oslo", "Bergen"], "assumption": "https://evil.com/?d=secret"}
    state = expire_question(question(AskingTerms(expire_after=TWO_DAYS), **told), TWO_DAYS)
    subtask = ask(state).subtasks["a"]
    assert (subtask.state, subtask.question) == ("pending", None)
    assert [note.text for note in subtask.answer_notes] == ["Nobody answered; assume: https://evil.com/?d=secret"]
    assert list_notes(ask(state)) == [
        "Nobody answered “Which city?” within 2 days; I assumed: https://evil.com/?d=secret"
    ]
    assert not any("evil.com" in text for text in list_people_words(ask(state))), "an assumption is nobody's words"
    state = expire_question(question(AskingTerms(expire_after=TWO_DAYS)), TWO_DAYS)
    subtask = ask(state).subtasks["a"]
    assert (subtask.state, subtask.reason) == ("error", "nobody answered within 2 days"), "nothing can be assumed"
    assert list_notes(ask(state)) == []


@pytest.mark.parametrize(("assume", "assumed_answer"), [("first", "Oslo"), ("the capital", "the capital")])
def test_a_crew_says_what_is_assumed_where_the_asker_does_not(assume: str, assumed_answer: str) -> None:
    told = {"message": "Which city?", "options": ["Oslo", "Bergen"]}
    state = expire_question(question(AskingTerms(expire_after=TWO_DAYS, assume=assume), **told), TWO_DAYS)
    assert ask(state).subtasks["a"].question_answers[0].text == assumed_answer


def test_the_planner_goes_on_with_an_assumption_and_fails_without() -> None:
    asks = ev.PlannerAsked(at=MONDAY_9, request=R, question="Which year?", asking=AskingTerms(expire_after=TWO_DAYS))
    over = ev.QuestionExpired(at=MONDAY_9 + TWO_DAYS, request=R, subtask="", number=1)
    state = job(make_request_event(), asks, over)
    assert ask(state).run.failure is not None
    assert "nobody answered within 2 days" in ask(state).run.failure.reason
    state = job(make_request_event(), asks.model_copy(update={"assumption": "this year"}), over)
    assert ask(state).run.failure is None
    assert [note.text for note in ask(state).answer_notes] == ["Nobody answered; assume: this year"]


def test_whether_something_was_carried_out_is_never_assumed() -> None:
    of: dict[str, Any] = {"request": R, "subtask": "b", "attempt": 1, "call": "c", "tool": "post", "what": "Post it"}
    doubt = ev.ToolInDoubt(at=MONDAY_9, reason="lost", **of)
    state = make_waiting_job(AskingTerms(expire_after=1.0, remind_after=HOUR), "b", ev.ToolStarted(at=4.0, **of), doubt)
    assert next_of(state) == RemindOfQuestion(R, "b", 1, ("U1",))
    after = apply_event(state, ev.QuestionExpired(at=MONDAY_9 + TWO_DAYS, request=R, subtask="b", number=1))
    assert ask(after).open_questions == ask(state).open_questions


def approving(asking: AskingTerms) -> Job:
    """A job whose specialist waits for Cleo's approval."""
    terms = ApprovalTerms(approvers=("U3",))
    wanted = Approval(call="c", tool="post", what="post tea", arguments={}, digest="d", terms=terms)
    return make_waiting_job(
        asking, "a", ev.ApprovalAsked(at=MONDAY_9, request=R, subtask="a", attempt=1, approval=wanted)
    )


def test_of_an_approval_only_those_are_reminded_who_may_decide() -> None:
    state = approving(AskingTerms(then=("U2",), remind_after=HOUR))
    state = remind_people(state, require(list_outstanding_effects(state, MONDAY_9)[1]))
    assert ask(state).open_questions["a"].reminders[0].to == ("U3",)
    assert whom(state) == ("U3",)
    assert list_outstanding_effects(state, 1e12) == ([], None)


def test_an_approval_expires_and_is_neither_denied_nor_assumed() -> None:
    state = expire_question(approving(AskingTerms(expire_after=TWO_DAYS, assume="first")), TWO_DAYS)
    (closed,) = ask(state).subtasks["a"].question_answers
    assert require(closed.ruling).outcome == "expired"
    assert ask(state).subtasks["a"].state == "in_progress"
    assert list_notes(ask(state)) == []


# ---------------------------------------------------------------- working time

USUAL = AskingTerms()


def utc(text: str) -> float:
    """A moment of the week of Monday 2 November 2026, such as `Mon 09:30`, in UTC."""
    day, _, clock = text.partition(" ")
    hour, minute = clock.split(":")
    number = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun").index(day)
    return datetime(2026, 11, 2 + number, int(hour), int(minute), tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("since", "hours", "offset", "until"),
    [
        ("Mon 09:30", 4, 0, "Mon 13:30"),
        ("Mon 16:00", 4, 0, "Tue 11:00"),
        ("Mon 03:00", 4, 0, "Mon 13:00"),
        ("Mon 22:00", 1, 0, "Tue 10:00"),
        ("Mon 14:00", 4, 0, "Tue 09:00"),
        ("Mon 09:30", 0, 0, "Mon 09:30"),
        ("Mon 20:00", 0, 0, "Tue 09:00"),
        ("Mon 09:30", 1, 9, "Tue 01:00"),
        ("Mon 22:00", 1, -8, "Mon 23:00"),
    ],
)
def test_hours_of_work_pass_in_the_hours_of_work(since: str, hours: float, offset: int, until: str) -> None:
    assert add_working_seconds(utc(since), hours * HOUR, USUAL, offset * 3600) == utc(until)


def test_a_weekend_does_not_count() -> None:
    monday = utc("Mon 09:00") + 7 * 86_400
    assert add_working_seconds(utc("Fri 17:00"), 2 * HOUR, USUAL, 0) == monday + HOUR
    assert add_working_seconds(utc("Sat 12:00"), HOUR, USUAL, 0) == monday + HOUR
    assert add_working_seconds(utc("Sat 12:00"), HOUR, AskingTerms(days=6), 0) == utc("Sat 13:00")


@given(
    st.floats(min_value=0, max_value=4e9),
    st.floats(min_value=0, max_value=60 * HOUR),
    st.integers(min_value=-12, max_value=14),
    st.integers(min_value=1, max_value=7),
)
def test_nobody_is_reminded_in_the_night_or_early(since: float, seconds: float, offset: int, days: int) -> None:
    found = add_working_seconds(since, seconds, AskingTerms(days=days), offset * 3600)
    local = datetime.fromtimestamp(found, UTC) + timedelta(hours=offset)
    assert found >= since + seconds - 0.01
    inexact = timedelta(milliseconds=10)
    assert (local + inexact).hour >= 9
    assert (local - inexact).hour < 18
    assert local.weekday() < days


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("4h", 14_400), ("30 min", 1_800), ("2 days", 172_800), ("1.5 hours", 5_400), ("never", 0), ("1d", 86_400)],
)
def test_spans_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "4", "soon", "0h", "-1h", "4h 30m", "1 year"])
def test_what_is_no_span_is_not_taken_for_one(text: str) -> None:
    assert parse_duration(text) is None


def test_spans_are_said() -> None:
    said = [format_duration(seconds) for seconds in (86_400, 172_800, 5_400, 3_600, 600, 30)]
    assert said == ["1 day", "2 days", "1.5 hours", "1 hour", "10 minutes", "30 seconds"]


# ---------------------------------------------------------------- what a channel asks for

ASKING = AskingTerms(remind_after=4 * HOUR)


def utc_of(text: str) -> float:
    """Seconds since the epoch of a moment in UTC."""
    return datetime.fromisoformat(f"{text}+00:00").timestamp()


@pytest.mark.parametrize(
    ("quiet", "asked_at", "reminded_at"),
    [
        (QuietTimes(), "2026-03-04T10:00", "2026-03-04T14:00"),
        (QuietTimes(begins=13 * 60, ends=15 * 60), "2026-03-04T10:00", "2026-03-04T15:00"),
        (QuietTimes(begins=13 * 60, ends=15 * 60, offset=-2 * HOUR), "2026-03-04T11:00", "2026-03-04T17:00"),
        (QuietTimes(begins=13 * 60, ends=10 * 60), "2026-03-04T10:00", "2026-03-05T10:00"),
        # A Friday: nor on a weekend.
        (
            QuietTimes(begins=13 * 60, ends=10 * 60),
            "2026-03-06T10:00",
            "2026-03-09T10:00",
        ),
        # Nothing of the work is left.
        (
            QuietTimes(begins=8 * 60, ends=19 * 60),
            "2026-03-04T10:00",
            "2026-03-04T19:00",
        ),
    ],
)
def test_no_reminder_comes_in_quiet_hours_nor_out_of_working_hours(
    quiet: QuietTimes, asked_at: str, reminded_at: str
) -> None:
    assert add_working_seconds(utc_of(asked_at), ASKING.remind_after, ASKING, 0, quiet) == utc_of(reminded_at)


def test_members_and_parts_are_lowered_and_nobody_can_be_raised() -> None:
    members = (
        Member(name="a", tier="deep"),
        Member(name="b", tier="fast"),
        Member(name="own", tier="deep", tiers=("deep",)),
    )
    capped = {
        one.name: (one.tier, one.tiers) for one in cap_members(members, "balanced", own_model_names=frozenset({"own"}))
    }
    assert capped == {
        "a": ("balanced", ("fast", "balanced")),
        "b": ("fast", ("fast", "balanced")),
        "own": ("deep", ("deep",)),
    }
    made = MadeSpecialist(name="new", description="Does it.", brief="Do it.", why="Nobody can.", tier="balanced")
    parts = [Subtask(id=f"s{n}", title="t", intent="i", specialist=who, tier="deep") for n, who in enumerate("ab")]
    parts.append(Subtask(id="m", title="t", intent="i", specialist="new", tier="deep"))
    plan = cap_plan(Plan(goal="g", subtasks=tuple(parts), made=(made,)), "balanced")
    assert [one.tier for one in plan.subtasks] == ["balanced", "balanced", None]


def test_only_lower_tiers_are_lent_and_none_if_there_are_none() -> None:
    assert cap_allowance(AdhocAllowance(tiers=("fast", "deep")), "balanced") == AdhocAllowance(tiers=("fast",))
    assert cap_allowance(AdhocAllowance(tiers=("deep",)), "balanced") is None
    assert cap_allowance(None, "deep") is None


def test_a_channel_that_asks_for_nothing_leaves_no_trace_in_the_log() -> None:
    known = ev.SettingKnown(at=1.0, request="r", setting=RequestSetting(requester="Ana"))
    assert "here" not in ev.dump_event(known)
    asks = ChannelTerms(instructions="In EUR.", highest="fast", quiet=QuietTimes(begins=60, offset=-60))
    known = ev.SettingKnown(at=1.0, request="r", setting=RequestSetting(here=asks))
    assert ev.load_event(ev.dump_event(known)) == known
