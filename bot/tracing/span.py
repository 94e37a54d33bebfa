"""A span of a trace: the time of one step or wait, as derived from the log of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from handoff.contracts import Tier, Usage
from handoff.state.state_values import EngineDecision

SpanKind = Literal[
    "request", "gather", "plan", "subtask", "attempt", "chat", "tool", "wait", "pause", "verify", "refine", "synthesis",
    "post", "sort", "away",
]  # fmt: skip
"""The kind of a span.

- `request`: one request, from its message to its visible end. All other spans of a request are below it.
- `gather`: the reading of files and messages.
- `plan`: the planning of one run; `outcome` is `proposed`, `rejected`, `asked`, `answered`, `revised` or `kept`.
- `subtask`: one subtask, from its first attempt or question to its end, waits included.
- `attempt`: one attempt of a specialist or of a crew at a subtask.
- `chat`: one model turn of an attempt, or the model calls of one of the supervisor's roles.
- `tool`: one tool call.
- `wait`: waiting for a person; `outcome` is the reason: `question`, `approval`, `cost`, `doubt` or `set_aside`.
- `pause`: the pause before the next attempt.
- `verify`: the verifier's comparison of the answer with the evidence.
- `refine`: the rewriting of a failed attempt's brief.
- `synthesis`: a step from the results to the answer; `name` is that of the role.
- `post`: the posting of a message in the thread.
- `sort`: the classification of a message in the thread.
- `away`: time in which nobody worked on the job; `name` is "taken over" if its owner was lost.
"""
SpanState = Literal["open", "done", "failed", "stopped"]
"""How a span ended. `open`: the log does not show its end. `stopped`: it was ended before it was done."""

NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})
SUPERVISORS_LANE = "supervisor"


@dataclass(frozen=True, slots=True)
class Span:
    """One step or wait. Times are seconds since the epoch, from the events of the log.

    The same log gives the same spans. When the log grows, spans keep their ids, so that an instance that takes over a
    job continues the spans of the instance before it.

    Attributes:
        id: The kind and the `seq` of the event with which the span began, such as `attempt-5`. Further spans of one
            kind that began with the same event have a number behind that: `tool-9-2`.
        kind: The kind of the span.
        name: The name of the tool, role, model or specialist; a subtask's title; a request's text.
        lane: `supervisor`, or the specialist's name below those of its outer crews: `legal/reader`.
        start: When the span began.
        end: When the span ended; None while it is `open`.
        state: How the span ended.
        parent: The id of the span around it; empty for a request, and for a span outside of all requests.
        after: The id of the span whose end let this one begin; empty if unknown.
        request: The id of its request; empty if it is about the whole job.
        subtask: The id of its subtask; empty without one. Ids inside a crew begin with its subtask: `terms/read`.
        attempt: The number of its attempt, from 1; 0 without an attempt.
        words: What happened, in one line for people.
        outcome: One word, as `SpanKind` lists them. For an attempt: `result`, or the kind of failure or escalation.
        reason: Why the span ended as it did, in words for people; may be empty.
        events: The `seq` of each event from which the span was derived, in order.
        derived: How its times were derived if the log does not contain them; otherwise empty.
        model: The model that answered; empty if none did.
        tier: The tier of the model; None if none was named.
        usage: Tokens, calls, cost and seconds of the model calls of this span, without those of spans below it; None
            without calls. The usages of all spans of a request add up to that of the request: an attempt has only
            the part that its turns lack.
        call: The id of a tool call in its turn.
        arguments: The arguments of a tool call.
        text: The full output: a tool's reply, a model's text, a result's content, an answer.
        brief: The input: a subtask's intent (as rewritten), a request's text, a question.
        decisions: The decisions of policy when the span began or ended, each with its reason.
        critical: True if the span is on the critical path: the end of its request waited for it.
    """

    id: str
    kind: SpanKind
    name: str
    lane: str
    start: float
    end: float | None
    state: SpanState
    parent: str = ""
    after: str = ""
    request: str = ""
    subtask: str = ""
    attempt: int = 0
    words: str = ""
    outcome: str = ""
    reason: str = ""
    events: tuple[int, ...] = ()
    derived: str = ""
    model: str = ""
    tier: Tier | None = None
    usage: Usage | None = None
    call: str = ""
    arguments: Mapping[str, Any] = field(default_factory=lambda: NO_ARGUMENTS)
    text: str = ""
    brief: str = ""
    decisions: tuple[EngineDecision, ...] = ()
    critical: bool = False
