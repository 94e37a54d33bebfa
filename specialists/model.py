"""The protocol for calls of language models: one call, one turn back.

It is small on purpose. A provider (see `bot/models`) turns a `ModelCall` into its own wire format and returns a `Turn`
with a known stop reason, or raises `ModelError`, the only exception that may leave a provider.
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

WithholdReason = Literal["breaker", "rate", "slots", "budget"]


class Picture(Contract):
    """A picture for a model that sees: PNG, JPEG, WebP or GIF. `data` are its bytes."""

    name: str
    media_type: PictureType
    data: bytes


class ModelMessage(Contract):
    """A message of a conversation with a model.

    A message of the assistant may carry calls. A tool message carries replies. A user's message may carry pictures,
    placed before its text.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    replies: tuple[ToolReply, ...] = ()
    thoughts: tuple[dict[str, Any], ...] = ()
    """Of an assistant's message: `Turn.thoughts`, sent back unchanged."""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a model.

    Attributes:
        purpose: The caller, for logs: `planner`, `specialist:analyst` or, ad hoc, `made:translator`.
        tool_choice: `required` asks for a call of one of `tools`. A provider that cannot force one treats it as `auto`.
        timeout_seconds: Seconds that the call may take, retries included. A streaming call may last that long:
            only silence, as set for the provider, ends it earlier.
        answer_schema: Asks for a reply that is one JSON object of this schema, by the provider's structured output. The
            caller validates it again.
        on_text: Awaited with each piece of text as it streams.
        is_last: True for the last call of an attempt, which saves its earlier work. No budget withholds it.
        max_tries: Most times that the call may be sent to the provider, the first one included.
        model: A provider's model in place of the tier's; "" for the tier's.
        effort: How hard the model should think, if it has such a setting; None: the default of tier and provider.
        temperature: From 0 to 2, if the model takes one; None: the default of tier and provider.
    """

    purpose: str
    system: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    tier: Tier = "balanced"
    max_tokens: int = 4096
    timeout_seconds: float = 600.0
    answer_schema: dict[str, Any] | None = None
    on_text: Callable[[str], Awaitable[None]] | None = field(default=None, compare=False)
    is_last: bool = False
    max_tries: int = 3
    model: str = ""
    effort: Effort | None = None
    temperature: float | None = None


class ModelError(Exception):
    """A call brought no usable turn. The text tells people what failed and what to do.

    Attributes:
        transient: True if trying again later may help.
        usage: The tokens spent in spite of the failure.
        pause: Seconds that the provider asked to wait; 0 if it did not.
        tries: How often the call was sent to the provider.
        partial: The result that an attempt had so far; None outside attempts.
        share: The part of a `too_long` call that would fit, estimated, from 0 to 1.
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
    """A call was not made: a breaker is open, or a rate, all slots or a budget are used up.

    If it is `transient`, calls are possible again after `pause` seconds. `advice` says what people can do. `limit`
    names the limit in a few words if the wait is longer than seconds.
    """

    def __init__(
        self,
        reason: WithholdReason,
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
        """The model's name for people, such as `claude-sonnet-5-5 (Anthropic)` or `rehearsal (no language model)`."""

    async def reply(self, call: ModelCall) -> Turn:
        """Take one turn. Raises `ModelError` and, apart from cancellation, nothing else."""

    async def close(self) -> None:
        """Release connections, inside the running loop."""
