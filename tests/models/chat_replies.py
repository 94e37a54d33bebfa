"""Replies of chat completions as servers at home and gateways send them, whole and in parts."""

from __future__ import annotations

from typing import Any

from tests.providers.rendering import Reply


def completion(finish: str | None = "stop", **message: Any) -> Reply:
    """A whole reply, without the counts of tokens."""
    return Reply(raw={"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]})


def reply_with_calls(*functions: dict[str, Any], **more: Any) -> Reply:
    """A reply that calls tools."""
    calls = [{"type": "function", **more, "function": {"name": "look_up", **function}} for function in functions]
    return completion("tool_calls", content=None, tool_calls=calls)


def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """An event of a stream."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def chunks(*deltas: dict[str, Any], finish: str = "stop") -> Reply:
    """A stream of these deltas."""
    return Reply(raw=(*map(event, deltas), event({}, finish)))


def part(index: int | str | None, arguments: Any, name: str = "look_up", **more: Any) -> dict[str, Any]:
    """A delta with a part of a tool call; a part that only goes on with one has no name."""
    place = {} if index is None else {"index": index}
    named = {"name": name} if name else {}
    return {"tool_calls": [{**place, **more, "function": {**named, "arguments": arguments}}]}
