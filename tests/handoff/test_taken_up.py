"""Second tries in the core: what is kept, what begins afresh, what people decide first, and that each try ends once."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff import events as ev
from handoff.access import rights
from handoff.approval_values import Approval, ApprovalTerms
from handoff.contracts import Artifact, Attachment, Material, Request, ToolReply, Turn, Usage
from handoff.conversation.retry_words import RetryRef, RetryWish, parse_retry_wish, repeats_last_request
from handoff.effects import Effect, MakePlan, PostMessage, RunSubtask, make_file_key
from handoff.engine import retry
from handoff.engine.engine import apply_event, fold_log
from handoff.engine.replay import parse_log
from handoff.materials.deletions import DELETED_FAULT
from handoff.materials.material_lists import list_material
from handoff.state.job_state import ENDED_STATES, SETTLED_STATES, Job, RequestState
from handoff.state.state_values import Ruling
from handoff.summaries.audit_events import derive_audit_entries
from handoff.summaries.step_lookup import find_step, render_step_line
from tests.handoff.kit import (
    MEMBERS,
    PLACE,
    R,
    effects,
    job,
    make_end_events,
    make_escalation_event,
    make_failure_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    require,
    running,
    subtask,
)
from tests.handoff.test_levels import at_law, fail_subtask, finish_subtask, of_kind, part, up, within
from tests.handoff.test_levels_properties import Levels

FIVE = (subtask("t1"), subtask("t2"), subtask("t3", "t1"), subtask("t4", "t2"), subtask("t5", "t3", "t4"))
AGAIN = "2.0"


def all_failed(name: str, request: str = R) -> list[ev.Event]:
    """A part that fails for good: the writer has nobody who steps in."""
    return [make_start_event(name, request=request), make_failure_event(name, failed_calls=3, request=request)]


def make_finish_events(*names: str, **more: Any) -> list[ev.Event]:
    return [event for name in names for event in (make_start_event(name), make_result_event(name, **more))]


def wants(
    mode: Any = "retry", *, step: str = "", user: str = "U1", request: str = AGAIN, **more: Any
) -> ev.RequestAdded:
    files = more.pop("files", ())
    body = Request(id=request, user=user, text="retry", at=10.0, attachments=files)
    again = RetryRef.model_validate({"of": more.pop("of", R), "mode": mode, "step": step, **more})
    return ev.RequestAdded(at=10.0, place=PLACE, request=body, again=again)


def propose_plan(state: Job, at: float = 11.0) -> Job:
    """What whoever makes plans does of a second try: the plan of the request before it."""
    request = state.requests[-1]
    assert request.earlier_try is not None
    assert request.retry_ref is not None
    assert request.earlier_try.run.plan is not None
    kept = retry.list_reused_subtasks(request.earlier_try, request.retry_ref)
    of = {"at": at, "request": request.id, "plan": request.earlier_try.run.plan, "members": MEMBERS, "kept": kept}
    return apply_event(state, ev.PlanProposed.model_validate(of))


def in_part(*before: ev.Event) -> Job:
    """T1 failed, T3 was skipped, and T5 was done without T3."""
    return job(
        make_request_event(),
        *before,
        make_plan_event(*FIVE),
        *all_failed("t1"),
        *make_finish_events("t2", "t4", "t5"),
        *make_end_events(),
    )


def test_what_failed_is_run_again_with_all_that_builds_on_it() -> None:
    state = propose_plan(apply_event(in_part(), wants()))
    first, again = state.requests
    assert {name: subtask.state for name, subtask in first.subtasks.items()}["t3"] == "skipped"
    assert again.spec.text == "why did churn rise", "its words are those of the request that it takes up"
    assert {name for name, subtask in again.subtasks.items() if subtask.is_reused} == {"t2", "t4"}
    assert again.subtasks["t2"].result == first.subtasks["t2"].result
    assert running(state) == [("t1", 1, "analyst")]
    assert again.usage == Usage(), "only what it takes itself is its own"


def test_from_a_step_what_it_needs_and_lacks_is_run_as_well() -> None:
    first = in_part().requests[0]
    assert retry.list_rerun_subtasks(first, RetryRef(of=R, step="t4")) == {"t4", "t5", "t3", "t1"}
    assert retry.list_rerun_subtasks(first, RetryRef(of=R, step="t3")) == {"t1", "t3", "t5"}
    assert retry.list_rerun_subtasks(first, RetryRef(of=R, mode="whole")) == {"t1", "t2", "t3", "t4", "t5"}


def test_of_one_part_alone_the_answer_is_written_anew() -> None:
    """All that failed was the answer: what the parts brought is enough for it."""
    broke = ev.RequestFailed(at=6.0, request=R, step="writing the answer", reason="away", advice="again")
    two = job(
        make_request_event(),
        make_plan_event(FIVE[0], FIVE[1]),
        *make_finish_events("t1", "t2"),
        broke,
        *make_end_events(text=None),
    )
    state = propose_plan(apply_event(two, wants()))
    assert [type(one).__name__ for one in effects(state) if not isinstance(one, PostMessage)] == ["WriteAnswer"]
    lone = job(make_request_event(), make_plan_event(FIVE[0]), *all_failed("t1"), *make_end_events(text=None))
    assert running(propose_plan(apply_event(lone, wants()))) == [("t1", 1, "analyst")]


def make_stopped_job(*points: ev.Event) -> Job:
    stop = ev.CancelRequested(at=8.0, user="U1")
    log = (
        make_plan_event(FIVE[0], FIVE[1]),
        *make_finish_events("t2"),
        make_start_event("t1"),
        *points,
        stop,
        *make_end_events(text=None),
    )
    return job(make_request_event(), *log)


TURN = ev.TurnTaken(
    at=4.0, request=R, subtask="t1", attempt=1, turn=Turn(text="", stop="tool_use", usage=Usage(calls=1, tokens_in=50))
)


def test_what_was_stopped_goes_on_from_its_last_turn_and_is_paid_once() -> None:
    state = propose_plan(apply_event(make_stopped_job(TURN), wants("continue")), at=500.0)
    first, again = state.requests
    assert first.usage.calls == 3, "two of t2, and the turn of t1"
    subtask = again.subtasks["t1"]
    assert (subtask.state, subtask.attempt, len(subtask.checkpoints), subtask.usage.calls) == ("in_progress", 1, 1, 0)
    assert sum(one.turn.usage.calls for one in subtask.checkpoints if isinstance(one, ev.TurnTaken)) == 0
    assert again.subtasks["t2"].is_reused
    effect = next(one for one in effects(state, 501.0) if isinstance(one, RunSubtask))
    assert (effect.attempt, effect.subtask) == (1, "t1"), "not late, though nobody worked on it for long"
    retried = propose_plan(apply_event(make_stopped_job(TURN), wants("retry")), at=500.0).requests[-1].subtasks["t1"]
    assert (retried.state, retried.attempt, retried.checkpoints) == ("pending", 0, ())


def test_an_open_question_is_asked_anew_where_it_goes_on() -> None:
    which = make_escalation_event("t1", "ambiguous_input", at=5.0, options=("a", "b"))
    state = propose_plan(apply_event(make_stopped_job(which), wants("continue")), at=500.0)
    question = state.requests[-1].open_questions["t1"]
    assert (question.asked_at, question.number, question.reminders) == (500.0, 1, ())
    assert f"{AGAIN}:question:t1:1" in [one.key for one in effects(state, 501.0) if isinstance(one, PostMessage)]


# ---------------------------------------------------------------- what was written


NO_SELF = ApprovalTerms(approvers=("U1", "U9"), own=False)
CALL = Approval(call="c1", tool="post", what="post tea", digest="d", terms=NO_SELF)


@pytest.mark.parametrize(("user", "is_ruling_kept"), [("U1", True), ("U9", False)])
def test_what_was_approved_for_somebody_elses_try_is_asked_for_anew(user: str, *, is_ruling_kept: bool) -> None:
    """U9 approves a call for U1, has it stopped, and takes it up: who made the request may not approve it here."""
    of: dict[str, Any] = {"request": R, "subtask": "t1"}
    asks = ev.ApprovalAsked(at=5.0, attempt=1, approval=CALL, **of)
    yes = ev.ApprovalDecided(at=6.0, number=1, digest="d", user="U9", decision="approve", **of)
    state = propose_plan(
        apply_event(make_stopped_job(TURN, asks, yes), wants("continue", user=user, admin=user == "U9")), at=500.0
    )
    rulings = [one for one in state.requests[-1].subtasks["t1"].checkpoints if isinstance(one, Ruling)]
    assert [one.users for one in rulings] == ([("U9",)] if is_ruling_kept else [])


@pytest.mark.parametrize(("user", "whom"), [("U1", ("U9",)), ("U9", ("U1",))])
def test_an_open_approval_is_put_to_those_who_may_decide_for_this_try(user: str, whom: tuple[str, ...]) -> None:
    asks = ev.ApprovalAsked(at=5.0, request=R, subtask="t1", attempt=1, approval=CALL)
    state = propose_plan(
        apply_event(make_stopped_job(TURN, asks), wants("continue", user=user, admin=user == "U9")), at=500.0
    )
    question = require(state.requests[-1].subtasks["t1"].question)
    assert question.whom == whom


def wrote(name: str, what: str, *, is_reply_known: bool = True, request: str = R) -> list[ev.Event]:
    of: dict[str, Any] = {"request": request, "subtask": name, "attempt": 1}
    intent = ev.ToolStarted(at=3.5, **of, call="c", tool="post", what=what, digest=f"d-{what}")
    reply = ev.ToolReturned(at=3.7, **of, reply=ToolReply(call_id="c", text="done"))
    return [make_start_event(name, request=request), intent, *([reply] if is_reply_known else [])]


def with_writes() -> Job:
    """T1 posted something and failed then; T2 posted something and is done."""
    log = [
        *wrote("t1", "post A"),
        make_failure_event("t1", failed_calls=3),
        *wrote("t2", "post B"),
        make_result_event("t2"),
    ]
    return job(
        make_request_event(),
        make_plan_event(FIVE[0], FIVE[1]),
        *log,
        *make_end_events(text=None),
        ev.AnswerWritten(at=6, request=R, text="x"),
    )


def answers(state: Job, text: str, user: str = "U1") -> Job:
    number = state.requests[-1].open_questions[""].number
    of = {"at": 10.5, "request": AGAIN, "subtask": "", "user": user, "text": text, "number": number}
    return apply_event(state, ev.QuestionAnswered.model_validate(of))


def test_what_was_written_is_put_to_the_requester_first() -> None:
    state = apply_event(with_writes(), wants())
    question = state.requests[-1].open_questions[""]
    assert "post A" in question.message
    assert "post B" not in question.message, "it is kept, and nothing of it is run again"
    assert question.whom == ("U1",)
    assert not [one for one in effects(state) if isinstance(one, MakePlan)], "nothing begins before"
    assert answers(state, retry.REPEAT_CALLS, user="U2").requests == state.requests, "nobody else decides"


@pytest.mark.parametrize(
    ("text", "guarded_digests"),
    [
        (retry.KEEP_CALLS, {"d-post A", "d-post B"}),
        ("yes", {"d-post A", "d-post B"}),
        ("don't do it again", {"d-post A", "d-post B"}),
        (retry.REPEAT_CALLS, {"d-post B"}),
        ("do it again!", {"d-post B"}),
    ],
)
def test_only_one_answer_has_it_done_again(text: str, guarded_digests: set[str]) -> None:
    state = propose_plan(answers(apply_event(with_writes(), wants()), text))
    again = state.requests[-1]
    assert {one.digest for one in again.kept_writes} == guarded_digests
    assert {one.digest for one in again.subtasks["t1"].earlier_writes} == guarded_digests - {"d-post B"}
    assert again.answer_notes == (), "it is no answer for those who work on it"
    assert running(state) == [("t1", 1, "analyst")]


def test_stop_ends_it_before_it_begins() -> None:
    state = answers(apply_event(with_writes(), wants()), retry.STOP_RETRY)
    assert state.requests[-1].cancelled_by == "U1"
    assert next(one.key for one in effects(state) if isinstance(one, PostMessage)) == f"{AGAIN}:answer"


def test_a_call_of_which_nobody_knows_is_said_to_be_unknown() -> None:
    log = [
        *wrote("t1", "post A", is_reply_known=False),
        *make_finish_events("t2"),
        ev.CancelRequested(at=8.0, user="U1"),
    ]
    state = job(make_request_event(), make_plan_event(FIVE[0], FIVE[1]), *log, *make_end_events(text=None))
    question = apply_event(state, wants()).requests[-1].open_questions[""]
    assert "• unknown, please check: post A" in question.message
    goes_on = propose_plan(apply_event(state, wants("continue")))
    assert goes_on.requests[-1].subtasks["t1"].open_intents, "it is looked up, or asked about, where it goes on"


def test_a_retry_of_a_retry_remembers_all_that_was_written() -> None:
    state = propose_plan(answers(apply_event(with_writes(), wants()), retry.KEEP_CALLS))
    for event in (*all_failed("t1", AGAIN), *make_end_events(AGAIN)):
        state = apply_event(state, event)
    third = apply_event(state, wants(of=AGAIN, request="3.0")).requests[-1]
    assert "post A" in third.open_questions[""].message
    assert [one.id for one in third.earlier_tries] == [AGAIN, R]
    assert {one.digest for one in third.kept_writes} == {"d-post A", "d-post B"}


def test_what_a_try_wrote_whose_message_was_deleted_is_not_written_again() -> None:
    state = propose_plan(apply_event(in_part(), wants()))
    gone = ev.RequestWithdrawn(at=12.0, message=AGAIN)
    for event in (*wrote("t1", "post A", request=AGAIN), gone, *make_end_events(AGAIN, text=None)):
        state = apply_event(state, event)
    assert retry.find_last_try(state, state.requests[0]) is state.requests[0]
    third = apply_event(state, wants(request="3.0")).requests[-1]
    assert {one.digest for one in third.kept_writes} == {"d-post A"}


# ---------------------------------------------------------------- who may, and when


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (wants(user="U2"), "Only the person who asked for that, or an admin"),
        (wants(of="7.0"), "There is nothing here"),
        (wants(step="ghost"), "There is no step 'ghost'"),
    ],
)
def test_what_may_not_be_is_refused_visibly(event: ev.RequestAdded, why: str) -> None:
    request = apply_event(in_part(), event).requests[-1]
    assert request.refusal.startswith(why)
    assert request.run.failure is not None, "and so ends, with one message"


def test_an_admin_may_and_the_words_of_the_other_are_quoted() -> None:
    request = apply_event(in_part(), wants(user="U9", admin=True)).requests[-1]
    assert not request.refusal
    assert rights.may_stop(request, rights.Actor("U1")), "whose words they are"
    assert request.spec.quoted == request.spec.text == "why did churn rise"


def test_only_one_try_at_a_time_and_none_of_what_goes_on() -> None:
    two = apply_event(apply_event(in_part(), wants()), wants(request="3.0"))
    assert two.requests[-1].refusal == "That is being tried again already."
    going = job(make_request_event(), make_plan_event(*FIVE))
    assert apply_event(going, wants()).requests[-1].refusal.startswith("That is still under way")


def test_a_message_that_is_deleted_takes_its_second_try_with_it() -> None:
    state = apply_event(propose_plan(apply_event(in_part(), wants())), ev.RequestWithdrawn(at=12.0, message=R))
    assert state.requests[-1].is_withdrawn
    assert not state.requests[0].is_withdrawn, "which has ended"


def test_what_people_answered_before_is_no_new_deed() -> None:
    question = ev.PlannerAsked(at=1.5, request=R, question="Which?", options=("a", "b"))
    said = ev.QuestionAnswered(at=1.7, request=R, subtask="", user="U1", text="a")
    state = in_part(question, said)
    after = apply_event(state, wants())
    assert [one.text for one in after.requests[-1].answer_notes] == ["Answered by a person: a"], "nobody is asked twice"
    (deed,) = derive_audit_entries(state, wants(), after)
    assert (deed.deed, deed.target) == ("asked", "retry 1.0")


# ---------------------------------------------------------------- files


def test_files_of_the_first_try_are_at_hand_and_posted_once() -> None:
    chart = Artifact(id="a" * 64, name="chart.png", publish_as="file")
    there = Material(name="sales.csv", text="d" * 64, size=5, file=Artifact(id="e" * 64, name="sales.csv"))
    gathered = ev.MaterialGathered(at=1.5, request=R, materials=(there,))
    log = [
        gathered,
        make_plan_event(FIVE[0], FIVE[1]),
        *all_failed("t1"),
        *make_finish_events("t2", artifacts=(chart,)),
    ]
    shown = ev.Posted(at=6.5, request=R, key=make_file_key(R, chart.id), ts="5.5")
    state = propose_plan(apply_event(job(make_request_event(), *log, shown, *make_end_events()), wants()))
    assert [one.name for one in list_material(state, state.requests[-1])] == ["sales.csv"]
    assert not [one for one in effects(state) if isinstance(one, PostMessage) and ":file:" in one.key]


def test_what_is_gone_is_said_before_it_begins() -> None:
    file = Artifact(id="e" * 64, name="sales.csv")
    sales = Material(name="sales.csv", text="d" * 64, size=5, file=file, file_id="F1")
    five = (subtask("t1", needs=("sales.csv",)), *FIVE[1:])
    log = [ev.MaterialGathered(at=1.5, request=R, materials=(sales,)), make_plan_event(*five), *all_failed("t1")]
    state = job(
        make_request_event(),
        *log,
        *make_finish_events("t2", "t4", "t5"),
        *make_end_events(),
        ev.FileDeleted(at=8.0, file="F1"),
    )
    question = apply_event(state, wants()).requests[-1].open_questions[""]
    assert question.message.startswith("sales.csv is not here any more.")
    assert question.options == (retry.GO_ON_WITHOUT_FILES, retry.STOP_RETRY)
    other = apply_event(state, wants(gone=("other.pdf",))).requests[-1].open_questions[""]
    assert other.message.startswith("Not here any more: ")
    new = apply_event(state, wants(files=(Attachment(file_id="F2", name="sales.csv"),)))
    assert not new.requests[-1].open_questions, "it came with the second try"
    fresh = sales.model_copy(update={"file_id": "F2", "fault": ""})
    request = apply_event(new, ev.MaterialGathered(at=11.0, request=AGAIN, materials=(fresh,))).requests[-1]
    assert [(one.name, one.fault) for one in request.materials] == [("sales.csv", "")]
    mended = fresh.model_copy(update={"name": "mended.csv"})
    begun_with = apply_event(state, wants(files=(Attachment(file_id="F2", name="mended.csv"),)))
    read = apply_event(begun_with, ev.MaterialGathered(at=10.2, request=AGAIN, materials=(mended,)))
    afresh = [
        subtask
        for subtask in propose_plan(answers(read, retry.GO_ON_WITHOUT_FILES)).requests[-1].subtasks.values()
        if not subtask.is_reused
    ]
    assert [subtask.spec.needs for subtask in afresh] == [("sales.csv", "mended.csv"), None, None]
    assert DELETED_FAULT in {one.fault for one in state.requests[0].materials}


# ---------------------------------------------------------------- crews


def test_from_a_step_of_a_crew_the_crew_goes_on_with_its_other_parts() -> None:
    read, check = part("read", to="legal/reader"), part("check", "read", to="legal/checker")
    state = within(at_law(part("sum", "law"), part("note")), read, check, part("list", to="legal/reader"))
    for name in ("law/read", "law/list", "note"):
        state = finish_subtask(state, name)
    state = apply_event(
        fail_subtask(state, "law/check"), ev.AnswerWritten(at=8, request=R, within="law", text="In part.")
    )
    state = finish_subtask(up(state), "sum", at=9.5)
    for event in make_end_events():
        state = apply_event(state, event)
    first = state.requests[0]
    assert first.subtasks["law"].result is not None
    assert retry.list_rerun_subtasks(first, RetryRef(of=R)) == {"law/check", "sum"}
    state = propose_plan(apply_event(state, wants()))
    again = state.requests[-1]
    assert (again.subtasks["law"].state, again.subtasks["law/check"].state) == ("in_progress", "pending")
    assert {name for name, subtask in again.subtasks.items() if subtask.is_reused} == {"law/read", "law/list", "note"}
    assert running(state) == [("law/check", 1, "legal/checker")]
    assert not of_kind(state, MakePlan)
    assert retry.list_rerun_subtasks(first, RetryRef(of=R, step="law")) == {
        "law",
        "law/read",
        "law/check",
        "law/list",
        "sum",
    }


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("retry", RetryWish()),
        ("Please try again!", RetryWish()),
        ("retry from the prices", RetryWish(step_words="prices")),
        ("retry 2", RetryWish(step_words="2")),
        ("continue", RetryWish("continue")),
        ("go on from step 3", RetryWish(step_words="step 3")),
        ("again", RetryWish("whole")),
        ("again with the same files on Friday", RetryWish("whole", time_words="on Friday")),
        ("run it again tomorrow at 9", RetryWish("whole", time_words="tomorrow at 9")),
        ("again for Lisbon", None),
        ("retry with the other file", None),
        ("continue the analysis for Q3", None),
        ("again on tea", None),
        ("once more", None),
        ("Réessaie !", RetryWish()),
        ("mach weiter", RetryWish("continue")),
        ("", None),
    ],
)
def test_words_that_want_it_again(text: str, wish: RetryWish | None) -> None:
    assert parse_retry_wish(text) == wish


@pytest.mark.parametrize(
    ("text", "same"), [("the same for Q2", True), ("Again, but only for Lisbon", True), ("the same old story", False)]
)
def test_words_for_the_same_again(text: str, same: bool) -> None:  # noqa: FBT001
    assert repeats_last_request(text) == same


@pytest.mark.parametrize(
    ("words", "step"),
    [("t2", "t2"), ("2", "t2"), ("#3", "t3"), ("step 4", "t4"), ("part t5", "t5"), ("“Part T1”", "t1"), ("t", ())],
)
def test_a_step_by_its_id_its_number_or_its_title(words: str, step: str | tuple[str, ...]) -> None:
    first = in_part().requests[0]
    found = find_step(first, words)
    assert found == step if step else isinstance(found, tuple)
    assert render_step_line(first, "t2") == "2. Part t2 (t2)"


# ---------------------------------------------------------------- whatever happens


class Tries(Levels):
    """The world of crews in crews, where what has ended is tried again."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.ran: set[tuple[str, str]] = set()

    def perform_effect(self, request: RequestState, job: Job, effect: Effect) -> list[ev.Event]:
        if isinstance(effect, RunSubtask):
            assert request.question is None, "nothing begins before people have decided"
            self.ran.add((request.id, effect.subtask))
        before = request.earlier_try
        taken = (
            isinstance(effect, MakePlan) and not effect.within and before is not None and before.run.plan is not None
        )
        if taken and before is not None and request.retry_ref is not None and before.run.plan is not None:
            kept = retry.list_reused_subtasks(before, request.retry_ref)
            of = {"at": self.now, "request": request.id, "terms": before.run.terms, "kept": kept}
            members = tuple(before.run.members.values())
            return [ev.PlanProposed.model_validate({**of, "plan": before.run.plan, "members": members})]
        return super().perform_effect(request, job, effect)

    def answer_question(self, request: RequestState) -> list[ev.Event]:
        name = self.rng.choice(list(request.open_questions))
        words = self.rng.choice(request.open_questions[name].options or ("that",))
        return [ev.QuestionAnswered(at=self.now, request=request.id, subtask=name, user="U", text=words)]


def play(world: Tries, job: Job, log: list[ev.Event], stop: int) -> Job:
    """Play the current request to its end; `stop`: after so many steps somebody stops it."""
    for step in range(600):
        new = world.take_step(job) if step != stop else [ev.CancelRequested(at=world.now, user="U")]
        if new is None:
            assert job.current_request is None, "it does not come to an end"
            return job
        world.now += world.pace if new else 0.0
        log += new
        for event in new:
            job = apply_event(job, event)
    raise AssertionError("it does not come to an end")


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_each_try_ends_once_and_keeps_what_it_keeps(seed: int) -> None:
    rng = random.Random(seed)
    world = Tries(seed)
    first = Request(id="1.0", user="U", text="t", at=world.now)
    log: list[ev.Event] = [ev.RequestAdded(at=world.now, place=PLACE, request=first)]
    job = play(world, apply_event(None, log[0]), log, rng.choice((-1, rng.randint(2, 30))))
    for number in (2, 3):
        before = job.requests[-1]
        steps = [name for name, subtask in before.subtasks.items() if not subtask.is_dropped]
        step = rng.choice(steps) if steps and rng.random() < 0.3 else ""
        mode = "retry" if step else rng.choice(("retry", "continue", "continue", "whole"))
        again = RetryRef(of=before.id, mode=mode, step=step)
        request = Request(id=f"{number}.0", user="U", text="retry", at=world.now)
        log.append(ev.RequestAdded(at=world.now, place=PLACE, request=request, again=again))
        job = play(world, apply_event(job, log[-1]), log, rng.choice((-1, -1, rng.randint(2, 30))))
        _holds(world, job.requests[-1])
    posted = [event.key for event in log if isinstance(event, ev.Posted) and event.key.endswith(":answer")]
    assert sorted(posted) == ["1.0:answer", "2.0:answer", "3.0:answer"]
    lines = [ev.dump_event(event) for event in log]
    assert fold_log(ev.load_event(line) for line in lines) == job == parse_log(lines)


def _holds(world: Tries, request: RequestState) -> None:
    before = request.earlier_try
    assert request.state in ENDED_STATES
    assert before is not None
    for name, state in request.subtasks.items():
        if state.is_reused and not state.change_note:
            assert (request.id, name) not in world.ran, "nobody works on what is kept"
            assert state.result == before.subtasks[name].result
            assert before.subtasks[name].state in SETTLED_STATES
