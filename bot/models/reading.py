"""What a provider read from the wire, before it becomes a `Turn`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from specialists.turns.dialogue import StopReason, ToolCall


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one reply. `read` and `written` are the parts of `input` that the provider's cache served and kept."""

    input: int = 0
    output: int = 0
    read: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply with a known stop reason."""

    text: str
    calls: tuple[ToolCall, ...]
    stop: StopReason
    tokens: Tokens


class BadReplyError(Exception):
    """The provider answered, and the answer cannot be used. `tokens` were spent all the same."""

    def __init__(self, message: str, tokens: Tokens | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens or Tokens()


class WireError(Exception):
    """An error the provider reported inside a reply that was otherwise a success (HTTP 200).

    `code` is the provider's own word for it, such as `rate_limit_exceeded`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a response's body. Raises BadReplyError for HTML, null and whatever else it is not."""
    try:
        value = json.loads(body)
    except ValueError as error:
        raise BadReplyError("it answered with something that is not JSON (a proxy's page?)") from error
    if not isinstance(value, dict):
        raise BadReplyError("it answered with JSON that is not a message")
    return value


def tool_call(call_id: str, name: str, arguments: Any, tokens: Tokens) -> ToolCall:
    """A call whose arguments are an object, or the JSON text of one. Raises BadReplyError if they are neither."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError as error:
            raise BadReplyError(f"it called {name} with arguments that are not JSON", tokens) from error
    if not isinstance(arguments, dict):
        raise BadReplyError(f"it called {name} with arguments that are not an object", tokens)
    return ToolCall(id=call_id, name=name, arguments=arguments)


def whole_count(usage: Any, key: str) -> int:
    """A token count of a usage object, 0 where it is absent, null or not a number."""
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) else 0
