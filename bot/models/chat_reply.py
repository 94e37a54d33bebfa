"""Replies in the format of chat completions, whole and as a stream, and what servers do differently there."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

from bot.models.event_stream import Event, Kind
from bot.models.repetition import RepetitionWatch
from bot.models.think_tags import ThinkTagStripper, strip_thinking
from bot.models.wire import BadReplyError, Emitter, Reading, Tokens, WireError, tokens_of, tool_call, within_bound
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
    """Read a completion. Raises BadReplyError or WireError for anything else."""
    if (error := completion.get("error")) and not completion.get("choices"):
        about = error if isinstance(error, dict) else {"message": error}
        raise WireError(str(about.get("code") or about.get("type") or ""), str(about.get("message") or ""))
    tokens = tokens_of(completion.get("usage"), "prompt_tokens", "completion_tokens")
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message") or {}
    stop = _STOPS.get(choice.get("finish_reason") or "")
    if stop is None:
        raise BadReplyError(f"it was cut short (finish reason {choice.get('finish_reason')!r})", tokens)
    text = strip_thinking(_text(message.get("content")))
    if message.get("refusal"):
        return Reading(_text(message["refusal"]), (), "refused", tokens)
    wished = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    within_bound(len(wished))
    if stop in {"max_tokens", "refused"} or not (wished or stop == "tool_use"):
        return Reading(text, (), stop, tokens)
    if not wished:
        raise BadReplyError("it announced a tool call and made none", tokens)
    # Some servers finish a whole tool call with `stop`; only `length` says that it was cut.
    return Reading(text, _calls(wished, tokens), "tool_use", tokens)


def _text(content: Any) -> str:
    """Return the text of a message. Some servers give it in parts, thinking apart from the words."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _all_said(delta: dict[str, Any]) -> str:
    """Return whatever a delta adds to a reply: words, thoughts under the names that servers have, arguments."""
    functions = (part.get("function") or {} for part in delta.get("tool_calls") or ())
    said = (_text(delta.get("content")), delta.get("reasoning_content"), delta.get("reasoning"))
    return "".join(piece for piece in (*said, *(one.get("arguments") for one in functions)) if isinstance(piece, str))


def _calls(wished: list[dict[str, Any]], tokens: Tokens) -> tuple[ToolCall, ...]:
    """Read the tool calls, and give each an id of its own: some servers give none, or one to all."""
    calls: dict[str, ToolCall] = {}
    for call in wished:
        function = call.get("function") or {}
        name = str(call.get("id") or "")
        if not name or name in calls:
            name = f"call_{secrets.token_hex(8)}"
        calls[name] = tool_call(name, str(function.get("name")), function.get("arguments"), tokens)
    return tuple(calls.values())


def kind_of(chunk: Event) -> Kind:
    """Say if a chunk holds words, or only opens the reply."""
    choices = chunk.get("choices")
    delta = choices[0].get("delta") if choices else None
    return "words" if delta and any(value for key, value in delta.items() if key != "role") else "opening"


async def collect(chunks: AsyncIterator[Event], emitter: Emitter) -> dict[str, Any]:
    """Collect a stream into the completion that a call without one returns. A whole completion stays as it is.

    A reply that only repeats itself is given up, as if at its limit of tokens: a machine at home would go on for
    minutes. What it cost was not told then, so each event counts as one token.
    """
    text: list[str] = []
    refusal: list[str] = []
    without_thinking = ThinkTagStripper()
    calls = _StreamedCalls()
    watch, events = RepetitionWatch(), 0
    finish = None
    usage: dict[str, Any] = {}
    async for chunk in chunks:
        choices = chunk.get("choices")
        if chunk.get("error") or (choices and "message" in choices[0]):
            return chunk
        usage = chunk.get("usage") or usage
        if not choices:
            continue
        finish = choices[0].get("finish_reason") or finish
        delta = choices[0].get("delta") or {}
        refusal.append(delta.get("refusal") or "")
        events += 1
        for part in delta.get("tool_calls") or ():
            calls.add(part)
        if piece := _text(delta.get("content")):
            text.append(piece)
            await emitter.emit(without_thinking.feed(piece))
        if watch.feed(_all_said(delta)):
            finish, usage = "length", usage or {"completion_tokens": events}
            break
    await emitter.emit(without_thinking.end())
    message = {"content": "".join(text), "refusal": "".join(refusal), "tool_calls": calls.whole()}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


class _StreamedCalls:
    """The tool calls of a stream, put together from their parts."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._last: dict[int | None, dict[str, Any]] = {}
        """The last call of each index. Some servers give none."""

    def add(self, part: dict[str, Any]) -> None:
        """Add a part to the call that it continues, or as a new one. Raises BadReplyError if there are too many.

        Some servers give each call whole under the index 0, or under none; then a second id or name marks a new call.
        """
        said = part.get("function") or {}
        name, given = said.get("name") or "", part.get("id") or ""
        index = part["index"] if isinstance(part.get("index"), int) else None
        call = self._last.get(index)
        another_id = call is not None and given and call["id"] and given != call["id"]
        if call is None or another_id or (index is None and name):
            call = {"id": "", "name": "", "arguments": []}
            self._last[index] = call
            self._calls.append(call)
            within_bound(len(self._calls))
        call["id"] = given or call["id"]
        if name != call["name"]:  # some repeat it in every part
            call["name"] += name
        arguments = said.get("arguments")
        call["arguments"].append(json.dumps(arguments) if isinstance(arguments, dict) else arguments or "")

    def whole(self) -> list[dict[str, Any]]:
        """Return the calls as a reply without a stream has them."""
        return [
            {"id": call["id"], "function": {"name": call["name"], "arguments": "".join(call["arguments"])}}
            for call in self._calls
        ]
