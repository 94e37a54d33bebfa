"""What the audit says of each event, and that it never quotes anybody."""

import pytest

from handoff import events as ev
from handoff.access.audit_entry import AuditEntry
from handoff.approval_values import Approval, digest_of
from handoff.contracts import Escalation, Request, Result, ToolCall, ToolReply, Turn, Usage
from handoff.effects import answer_key, card_end_key
from handoff.engine.engine import apply
from handoff.state.job_state import Job
from handoff.summaries.deeds import CLOSED, NO_REQUEST, NOTHING_TO_STOP, deeds_of
from tests.handoff.kit import PLACE, R, asked, planned, returned, started, subtask

CANARY = "zanzibar"


def told(*log: ev.Event) -> list[AuditEntry]:
    """The entries of a whole log."""
    job: Job | None = None
    found: list[AuditEntry] = []
    for event in log:
        before, job = job, apply(job, event)
        found += deeds_of(before, event, job)
    return found


def brief(entries: list[AuditEntry]) -> list[tuple[str, str, str, str]]:
    return [(one.deed, one.user, one.target, one.outcome) for one in entries]


def turn(*calls: ToolCall, name: str = "a") -> ev.TurnTaken:
    of = {"request": R, "subtask": name, "attempt": 1}
    return ev.TurnTaken(at=4.0, **of, turn=Turn(text=CANARY, calls=calls, stop="tool_use", usage=Usage()))


def replied(call: str) -> ev.ToolReturned:
    of = {"request": R, "subtask": "a", "attempt": 1}
    return ev.ToolReturned(at=4.5, **of, reply=ToolReply(call_id=call, text=CANARY))


def escalated() -> ev.Escalated:
    said = Escalation(reason="ambiguous_input", message=CANARY)
    return ev.Escalated(at=4.0, request=R, subtask="a", attempt=1, escalation=said)


def answered(user: str, number: int = 1) -> ev.QuestionAnswered:
    return ev.QuestionAnswered(at=5.0, request=R, subtask="a", user=user, text=CANARY, number=number)


def ended(at: float = 9.0) -> tuple[ev.Event, ...]:
    return (
        ev.AnswerWritten(at=at, request=R, text=CANARY),
        ev.Posted(at=at, request=R, key=answer_key(R), ts="2.0"),
        ev.Posted(at=at, request=R, key=card_end_key(R), ts="2.0"),
    )


def test_a_request_is_asked_and_ends_with_its_cost() -> None:
    plan = planned(subtask("a")).model_copy(update={"usage": Usage(calls=1, cost=0.25)})
    entries = told(asked(), plan, started("a"), returned("a"), *ended())
    assert brief(entries) == [("asked", "U1", "", "done"), ("ended", "U1", "", "done")]
    first, last = entries
    assert (first.team, first.channel, first.job, first.request) == (PLACE.team, "C1", PLACE.job_id, R)
    assert (last.cost, last.why, last.at) == (0.25, "answered", 9.0)


def test_a_request_that_is_turned_away_is_refused() -> None:
    entries = told(asked(refusal="You mentioned me without a request."))
    assert brief(entries) == [("asked", "U1", "", "refused")]
    assert entries[0].why == NO_REQUEST


def test_the_same_request_twice_is_one_deed() -> None:
    assert brief(told(asked(), asked())) == [("asked", "U1", "", "done")]


def test_answers_that_count_and_answers_that_do_not() -> None:
    entries = told(
        asked(), planned(subtask("a")), started("a"), escalated(), answered("U1"), answered("U2"), answered("U1", 7)
    )
    assert brief(entries)[1:] == [
        ("answered", "U1", "a", "done"),
        ("answered", "U2", "a", "refused"),
        ("answered", "U1", "a", "refused"),
    ]
    assert {one.why for one in entries[2:]} == {CLOSED}


def test_a_stop_counts_once() -> None:
    stop = ev.CancelRequested(at=4.0, user="U9", admin=True)
    entries = told(asked(), planned(subtask("a")), stop, stop)
    assert brief(entries)[1:] == [("stopped", "U9", "", "done"), ("stopped", "U9", "", "refused")]
    theirs = told(asked(), planned(subtask("a")), ev.CancelRequested(at=4.0, user="U9"))
    assert brief(theirs)[1:] == [("stopped", "U9", "", "refused")], "it is not for them to stop"
    assert entries[2].why == NOTHING_TO_STOP


def test_a_deleted_message_stops_its_request_and_says_why() -> None:
    entries = told(asked(), ev.RequestWithdrawn(at=4.0, message=R))
    assert brief(entries)[1:] == [("stopped", "U1", "", "done")]
    assert entries[1].why == "its message was deleted"


def test_writes_are_told_with_the_tool() -> None:
    intent = ev.ToolStarted(at=4.2, request=R, subtask="a", attempt=1, call="w", tool="post_note", what=CANARY)
    fetch = ToolCall(id="f", name="fetch_page", arguments={"url": f"https://example.com/{CANARY}"})
    calls = turn(fetch, ToolCall(id="w", name="post_note", arguments={"text": CANARY}))
    log = (asked(), planned(subtask("a")), started("a"), calls, replied("f"), intent)
    assert brief(told(*log))[1:] == [("wrote", "U1", "post_note", "done")]


def decided(user: str, decision: str = "approve", digest: str = "") -> ev.ApprovalDecided:
    of = {"request": R, "subtask": "a", "number": 1, "digest": digest or digest_of("post_note", {"text": CANARY})}
    return ev.ApprovalDecided.model_validate({"at": 5.0, "user": user, "decision": decision, "reason": CANARY, **of})


@pytest.mark.parametrize(
    ("decision", "deed", "why"),
    [("approve", "approved", ""), ("approve_alike", "approved", "and similar calls"), ("deny", "denied", "")],
)
def test_decisions_on_approvals_that_count_and_that_do_not(decision: str, deed: str, why: str) -> None:
    write = ToolCall(id="w", name="post_note", arguments={"text": CANARY})
    asks = Approval(
        call="w", tool="post_note", what=CANARY, arguments={"text": CANARY}, target=CANARY, leaves=CANARY,
        digest=digest_of("post_note", {"text": CANARY}),
    )  # fmt: skip
    of = {"request": R, "subtask": "a", "attempt": 1}
    log = (asked(), planned(subtask("a")), started("a"), turn(write), ev.ApprovalAsked(at=4.5, **of, approval=asks))
    late = (decided("U2"), decided("U1", digest="0"), decided("U1", decision), decided("U1", decision))
    entries = told(*log, *late)
    target = "post_note"
    assert brief(entries)[1:] == [
        ("approved", "U2", target, "refused"),
        ("approved", "U1", target, "refused"),
        (deed, "U1", target, "done"),
        (deed, "U1", target, "refused"),
    ]
    assert entries[3].why == why
    assert CANARY not in "".join(entry.model_dump_json() for entry in entries)


def test_a_release_is_told() -> None:
    entries = told(asked(), ev.SetAside(at=3.0, step=CANARY, reason=CANARY), ev.Released(at=4.0, user="U9"))
    assert brief(entries)[1:] == [("released", "U9", "", "done")]


def test_a_message_that_becomes_a_request_is_asked_when_it_is_one() -> None:
    said = Request(id="3.0", user="U2", text=CANARY, at=3.0)
    entries = told(asked(), *ended(), ev.MessageHeard(at=10.0, message=said), asked("3.0", at=10.0))
    assert brief(entries)[2:] == [("asked", "U1", "", "done")]


@pytest.mark.parametrize("kind", sorted(ev.Event.__args__[0].__args__, key=lambda one: one.__name__))
def test_no_event_makes_the_audit_quote_anybody(kind: type[ev.Fact]) -> None:
    """Each event with a canary in every text of it, after a log full of them."""
    log = (asked(), planned(subtask("a")), started("a"), turn(), escalated())
    ids = {"request", "subtask", "type", "user", "owner", "key", "ts", "call", "tool"}
    texts = {name: CANARY for name, field in kind.model_fields.items() if field.annotation is str and name not in ids}
    given = {"at": 6.0, "request": R, "subtask": "a", "attempt": 1, "user": "U1", "call": "c", "tool": "t", **texts}
    values = {
        "place": PLACE, "message": "m", "turn": Turn(text=CANARY, stop="end", usage=Usage()),
        "reply": ToolReply(call_id="c", text=CANARY), "result": Result(summary=CANARY, content=CANARY),
        "plan": planned(subtask("b")).plan, "verdict": "accepted", "aim": "request", "kind": "model",
        "escalation": escalated().escalation, "setting": {}, "specialist": "analyst", "tier": "fast",
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
    lines = [one.model_dump_json() for one in told(*log, event)]  # type: ignore[arg-type]
    assert lines
    assert CANARY not in "".join(lines)
