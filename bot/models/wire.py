"""The protocol of wire formats, and the parsers with which all of them read replies."""

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
from handoff.text.reply_text import is_nested_within, replace_surrogates
from specialists.model import ModelCall, Picture

MAX_LEVELS = 40
"""Most levels of a tool call's arguments. No tool takes more than three; the log could store a few hundred."""
MAX_CALLS = 128
"""Most tool calls in one reply. `ToolCallRunner` runs far fewer, so a server that sends more must be broken."""
MAX_TOKENS = 100_000_000
"""The highest token count of a call that is believed. A broken server may report any number."""

EFFORT_BY_TIER: Mapping[Tier, str] = {"fast": "low", "balanced": "medium", "deep": "high"}
"""The reasoning effort by tier, for the providers' own servers. Other servers are sent one only if a call names it."""


def choose_effort(call: ModelCall, *, is_own_server: bool) -> str | None:
    """Return the reasoning effort to send with a call; None: send none."""
    return call.effort or (EFFORT_BY_TIER[call.tier] if is_own_server else None)


def choose_temperature(call: ModelCall, *, is_own_server: bool) -> float | None:
    """Return the temperature to send; None: send none. The default for compatible servers is 0, against sampling."""
    return call.temperature if call.temperature is not None or is_own_server else 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one call.

    `cache_read` and `cache_written` are the parts of `input` read from and written to the cache.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Add the counts of two calls."""
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_written + other.cache_written,
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
    """Passes streamed text to the listener, and records whether it got any: then the call is not retried."""

    def __init__(self, on_text: Callable[[str], Awaitable[None]] | None) -> None:
        self._on_text = on_text
        self.has_emitted = False
        self.listener_error: Exception | None = None

    async def emit(self, piece: str) -> None:
        """Hand a piece of text to the listener, if there is one."""
        if self._on_text is None or not piece:
            return
        self.has_emitted = True
        try:
            await self._on_text(piece)
        except Exception as error:
            self.listener_error = error
            raise


class ProviderConnection(NamedTuple):
    """A provider's SDK module, for its exception classes, and a client of this SDK that makes no retries."""

    sdk: Any
    client: Any


class Wire(Protocol):
    """A wire format, which sends a call and reads its reply. It knows no deadline, retry, price or tier."""

    @property
    def base_url(self) -> str | None:
        """The server's address; None for the provider's own."""

    def connect(self) -> ProviderConnection:
        """Import the SDK and make a client. The first call blocks for seconds."""

    def needs_step_schema(self, model: str) -> bool:
        """Return True if this model calls tools by steps in a JSON schema, see `schema_steps`."""

    @property
    def picture_limits(self) -> PictureLimits:
        """The limits on the pictures in a request."""

    async def fetch_context_size(self, connection: ProviderConnection, model: str) -> int | None:
        """Return the size of a model's context in tokens; None if the server does not report it."""

    async def sees_pictures(self, connection: ProviderConnection, model: str) -> bool | None:
        """Return whether a model sees pictures; None if that is unknown."""

    async def send(
        self, connection: ProviderConnection, call: ModelCall, model: str, emitter: Emitter, prompt_tokens: int
    ) -> WireReply:
        """Send a call once and read the reply. Before it replies, the server has to read about `prompt_tokens`.

        Raises BadReplyError, WireError, SilentError, or an exception of the SDK.
        """


class BadReplyError(Exception):
    """A reply that cannot be used. `tokens` is what it used."""

    def __init__(self, message: str, tokens: Tokens | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens or Tokens()


class CutReplyError(BadReplyError):
    """A reply that ended without a stop reason, as when the connection closes in the middle of it."""


def make_cut_reply_error(stop_reason: object, message: str, tokens: Tokens) -> BadReplyError:
    """Return the error for an incomplete reply: a CutReplyError if the provider gave no stop reason (`stop_reason`)."""
    return BadReplyError(message, tokens) if stop_reason else CutReplyError(message, tokens)


class SilentError(Exception):
    """A server that sent no event for `seconds`: before its reply began, or in the middle of it if `has_spoken`."""

    def __init__(self, seconds: float, *, has_spoken: bool) -> None:
        super().__init__(f"nothing came for {seconds:.0f} seconds")
        self.seconds = seconds
        self.has_spoken = has_spoken


class WireError(Exception):
    """An error the provider reported inside a reply that was otherwise a success (HTTP 200).

    `code` is the provider's error code, such as `rate_limit_exceeded`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def make_data_url(picture: Picture) -> str:
    """Return a picture as a data URL, as OpenAI's wire formats take it."""
    return f"data:{picture.media_type};base64,{b64encode(picture.data).decode()}"


def parse_json_object(body: bytes) -> dict[str, Any]:
    """Parse the JSON object of a response, which may be in a list of one, as Gemini's errors are.

    Raises BadReplyError for HTML, null and any other body that is not an object.
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


def make_tool_call(call_id: str, name: str, arguments: Any, tokens: Tokens) -> ToolCall:
    """Make a tool call from an object of arguments or its JSON text. Raises BadReplyError for any other arguments.

    Text after the object is ignored, as small models may add a closing tag there. An object that was cut off is
    refused, not completed.
    """
    try:
        for _ in range(2):  # some servers encode the JSON twice
            if isinstance(arguments, str):
                arguments = _parse_first_value(arguments)
    except ValueError as error:
        raise BadReplyError(f"it called {name} with arguments that are not JSON", tokens) from error
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise BadReplyError(f"it called {name} with arguments that are not an object", tokens)
    if not is_nested_within(arguments, MAX_LEVELS):
        raise BadReplyError(f"it called {name} with arguments that are nested too deep", tokens)
    return ToolCall(id=call_id, name=name, arguments=replace_surrogates(arguments))


def read_stop_reason(reason: object, known_reasons: Mapping[str, StopReason]) -> StopReason | None:
    """Return the meaning of a provider's stop reason; None if the reply is incomplete.

    An unknown reason means a normal end, for which servers have many words, unless it contains a word for a limit, a
    tool call, a refusal or a failure. A reply without a stop reason was cut off.
    """
    if not isinstance(reason, str):
        return None
    plain = reason.strip().lower()
    if plain in known_reasons:
        return known_reasons[plain]
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
"""Patterns for stop reasons that no table lists, each with its meaning; None: the reply is incomplete."""


def read_calls(calls: Iterable[tuple[str, str, Any]], stop: StopReason, tokens: Tokens) -> tuple[ToolCall, ...]:
    """Return the tool calls of a reply, made from triples of (id, name, arguments).

    In a reply that its token limit cut off, only complete calls with arguments count: empty arguments may have been cut
    off. A refused reply has no calls. In any other reply an incomplete call raises BadReplyError.
    """
    if stop == "refused":
        return ()
    if stop != "max_tokens":
        return tuple(make_tool_call(*call, tokens) for call in calls)
    whole = []
    for call in calls:
        with suppress(BadReplyError):
            read = make_tool_call(*call, tokens)
            whole += [read] if read.arguments else []
    return tuple(whole)


def fill_call_ids(calls: Iterable[dict[str, Any]], field: str = "id") -> list[dict[str, Any]]:
    """Return tool calls, each with a unique id in `field`: some servers give no ids, or the same to all calls."""
    named: dict[str, dict[str, Any]] = {}
    for call in calls:
        name = str(call.get(field) or "")
        if not name or name in named:
            name = f"call_{secrets.token_hex(8)}"
        named[name] = call if call.get(field) == name else call | {field: name}
    return list(named.values())


def find_unknown_fields(value: Mapping[str, Any], known_fields: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a reply's part that are not in `known_fields`; {} if all of these are empty."""
    more = {key: each for key, each in value.items() if key not in known_fields and each is not None}
    return more if any(each not in ("", [], {}, False) for each in more.values()) else {}


def check_call_count(count: int) -> None:
    """Raise BadReplyError if a reply has more tool calls than `MAX_CALLS`, so that no more of it is read."""
    if count > MAX_CALLS:
        raise BadReplyError(f"it made more than {MAX_CALLS} tool calls in one turn")


def _parse_first_value(text: str) -> Any:
    """Parse the JSON value at the start of a text; {} for "". Raises ValueError for no value, or for several."""
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
    """Return a token count of a usage object; 0 if it is absent, null, negative or no number."""
    value = usage.get(key) if isinstance(usage, dict) else None
    return max(0, min(value, MAX_TOKENS)) if isinstance(value, int) else 0


def read_tokens(usage: Any, input_key: str, output_key: str) -> Tokens:
    """Return the token counts of an OpenAI usage object; `input_key` and `output_key` are its keys."""
    details = usage.get(f"{input_key}_details") if isinstance(usage, dict) else None
    return Tokens(
        read_token_count(usage, input_key),
        read_token_count(usage, output_key),
        read_token_count(details, "cached_tokens"),
        read_token_count(details, "cache_write_tokens"),
    )
