"""Approvals: who may decide, what a decision counts for, and what follows. Nothing is made that nobody approved."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from handoff import events as ev
from handoff.access.rights import Actor
from handoff.approval_values import Approval, ApprovalTerms, digest_of, together
from handoff.contracts import Estimate, Request, Terms
from handoff.effects import Post, RunSubtask, question_key
from handoff.engine import approvals, hearing
from handoff.engine.answer import gaps
from handoff.engine.approvals import deciders, earlier, may_decide
from handoff.engine.engine import apply, fold
from handoff.engine.outstanding import outstanding
from handoff.engine.replay import open_log
from handoff.state.job_state import Ask, Job, Work
from handoff.state.state_values import Ruling
from handoff.summaries.summary import open_questions, projection
from tests.handoff.kit import R, ask, asked, job, planned, returned, started, subtask

OF: dict[str, Any] = {"request": R, "subtask": "a", "attempt": 1}
TURN = ev.TurnTaken(at=4.0, turn={"text": "", "stop": "tool_use", "usage": {}}, **OF)


def approval(text: str = "tea", terms: ApprovalTerms | None = None, call: str = "c1", **more: Any) -> Approval:
    arguments = {"text": text}
    of = {"tool": "post", "what": f"post {text}", "arguments": arguments, "digest": digest_of("post", arguments)}
    return Approval(call=call, terms=terms or ApprovalTerms(), **{**of, **more})


def wanted(text: str = "tea", terms: ApprovalTerms | None = None, at: float = 10.0, **more: Any) -> ev.ApprovalAsked:
    return ev.ApprovalAsked(at=at, approval=approval(text, terms, **more), **OF)


def decides(
    decision: str = "approve", user: str = "U1", at: float = 110.0, text: str = "tea", number: int = 1, **more: Any
) -> ev.ApprovalDecided:
    given = {"digest": digest_of("post", {"text": text}), "number": number, "user": user, **more}
    return ev.ApprovalDecided(at=at, request=R, subtask="a", decision=decision, **given)


def asks(terms: ApprovalTerms | None = None) -> tuple[ev.Event, ...]:
    return (asked(), planned(subtask("a")), started("a"), TURN, wanted(terms=terms))


def work(state: Job, name: str = "a") -> Work:
    return ask(state).work[name]


def ruling(state: Job) -> Ruling | None:
    return next((one for one in work(state).checkpoints if isinstance(one, Ruling)), None)


def running(state: Job) -> list[int]:
    return [one.attempt for one in outstanding(state, 250.0)[0] if isinstance(one, RunSubtask)]


def ruled_before(
    state: Job, request: Ask, wish: Approval, people: dict[str, Actor | None] | None = None
) -> Ruling | None:
    """The earlier ruling that holds for a call, with everybody still there and in the user group S9."""
    there = {f"U{n}": Actor(f"U{n}", ("S9",)) for n in range(1, 10)}
    return earlier(state, request, wish, there | (people or {})).ruling


TWO = ApprovalTerms(approvers=("U2", "U3", "S9"), quorum=2)


def test_nothing_runs_while_people_are_asked_and_the_question_is_posted() -> None:
    state = job(*asks())
    assert running(state) == []
    assert ask(state).state == "input_required"
    question = work(state).question
    assert question is not None
    assert (question.number, question.whom, question.approval) == (1, ("U1",), approval())
    assert Post(R, question_key(R, "a", 1)) in outstanding(state, 20.0)[0]


def test_an_approval_is_a_checkpoint_and_the_wait_costs_the_attempt_no_time() -> None:
    state = job(*asks(), decides())
    assert running(state) == [1]
    found = ruling(state)
    assert found is not None
    assert (found.outcome, found.call, found.users) == ("approved", "c1", ("U1",))
    assert (found.arguments, found.digest) == ({"text": "tea"}, digest_of("post", {"text": "tea"}))
    assert work(state).attempt_started == work(job(*asks())).attempt_started + 100.0
    assert work(state).answered[0].ruling == found


@pytest.mark.parametrize(
    "odd",
    [
        decides(user="U2"),
        decides(number=2),
        decides(text="cake"),
        decides(user="U2", admin=True),
        decides(user="U2", groups=("S1",)),
        ev.QuestionAnswered(at=110.0, request=R, subtask="a", user="U1", text="approve", number=1),
        ev.QuestionAnswered(at=110.0, request=R, subtask="a", user="U1", text="approve"),
    ],
)
def test_what_does_not_fit_decides_nothing(odd: ev.Event) -> None:
    before = job(*asks())
    assert ask(apply(before, odd)) == ask(before)


def test_of_two_clicks_the_first_counts() -> None:
    state = job(*asks(), decides("deny", reason=" No tea. "), decides())
    found = ruling(state)
    assert found is not None
    assert (found.outcome, found.reason) == ("denied", "No tea.")
    assert len(work(state).answered) == 1


def test_admins_and_groups_decide_where_they_are_named() -> None:
    terms = ApprovalTerms(approvers=("admins", "S9"))
    assert ruling(job(*asks(terms), decides(user="U8"))) is None
    assert ruling(job(*asks(terms), decides(user="U8", admin=True))) is not None
    assert ruling(job(*asks(terms), decides(user="U8", groups=("S9", "S1")))) is not None


def test_nobody_approves_their_own_where_the_crew_says_so() -> None:
    terms = ApprovalTerms(approvers=("requester", "U2"), own=False)
    assert deciders(terms, "U1") == ("U2",)
    assert ruling(job(*asks(terms), decides(user="U1", admin=True))) is None
    assert ruling(job(*asks(terms), decides(user="U2"))) is not None
    alone = ApprovalTerms(approvers=("U1",), own=False)
    assert deciders(alone, "U1") == ("admins",), "an admin decides where nobody else is left"
    assert ruling(job(*asks(alone), decides(user="U5"))) is None


def test_whom_a_question_is_for_gives_nobody_the_right_to_approve() -> None:
    state = job(*asks())
    question = work(state).question
    assert question is not None
    for whom in ((), ("U1", "U2")):  # anybody, or somebody whom a reminder brought in
        asked_of = dataclasses.replace(question, whom=whom)
        assert not may_decide(asked_of, "U1", "U2", admin=False)
        assert may_decide(asked_of, "U1", "U1", admin=False)


def test_a_quorum_takes_several_people_and_one_may_deny() -> None:
    one = job(*asks(TWO), decides(user="U2"))
    assert running(one) == []
    assert [vote.user for vote in work(one).question.votes] == ["U2"]
    assert ruling(apply(one, decides(user="U2"))) is None, "one person counts once"
    both = apply(one, decides(user="U7", groups=("S9",)))
    found = ruling(both)
    assert found is not None
    assert found.users == ("U2", "U7")
    denied = ruling(apply(one, decides("deny", user="U3")))
    assert denied is not None
    assert denied.outcome == "denied"


def test_an_edit_approves_other_arguments() -> None:
    state = job(*asks(), decides("edit", arguments={"text": "cake"}, what="post cake"))
    found = ruling(state)
    assert found is not None
    assert (found.outcome, found.arguments, found.digest) == (
        "edited",
        {"text": "cake"},
        digest_of("post", {"text": "cake"}),
    )
    same = ruling(job(*asks(), decides("edit", arguments={"text": "tea"})))
    assert same is not None
    assert same.outcome == "approved", "nothing was changed"


def test_an_edit_voids_the_approvals_before_it_and_asks_the_others_anew() -> None:
    one = job(*asks(TWO), decides(user="U2"))
    state = apply(one, decides("edit", user="U3", arguments={"text": "cake"}, what="post cake"))
    question = work(state).question
    assert question is not None
    assert (question.number, question.message, [vote.user for vote in question.votes]) == (2, "post cake", ["U3"])
    assert ruling(apply(state, decides(user="U2"))) is None, "the first question is closed"
    after = ruling(apply(state, decides(user="U2", number=2, text="cake")))
    assert after is not None
    assert (after.outcome, after.users, after.arguments) == ("edited", ("U3", "U2"), {"text": "cake"})


def test_an_edit_says_where_it_goes_now_and_the_others_are_asked_about_that() -> None:
    edit = decides("edit", user="U3", arguments={"text": "cake"}, what="post cake", target="#all", leaves="cake")
    state = job(*asks(TWO)[:-1], wanted(terms=TWO, target="#board"), edit)
    question = work(state).question
    assert question is not None
    assert question.approval is not None
    assert (question.approval.target, question.approval.leaves) == ("#all", "cake")
    before = work(state).answered[0].ruling
    assert before is not None
    assert (before.target, before.leaves) == ("#all", "cake")


def test_an_edit_to_another_kind_of_value_is_a_change() -> None:
    one = approval(arguments={"n": 1}, digest=digest_of("post", {"n": 1}))
    log = [*asks()[:-1], ev.ApprovalAsked(at=10.0, approval=one, **OF)]
    found = ruling(job(*log, decides("edit", digest=one.digest, arguments={"n": True})))
    assert found is not None
    assert (found.outcome, found.arguments) == ("edited", {"n": True})


def test_similar_calls_are_approved_on_the_same_terms_and_target() -> None:
    state = job(*asks(), decides("approve_alike"))
    found = ruled_before(state, ask(state), approval("cake"))
    assert found is not None
    assert found.users == ("U1",)
    for other in (
        approval("cake", tool="send"),
        approval("cake", target="#all"),
        approval("cake", kind="egress"),
        approval("cake", ApprovalTerms(mode="always")),
        approval("cake", TWO),
    ):
        assert ruled_before(state, ask(state), other) is None
    once = job(*asks(), decides())
    assert ruled_before(once, ask(once), approval("tea")) is None, "an approval is for one call"
    always = job(*asks(ApprovalTerms(mode="always")), decides("approve_alike"))
    assert ruled_before(always, ask(always), approval("cake", ApprovalTerms(mode="always"))) is None


def test_similar_calls_need_all_of_a_quorum_to_say_so() -> None:
    some = job(*asks(TWO), decides("approve_alike", user="U2"), decides(user="U3"))
    assert ruled_before(some, ask(some), approval("cake", TWO)) is None
    all_of_them = job(*asks(TWO), decides("approve_alike", user="U2"), decides("approve_alike", user="U3"))
    assert ruled_before(all_of_them, ask(all_of_them), approval("cake", TWO)) is not None


def test_what_was_denied_is_not_asked_again_in_the_request() -> None:
    state = job(*asks(), decides("deny"))
    found = ruled_before(state, ask(state), approval("tea", call="c9"))
    assert found is not None
    assert found.outcome == "denied"
    assert ruled_before(state, ask(state), approval("cake")) is None


def test_two_subtasks_that_ask_do_not_mix_up() -> None:
    other = {"request": R, "subtask": "b", "attempt": 1}
    state = job(
        asked(),
        planned(subtask("a"), subtask("b")),
        started("a"),
        started("b"),
        wanted(),
        ev.ApprovalAsked(at=11.0, approval=approval(), **other),
    )
    state = apply(state, decides("deny"))
    assert work(state).question is None
    assert work(state, "b").question is not None
    assert work(state, "b").state == "input_required"


def test_what_was_not_approved_is_named_as_a_gap_and_told_apart() -> None:
    done = returned("a", at=120.0)
    denied = job(*asks(), decides("deny"), done)
    assert gaps(ask(denied), ask(denied).run) == ("not done, as a person denied it: post tea",)
    state = job(*asks())
    late = state.with_ask(approvals.expire_approval(ask(state), work(state), work(state).question, 400.0))
    late = apply(late, done)
    assert work(late).answered[0].ruling.outcome == "expired"
    assert gaps(ask(late), ask(late).run) == ("not done, as nobody approved it in time: post tea",)
    again = (wanted("cake", call="c2", at=112.0), decides(text="cake", number=2, at=115.0))
    mended = job(*asks(), decides("deny"), *again, done)
    assert gaps(ask(mended), ask(mended).run) == ()


def test_an_approval_is_no_question_that_words_could_answer() -> None:
    state = job(*asks())
    (open_one,) = open_questions(projection(state))
    assert open_one.approval
    assert not open_one.may_answer("U1")


@pytest.mark.parametrize("user", ["U1", "U2"])
def test_who_is_asked_and_says_yes_in_words_is_shown_to_the_buttons(user: str) -> None:
    message = Request(id="9.0", user=user, text="yes, approve", at=20.0)
    state = apply(job(*asks()), ev.MessageHeard(at=20.0, message=message))
    (one,) = state.heard
    aim = hearing.by_rules(state, one)
    assert (aim == "answer") == (user == "U1")
    state = apply(state, ev.MessageSorted(at=21.0, message="9.0", aim="answer"))
    assert [(each.outcome, each.question) for each in state.heard] == ([("explained", "a")] if user == "U1" else [])
    assert work(state).question is not None, "words decide nothing"


def test_only_the_arguments_of_a_write_are_edited() -> None:
    log = [*asks()[:-1], wanted(kind="egress"), decides("edit", arguments={"text": "cake"})]
    assert ruling(job(*log)) is None
    assert running(job(*log)) == []


@pytest.mark.parametrize("more", [(), (decides(),), (decides("deny"), returned("a", at=130.0))])
def test_a_stored_log_opens_as_it_folds(more: tuple[ev.Event, ...]) -> None:
    log = (*asks(), *more)
    assert open_log([ev.dump(event) for event in log]) == fold(log)


# ---------------------------------------------------------------- several calls on one card

BOTH = together((approval("tea"), approval("cake", call="c2")))


def both(*more: ev.Event) -> tuple[ev.Event, ...]:
    return (*asks()[:-1], ev.ApprovalAsked(at=10.0, approval=BOTH, **OF), *more)


def on_both(decision: str, at: float = 110.0, **more: Any) -> ev.ApprovalDecided:
    return decides(decision, at=at, **{"digest": BOTH.digest, **more})


def rulings(state: Job) -> list[tuple[str, str, str]]:
    points = work(state).checkpoints
    return [(one.call, one.outcome, one.arguments["text"]) for one in points if isinstance(one, Ruling)]


def test_one_decision_rules_on_each_of_several_calls() -> None:
    approved = job(*both(on_both("approve")))
    assert rulings(approved) == [("c1", "approved", "tea"), ("c2", "approved", "cake")]
    assert running(approved) == [1]
    denied = job(*both(on_both("deny", reason="no")))
    assert rulings(denied) == [("c1", "denied", "tea"), ("c2", "denied", "cake")]
    assert ruled_before(denied, ask(denied), approval("cake", call="c9")) is not None


def test_calls_similar_to_each_of_several_are_approved() -> None:
    state = job(*both(on_both("approve_alike")))
    assert ruled_before(state, ask(state), approval("jam", call="c9")) is not None
    assert ruled_before(state, ask(state), approval("jam", call="c9", tool="send")) is None


def test_several_calls_are_decided_one_by_one_if_somebody_wants_that() -> None:
    state = job(*both(on_both("apart", at=60.0)))
    assert rulings(state) == []
    assert running(state) == []
    state = apply(state, decides("deny", at=80.0, number=2))
    assert rulings(state) == [("c1", "denied", "tea")]
    assert running(state) == [], "the second is asked for before the work goes on"
    state = apply(state, decides("approve", text="cake", at=110.0, number=3))
    assert rulings(state) == [("c1", "denied", "tea"), ("c2", "approved", "cake")]
    assert running(state) == [1]
    assert work(state).attempt_started == work(job(*asks()[:-1])).attempt_started + 100.0, "no wait is its own time"
    assert [gap for gap in gaps(ask(state), ask(state).run) if "tea" in gap]
    log = both(on_both("apart", at=60.0))
    assert open_log([ev.dump(event) for event in log]) == fold(log)


@pytest.mark.parametrize(
    "odd",
    [on_both("edit", arguments={"text": "jam"}), decides(), on_both("apart", user="U9"), on_both("approve", number=2)],
)
def test_what_does_not_fit_several_calls_decides_nothing(odd: ev.Event) -> None:
    assert work(job(*both(odd))).question == work(job(*both())).question


def test_a_single_call_is_not_taken_apart() -> None:
    assert work(job(*asks(), decides("apart"))).question == work(job(*asks())).question


# ---------------------------------------------------------------- costly parts

DEAR = Terms(ask_above_tokens=1_000, approvers=("U2",))


def costly(tokens: int = 5_000, terms: Terms = DEAR, cost: float | None = None) -> Job:
    plan = planned(subtask("a"), subtask("b", "a"))
    expected = tuple(Estimate(subtask=name, calls=2, tokens=tokens, cost=cost) for name in "ab")
    return job(asked(), plan.model_copy(update={"terms": terms, "estimates": expected}))


def cost_decided(state: Job, decision: str, user: str = "U2", name: str = "a", **more: Any) -> Job:
    question = work(state, name).question
    assert question is not None
    assert question.approval is not None
    of = {"request": R, "subtask": name, "number": question.number, "digest": question.approval.digest}
    return apply(state, ev.ApprovalDecided(at=60.0, user=user, decision=decision, **of, **more))


def test_a_costly_part_is_asked_for_before_it_begins_and_only_when_it_could() -> None:
    state = costly()
    question = work(state).question
    assert question is not None
    assert question.approval is not None
    assert question.approval.kind == "cost"
    assert "about 5,000 tokens, and more than 1,000" in question.approval.why
    assert work(state, "b").question is None
    assert running(state) == []
    assert running(cost_decided(state, "approve", user="U1")) == [], "U1 is not named"
    after = cost_decided(state, "approve")
    assert running(after) == [1]
    assert work(after).attempt == 0
    for event in (started("a"), returned("a", at=130.0)):
        after = apply(after, event)
    assert work(after, "b").state == "input_required"


def test_a_costly_part_that_is_denied_is_left_out_and_named() -> None:
    state = cost_decided(costly(), "deny", reason="Too dear.")
    assert work(state).state == "skipped"
    assert work(state).reason == "not begun: a person denied it (“Too dear.”)"
    failure = ask(state).run.failure
    assert failure is not None
    assert "approve it" in failure.advice


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


def test_dollars_count_where_prices_are_known() -> None:
    question = work(costly(10, Terms(ask_above_cost=2.0), 2.5)).question
    assert question is not None
    assert question.approval is not None
    assert question.approval.why.startswith("about $2.50")


def test_a_quorum_takes_no_more_people_than_are_named_unless_a_group_is_among_them() -> None:
    terms = ApprovalTerms(approvers=("lead",), quorum=3)
    assert terms.with_approvers(()) == terms
    assert terms.with_approvers(("U1", "U2")) == ApprovalTerms(approvers=("U1", "U2"), quorum=2)
    assert terms.with_approvers(("U1", "S1")).quorum == 3, "a group has any number of people"
