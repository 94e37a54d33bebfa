"""The `Wire` protocol, which each provider's wire format implements, and the reply parsers that all of them share."""

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

MAX_ARGUMENT_DEPTH = 40
"""Maximum nesting depth of a tool call's arguments. No tool needs more than three levels."""
MAX_TOOL_CALLS = 128
"""Maximum number of tool calls in one reply. A server that sends more must be broken: far fewer are ever run."""
MAX_PLAUSIBLE_TOKENS = 100_000_000
"""The highest token count that is accepted from a server; a higher one is cut to it, as broken servers report any."""

EFFORT_BY_TIER: Mapping[Tier, str] = {"fast": "low", "balanced": "medium", "deep": "high"}
"""The reasoning effort by tier, for the providers' own servers. Others get an effort only if the call names one."""


def choose_effort(call: ModelCall, *, is_provider_server: bool) -> str | None:
    """Return the reasoning effort to send with a call, or None to send none."""
    return call.effort or (EFFORT_BY_TIER[call.tier] if is_provider_server else None)


def choose_temperature(call: ModelCall, *, is_provider_server: bool) -> float | None:
    """Return the temperature to send, or None to send none. Servers that are not the provider's get 0 by default."""
    return call.temperature if call.temperature is not None or is_provider_server else 0


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Token counts of one call.

    `cache_read` and `cache_written` are the parts of `input` read from and written to the cache.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0

    def __add__(self, other: TokenCounts) -> TokenCounts:
        """Add the counts of two calls."""
        return TokenCounts(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_written + other.cache_written,
        )


@dataclass(frozen=True, slots=True)
class WireReply:
    """A complete reply. `thoughts` are reasoning items, which go back to the provider unchanged with the next turn."""

    text: str
    calls: tuple[ToolCall, ...]
    stop_reason: StopReason
    tokens: TokenCounts
    thoughts: tuple[dict[str, Any], ...] = ()


class Emitter:
    """Passes streamed text to a listener. A call is not retried once `has_emitted` is True."""

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
        """Return True if this model calls tools by replying with JSON that fits a schema (`schema_steps`)."""

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
        """Send a call once and read the reply. `prompt_tokens` estimates how much the server reads before it replies.

        Raises BadReplyError, WireError, SilentError, or an exception of the SDK.
        """


class BadReplyError(Exception):
    """A reply that cannot be used. `tokens` is what it used."""

    def __init__(self, message: str, tokens: TokenCounts | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens or TokenCounts()


class CutReplyError(BadReplyError):
    """A reply that ended without a stop reason, as when the connection closes in the middle of it."""


def make_cut_reply_error(stop_reason: object, message: str, tokens: TokenCounts) -> BadReplyError:
    """Return the error for an incomplete reply: a CutReplyError if the provider gave no stop reason (`stop_reason`)."""
    return BadReplyError(message, tokens) if stop_reason else CutReplyError(message, tokens)


class SilentError(Exception):
    """The server sent no event for `seconds`. `has_spoken` is True if its reply had already begun."""

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


def make_tool_call(call_id: str, name: str, arguments: Any, tokens: TokenCounts) -> ToolCall:
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
    if not is_nested_within(arguments, MAX_ARGUMENT_DEPTH):
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


def parse_tool_calls(
    calls: Iterable[tuple[str, str, Any]], stop: StopReason, tokens: TokenCounts
) -> tuple[ToolCall, ...]:
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
            tool_call = make_tool_call(*call, tokens)
            whole += [tool_call] if tool_call.arguments else []
    return tuple(whole)


def fill_call_ids(calls: Iterable[dict[str, Any]], field: str = "id") -> list[dict[str, Any]]:
    """Return tool calls, each with a unique id in `field`: some servers give no ids, or the same to all calls."""
    calls_by_id: dict[str, dict[str, Any]] = {}
    for call in calls:
        call_id = str(call.get(field) or "")
        if not call_id or call_id in calls_by_id:
            call_id = f"call_{secrets.token_hex(8)}"
        calls_by_id[call_id] = call if call.get(field) == call_id else call | {field: call_id}
    return list(calls_by_id.values())


def find_unknown_fields(value: Mapping[str, Any], known_fields: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a reply's part that are not in `known_fields`; {} if all of these are empty."""
    more = {key: each for key, each in value.items() if key not in known_fields and each is not None}
    return more if any(each not in ("", [], {}, False) for each in more.values()) else {}


def check_call_count(count: int) -> None:
    """Raise BadReplyError if a reply has more tool calls than `MAX_TOOL_CALLS`, so that no more of it is read."""
    if count > MAX_TOOL_CALLS:
        raise BadReplyError(f"it made more than {MAX_TOOL_CALLS} tool calls in one turn")


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
    return max(0, min(value, MAX_PLAUSIBLE_TOKENS)) if isinstance(value, int) else 0


def read_openai_usage(usage: Any, input_key: str, output_key: str) -> TokenCounts:
    """Return the token counts of an OpenAI usage object. `input_key` and `output_key` are its keys of the totals."""
    details = usage.get(f"{input_key}_details") if isinstance(usage, dict) else None
    return TokenCounts(
        read_token_count(usage, input_key),
        read_token_count(usage, output_key),
        read_token_count(details, "cached_tokens"),
        read_token_count(details, "cache_write_tokens"),
    )
