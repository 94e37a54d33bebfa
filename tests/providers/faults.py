"""Faults a provider's server can have, in each wire format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tests.providers.wire import Api

FaultKind = Literal[
    "rate_limited",
    "no_quota",
    "overloaded",
    "server_error",
    "unavailable",
    "gateway_timeout",
    "payment_required",
    "too_large",
    "bad_key",
    "bad_request",
    "wants_new_limit",
    "no_schemas",
    "no_usage_in_streams",
    "no_tools",
    "small_context",
    "context_too_long",
    "not_found",
    "html",
    "null",
    "hang",
    "reset",
    "cut_stream",
    "overloaded_in_stream",
    "broken_event",
    "not_utf8",
    "silence_in_stream",
    "pings_in_stream",
    "no_tool_choice",
    "no_temperature",
    "no_effort",
    "no_thoughts",
    "no_limits",
    "no_pictures",
    "no_pictures_500",
    "bad_picture",
    "in_own_words",
]


@dataclass(frozen=True)
class Fault:
    """One fault. `retry_after` goes into the header of that name. `after` events of a stream come first.

    `hang` never answers, nor does what keeps a stream open with silence or pings; `reset` closes the connection without
    a word; `in_own_words` answers with `status` and `body`, which is JSON unless it is a text. Those of streams do
    nothing to a request that does not stream.
    """

    kind: FaultKind
    retry_after: str | None = None
    after: int = 3
    status: int = 400
    body: Any = None

    @property
    def in_stream(self) -> bool:
        """Whether it strikes in the middle of a stream."""
        return self.kind in {"cut_stream", "overloaded_in_stream", "broken_event", "not_utf8"} | _ENDLESS


_ENDLESS = frozenset({"silence_in_stream", "pings_in_stream"})


_ERRORS: dict[str, tuple[int, str, str, str]] = {
    "rate_limited": (429, "rate_limit_error", "rate_limit_exceeded", "Slow down."),
    "no_quota": (429, "rate_limit_error", "insufficient_quota", "You exceeded your current quota."),
    "overloaded": (529, "overloaded_error", "server_error", "Overloaded"),
    "server_error": (500, "api_error", "server_error", "Internal server error"),
    "unavailable": (503, "api_error", "server_error", "Service unavailable"),
    "gateway_timeout": (504, "timeout_error", "server_error", "Gateway timeout"),
    "payment_required": (402, "billing_error", "billing_not_active", "Payment required"),
    "too_large": (413, "request_too_large", "request_too_large", "Request exceeds the maximum size"),
    "bad_key": (401, "authentication_error", "invalid_api_key", "Incorrect API key provided: sk-12345"),
    "bad_request": (400, "invalid_request_error", "invalid_value", "messages: unexpected field"),
    "wants_new_limit": (
        400,
        "invalid_request_error",
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    ),
    "small_context": (
        400,
        "BadRequestError",
        "",
        "'max_tokens' or 'max_completion_tokens' is too large: 8192. The model's maximum context length is 8192.",
    ),
    "no_schemas": (400, "invalid_request_error", "", "This response_format type is unavailable now"),
    "no_usage_in_streams": (422, "invalid_request_error", "", "stream_options: Extra inputs are not permitted"),
    "no_tool_choice": (400, "invalid_request_error", "", "tool_choice: only auto is supported while thinking is on"),
    "no_temperature": (
        400,
        "invalid_request_error",
        "unsupported_value",
        "Unsupported value: 'temperature' does not support 0 with this model.",
    ),
    "no_effort": (400, "invalid_request_error", "unsupported_parameter", "This model has no reasoning.effort."),
    "no_thoughts": (
        400,
        "invalid_request_error",
        "",
        "`thinking` blocks in the latest assistant message: Item with id 'rs_1' of type 'reasoning' not found",
    ),
    "no_limits": (400, "invalid_request_error", "", "failed to parse grammar: number of repetitions of maxItems"),
    "no_tools": (400, "api_error", "", "registry.example/library/tiny:1b does not support tools"),
    "no_pictures": (400, "invalid_request_error", "", "This model does not support image input."),
    "no_pictures_500": (
        500,
        "api_error",
        "server_error",
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    ),
    "bad_picture": (400, "invalid_request_error", "invalid_image", "Could not process image"),
    "context_too_long": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    "not_found": (404, "not_found_error", "model_not_found", "No such model"),
}


def error(kind: FaultKind, api: Api) -> tuple[int, dict[str, Any]]:
    """Status and body of an error as that API words it. Raises KeyError for faults that are no errors."""
    status, anthropic_type, openai_code, message = _ERRORS[kind]
    if api == "anthropic":
        return status, {
            "type": "error",
            "error": {"type": anthropic_type, "message": message},
            "request_id": "req_1",
        }
    return status, {"error": {"message": message, "type": "error", "param": None, "code": openai_code}}
