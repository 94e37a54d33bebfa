"""Who may stop, trace and see what in a thread in which several people asked for something."""

import pytest

from handoff import events as ev
from handoff.access import rights
from handoff.access.rights import Actor
from handoff.contracts import Request
from tests.handoff.kit import PLACE, R, asked, job, planned, started, subtask

BEN = "2.0"
TEAM: tuple[ev.Event, ...] = (asked(), planned(subtask("a")), started("a"))


def of_ben(request: str = BEN, at: float = 4.0) -> ev.RequestAdded:
    return ev.RequestAdded(at=at, place=PLACE, request=Request(id=request, user="U2", text="also say hello", at=at))


def heard(user: str, text: str = "hm") -> ev.MessageHeard:
    return ev.MessageHeard(at=5.0, message=Request(id="3.0", user=user, text=text, at=5.0))


@pytest.mark.parametrize(
    ("actor", "ends"),
    [
        (Actor("U1"), {R}),
        (Actor("U2"), {BEN}),
        (Actor("U3"), set()),
        (Actor("U3", admin=True), {R, BEN}),
        (Actor("U3", groups=("U1", "U2")), set()),
    ],
)
def test_a_stop_ends_what_its_person_asked_for_and_an_admins_all(actor: Actor, ends: set[str]) -> None:
    before = job(*TEAM, of_ben())
    stop = ev.CancelRequested(at=9.0, user=actor.user, groups=actor.groups, admin=actor.admin)
    after = job(*TEAM, of_ben(), stop)
    assert {ask.id for ask in rights.stoppable(before, actor)} == ends
    assert {ask.id for ask in after.asks if ask.cancelled_by} == ends
    owners = {R: "U1", BEN: "U2"}
    assert set(rights.going_on(before, actor)) == {owners[one] for one in {R, BEN} - ends}


def test_what_is_answered_cannot_be_stopped_any_more() -> None:
    done = job(*TEAM, of_ben(), ev.CancelRequested(at=9.0, user="U2"))
    assert rights.stoppable(done, Actor("U2")) == ()
    assert rights.going_on(done, Actor("U2")) == ("U1",)


def test_a_stop_of_one_leaves_a_job_aside_that_others_wait_for() -> None:
    aside = ev.SetAside(at=6.0, step="planning", reason="it broke")
    assert job(*TEAM, of_ben(), aside, ev.CancelRequested(at=9.0, user="U2")).quarantine is not None
    assert job(*TEAM, of_ben(), aside, ev.CancelRequested(at=9.0, user="U9", admin=True)).quarantine is None
    assert job(*TEAM, aside, ev.CancelRequested(at=9.0, user="U1")).quarantine is None


def test_who_spoke_may_see_and_who_asked_may_trace_that_alone() -> None:
    state = job(*TEAM, of_ben(), heard("U3"))
    assert [rights.may_see(state, Actor(user)) for user in ("U1", "U2", "U3", "U4")] == [True, True, True, False]
    assert rights.may_see(state, Actor("U4", admin=True))
    assert [rights.find_traceable_requests(state, Actor(user)) for user in ("U1", "U2", "U3")] == [
        {R},
        {BEN},
        frozenset(),
    ]
    assert rights.find_traceable_requests(state, Actor("U4", admin=True)) == {R, BEN}


def test_the_steps_of_ben_hold_nothing_of_ana() -> None:
    log: tuple[ev.Event, ...] = (
        *TEAM,
        of_ben(),
        heard("U1"),
        heard("U2"),
        ev.MessageSorted(at=6.0, message=R, aim="correction"),
        ev.RequestEdited(at=6.0, message=R, user="U1", text="secret"),
        ev.RequestWithdrawn(at=6.0, message=BEN),
        ev.MessageAcknowledged(at=6.0, receipt=R),
        ev.FeedbackGiven(at=6.0, request=R, user="U2", good=True),
        ev.Posted(at=6.0, request=BEN, key=f"{BEN}:card", ts="4.0"),
        ev.Released(at=7.0, user="U9"),
    )
    shown = [event for event in log if rights.is_step_of(event, frozenset({BEN}), "U2")]
    assert [event.type for event in shown] == [
        "RequestAdded",
        "MessageHeard",
        "RequestWithdrawn",
        "Posted",
        "Released",
    ]
    assert "U1" not in "".join(map(ev.dump, shown))


def test_only_the_author_edits_a_request() -> None:
    edit = {"at": 9.0, "message": R, "text": "something else"}
    assert job(*TEAM, ev.RequestEdited(**edit, user="U2")).asks[0].request.text == "why did churn rise"
    assert job(*TEAM, ev.RequestEdited(**edit, user="U1")).asks[0].request.text != "why did churn rise"
