"""A span: a stretch of time in which one thing was done or waited for, as the log of a job tells it."""

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
"""What a span is of.

- `request`: one request, from its message to its visible end. All other spans of a request are below it.
- `gather`: the reading of files and messages.
- `plan`: the planner's work on one plan, or a rule's or a pipeline's; `outcome` says what came of it: proposed,
  rejected, asked, answered, revised or kept.
- `subtask`: one subtask, from its first attempt or question to its end, waits included.
- `attempt`: one attempt of a specialist or of a crew at a subtask.
- `chat`: one model turn of an attempt, or the model calls of one of the supervisor's roles.
- `tool`: one tool call.
- `wait`: waiting for a person; `outcome` says for what: question, approval, cost, doubt or set_aside.
- `pause`: the pause before the next attempt.
- `verify`: the verifier reads the answer beside the evidence.
- `refine`: the rewriting of a failed attempt's brief.
- `synthesis`: a step from the results to the answer; `name` is the role's.
- `post`: the posting of a message in the thread.
- `sort`: finding out what a message in the thread is for.
- `away`: nobody worked on the job; `name` is "taken over" where its owner was lost.
"""
SpanState = Literal["open", "done", "failed", "stopped"]
"""How a span ended. `open`: the log does not say that it has. `stopped`: something else ended it before it was done."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
SUPERVISORS_LANE = "supervisor"


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of time. Times are seconds since the epoch, by the clocks of those who wrote the log.

    The same log gives the same spans, and a longer log of the same job gives those that began by then the same ids: an
    instance that takes over a job goes on with the spans of the one before it.

    Attributes:
        id: The kind and the `seq` of the event that it began with, such as `attempt-5`; a further one of the same kind
            that began with the same event has its number behind that: `tool-9-2`.
        kind: What it is of.
        name: In a word or two: the name of the tool, role, model or specialist; a subtask's title; a request's text.
        lane: `supervisor`, or the specialist's name, with those of the crews around it before it: `legal/reader`.
        start: When it began.
        end: When it ended; None while it is `open`.
        state: How it ended.
        parent: The id of the span around it; empty for a request, and for what belongs to no request.
        after: The id of the span whose end let this one begin; empty if that is not known.
        request: The id of the request that it belongs to; empty for what is about the whole job.
        subtask: The id of its subtask, if it has one. Ids inside a crew are below that of the crew's own: `terms/read`.
        attempt: The number of its attempt, from 1; 0 for what is of no attempt.
        words: What it was or came to, in one line for people.
        outcome: One word, see `SpanKind`; of an attempt: `result`, or the kind of its failure or escalation.
        reason: Why it ended as it did, in words for people; empty if there is nothing to say.
        events: The `seq` of each event that it was read from, in order.
        derived: How its times are known if the log does not hold them; empty where it does.
        model: The model that answered, if one did.
        tier: The tier, where one was named.
        usage: Tokens, calls, cost and seconds of the model calls of this span and of nothing below it; None if none.
            All spans of a request together hold what it used. That of an attempt is what its turns do not tell of.
        call: The id of a tool call in its turn.
        arguments: The arguments of a tool call.
        text: What came of it, whole: a tool's reply, a model's words, a result's content, an answer.
        brief: What it was given: a subtask's intent (as rewritten), a request's text, a question.
        decisions: What policy decided when it began or ended, each with its reason.
        critical: True if the end of its request waited for it.
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
    arguments: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    text: str = ""
    brief: str = ""
    decisions: tuple[EngineDecision, ...] = ()
    critical: bool = False
