"""Classifies failed calls: the kind of `ModelError`, the message for people, and the number of retries.

The SDKs of Anthropic and OpenAI use the same names for their exceptions, so one function serves both. The caller
passes the SDK's module, which is slow to import and by then has been imported.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from bot.models.context_overflow import DEFAULT_FITTING_SHARE, estimate_fitting_share, is_context_overflow
from bot.models.wire import BadReplyError, CutReplyError, SilentError, WireError
from specialists.model import ModelErrorKind
from specialists.outbound.network_faults import describe_network_fault

_QUOTA_CODES = ("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active")
_STATUS_BY_CODE: dict[str, int] = {
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
    "insufficient_quota": 429,
}
"""The HTTP status for each error code, since an error inside a stream comes with status 200."""

_MAX_QUOTE_CHARS = 200


@dataclass(frozen=True, slots=True)
class CallFault:
    """The failure of a call, classified.

    Attributes:
        kind: The kind for `ModelError`.
        message: What failed and what to do, for people.
        transient: True if the call may succeed later.
        max_retries: Maximum number of times that the same call may be sent again.
        pause: Seconds that the provider asked to wait; None if it did not ask.
        share: For a call that is too long, the estimated share of it that would fit; otherwise 1.
    """

    kind: ModelErrorKind
    message: str
    transient: bool
    max_retries: int = 0
    pause: float | None = None
    share: float = 1.0


_UNLIMITED_RETRIES = 1_000
"""The `retries` of a fault that sets no limit, so that `RetryPolicy` decides."""


def classify_error(error: Exception, sdk: Any, provider: str) -> CallFault:
    """Classify an exception from a provider's SDK, its connection, or the parsing of its reply.

    Args:
        error: The exception.
        sdk: The SDK's module, for its exception classes.
        provider: The provider's name for people, such as `Anthropic`.
    """
    if isinstance(error, BadReplyError):
        kind: ModelErrorKind = "unavailable" if isinstance(error, CutReplyError) else "bad_reply"
        return CallFault(kind, f"{provider} gave an unusable reply: {error}.", transient=True, max_retries=1)
    if isinstance(error, SilentError):
        when = "fell silent in the middle of its reply" if error.has_spoken else "said nothing"
        text = f"{provider} {when} for {error.seconds:.0f} seconds. If it is only slow, raise LEADHAND_SILENCE."
        return CallFault("timeout", text, transient=True)
    if isinstance(error, WireError):
        return _classify_status_error(_find_status(error.code), error.code, str(error), None, provider)
    if isinstance(error, sdk.APIStatusError):
        code, message = extract_code_and_message(error.body)
        status = error.status_code
        if status < 400:
            status = _find_status(code)
        return _classify_status_error(
            status, code, message, _read_retry_after_seconds(error.response.headers), provider
        )
    if isinstance(error, sdk.APITimeoutError) and _is_timeout(error):
        return CallFault(
            "timeout", f"{provider} did not answer in time.", transient=True, max_retries=_UNLIMITED_RETRIES
        )
    if isinstance(error, sdk.APIConnectionError):
        why = str(error.__cause__ or error) or type(error.__cause__).__name__
        text = f"{provider} could not be reached ({why[:_MAX_QUOTE_CHARS]}). Look at the network, and at the base URL."
        if fault := describe_network_fault(error):
            text = f"{provider} could not be reached: {fault}."
        return CallFault("unavailable", text, transient=True, max_retries=_UNLIMITED_RETRIES)
    if isinstance(error, sdk.APIError) and error.body is not None:
        code, message = extract_code_and_message(error.body)
        return _classify_status_error(_find_status(code), code, message, None, provider)
    return _classify_transport_error(error, provider)


_BAD_REQUEST_CODES = re.compile(r"invalid|bad.?request|validation|context_", re.IGNORECASE)


def _find_status(code: str) -> int:
    """Return the HTTP status for the code of an error inside a reply. Some gateways send a status as the code."""
    if code.isascii() and code.isdigit() and 400 <= int(code[:9]) < 600:
        return int(code)
    return _STATUS_BY_CODE.get(code, 400 if _BAD_REQUEST_CODES.search(code) else 500)


def _is_timeout(error: BaseException) -> bool:
    """Return True if an error is a real timeout. The SDKs' aiohttp transport reports every lost connection as one."""
    import aiohttp  # noqa: PLC0415 - the transport has imported it

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientConnectionError):
            return isinstance(cause, TimeoutError)
        cause = cause.__cause__
    return True


def was_request_unsent(error: BaseException) -> bool:
    """Return True if a connection was found closed before the whole request was written to it.

    No server can have acted on such a request. If a connection is lost later, the server may have acted.
    """
    import aiohttp  # noqa: PLC0415 - the transport has imported it

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientConnectionResetError):  # a class that only aiohttp's writer raises
            return True
        cause = cause.__cause__
    return False


def _classify_transport_error(error: Exception, provider: str) -> CallFault:
    """Classify the exceptions that the SDKs do not wrap: broken connections and broken streams."""
    import httpx2  # noqa: PLC0415 - both SDKs have imported it; at the top it would cost 0.1 s

    if isinstance(error, httpx2.TimeoutException) and _is_timeout(error):
        return CallFault(
            "timeout", f"{provider} stopped in the middle of its reply.", transient=True, max_retries=_UNLIMITED_RETRIES
        )
    if isinstance(error, httpx2.HTTPError | httpx2.StreamError | OSError):
        why = str(error)[:_MAX_QUOTE_CHARS] or type(error).__name__
        return CallFault(
            "unavailable",
            f"The connection to {provider} broke ({why}).",
            transient=True,
            max_retries=_UNLIMITED_RETRIES,
        )
    what = f"{type(error).__name__}: {error}"[:_MAX_QUOTE_CHARS]
    return CallFault(
        "bad_reply", f"{provider} gave a reply that could not be read ({what}).", transient=True, max_retries=1
    )


_TOO_LARGE_WORDS = re.compile(
    r"request (?:is )?too large|must be reduced|reduce (?:the|your) (?:input|prompt|request)", re.IGNORECASE
)
_LIMIT_AND_REQUESTED = re.compile(r"limit:?\s*([\d,]+).{0,80}?requested:?\s*([\d,]+)", re.IGNORECASE | re.DOTALL)
_NO_CREDIT_WORDS = re.compile(
    r"credit balance|plan and billing|billing details|out of credits|insufficient (?:funds|balance)", re.IGNORECASE
)
_PAUSE_WORDS = re.compile(r"(?:try again|retry) (?:in|after) (?:(\d+)m)?(\d+(?:\.\d+)?)\s?(ms|s\b|sec)", re.IGNORECASE)
_DAILY_LIMIT = re.compile(r"per day|daily|\b[tr]pd\b", re.IGNORECASE)


def _classify_status_error(status: int, code: str, message: str, pause: float | None, provider: str) -> CallFault:
    """Classify an error by HTTP status, the provider's code (or type) and its message.

    `pause` is the seconds that the response headers ask for, or None.
    """
    quote_text = f": {message[:_MAX_QUOTE_CHARS].rstrip('. ')}" if message else ""
    if pause is None and status in {429, 503}:
        pause = _find_pause_seconds(message)
    if status == 402 or code in _QUOTA_CODES or (status < 500 and _NO_CREDIT_WORDS.search(message) and pause is None):
        return CallFault(
            "quota", f"The {provider} account has no credit left{quote_text}. Add credit, then try again.", False
        )
    if is_context_overflow(status, code, message):
        text = (
            f"The request is too long for the model{quote_text}. Ask for less at once. Or have LEADHAND_CONTEXT set to "
            "what this model takes, or name a model that takes more."
        )
        return CallFault("too_long", text, transient=False, share=estimate_fitting_share(message))
    if status == 429:
        return _classify_rate_limit(message, pause, provider, quote_text)
    if status in {401, 403}:
        refusal_text = (
            "does not accept the API key. Check it"
            if status == 401
            else f"does not let this API key do that{quote_text}"
        )
        return CallFault("auth", f"{provider} {refusal_text}.", transient=False)
    if status in {408, 504}:
        return CallFault("timeout", f"{provider} took too long ({status}).", True, _UNLIMITED_RETRIES, pause)
    if status in {409, 425} or (status >= 500 and status != 501):
        words = "is overloaded" if status in {503, 529} else "has a fault"
        return CallFault("unavailable", f"{provider} {words} ({status}){quote_text}.", True, _UNLIMITED_RETRIES, pause)
    advice = ""
    if status == 404:
        advice = " Look at LEADHAND_MODEL_FAST, _BALANCED and _DEEP, at `model` in crew files, and at the base URL."
    elif "support tools" in message.lower():
        advice = " Name one that can call tools, by LEADHAND_MODEL_FAST, _BALANCED and _DEEP."
    return CallFault("bad_request", f"{provider} refused the request ({status}){quote_text}.{advice}", transient=False)


def _classify_rate_limit(message: str, pause: float | None, provider: str, quotation: str) -> CallFault:
    """Classify a rate limit. Waiting does not help if one request alone exceeds the limit, or if the limit is daily."""
    if (share := _find_rate_limit_share(message)) is not None:
        text = f"One request is more than {provider} lets us send at a time{quotation}. Ask for less at once."
        return CallFault("too_long", text, transient=False, share=share)
    retries = 0 if _DAILY_LIMIT.search(message) else _UNLIMITED_RETRIES
    return CallFault("rate_limited", f"{provider} limits our rate of calls{quotation}.", True, retries, pause)


def _find_rate_limit_share(message: str) -> float | None:
    """Return the share of a request that fits into a rate limit; None if the whole request fits after a wait."""
    match = _LIMIT_AND_REQUESTED.search(message)
    if match is not None:
        limit, requested_amount = (int(one.replace(",", "") or 0) for one in match.groups())
        return max(limit / requested_amount, 0.1) if requested_amount > limit else None
    return DEFAULT_FITTING_SHARE if _TOO_LARGE_WORDS.search(message) else None


def _find_pause_seconds(message: str) -> float | None:
    """Return the pause in seconds that an error message asks for; None if it asks for none."""
    match = _PAUSE_WORDS.search(message)
    if match is None:
        return None
    return int(match[1] or 0) * 60 + float(match[2]) * (0.001 if match[3].lower() == "ms" else 1.0)


_MESSAGE_FIELDS = ("message", "detail", "msg", "error_description", "error_message", "errorMessage", "Message", "title")
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_MAX_NESTING = 6


def extract_code_and_message(body: object, depth: int = 0) -> tuple[str, str]:
    """Return the code (or type) and the message in an error's body; "" for each that it lacks.

    Anthropic nests them under `error`, and OpenAI's SDK removes that level. Gemini wraps everything in a list, gateways
    quote another server's JSON as a string, and proxies answer with an HTML page.
    """
    if depth > _MAX_NESTING:
        return "", ""
    if isinstance(body, str | bytes):
        return _parse_error_text(body if isinstance(body, str) else body.decode("utf-8", "replace"), depth)
    if isinstance(body, list | tuple):
        each = [extract_code_and_message(one, depth + 1) for one in body[:3]]
        return next((code for code, _ in each if code), ""), "; ".join(message for _, message in each if message)
    if not isinstance(body, dict):
        return "", ""
    code = str(body.get("code") or body.get("type") or body.get("status") or "")
    message_value = next((body[name] for name in _MESSAGE_FIELDS if body.get(name)), "")
    inner = body.get("error") or body.get("errors")
    if inner:
        inner_error = extract_code_and_message(inner, depth + 1)
        outer = message_value if isinstance(message_value, str) else ""
        return inner_error[0] or code, inner_error[1] or outer
    if not isinstance(message_value, str):
        return code, extract_code_and_message(message_value, depth + 1)[1]
    nested_error = (
        extract_code_and_message(message_value, depth + 1)
        if message_value.lstrip().startswith(("{", "["))
        else ("", message_value)
    )
    raw = (
        extract_code_and_message((body.get("metadata") or {}).get("raw"), depth + 1)[1] if _has_raw_error(body) else ""
    )
    return nested_error[0] or code, f"{nested_error[1] or message_value}: {raw}" if raw else nested_error[
        1
    ] or message_value


def _has_raw_error(body: dict[str, Any]) -> bool:
    return isinstance(body.get("metadata"), dict) and bool(body["metadata"].get("raw"))


def _parse_error_text(text: str, depth: int) -> tuple[str, str]:
    if text.lstrip().startswith(("{", "[")):
        try:
            return extract_code_and_message(json.loads(text), depth + 1)
        except ValueError:
            pass
    plain = html.unescape(_TAGS.sub(" ", text)) if "<" in text else text
    return "", " ".join(plain.split())


def _read_retry_after_seconds(headers: Any) -> float | None:
    """Return the pause in seconds that the response headers ask for; None if they name none, or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            pause = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if pause >= 0:
            return pause
    return None
