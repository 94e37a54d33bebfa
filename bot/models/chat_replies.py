"""Reads replies of servers that speak OpenAI's chat completions, each a little different from the next."""

from __future__ import annotations

import json
import secrets
from typing import Any

from bot.models.calling import Emitter
from bot.models.thinking import Unthinking, unthought
from bot.models.wire_reading import BadReplyError, Reading, Tokens, WireError, tool_call, whole_count
from handoff.contracts import StopReason, ToolCall

_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "eos_token": "end",
    "stop_sequence": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refused",
}


def read(completion: dict[str, Any]) -> Reading:
    """A completion. Raises BadReplyError or WireError for what is none."""
    if (error := completion.get("error")) and not completion.get("choices"):
        about = error if isinstance(error, dict) else {"message": error}
        raise WireError(str(about.get("code") or about.get("type") or ""), str(about.get("message") or ""))
    tokens = _tokens(completion.get("usage"))
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message") or {}
    stop = _STOPS.get(choice.get("finish_reason") or "")
    if stop is None:
        raise BadReplyError(f"it was cut short (finish reason {choice.get('finish_reason')!r})", tokens)
    text = unthought(_text(message.get("content")))
    if message.get("refusal"):
        return Reading(_text(message["refusal"]), (), "refused", tokens)
    wished = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    if stop in {"max_tokens", "refused"} or not (wished or stop == "tool_use"):
        return Reading(text, (), stop, tokens)
    if not wished:
        raise BadReplyError("it announced a tool call and made none", tokens)
    # Some servers finish a whole tool call with `stop`; only `length` says that it was cut.
    return Reading(text, _calls(wished, tokens), "tool_use", tokens)


def _text(content: Any) -> str:
    """The text of a message, which some servers give in parts: thinking apart from the words."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _calls(wished: list[dict[str, Any]], tokens: Tokens) -> tuple[ToolCall, ...]:
    """The calls, each with an id of its own: some servers give none, or one to all."""
    calls: dict[str, ToolCall] = {}
    for call in wished:
        function = call.get("function") or {}
        name = str(call.get("id") or "")
        if not name or name in calls:
            name = f"call_{secrets.token_hex(8)}"
        calls[name] = tool_call(name, str(function.get("name")), function.get("arguments"), tokens)
    return tuple(calls.values())


def _tokens(usage: Any) -> Tokens:
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return Tokens(
        whole_count(usage, "prompt_tokens"),
        whole_count(usage, "completion_tokens"),
        whole_count(details, "cached_tokens"),
        whole_count(details, "cache_write_tokens"),
    )


async def collect(stream: Any, emitter: Emitter) -> dict[str, Any]:
    """The whole completion of a stream, in the shape it has without one."""
    text = refusal = ""
    spoken = Unthinking()
    calls: list[dict[str, Any]] = []
    finish = None
    usage: dict[str, Any] = {}
    async for chunk in stream:
        if chunk.usage is not None:
            usage = chunk.usage.model_dump()
        if not chunk.choices:
            continue
        finish = chunk.choices[0].finish_reason or finish
        delta = chunk.choices[0].delta
        refusal += delta.refusal or ""
        for part in delta.tool_calls or ():
            _add_call(calls, part)
        if piece := _text(delta.content):
            text += piece
            await emitter.emit(spoken.feed(piece))
    await emitter.emit(spoken.end())
    message = {"content": text, "refusal": refusal, "tool_calls": calls}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _add_call(calls: list[dict[str, Any]], part: Any) -> None:
    """Add a part to the call that it goes on with, or as a new one.

    Some servers give each call whole under the index 0, or under none; then a second id or name tells it apart.
    """
    name = (part.function.name if part.function else None) or ""
    call = next((each for each in reversed(calls) if each["index"] == part.index), None)
    another_id = call is not None and part.id and call["id"] and part.id != call["id"]
    if call is None or another_id or (part.index is None and name):
        call = {"index": part.index, "id": "", "function": {"name": "", "arguments": ""}}
        calls.append(call)
    call["id"] = part.id or call["id"]
    function = call["function"]
    if name != function["name"]:  # some repeat it in every part
        function["name"] += name
    arguments = part.function.arguments if part.function else None
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments)
    function["arguments"] += arguments or ""
