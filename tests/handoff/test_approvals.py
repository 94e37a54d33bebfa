"""Approvals: who may decide, what a decision counts for, and what follows. Nothing is made that nobody approved."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from handoff import events as ev
from handoff.access.rights import Actor
from handoff.approval_values import Approval, ApprovalTerms, combine_approvals, compute_call_digest
from handoff.contracts import Estimate, Request, Terms
from handoff.effects import PostMessage, RunSubtask, make_question_key
from handoff.engine import approvals, thread_messages
from handoff.engine.answer import list_answer_gaps
from handoff.engine.approvals import find_applicable_ruling, list_deciders, may_decide
from handoff.engine.engine import apply_event
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.state.job_state import Job, SubtaskState
from handoff.state.state_values import Question, Ruling
from handoff.summaries.summary import make_summary_fields, parse_open_questions
from tests.handoff.kit import (
    RUNNING_LOG,
    R,
    ask,
    job,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    require,
    subtask,
)

OF: dict[str, Any] = {"request": R, "subtask": "a", "attempt": 1}
TURN = ev.TurnTaken(at=4.0, turn={"text": "", "stop": "tool_use", "usage": {}}, **OF)


def approval(text: str = "tea", terms: ApprovalTerms | None = None, call: str = "c1", **more: Any) -> Approval:
    arguments = {"text": text}
    of = {
        "tool": "post",
        "what": f"post {text}",
        "arguments": arguments,
        "digest": compute_call_digest("post", arguments),
    }
    return Approval(call=call, terms=terms or ApprovalTerms(), **{**of, **more})


def make_approval_event(
    text: str = "tea", terms: ApprovalTerms | None = None, at: float = 10.0, **more: Any
) -> ev.ApprovalAsked:
    return ev.ApprovalAsked(at=at, approval=approval(text, terms, **more), **OF)


def decides(
    decision: str = "approve", user: str = "U1", at: float = 110.0, text: str = "tea", number: int = 1, **more: Any
) -> ev.ApprovalDecided:
    given = {"digest": compute_call_digest("post", {"text": text}), "number": number, "user": user, **more}
    return ev.ApprovalDecided(at=at, request=R, subtask="a", decision=decision, **given)


def asks(terms: ApprovalTerms | None = None) -> tuple[ev.Event, ...]:
    return (*RUNNING_LOG, TURN, make_approval_event(terms=terms))


def work(state: Job, name: str = "a") -> SubtaskState:
    return ask(state).subtasks[name]


def question(state: Job, name: str = "a") -> Question:
    return require(work(state, name).question)


def ruling(state: Job) -> Ruling | None:
    return next((one for one in work(state).checkpoints if isinstance(one, Ruling)), None)


def read_ruling(*log: ev.Event) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """What was decided, by whom, and of which arguments."""
    found = require(ruling(job(*log)))
    return found.outcome, found.users, found.arguments


def running(state: Job) -> list[int]:
    return [one.attempt for one in list_outstanding_effects(state, 250.0)[0] if isinstance(one, RunSubtask)]


def ruled_before(state: Job, wish: Approval) -> Ruling | None:
    """The earlier ruling that holds for a call, with everybody still there and in the user group S9."""
    return find_applicable_ruling(
        state, ask(state), wish, {f"U{n}": Actor(f"U{n}", ("S9",)) for n in range(1, 10)}
    ).ruling


TEA, CAKE = {"text": "tea"}, {"text": "cake"}
TWO = ApprovalTerms(approvers=("U2", "U3", "S9"), quorum=2)


def test_nothing_runs_while_people_are_asked_and_the_question_is_posted() -> None:
    state = job(*asks())
    assert running(state) == []
    assert ask(state).state == "input_required"
    assert (question(state).number, question(state).whom, question(state).approval) == (1, ("U1",), approval())
    assert PostMessage(R, make_question_key(R, "a", 1)) in list_outstanding_effects(state, 20.0)[0]
    (open_one,) = parse_open_questions(make_summary_fields(state))
    assert open_one.is_approval
    assert not open_one.may_answer("U1"), "no words answer it"


def test_an_approval_is_a_checkpoint_and_the_wait_costs_the_attempt_no_time() -> None:
    state = job(*asks(), decides())
    assert running(state) == [1]
    assert read_ruling(*asks(), decides()) == ("approved", ("U1",), TEA)
    assert (require(ruling(state)).call, require(ruling(state)).digest) == ("c1", compute_call_digest("post", TEA))
    assert work(state).attempt_started == work(job(*asks())).attempt_started + 100.0
    assert work(state).question_answers[0].ruling == ruling(state)


@pytest.mark.parametrize(
    "odd",
    [
        decides(user="U2"),
        decides(number=2),
        decides(text="cake"),
        decides(user="U2", admin=True),
        decides(user="U2", groups=("S1",)),
        decides("apart"),
        ev.QuestionAnswered(at=110.0, request=R, subtask="a", user="U1", text="approve", number=1),
        ev.QuestionAnswered(at=110.0, request=R, subtask="a", user="U1", text="approve"),
    ],
)
def test_what_does_not_fit_decides_nothing(odd: ev.Event) -> None:
    before = job(*asks())
    assert ask(apply_event(before, odd)) == ask(before)


def test_of_two_clicks_the_first_counts() -> None:
    state = job(*asks(), decides("deny", reason=" No tea. "), decides())
    assert (require(ruling(state)).outcome, require(ruling(state)).reason) == ("denied", "No tea.")
    assert len(work(state).question_answers) == 1


ADMINS = ApprovalTerms(approvers=("admins", "S9"))
OTHERS = ApprovalTerms(approvers=("requester", "U2"), own=False)
NOBODY = ApprovalTerms(approvers=("U1",), own=False)


@pytest.mark.parametrize(
    ("terms", "who", "counts"),
    [
        (ADMINS, {"user": "U8"}, False),
        (ADMINS, {"user": "U8", "admin": True}, True),
        (ADMINS, {"user": "U8", "groups": ("S9", "S1")}, True),
        (OTHERS, {"user": "U1", "admin": True}, False),
        (OTHERS, {"user": "U2"}, True),
        (NOBODY, {"user": "U5"}, False),
    ],
)
def test_those_decide_who_are_named_and_nobody_their_own_where_the_crew_says_so(
    terms: ApprovalTerms, who: dict[str, Any], *, counts: bool
) -> None:
    assert (ruling(job(*asks(terms), decides(**who))) is not None) is counts
    assert list_deciders(OTHERS, "U1") == ("U2",)
    assert list_deciders(NOBODY, "U1") == ("admins",), "an admin decides where nobody else is left"


def test_whom_a_question_is_for_gives_nobody_the_right_to_approve() -> None:
    for whom in ((), ("U1", "U2")):  # anybody, or somebody whom a reminder brought in
        asked_of = dataclasses.replace(question(job(*asks())), whom=whom)
        assert not may_decide(asked_of, "U1", "U2", admin=False)
        assert may_decide(asked_of, "U1", "U1", admin=False)


def test_a_quorum_takes_several_people_and_one_may_deny() -> None:
    one = (*asks(TWO), decides(user="U2"))
    assert running(job(*one)) == []
    assert [vote.user for vote in question(job(*one)).votes] == ["U2"]
    assert ruling(job(*one, decides(user="U2"))) is None, "one person counts once"
    assert read_ruling(*one, decides(user="U7", groups=("S9",)))[:2] == ("approved", ("U2", "U7"))
    assert read_ruling(*one, decides("deny", user="U3"))[0] == "denied"


def test_a_quorum_takes_no_more_people_than_are_named_unless_a_group_is_among_them() -> None:
    terms = ApprovalTerms(approvers=("lead",), quorum=3)
    assert terms.with_approvers(()) == terms
    assert terms.with_approvers(("U1", "U2")) == ApprovalTerms(approvers=("U1", "U2"), quorum=2)
    assert terms.with_approvers(("U1", "S1")).quorum == 3, "a group has any number of people"


def test_an_edit_approves_other_arguments_of_a_write() -> None:
    edit = decides("edit", arguments=CAKE, what="post cake")
    assert read_ruling(*asks(), edit) == ("edited", ("U1",), CAKE)
    assert require(ruling(job(*asks(), edit))).digest == compute_call_digest("post", CAKE)
    assert read_ruling(*asks(), decides("edit", arguments=TEA))[0] == "approved", "nothing was changed"
    one = approval(arguments={"n": 1}, digest=compute_call_digest("post", {"n": 1}))
    log = [*asks()[:-1], ev.ApprovalAsked(at=10.0, approval=one, **OF)]
    changed = read_ruling(*log, decides("edit", digest=one.digest, arguments={"n": True}))
    assert (changed[0], changed[2]) == ("edited", {"n": True}), "another kind of value is a change"
    leaving = job(*asks()[:-1], make_approval_event(kind="egress"), decides("edit", arguments=CAKE))
    assert (ruling(leaving), running(leaving)) == (None, []), "only the arguments of a write are edited"


def test_an_edit_voids_the_approvals_before_it_and_asks_the_others_anew() -> None:
    edit = decides("edit", user="U3", arguments=CAKE, what="post cake", target="#all", leaves="cake")
    log = (*asks(TWO)[:-1], make_approval_event(terms=TWO, target="#board"), decides(user="U2"), edit)
    asks_anew = question(job(*log))
    assert (asks_anew.number, asks_anew.message, [vote.user for vote in asks_anew.votes]) == (2, "post cake", ["U3"])
    assert (require(asks_anew.approval).target, require(asks_anew.approval).leaves) == ("#all", "cake")
    before = require(work(job(*log)).question_answers[-1].ruling)
    assert (before.target, before.leaves) == ("#all", "cake")
    assert ruling(job(*log, decides(user="U2"))) is None, "the first question is closed"
    assert read_ruling(*log, decides(user="U2", number=2, text="cake")) == ("edited", ("U3", "U2"), CAKE)


def test_similar_calls_are_approved_on_the_same_terms_and_target() -> None:
    state = job(*asks(), decides("approve_alike"))
    assert require(ruled_before(state, approval("cake"))).users == ("U1",)
    for other in (
        approval("cake", tool="send"),
        approval("cake", target="#all"),
        approval("cake", kind="egress"),
        approval("cake", ApprovalTerms(mode="always")),
        approval("cake", TWO),
    ):
        assert ruled_before(state, other) is None
    assert ruled_before(job(*asks(), decides()), approval("tea")) is None, "an approval is for one call"
    always = job(*asks(ApprovalTerms(mode="always")), decides("approve_alike"))
    assert ruled_before(always, approval("cake", ApprovalTerms(mode="always"))) is None
    for decision, counts in (("approve", False), ("approve_alike", True)):
        both = job(*asks(TWO), decides("approve_alike", user="U2"), decides(decision, user="U3"))
        assert (ruled_before(both, approval("cake", TWO)) is not None) is counts, "all of a quorum have to say so"


def test_what_was_denied_is_not_asked_again_in_the_request() -> None:
    state = job(*asks(), decides("deny"))
    assert require(ruled_before(state, approval("tea", call="c9"))).outcome == "denied"
    assert ruled_before(state, approval("cake")) is None


def test_two_subtasks_that_ask_do_not_mix_up() -> None:
    other = ev.ApprovalAsked(at=11.0, approval=approval(), **{**OF, "subtask": "b"})
    plan = make_plan_event(subtask("a"), subtask("b"))
    state = job(
        make_request_event(),
        plan,
        make_start_event("a"),
        make_start_event("b"),
        make_approval_event(),
        other,
        decides("deny"),
    )
    assert work(state).question is None
    assert (question(state, "b").number, work(state, "b").state) == (1, "input_required")


def test_what_was_not_approved_is_named_as_a_gap_and_told_apart() -> None:
    def list_gaps(state: Job) -> tuple[str, ...]:
        return list_answer_gaps(ask(state), ask(state).run)

    done = make_result_event("a", at=120.0)
    assert list_gaps(job(*asks(), decides("deny"), done)) == ("not done, as a person denied it: post tea",)
    state = job(*asks())
    late = apply_event(
        state.with_request(approvals.expire_approval(ask(state), work(state), question(state), 400.0)), done
    )
    assert require(work(late).question_answers[0].ruling).outcome == "expired"
    assert list_gaps(late) == ("not done, as nobody approved it in time: post tea",)
    again = (make_approval_event("cake", call="c2", at=112.0), decides(text="cake", number=2, at=115.0))
    assert list_gaps(job(*asks(), decides("deny"), *again, done)) == ()


@pytest.mark.parametrize("user", ["U1", "U2"])
def test_who_is_asked_and_says_yes_in_words_is_shown_to_the_buttons(user: str) -> None:
    message = Request(id="9.0", user=user, text="yes, approve", at=20.0)
    state = apply_event(job(*asks()), ev.MessageHeard(at=20.0, message=message))
    assert (thread_messages.classify_by_rules(state, state.pending_messages[0]) == "answer") == (user == "U1")
    state = apply_event(state, ev.MessageSorted(at=21.0, message="9.0", aim="answer"))
    assert [(each.outcome, each.question_subtask) for each in state.pending_messages] == (
        [("explained", "a")] if user == "U1" else []
    )
    assert work(state).question is not None, "words decide nothing"


# ---------------------------------------------------------------- several calls on one card

BOTH = combine_approvals((approval("tea"), approval("cake", call="c2")))


def both(*more: ev.Event) -> tuple[ev.Event, ...]:
    return (*asks()[:-1], ev.ApprovalAsked(at=10.0, approval=BOTH, **OF), *more)


def on_both(decision: str, at: float = 110.0, **more: Any) -> ev.ApprovalDecided:
    return decides(decision, at=at, **{"digest": BOTH.digest, **more})


def rulings(state: Job) -> list[tuple[str, str, str]]:
    points = work(state).checkpoints
    return [(one.call, one.outcome, one.arguments["text"]) for one in points if isinstance(one, Ruling)]


def test_one_decision_rules_on_each_of_several_calls() -> None:
    approved = job(*both(on_both("approve_alike")))
    assert rulings(approved) == [("c1", "approved", "tea"), ("c2", "approved", "cake")]
    assert running(approved) == [1]
    assert ruled_before(approved, approval("jam", call="c9")) is not None, "similar to each of them"
    assert ruled_before(approved, approval("jam", call="c9", tool="send")) is None
    denied = job(*both(on_both("deny", reason="no")))
    assert rulings(denied) == [("c1", "denied", "tea"), ("c2", "denied", "cake")]
    assert ruled_before(denied, approval("cake", call="c9")) is not None


def test_several_calls_are_decided_one_by_one_if_somebody_wants_that() -> None:
    state = job(*both(on_both("apart", at=60.0)))
    assert (rulings(state), running(state)) == ([], [])
    state = apply_event(state, decides("deny", at=80.0, number=2))
    assert rulings(state) == [("c1", "denied", "tea")]
    assert running(state) == [], "the second is asked for before the work goes on"
    state = apply_event(state, decides("approve", text="cake", at=110.0, number=3))
    assert rulings(state) == [("c1", "denied", "tea"), ("c2", "approved", "cake")]
    assert running(state) == [1]
    assert work(state).attempt_started == work(job(*asks()[:-1])).attempt_started + 100.0, "no wait is its own time"
    assert [gap for gap in list_answer_gaps(ask(state), ask(state).run) if "tea" in gap]


@pytest.mark.parametrize(
    "odd",
    [on_both("edit", arguments={"text": "jam"}), decides(), on_both("apart", user="U9"), on_both("approve", number=2)],
)
def test_what_does_not_fit_several_calls_decides_nothing(odd: ev.Event) -> None:
    assert work(job(*both(odd))).question == work(job(*both())).question


# ---------------------------------------------------------------- costly parts

DEAR = Terms(ask_above_tokens=1_000, approvers=("U2",))


def costly(tokens: int = 5_000, terms: Terms = DEAR, cost: float | None = None) -> Job:
    expected = tuple(Estimate(subtask=name, calls=2, tokens=tokens, cost=cost) for name in "ab")
    plan = make_plan_event(subtask("a"), subtask("b", "a"), terms=terms, estimates=expected)
    return job(make_request_event(), plan)


def cost_decided(decision: str, user: str = "U2", **more: Any) -> Job:
    state = costly()
    of = {"request": R, "subtask": "a", "number": question(state).number}
    digest = require(question(state).approval).digest
    return apply_event(state, ev.ApprovalDecided(at=60.0, user=user, decision=decision, digest=digest, **of, **more))


def test_a_costly_part_is_asked_for_before_it_begins_and_only_when_it_could() -> None:
    state = costly()
    wish = require(question(state).approval)
    assert (wish.kind, "about 5,000 tokens, and more than 1,000" in wish.why) == ("cost", True)
    assert work(state, "b").question is None
    assert running(state) == []
    assert running(cost_decided("approve", user="U1")) == [], "U1 is not named"
    after = cost_decided("approve")
    assert (running(after), work(after).attempt) == ([1], 0)
    after = apply_event(apply_event(after, make_start_event("a")), make_result_event("a", at=130.0))
    assert work(after, "b").state == "input_required"
    dollars = costly(10, Terms(ask_above_cost=2.0), 2.5)
    assert require(question(dollars).approval).why.startswith("about $2.50"), "where prices are known"


def test_a_costly_part_that_is_denied_is_left_out_and_named() -> None:
    state = cost_decided("deny", reason="Too dear.")
    assert (work(state).state, work(state).reason) == ("skipped", "not begun: a person denied it (“Too dear.”)")
    assert "approve it" in require(ask(state).run.failure).advice


@pytest.mark.parametrize(
    ("tokens", "terms", "cost"),
    [
        (5_000, Terms(), None),
        (900, DEAR, None),
        (5_000, Terms(ask_above_cost=2.0), None),
        (5_000, Terms(ask_above_cost=2.0), 1.99),
    ],
)
def test_what_is_not_costly_begins_at_once(tokens: int, terms: Terms, cost: float | None) -> None:
    assert running(costly(tokens, terms, cost)) == [1]
