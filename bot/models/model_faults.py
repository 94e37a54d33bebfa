"""Classifies every way that a call can fail: its kind for `ModelError`, its words, and how often it is worth a retry.

The two SDKs name their exceptions alike, so one table serves both. The SDK's
module is handed in: by the time it raises, it has been imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.models.wire import BadReplyError, SilentError, WireError
from specialists.turns.model import ModelErrorKind

_QUOTA = ("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active")
_TOO_LONG = ("context_length_exceeded", "request_too_large", "string_above_max_length")
_TOO_LONG_PHRASES = ("prompt is too long", "maximum context length", "context window", "context size")
_BY_CODE: dict[str, int] = {
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
}
"""Errors reported inside a stream come with HTTP 200; this is the status they would have had."""

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure, classified. `pause` is how many seconds the provider asked to wait, if it did.

    `retries` says how often the same call may be sent again at most.
    """

    kind: ModelErrorKind
    message: str
    transient: bool
    retries: int = 0
    pause: float | None = None


_ALWAYS = 1_000
"""As often as `RetryPolicy` allows."""


def fault_of(error: Exception, sdk: Any, who: str) -> Fault:
    """Classify an exception of a provider's SDK or of its wire.

    Args:
        error: What was raised.
        sdk: The SDK's module, for its exception classes.
        who: The provider's name for people, such as `Anthropic`.
    """
    if isinstance(error, BadReplyError):
        return Fault("bad_reply", f"{who} gave an unusable reply: {error}.", transient=True, retries=1)
    if isinstance(error, SilentError):
        when = "fell silent in the middle of its reply" if error.spoken else "said nothing"
        text = f"{who} {when} for {error.seconds:.0f} seconds. If it is only slow, raise LEADHAND_SILENCE."
        return Fault("timeout", text, transient=True)
    if isinstance(error, WireError):
        return _of_status(_status_of(error.code), error.code, str(error), None, who)
    if isinstance(error, sdk.APIStatusError):
        code, said = _code_and_message(error.body)
        status = error.status_code
        if status < 400:
            status = _status_of(code)
        return _of_status(status, code, said, _retry_after(error.response.headers), who)
    if isinstance(error, sdk.APITimeoutError) and _timed_out(error):
        return Fault("timeout", f"{who} did not answer in time.", transient=True, retries=_ALWAYS)
    if isinstance(error, sdk.APIConnectionError):
        why = str(error.__cause__ or error) or type(error.__cause__).__name__
        text = f"{who} could not be reached ({why[:_SHOWN]}). Look at the network, and at the base URL."
        return Fault("unavailable", text, transient=True, retries=_ALWAYS)
    if isinstance(error, sdk.APIError) and error.body is not None:
        code, said = _code_and_message(error.body)
        return _of_status(_status_of(code), code, said, None, who)
    return _of_transport(error, who)


def _status_of(code: str) -> int:
    """Return the status of an error that came inside a reply. Gateways give the status that they got as its code."""
    if code.isascii() and code.isdigit() and 400 <= int(code[:9]) < 600:
        return int(code)
    return _BY_CODE.get(code, 500)


def _timed_out(error: BaseException) -> bool:
    """Return True if time really ran out. The SDKs' transport over aiohttp calls every lost connection a timeout."""
    import aiohttp  # noqa: PLC0415 - the transport brought it

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientConnectionError):
            return isinstance(cause, TimeoutError)
        cause = cause.__cause__
    return True


def was_unsent(error: BaseException) -> bool:
    """Return True if a connection was found closed before the whole request was written to it.

    No server can have acted on such a request. A connection that is lost later tells nothing of that.
    """
    import aiohttp  # noqa: PLC0415 - the transport brought it

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientConnectionResetError):  # aiohttp's own, raised by its writer alone
            return True
        cause = cause.__cause__
    return False


def _of_transport(error: Exception, who: str) -> Fault:
    """Classify what the SDKs let through as it is: broken connections and broken streams."""
    import httpx2  # noqa: PLC0415 - both SDKs brought it; on its own it costs 0.1 s

    if isinstance(error, httpx2.TimeoutException) and _timed_out(error):
        return Fault("timeout", f"{who} stopped in the middle of its reply.", transient=True, retries=_ALWAYS)
    if isinstance(error, httpx2.HTTPError | httpx2.StreamError | OSError):
        why = str(error)[:_SHOWN] or type(error).__name__
        return Fault("unavailable", f"The connection to {who} broke ({why}).", transient=True, retries=_ALWAYS)
    what = f"{type(error).__name__}: {error}"[:_SHOWN]
    return Fault("bad_reply", f"{who} gave a reply that could not be read ({what}).", transient=True, retries=1)


def _of_status(status: int, code: str, said: str, pause: float | None, who: str) -> Fault:
    """Classify an HTTP status. `code` is the provider's error type or code, `said` its message."""
    quoted = f": {said[:_SHOWN].rstrip('. ')}" if said else ""
    if status == 402 or code in _QUOTA or "credit balance" in said:
        return Fault("quota", f"The {who} account has no credit left{quoted}. Add credit, then try again.", False)
    if status == 413 or code in _TOO_LONG or any(phrase in said.lower() for phrase in _TOO_LONG_PHRASES):
        return Fault("too_long", f"The request is too long for the model{quoted}.", transient=False)
    if status == 429:
        return Fault("rate_limited", f"{who} limits our rate of calls{quoted}.", True, _ALWAYS, pause)
    if status == 401:
        return Fault("auth", f"{who} does not accept the API key. Check it.", transient=False)
    if status == 403:
        return Fault("auth", f"{who} does not let this API key do that{quoted}.", transient=False)
    if status in {408, 504}:
        return Fault("timeout", f"{who} took too long ({status}).", True, _ALWAYS, pause)
    if status in {409, 425} or (status >= 500 and status != 501):
        words = "is overloaded" if status in {503, 529} else "has a fault"
        return Fault("unavailable", f"{who} {words} ({status}){quoted}.", True, _ALWAYS, pause)
    advice = ""
    if status == 404:
        advice = " Look at LEADHAND_MODEL_FAST, _BALANCED and _DEEP, at `model` in crew files, and at the base URL."
    elif "support tools" in said.lower():
        advice = " Name one that can call tools, by LEADHAND_MODEL_FAST, _BALANCED and _DEEP."
    return Fault("bad_request", f"{who} refused the request ({status}){quoted}.{advice}", transient=False)


def _code_and_message(body: object) -> tuple[str, str]:
    """Read the provider's error code (or type) and message; Anthropic nests them under `error`, OpenAI does not."""
    if isinstance(body, dict):
        inner = body.get("error")
        error = inner if isinstance(inner, dict) else body
        code = error.get("code") or error.get("type") or ""
        return str(code), str(error.get("message") or "")
    return "", ""


def _retry_after(headers: Any) -> float | None:
    """Read the pause in seconds that the provider asks for, or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            pause = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if pause >= 0:
            return pause
    return None
