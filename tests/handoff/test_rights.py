"""Who may stop, trace and see what; what may go from place to place; what the audit says, and what is deleted."""

from __future__ import annotations

import itertools

import pytest

from handoff import events as ev
from handoff.access import rights
from handoff.access.audit_entry import AuditEntry
from handoff.access.rights import Actor, AudienceCrossing, find_crossings, may_allow_crossing, may_pass_on
from handoff.approval_values import Approval, compute_call_digest
from handoff.contracts import (
    Artifact,
    Audience,
    Material,
    Request,
    Result,
    Section,
    ToolCall,
    ToolReply,
    Turn,
    Usage,
)
from handoff.effects import DropCopies
from handoff.engine.engine import apply_event
from handoff.materials.deletions import DELETED_FAULT, DELETED_TEXT, blank_spans
from handoff.state.job_state import Job
from handoff.state.state_values import CopyToDelete
from handoff.summaries.audit_events import (
    CLOSED_REASON,
    NO_REQUEST_REASON,
    NOTHING_TO_STOP_REASON,
    derive_audit_entries,
)
from tests.handoff.kit import (
    PLACE,
    RUNNING_LOG,
    R,
    ask,
    effects,
    job,
    make_answer_event,
    make_end_events,
    make_escalation_event,
    make_plan_event,
    make_request_event,
    make_result_event,
    make_start_event,
    subtask,
)

BEN = "2.0"
BENS_REQUEST = make_request_event(BEN, 4.0, user="U2", text="also say hello")


def make_heard_event(user: str, text: str = "hm") -> ev.MessageHeard:
    return ev.MessageHeard(at=5.0, message=Request(id="3.0", user=user, text=text, at=5.0))


@pytest.mark.parametrize(
    ("actor", "ends"),
    [
        (Actor("U1"), {R}),
        (Actor("U2"), {BEN}),
        (Actor("U3"), set()),
        (Actor("U3", is_admin=True), {R, BEN}),
        (Actor("U3", groups=("U1", "U2")), set()),
    ],
)
def test_a_stop_ends_what_its_person_asked_for_and_an_admins_all(actor: Actor, ends: set[str]) -> None:
    before = job(*RUNNING_LOG, BENS_REQUEST)
    stop = ev.CancelRequested(at=9.0, user=actor.user, groups=actor.groups, admin=actor.is_admin)
    after = job(*RUNNING_LOG, BENS_REQUEST, stop)
    assert {request.id for request in rights.list_stoppable_requests(before, actor)} == ends
    assert {request.id for request in after.requests if request.cancelled_by} == ends
    owners = {R: "U1", BEN: "U2"}
    assert set(rights.list_other_requesters(before, actor)) == {owners[one] for one in {R, BEN} - ends}


def test_what_is_answered_cannot_be_stopped_any_more_and_an_aside_job_stays_for_others() -> None:
    of_ben_ends = ev.CancelRequested(at=9.0, user="U2")
    done = job(*RUNNING_LOG, BENS_REQUEST, of_ben_ends)
    assert rights.list_stoppable_requests(done, Actor("U2")) == ()
    assert rights.list_other_requesters(done, Actor("U2")) == ("U1",)
    aside = ev.SetAside(at=6.0, step="planning", reason="it broke")
    assert job(*RUNNING_LOG, BENS_REQUEST, aside, of_ben_ends).quarantine is not None
    assert job(*RUNNING_LOG, BENS_REQUEST, aside, ev.CancelRequested(at=9.0, user="U9", admin=True)).quarantine is None
    assert job(*RUNNING_LOG, aside, ev.CancelRequested(at=9.0, user="U1")).quarantine is None


def test_who_spoke_may_see_and_who_asked_may_trace_that_alone() -> None:
    state = job(*RUNNING_LOG, BENS_REQUEST, make_heard_event("U3"))
    assert [rights.may_see_thread(state, Actor(user)) for user in ("U1", "U2", "U3", "U4")] == [True, True, True, False]
    assert rights.may_see_thread(state, Actor("U4", is_admin=True))
    assert [rights.list_traceable_request_ids(state, Actor(user)) for user in ("U1", "U2", "U3")] == [
        {R},
        {BEN},
        frozenset(),
    ]
    assert rights.list_traceable_request_ids(state, Actor("U4", is_admin=True)) == {R, BEN}


def test_the_steps_of_ben_hold_nothing_of_ana() -> None:
    log: tuple[ev.Event, ...] = (
        *RUNNING_LOG,
        BENS_REQUEST,
        make_heard_event("U1"),
        make_heard_event("U2"),
        ev.MessageSorted(at=6.0, message=R, aim="correction"),
        ev.RequestEdited(at=6.0, message=R, user="U1", text="secret"),
        ev.RequestWithdrawn(at=6.0, message=BEN),
        ev.MessageAcknowledged(at=6.0, receipt=R),
        ev.FeedbackGiven(at=6.0, request=R, user="U2", good=True),
        ev.Posted(at=6.0, request=BEN, key=f"{BEN}:card", ts="4.0"),
        ev.Released(at=7.0, user="U9"),
    )
    shown = [event for event in log if rights.concerns_requests(event, frozenset({BEN}), "U2")]
    assert [event.type for event in shown] == [
        "RequestAdded",
        "MessageHeard",
        "RequestWithdrawn",
        "Posted",
        "Released",
    ]
    assert "U1" not in "".join(map(ev.dump_event, shown))


def test_only_the_author_edits_a_request() -> None:
    edit = {"at": 9.0, "message": R, "text": "something else"}
    assert job(*RUNNING_LOG, ev.RequestEdited(**edit, user="U2")).requests[0].spec.text == "why did churn rise"
    assert job(*RUNNING_LOG, ev.RequestEdited(**edit, user="U1")).requests[0].spec.text != "why did churn rise"


# ---------------------------------------------------------------- from one place into another

PLACES = [
    Audience(channel="C1", kind="public"),
    Audience(channel="C2", kind="public"),
    Audience(channel="C3", kind="private"),
    Audience(channel="C4", kind="private"),
    Audience(channel="G1", kind="group"),
    Audience(channel="D1", kind="direct"),
    Audience(channel="D2", kind="direct"),
    Audience(channel="C9"),
]


def test_only_what_is_public_or_stays_where_it_is_may_go() -> None:
    for came, goes in itertools.product(PLACES, PLACES):
        assert may_pass_on(came, goes) == (came.channel in {"C1", "C2"} or came.channel == goes.channel), (came, goes)


def test_material_without_an_audience_is_that_of_its_job() -> None:
    here, out = PLACES[2], PLACES[0]
    own, shared = Material(name="a.csv"), Material(name="b.csv", audience=PLACES[1])
    direct, twice = Material(name="c.csv", audience=PLACES[5]), Material(name="d.csv", audience=PLACES[5])
    found = find_crossings([own, shared, direct, twice], here, out)
    assert found == (AudienceCrossing(here, out, ("a.csv",)), AudienceCrossing(PLACES[5], out, ("c.csv", "d.csv")))
    assert find_crossings([own, shared], here, here) == ()


def test_who_may_read_both_places_may_allow_it_and_nobody_else() -> None:
    crossing = AudienceCrossing(PLACES[2], PLACES[0], ("a.csv",))
    readers = {"C3": {"U1", "U2"}, "C1": {"U1", "U3"}}
    assert [may_allow_crossing(crossing, user, readers) for user in ("U1", "U2", "U3", "U4")] == [
        True,
        False,
        False,
        False,
    ]
    assert not may_allow_crossing(crossing, "U1", {"C1": {"U1"}}), "who may read a place that nobody knows is nobody"


# ---------------------------------------------------------------- what the audit says

CANARY = "zanzibar"
ESCALATION = make_escalation_event("a", "ambiguous_input", message=CANARY)


def audit_of(*log: ev.Event) -> list[AuditEntry]:
    """The entries of a whole log."""
    job: Job | None = None
    found: list[AuditEntry] = []
    for event in log:
        before, job = job, apply_event(job, event)
        found += derive_audit_entries(before, event, job)
    return found


def brief(entries: list[AuditEntry]) -> list[tuple[str, str, str, str]]:
    return [(one.deed, one.user, one.target, one.outcome) for one in entries]


def turn(*calls: ToolCall, name: str = "a") -> ev.TurnTaken:
    of = {"request": R, "subtask": name, "attempt": 1}
    return ev.TurnTaken(at=4.0, **of, turn=Turn(text=CANARY, calls=calls, stop="tool_use", usage=Usage()))


def make_reply_event(call: str) -> ev.ToolReturned:
    of = {"request": R, "subtask": "a", "attempt": 1}
    return ev.ToolReturned(at=4.5, **of, reply=ToolReply(call_id=call, text=CANARY))


def test_a_request_is_asked_and_ends_with_its_cost() -> None:
    plan = make_plan_event(subtask("a"), usage=Usage(calls=1, cost=0.25))
    entries = audit_of(
        make_request_event(), plan, make_start_event("a"), make_result_event("a"), *make_end_events(text=CANARY, at=9.0)
    )
    assert brief(entries) == [("asked", "U1", "", "done"), ("ended", "U1", "", "done")]
    first, last = entries
    assert (first.team, first.channel, first.job, first.request) == (PLACE.team, "C1", PLACE.job_id, R)
    assert (last.cost, last.why, last.at) == (0.25, "answered", 9.0)


def test_a_request_that_is_turned_away_is_refused_and_one_that_is_made_twice_is_one_deed() -> None:
    entries = audit_of(make_request_event(refusal="You mentioned me without a request."))
    assert brief(entries) == [("asked", "U1", "", "refused")]
    assert entries[0].why == NO_REQUEST_REASON
    assert brief(audit_of(make_request_event(), make_request_event())) == [("asked", "U1", "", "done")]


def test_answers_that_count_and_answers_that_do_not() -> None:
    entries = audit_of(
        *RUNNING_LOG,
        ESCALATION,
        make_answer_event(CANARY),
        make_answer_event(CANARY, user="U2"),
        make_answer_event(CANARY, number=7),
    )
    assert brief(entries)[1:] == [
        ("answered", "U1", "a", "done"),
        ("answered", "U2", "a", "refused"),
        ("answered", "U1", "a", "refused"),
    ]
    assert {one.why for one in entries[2:]} == {CLOSED_REASON}


def test_a_stop_counts_once() -> None:
    stop = ev.CancelRequested(at=4.0, user="U9", admin=True)
    entries = audit_of(make_request_event(), make_plan_event(subtask("a")), stop, stop)
    assert brief(entries)[1:] == [("stopped", "U9", "", "done"), ("stopped", "U9", "", "refused")]
    theirs = audit_of(make_request_event(), make_plan_event(subtask("a")), ev.CancelRequested(at=4.0, user="U9"))
    assert brief(theirs)[1:] == [("stopped", "U9", "", "refused")], "it is not for them to stop"
    assert entries[2].why == NOTHING_TO_STOP_REASON


def test_a_deleted_message_stops_its_request_and_says_why() -> None:
    entries = audit_of(make_request_event(), ev.RequestWithdrawn(at=4.0, message=R))
    assert brief(entries)[1:] == [("stopped", "U1", "", "done")]
    assert entries[1].why == "its message was deleted"
    released = audit_of(
        make_request_event(), ev.SetAside(at=3.0, step=CANARY, reason=CANARY), ev.Released(at=4.0, user="U9")
    )
    assert brief(released)[1:] == [("released", "U9", "", "done")]


def test_writes_are_told_with_the_tool() -> None:
    intent = ev.ToolStarted(at=4.2, request=R, subtask="a", attempt=1, call="w", tool="post_note", what=CANARY)
    fetch = ToolCall(id="f", name="fetch_page", arguments={"url": f"https://example.com/{CANARY}"})
    calls = turn(fetch, ToolCall(id="w", name="post_note", arguments={"text": CANARY}))
    log = (*RUNNING_LOG, calls, make_reply_event("f"), intent)
    assert brief(audit_of(*log))[1:] == [("wrote", "U1", "post_note", "done")]


def make_decision_event(user: str, decision: str = "approve", digest: str = "") -> ev.ApprovalDecided:
    of = {
        "request": R,
        "subtask": "a",
        "number": 1,
        "digest": digest or compute_call_digest("post_note", {"text": CANARY}),
    }
    return ev.ApprovalDecided.model_validate({"at": 5.0, "user": user, "decision": decision, "reason": CANARY, **of})


@pytest.mark.parametrize(
    ("decision", "deed", "why"),
    [("approve", "approved", ""), ("approve_alike", "approved", "and similar calls"), ("deny", "denied", "")],
)
def test_decisions_on_approvals_that_count_and_that_do_not(decision: str, deed: str, why: str) -> None:
    write = ToolCall(id="w", name="post_note", arguments={"text": CANARY})
    asks = Approval(
        call="w", tool="post_note", what=CANARY, arguments={"text": CANARY}, target=CANARY, leaves=CANARY,
        digest=compute_call_digest("post_note", {"text": CANARY}),
    )  # fmt: skip
    of = {"request": R, "subtask": "a", "attempt": 1}
    log = (*RUNNING_LOG, turn(write), ev.ApprovalAsked(at=4.5, **of, approval=asks))
    late = (
        make_decision_event("U2"),
        make_decision_event("U1", digest="0"),
        make_decision_event("U1", decision),
        make_decision_event("U1", decision),
    )
    entries = audit_of(*log, *late)
    target = "post_note"
    assert brief(entries)[1:] == [
        ("approved", "U2", target, "refused"),
        ("approved", "U1", target, "refused"),
        (deed, "U1", target, "done"),
        (deed, "U1", target, "refused"),
    ]
    assert entries[3].why == why
    assert CANARY not in "".join(entry.model_dump_json() for entry in entries)


def test_a_message_that_becomes_a_request_is_asked_when_it_is_one() -> None:
    said = Request(id="3.0", user="U2", text=CANARY, at=3.0)
    entries = audit_of(
        make_request_event(),
        *make_end_events(text=CANARY, at=9.0),
        ev.MessageHeard(at=10.0, message=said),
        make_request_event("3.0", at=10.0),
    )
    assert brief(entries)[2:] == [("asked", "U1", "", "done")]


@pytest.mark.parametrize("kind", sorted(ev.Event.__args__[0].__args__, key=lambda one: one.__name__))
def test_no_event_makes_the_audit_quote_anybody(kind: type[ev.EventBase]) -> None:
    """Each event with a canary in every text of it, after a log full of them."""
    log = (*RUNNING_LOG, turn(), ESCALATION)
    ids = {"request", "subtask", "type", "user", "owner", "key", "ts", "call", "tool"}
    texts = {name: CANARY for name, field in kind.model_fields.items() if field.annotation is str and name not in ids}
    given = {"at": 6.0, "request": R, "subtask": "a", "attempt": 1, "user": "U1", "call": "c", "tool": "t", **texts}
    values = {
        "place": PLACE, "message": "m", "turn": Turn(text=CANARY, stop="end", usage=Usage()),
        "reply": ToolReply(call_id="c", text=CANARY), "result": Result(summary=CANARY, content=CANARY),
        "plan": make_plan_event(subtask("b")).plan, "verdict": "accepted", "aim": "request", "kind": "model",
        "escalation": ESCALATION.escalation, "setting": {}, "specialist": "analyst", "tier": "fast",
        "receipt": "r", "key": "k", "ts": "1", "owner": "o", "lost": 1, "away": 1.0, "round": 1, "good": True,
        "faults": (CANARY,), "to": ("U1",), "number": 1, "count": 1, "decision": "approve",
        "approval": Approval(tool="post_note", what=CANARY, arguments={"text": CANARY}, leaves=CANARY, why=CANARY),
    }  # fmt: skip
    if "message" in kind.model_fields and kind.model_fields["message"].annotation is Request:
        values["message"] = Request(id="9.0", user="U1", text=CANARY, at=6.0)
    if "request" in kind.model_fields and kind.model_fields["request"].annotation is Request:
        given["request"] = Request(id="9.0", user="U1", text=CANARY, at=6.0)  # type: ignore[assignment]
    whole = {name: value for name, value in {**values, **given}.items() if name in kind.model_fields}
    event = kind.model_validate(whole)
    lines = [one.model_dump_json() for one in audit_of(*log, event)]  # type: ignore[arg-type]
    assert lines
    assert CANARY not in "".join(lines)


# ---------------------------------------------------------------- what was deleted

FILE = Material(
    name="a.pdf", text="t1", size=5, file=Artifact(id="f1", name="a.pdf"), file_id="F1", message=R,
    pictures=(Artifact(id="p1", name="1.png"),), outline=(Section(name="page 1"),),
)  # fmt: skip
SAME = Material(name="b.pdf", text="t2", size=5, file=Artifact(id="f1", name="b.pdf"), file_id="F2", message="0.5")
THREAD = Material(
    name="thread", kind="thread", text="t3", size=30,
    outline=(Section(name="one", start=4, message="0.1"), Section(name="two", start=14, message="0.2")),
)  # fmt: skip


def make_material_event(*materials: Material) -> ev.MaterialGathered:
    return ev.MaterialGathered(at=2.0, request=R, materials=materials)


def deletion(file: str, at: float = 3.0) -> ev.FileDeleted:
    return ev.FileDeleted(at=at, file=file)


def list_copies_to_delete(state: Job) -> tuple[CopyToDelete, ...]:
    found = [one for one in effects(state) if isinstance(one, DropCopies)]
    assert len(found) <= 1
    return found[0].copies if found else ()


def test_a_files_copies_go_and_its_name_stays() -> None:
    state = job(make_request_event(), make_material_event(FILE, THREAD), deletion("F1"))
    assert list_copies_to_delete(state) == (CopyToDelete("f1"), CopyToDelete("t1"), CopyToDelete("p1"))
    left = ask(state).materials[0]
    assert (left.name, left.fault, left.file, left.text, left.pictures) == ("a.pdf", DELETED_FAULT, None, "", ())
    assert ask(state).artifacts == ()
    assert ask(state).materials[1] == THREAD


def test_what_another_file_has_too_stays() -> None:
    state = job(make_request_event(), make_material_event(FILE, SAME), deletion("F1"))
    assert list_copies_to_delete(state) == (CopyToDelete("t1"), CopyToDelete("p1"))
    state = job(make_request_event(), make_material_event(FILE, SAME), deletion("F1"), deletion("F2"))
    assert {one.digest for one in list_copies_to_delete(state)} == {"t1", "p1", "f1", "t2"}


def test_once_they_are_dropped_nothing_is_left_to_do() -> None:
    log = (make_request_event(), make_material_event(FILE), deletion("F1"), ev.CopiesDropped(at=4.0, count=3))
    assert list_copies_to_delete(job(*log)) == ()
    assert list_copies_to_delete(job(*log, deletion("F1", 5.0))) == (), "nor if Slack says it again"
    drop = ev.RequestWithdrawn(at=3.0, message="0.1")
    assert (
        list_copies_to_delete(
            job(make_request_event(), make_material_event(THREAD), drop, ev.CopiesDropped(at=4.0, count=1), drop)
        )
        == ()
    )
    assert (
        list_copies_to_delete(
            job(
                make_request_event(),
                make_material_event(FILE),
                deletion("F9"),
                ev.RequestWithdrawn(at=3.0, message="9.9"),
            )
        )
        == ()
    )


def test_a_file_that_is_deleted_while_it_is_read_goes_as_well() -> None:
    assert list_copies_to_delete(job(make_request_event(), deletion("F1"), make_material_event(FILE))) == (
        CopyToDelete("f1"),
        CopyToDelete("t1"),
        CopyToDelete("p1"),
    )


def test_a_deleted_message_takes_its_files_and_its_lines() -> None:
    state = job(
        make_request_event(), make_material_event(FILE, SAME, THREAD), ev.RequestWithdrawn(at=3.0, message="0.2")
    )
    assert list_copies_to_delete(state) == (CopyToDelete("t3", 14, 30),)
    state = job(
        make_request_event(), make_material_event(FILE, SAME, THREAD), ev.RequestWithdrawn(at=3.0, message="0.5")
    )
    assert list_copies_to_delete(state) == (CopyToDelete("t2"),), "the file is there under another name"
    state = job(make_request_event(), make_material_event(FILE, THREAD), ev.RequestWithdrawn(at=3.0, message=R))
    assert list_copies_to_delete(state) == (CopyToDelete("f1"), CopyToDelete("t1"), CopyToDelete("p1"))


def test_blanks_keep_the_places_of_everything_else() -> None:
    text = "head\nana: secret words here\nben: hello"
    done = blank_spans(text, [(5, 28)])
    assert len(done) == len(text)
    assert "secret" not in done
    assert done.endswith("\nben: hello")
    assert DELETED_TEXT[:10] in done
    assert blank_spans("abc", [(1, 99)]) == "a" + DELETED_TEXT[:2]
    assert blank_spans(done, [(5, 28)]) == done


def test_a_thread_that_could_not_be_read_holds_nothing_to_delete() -> None:
    unread = Material(name="thread", kind="thread", fault="The thread could not be read.")
    state = job(make_request_event(), make_material_event(unread, FILE), deletion("F1"))
    assert ask(state).materials[0] == unread
    assert CopyToDelete("f1") in list_copies_to_delete(state)
