"""What is passed between people, the supervisor and the specialists.

Every model here is frozen and refuses unknown fields, so that a contract that
changed is noticed where it is read, not where it is used. Times are seconds
since the epoch, durations are seconds, costs are US dollars.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Tier = Literal["fast", "balanced", "deep"]
Strategy = Literal["merge", "select", "reduce"]
Severity = Literal["info", "low", "medium", "high", "critical"]
EscalationReason = Literal["out_of_scope", "ambiguous_input", "confidence_too_low", "timeout"]

SUPERVISOR = "supervisor"
"""The name the supervisor goes by in `Handoff.from_agent` and `Handoff.return_to`."""


class Contract(BaseModel):
    """A frozen value that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Artifact(Contract):
    """A file by reference. `id` is the sha256 (hex) of its bytes, which the store keeps.

    `size` is in bytes. `publish_as` says how people get it: as a file in the
    thread, as a Slack canvas (the bytes are Markdown), or not at all, as with
    what they attached themselves.
    """

    id: str
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    about: str = ""
    publish_as: Literal["nothing", "file", "canvas"] = "nothing"


class Attachment(Contract):
    """A file somebody attached to a message, before its bytes were fetched. `size` in bytes."""

    file_id: str
    name: str
    media_type: str = "application/octet-stream"
    size: int = 0
    url: str = ""


class Usage(Contract):
    """What model calls took. `cost` is None where no price is known; `model` names the last one used."""

    model: str = ""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    duration: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            model=other.model or self.model,
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=sum(costs) if costs else None,
            duration=self.duration + other.duration,
        )


class Finding(Contract):
    """One thing a specialist found, so that it can be checked, sorted and cited on its own."""

    severity: Severity = "info"
    message: str
    where: str = ""
    suggestion: str = ""
    confidence: int = Field(default=80, ge=0, le=100)
    source: str = ""


class Result(Contract):
    """What a specialist hands back. `summary` is what dependants see, `content` the whole of it (Markdown)."""

    summary: str
    content: str
    findings: tuple[Finding, ...] = ()
    confidence: int = Field(default=80, ge=0, le=100)
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage = Usage()
    gaps: tuple[str, ...] = ()
    """What is missing from it, named: a limit that cut the work short, a file that could not be read."""


class Escalation(Contract):
    """A specialist's honest "I can't". `options` are likely answers where a person has to choose."""

    reason: EscalationReason
    message: str
    options: tuple[str, ...] = ()
    partial_result: Result | None = None


class Subtask(Contract):
    """One part of a plan. `after` names the subtasks it needs; `done_when` is its acceptance criterion."""

    id: str
    title: str
    intent: str
    specialist: str
    after: tuple[str, ...] = ()
    done_when: str = ""
    tier: Tier | None = None
    """None: the tier that the specialist's own file names."""


class Plan(Contract):
    """What the planner returns, and what is checked before anything runs."""

    goal: str
    subtasks: tuple[Subtask, ...]
    strategy: Strategy = "merge"
    instruction: str = ""
    """How the synthesizer should put the results together."""

    def subtask(self, subtask_id: str) -> Subtask:
        """The subtask of that id. Raises KeyError where there is none."""
        for subtask in self.subtasks:
            if subtask.id == subtask_id:
                return subtask
        raise KeyError(subtask_id)


class Member(Contract):
    """A specialist as the planner and the engine see it: what it can do in one line, and who steps in for it."""

    name: str
    description: str = ""
    tier: Tier = "balanced"
    fallback: str = ""


class Constraints(Contract):
    """The limits of a handoff: `max_tokens` a model turn, `timeout` in seconds for the whole attempt."""

    max_tokens: int = 4096
    timeout: float = 300.0
    tier: Tier = "balanced"


class Note(Contract):
    """One piece of context in a handoff: where it comes from and what it says."""

    source: str
    text: str


class Handoff(Contract):
    """What a specialist gets: its part, what it depends on, and nothing else."""

    from_agent: str = SUPERVISOR
    to_agent: str
    intent: str
    context: tuple[Note, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    constraints: Constraints = Constraints()
    return_to: str = SUPERVISOR


class Request(Contract):
    """One ask in a thread. `id` is the `ts` of the message it came with."""

    id: str
    user: str
    text: str
    at: float
    attachments: tuple[Attachment, ...] = ()


class Place(Contract):
    """Where a job lives: a Slack team, channel and thread."""

    team: str
    channel: str
    thread_ts: str

    @property
    def job_id(self) -> str:
        """The job's id, which follows from the place alone: J and ten letters and digits."""
        digest = hashlib.sha256(f"{self.team}/{self.channel}/{self.thread_ts}".encode()).digest()
        alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
        number = int.from_bytes(digest[:7], "big")
        return "J" + "".join(alphabet[(number >> shift) & 31] for shift in range(0, 50, 5))
