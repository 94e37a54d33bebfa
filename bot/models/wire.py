"""The contract of a wire format, and the parts that all of them read replies with, before a reply becomes a `Turn`."""

from __future__ import annotations

import json
import re
import secrets
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from bot.models.picture_support import PictureLimits
from handoff.contracts import StopReason, Tier, ToolCall
from handoff.text.reply_text import is_shallow, replace_surrogates
from specialists.model import ModelCall, Picture

DEEPEST = 40
"""Levels that a tool call's arguments may have. No tool takes more than three; the log could hold a few hundred."""
MOST_CALLS = 128
"""Most tool calls in one reply. `ToolCalls` refuses most of so many, and a server that sends more is broken."""
MOST_TOKENS = 100_000_000
"""Most tokens that one call is believed to take, whatever a server counts."""

EFFORT: Mapping[Tier, str] = {"fast": "low", "balanced": "medium", "deep": "high"}
"""The reasoning effort by tier, for the providers' own servers. Other servers are sent one only if a call names it."""


def effort_of(call: ModelCall, *, own: bool) -> str | None:
    """Return the reasoning effort to send with a call; None: send none."""
    return call.effort or (EFFORT[call.tier] if own else None)


def temperature_of(call: ModelCall, *, own: bool) -> float | None:
    """Return the temperature to send; None: send none. Compatible servers are sent 0 by default, against sampling."""
    return call.temperature if call.temperature is not None or own else 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one reply. `read` and `written` are the parts of `input` that the provider's cache served and kept."""

    input: int = 0
    output: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Sum up two replies."""
        return Tokens(
            self.input + other.input, self.output + other.output, self.read + other.read, self.written + other.written
        )


@dataclass(frozen=True, slots=True)
class WireReply:
    """A reply with a known stop reason. `thoughts` are what the provider wants back with the next turn, see `Turn`."""

    text: str
    calls: tuple[ToolCall, ...]
    stop: StopReason
    tokens: Tokens
    thoughts: tuple[dict[str, Any], ...] = ()


class Emitter:
    """Passes streamed text on, and remembers whether any went out: such a call is never started again."""

    def __init__(self, on_text: Callable[[str], Awaitable[None]] | None) -> None:
        self._on_text = on_text
        self.emitted = False
        self.listener_error: Exception | None = None

    async def emit(self, piece: str) -> None:
        """Hand a piece of text to the listener, if there is one."""
        if self._on_text is None or not piece:
            return
        self.emitted = True
        try:
            await self._on_text(piece)
        except Exception as error:
            self.listener_error = error
            raise


class ProviderConnection(NamedTuple):
    """A provider's SDK, for its exception classes, and a client of it without retries of its own."""

    sdk: Any
    client: Any


class Wire(Protocol):
    """A wire format: how a call is sent in it and its reply read. It knows no deadline, retry, price or tier."""

    @property
    def base_url(self) -> str | None:
        """The server's address; None for the provider's own."""

    def connect(self) -> ProviderConnection:
        """Import the SDK and make a client. Blocks, for seconds when first called."""

    def needs_step_schema(self, model: str) -> bool:
        """Return True if this model calls tools by steps in a schema, see `schema_steps`."""

    @property
    def picture_limits(self) -> PictureLimits:
        """The most pictures that a request takes."""

    async def fetch_context_size(self, connection: ProviderConnection, model: str) -> int | None:
        """Return the tokens of a model's context; None if the server does not say."""

    async def sees_pictures(self, connection: ProviderConnection, model: str) -> bool | None:
        """Return whether a model sees pictures; None if nobody says."""

    async def send(
        self, connection: ProviderConnection, call: ModelCall, model: str, emitter: Emitter, prompt_tokens: int
    ) -> WireReply:
        """Send a call once and read the reply. The server first has about `prompt_tokens` to read.

        Raises BadReplyError, WireError, SilentError, or an exception of the SDK.
        """


class BadReplyError(Exception):
    """The provider answered, and the answer cannot be used. `tokens` were spent all the same."""

    def __init__(self, message: str, tokens: Tokens | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens or Tokens()


class CutReplyError(BadReplyError):
    """A reply ended without a stop reason, as when a connection is closed in the middle of it."""


def make_cut_reply_error(word: object, message: str, tokens: Tokens) -> BadReplyError:
    """Return the error for an incomplete reply; `word` is the provider's stop reason, if it gave one."""
    return BadReplyError(message, tokens) if word else CutReplyError(message, tokens)


class SilentError(Exception):
    """The server said nothing for so many seconds, before its first words or, if it has `spoken`, after them."""

    def __init__(self, seconds: float, *, spoken: bool) -> None:
        super().__init__(f"nothing came for {seconds:.0f} seconds")
        self.seconds = seconds
        self.spoken = spoken


class WireError(Exception):
    """An error the provider reported inside a reply that was otherwise a success (HTTP 200).

    `code` is the provider's own word for it, such as `rate_limit_exceeded`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def data_url(picture: Picture) -> str:
    """Write a picture as OpenAI's wires take it."""
    return f"data:{picture.media_type};base64,{b64encode(picture.data).decode()}"


def json_object(body: bytes) -> dict[str, Any]:
    """Parse the JSON object of a response, also from a list of one, as Gemini gives its errors.

    Raises BadReplyError for HTML, null and anything else that is no object.
    """
    try:
        value = json.loads(body)
    except ValueError as error:
        raise BadReplyError("it answered with something that is not JSON (a proxy's page?)") from error
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise BadReplyError("it answered with JSON that is not a message")
    return value


def tool_call(call_id: str, name: str, arguments: Any, tokens: Tokens) -> ToolCall:
    """Make a tool call; `arguments` is an object, or the JSON text of one. Raises BadReplyError for anything else.

    Text that small models put behind the object, such as a closing tag, is ignored; an object that was cut off is
    never completed.
    """
    try:
        for _ in range(2):  # some servers give the JSON text of the JSON text
            if isinstance(arguments, str):
                arguments = _parse_first_value(arguments)
    except ValueError as error:
        raise BadReplyError(f"it called {name} with arguments that are not JSON", tokens) from error
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise BadReplyError(f"it called {name} with arguments that are not an object", tokens)
    if not is_shallow(arguments, DEEPEST):
        raise BadReplyError(f"it called {name} with arguments that are nested too deep", tokens)
    return ToolCall(id=call_id, name=name, arguments=replace_surrogates(arguments))


def read_stop_reason(word: object, known: Mapping[str, StopReason]) -> StopReason | None:
    """Return the meaning of a provider's stop reason; None if the reply is not whole.

    Servers have words of their own for "done", so an unknown one means that, unless it speaks of a limit, a refusal or
    a failure. A reply without a stop reason was cut off.
    """
    if not isinstance(word, str):
        return None
    plain = word.strip().lower()
    if plain in known:
        return known[plain]
    return next((stop for words, stop in _UNKNOWN_STOPS if words.search(plain)), "end")


_UNKNOWN_STOPS: tuple[tuple[re.Pattern[str], StopReason | None], ...] = (
    (
        re.compile(
            r"error|abort|cancel|interrupt|time.?out|insufficient|fail|malformed|incomplete|disconnect|overload|"
            r"unexpected|pause|progress|queued|shut.?down|preempt|evict|null|none"
        ),
        None,
    ),
    (re.compile(r"filter|safety|recitation|refus|moderat|block|prohibited|policy|sensitive|spii|guardrail"), "refused"),
    (re.compile(r"max|length|limit|truncat|window"), "max_tokens"),
    (re.compile(r"tool|function"), "tool_use"),
)
"""The meaning of a stop reason that no table lists, by a pattern that it matches; None: the reply is not whole."""


def read_calls(calls: Iterable[tuple[str, str, Any]], stop: StopReason, tokens: Tokens) -> tuple[ToolCall, ...]:
    """Make the tool calls of a reply, each an id, a name and arguments. They count whatever the stop reason.

    In a reply that a limit cut off, only whole calls with arguments count: empty arguments were cut off. A refused
    reply has none. In any other reply a call that is not whole raises BadReplyError.
    """
    if stop == "refused":
        return ()
    if stop != "max_tokens":
        return tuple(tool_call(*call, tokens) for call in calls)
    whole = []
    for call in calls:
        with suppress(BadReplyError):
            read = tool_call(*call, tokens)
            whole += [read] if read.arguments else []
    return tuple(whole)


def fill_call_ids(wished: Iterable[dict[str, Any]], field: str = "id") -> list[dict[str, Any]]:
    """Return tool calls, each with a unique id in `field`: some servers give no ids, or the same to all calls."""
    named: dict[str, dict[str, Any]] = {}
    for call in wished:
        name = str(call.get(field) or "")
        if not name or name in named:
            name = f"call_{secrets.token_hex(8)}"
        named[name] = call if call.get(field) == name else call | {field: name}
    return list(named.values())


def unknown_fields(value: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a part of a reply that are not known and hold something."""
    more = {key: each for key, each in value.items() if key not in known and each is not None}
    return more if any(each not in ("", [], {}, False) for each in more.values()) else {}


def check_call_count(count: int) -> None:
    """Raise BadReplyError for a reply of more tool calls than `MOST_CALLS`: nothing more of it is worth reading."""
    if count > MOST_CALLS:
        raise BadReplyError(f"it made more than {MOST_CALLS} tool calls in one turn")


def _parse_first_value(text: str) -> Any:
    """Parse the JSON value that a text starts with. Raises ValueError if there is none, or a second one follows."""
    value, end = json.JSONDecoder().raw_decode(text.strip() or "{}")
    if set("{[") & set(text.strip()[end:]):
        raise ValueError("more than one value")
    return value


def is_json_value(text: str) -> bool:
    """Return True if a text is one JSON value."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def read_token_count(usage: Any, key: str) -> int:
    """Read a token count of a usage object; 0 if it is absent, null, negative or no number."""
    value = usage.get(key) if isinstance(usage, dict) else None
    return max(0, min(value, MOST_TOKENS)) if isinstance(value, int) else 0


def tokens_of(usage: Any, taken: str, given: str) -> Tokens:
    """Read the token counts of OpenAI's usage objects; `taken` and `given` are their keys for input and output."""
    details = usage.get(f"{taken}_details") if isinstance(usage, dict) else None
    return Tokens(
        read_token_count(usage, taken),
        read_token_count(usage, given),
        read_token_count(details, "cached_tokens"),
        read_token_count(details, "cache_write_tokens"),
    )
