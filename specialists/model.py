"""The protocol in which everything talks to a language model: one call, one turn back.

It is small on purpose. A provider (see `bot/models`) turns a
`ModelCall` into its own wire format and gives back a `Turn` whose stop reason
is known, or raises `ModelError`, the only exception that may leave a provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from handoff.contracts import Contract, Result, Tier, ToolCall, ToolReply, Turn, Usage
from specialists.formats.picture_facts import PictureType
from specialists.tools.tool import ToolSpec

ModelErrorKind = Literal[
    "unavailable", "rate_limited", "timeout", "bad_request", "bad_reply", "auth", "quota", "too_long"
]

Effort = Literal["low", "medium", "high"]
"""How hard a model thinks before it replies."""

WithheldFor = Literal["breaker", "rate", "slots", "budget"]


class Picture(Contract):
    """A picture for a model that sees: PNG, JPEG, WebP or GIF. `data` are its bytes."""

    name: str
    media_type: PictureType
    data: bytes


class ModelMessage(Contract):
    """A message of a conversation with a model.

    An assistant's may carry calls, a tool's message carries replies, and a user's may carry pictures before its text.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    replies: tuple[ToolReply, ...] = ()
    thoughts: tuple[dict[str, Any], ...] = ()
    """An assistant's: `Turn.thoughts`, handed back as they came."""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a model. `deadline` is the seconds it may take in all, retries included.

    A call that streams may last until its deadline: only a silence (a setting of the providers) ends it earlier.
    `tool_choice`: `required` asks for a call of one of `tools`; a provider that cannot force one treats it as `auto`.

    `answer_schema` asks for a reply that is one JSON object of that schema
    (provider-side structured output; the caller validates again). `purpose`
    names the caller for logs, such as `planner`, `specialist:analyst` or (made for a job) `made:translator`.
    `on_text`, if given, is awaited with each piece of text as it streams.
    `tries` is how often it may be sent to the provider at most.
    `last` marks the call that saves what earlier ones brought: no budget stands in its way.
    `model` names a provider's model in place of that of the tier; empty: none. `effort` and `temperature` (0 to 2) are
    asked for where the model takes them; None: as is usual for the tier and the provider.
    """

    purpose: str
    system: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    tier: Tier = "balanced"
    max_tokens: int = 4096
    deadline: float = 600.0
    answer_schema: dict[str, Any] | None = None
    on_text: Callable[[str], Awaitable[None]] | None = field(default=None, compare=False)
    last: bool = False
    tries: int = 3
    model: str = ""
    effort: Effort | None = None
    temperature: float | None = None


class ModelError(Exception):
    """A call that brought no usable turn. `transient` says whether trying again later may help.

    `usage` is what was spent all the same. `pause` is how many seconds the provider asked to be left alone, if it
    did, `tries` how often the provider was asked in vain. `partial` is what the attempt had by then, if the call
    was part of one. `share` is roughly the part of a `too_long` call that would fit. The text is fit for
    people: what failed and what to do.
    """

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        transient: bool,
        usage: Usage | None = None,
        pause: float = 0.0,
        tries: int = 1,
        share: float = 1.0,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.transient = transient
        self.share = share
        self.usage = usage or Usage()
        self.pause = pause
        self.tries = tries
        self.partial: Result | None = None


class CallWithheld(ModelError):
    """A call that was not made: a breaker is open, or a rate, all slots or a budget are used up.

    If it is `transient`, `pause` is how many seconds it takes to be free. `advice` says what people can do, and
    `limit` names what was reached in a few words, if that is more than a matter of seconds.
    """

    def __init__(
        self,
        reason: WithheldFor,
        message: str,
        *,
        transient: bool,
        pause: float = 0.0,
        advice: str = "",
        limit: str = "",
    ) -> None:
        super().__init__("unavailable", message, transient=transient, pause=pause)
        self.reason = reason
        self.advice = advice
        self.limit = limit


class Model(Protocol):
    """A provider's models. One instance serves all tiers and many calls at once."""

    @property
    def label(self) -> str:
        """The name that people are told, such as `claude-sonnet-5-5 (Anthropic)` or `rehearsal (no language model)`."""

    async def reply(self, call: ModelCall) -> Turn:
        """Take one turn. Raises `ModelError` and nothing else, but for cancellation."""

    async def close(self) -> None:
        """Release connections, inside the running loop."""
