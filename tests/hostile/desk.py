"""One job in memory, run by the real engine and the real attempt: only the store and Slack are not there.

A model works, a person decides on each card, and the job goes on until its part has come to an end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.jobs.attempt import AttemptServices, run_attempt
from bot.store.values import JobKey
from handoff import events as ev
from handoff.access.rights import Actor
from handoff.approval_values import Approval, ApprovalChoice
from handoff.contracts import Member, Place, Plan, Request, Subtask
from handoff.effects import RunSubtask
from handoff.engine.engine import apply_event
from handoff.engine.outstanding_effects import list_outstanding_effects
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import Question
from specialists.crew import Crew
from specialists.model import Model
from specialists.tools.tool import Tool
from tests.proof_kit import Worker, make_crew

WHO = "worker"
REQUEST = "1.0"
REQUESTER = "U1"


class Person(Protocol):
    """Who clicks: says of each card what they choose."""

    def decide(self, approval: Approval) -> ApprovalChoice: ...


@dataclass
class Nobody:
    """A person who denies whatever is asked."""

    def decide(self, approval: Approval) -> ApprovalChoice:  # noqa: ARG002 - all alike
        return "deny"


@dataclass
class Reader:
    """A person who approves the calls that the request names, and denies the others.

    `scopes_by_digest` has the scope of each of those calls. The first of several to one place is approved for all of
    them.
    """

    scopes_by_digest: Mapping[str, tuple[str, str, str]]

    def decide(self, approval: Approval) -> ApprovalChoice:
        named = [one for one in approval.calls if one.digest in self.scopes_by_digest]
        if len(named) < len(approval.calls):
            return "apart" if named else "deny"
        likes = [one.scope[1:] for one in approval.calls]
        several = any(
            like[1:] in likes for digest, like in self.scopes_by_digest.items() if digest not in _digests(approval)
        )
        return "approve_alike" if several else "approve"


def _digests(approval: Approval) -> set[str]:
    return {one.digest for one in approval.calls}


@dataclass
class Leave:
    """What the person allowed, by our own count: an approval covers one call, one of similar calls any further ones."""

    cards: list[Approval] = field(default_factory=list)
    once: Counter[str] = field(default_factory=Counter)
    likes: set[tuple[str, str]] = field(default_factory=set)

    def note(self, approval: Approval, choice: ApprovalChoice) -> None:
        self.cards.append(approval)
        for one in approval.calls:
            self.once[one.digest] += choice in {"approve", "approve_alike"}
            if choice == "approve_alike":
                self.likes.add((one.tool, one.target))

    def covers(self, tool: str, digest: str, target: str) -> bool:
        """Say if a call was allowed, and use that up."""
        if self.once[digest]:
            self.once[digest] -= 1
            return True
        return (tool, target) in self.likes


@dataclass
class Desk:
    """Stands where the owner of a job stands: finds it, and takes its events. Each event is written and read again."""

    job: Job | None = None
    at: float = 1.0

    def find_request(self, request_id: str) -> tuple[Job, RequestState]:
        assert self.job is not None
        request = self.job.find_request(request_id)
        assert request is not None
        return self.job, request

    def now(self) -> float:
        self.at += 0.001
        return self.at

    async def report(self, *events: ev.Event) -> None:
        self.report_soon(*events)

    def report_soon(self, *events: ev.Event) -> None:
        for event in events:
            self.job = apply_event(self.job, ev.load_event(ev.dump_event(event)))

    async def ensure_held(self) -> None:
        """Nobody else wants it."""

    @property
    def claim(self) -> Any:
        """No store is asked for anything: all texts are the log's own."""
        return type("Claim", (), {"key": JobKey("T1", REQUEST)})


async def present(_place: Place, user: str) -> Actor:
    """Everybody is still there."""
    return Actor(user)


def make_desk(text: str, *, quoted_text: str = "") -> Desk:
    """A job whose request goes to the worker as it stands."""
    desk = Desk()
    body = Request(id=REQUEST, user=REQUESTER, text=text, at=1.0, quoted=quoted_text)
    part = Subtask(id="a", title="All of it", intent=text, specialist=WHO)
    place = Place(team="T1", channel="C1", thread_ts=REQUEST)
    desk.report_soon(
        ev.RequestAdded(at=1.0, place=place, request=body),
        ev.PlanProposed(
            at=1.0, request=REQUEST, plan=Plan(goal="Do it", subtasks=(part,)), members=(Member(name=WHO),)
        ),
    )
    return desk


def crew_of(tools: Iterable[Tool]) -> Crew:
    """A crew of one worker with these tools, with not a word on approvals in its file."""
    by_name = {tool.name: tool for tool in tools}
    return make_crew({WHO: Worker("Does what is asked with the tools it has.", tuple(by_name), "fast", 50)}, by_name)


async def play_attempt(desk: Desk, crew: Crew, model: Model, person: Person, leave: Leave) -> ev.Event:
    """Have the worker do its part, and the person decide. Returns how the first attempt ended."""
    while True:
        job, _ = desk.find_request(REQUEST)
        effect = next(one for one in list_outstanding_effects(job, desk.now())[0] if isinstance(one, RunSubtask))
        runner: Any = desk
        nowhere: Any = None
        event = await run_attempt(
            effect,
            runner,
            crew=crew,
            model=model,
            store=nowhere,
            breakers=nowhere,
            surroundings=AttemptServices(find_actor=present),
        )
        desk.report_soon(event)
        if not isinstance(event, ev.ApprovalAsked):
            return event
        while (question := desk.find_request(REQUEST)[1].subtasks["a"].question) is not None:
            _decide(desk, question, person, leave)


def _decide(desk: Desk, question: Question, person: Person, leave: Leave) -> None:
    approval = question.approval
    assert approval is not None, "nothing else is asked here"
    choice = person.decide(approval)
    leave.note(approval, choice)
    desk.report_soon(
        ev.ApprovalDecided(
            at=desk.now(),
            request=REQUEST,
            subtask="a",
            number=question.number,
            digest=approval.digest,
            user=REQUESTER,
            decision=choice,
            reason="It is not what I asked for." if choice == "deny" else "",
        )
    )
