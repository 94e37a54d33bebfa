"""Replies in the three wire formats, whole and as server-sent events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from handoff.contracts import StopReason, ToolCall
from tests.providers.wire import WireRequest

PIECE = 24
"""Characters a streamed piece has, unless a reply says otherwise."""

_serial = itertools.count(1)


@dataclass(frozen=True)
class Reply:
    """What a brain says. `cut_arguments` replaces the JSON of the first tool call (to cut it short).

    `stop` None stands for a reply without a stop reason. `cached_tokens` of the prompt tokens came from the cache.
    `pause` is seconds between two events of a stream. `raw` goes out as it is: a whole reply, or a stream's events.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason | None = "end"
    tokens_out: int | None = None
    cached_tokens: int = 0
    cut_arguments: str | None = None
    piece: int = PIECE
    pause: float = 0.0
    raw: dict[str, Any] | tuple[dict[str, Any], ...] | None = None

    def arguments(self) -> list[str]:
        """The JSON text of each call's arguments, as it goes over the wire."""
        texts = [json.dumps(call.arguments, ensure_ascii=False) for call in self.calls]
        if self.cut_arguments is not None and texts:
            texts[0] = self.cut_arguments
        return texts

    def pieces(self) -> Iterator[str]:
        """The text as it streams."""
        for start in range(0, len(self.text), self.piece):
            yield self.text[start : start + self.piece]

    @property
    def out(self) -> int:
        """Output tokens: as told, or characters / 4."""
        if self.tokens_out is not None:
            return self.tokens_out
        return (len(self.text) + sum(map(len, self.arguments()))) // 4 + 1


def whole(request: WireRequest, reply: Reply) -> dict[str, Any]:
    """The reply as one JSON object."""
    if isinstance(reply.raw, dict):
        return reply.raw
    return {"anthropic": _anthropic, "responses": _responses, "chat": _chat}[request.api](request, reply)


def stream(request: WireRequest, reply: Reply) -> Iterator[bytes]:
    """The reply as server-sent events."""
    if isinstance(reply.raw, tuple):
        return iter([*(_event(event) for event in reply.raw), b"data: [DONE]\n\n"])
    return {
        "anthropic": _anthropic_events,
        "responses": _responses_events,
        "chat": _chat_events,
    }[request.api](request, reply)


def _event(data: dict[str, Any], name: str = "") -> bytes:
    told = json.dumps(data, ensure_ascii=False)
    half = told.encode("utf-8", "replace") != told.encode("utf-8", "surrogatepass")  # of a character: has to be escaped
    line = f"data: {json.dumps(data) if half else told}\n\n"
    return (f"event: {name}\n{line}" if name else line).encode()


# Anthropic Messages

_ANTHROPIC_STOPS = {"end": "end_turn", "tool_use": "tool_use", "max_tokens": "max_tokens", "refused": "refusal"}


def _anthropic(request: WireRequest, reply: Reply) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for call, arguments in zip(reply.calls, reply.arguments(), strict=True):
        try:
            parsed = json.loads(arguments)
        except ValueError:
            parsed = {}  # what the real API gives for arguments that were cut
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": parsed})
    return {
        "id": f"msg_{next(_serial)}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": _ANTHROPIC_STOPS[reply.stop] if reply.stop else None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": request.prompt_tokens - reply.cached_tokens,
            "cache_read_input_tokens": reply.cached_tokens,
            "cache_creation_input_tokens": 0,
            "output_tokens": reply.out,
        },
    }


def _anthropic_events(request: WireRequest, reply: Reply) -> Iterator[bytes]:
    message = _anthropic(request, reply)
    start = message | {"content": [], "stop_reason": None}
    start["usage"] = message["usage"] | {"output_tokens": 1}
    yield _event({"type": "message_start", "message": start}, "message_start")
    yield _event({"type": "ping"}, "ping")
    index = 0
    if reply.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in reply.pieces()]
        yield from _anthropic_block(index, {"type": "text", "text": ""}, deltas)
        index += 1
    for call, arguments in zip(reply.calls, reply.arguments(), strict=True):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", *_halves(arguments))]
        yield from _anthropic_block(index, block, deltas)
        index += 1
    if reply.stop is None:
        return
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": reply.out}
    yield _event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def _anthropic_block(index: int, block: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[bytes]:
    name = "content_block_start"
    yield _event({"type": name, "index": index, "content_block": block}, name)
    for delta in deltas:
        name = "content_block_delta"
        yield _event({"type": name, "index": index, "delta": delta}, name)
    name = "content_block_stop"
    yield _event({"type": name, "index": index}, name)


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


# OpenAI Responses


def _responses(request: WireRequest, reply: Reply) -> dict[str, Any]:
    status = {"max_tokens": "incomplete", None: "in_progress"}.get(reply.stop, "completed")
    refusal = {"type": "refusal", "refusal": reply.text}
    said = refusal if reply.stop == "refused" else {"type": "output_text", "text": reply.text, "annotations": []}
    output: list[dict[str, Any]] = []
    if reply.text:
        output.append(
            {
                "type": "message",
                "id": f"msg_{next(_serial)}",
                "role": "assistant",
                "status": "completed",
                "content": [said],
            }
        )
    output += [_function_call(call, text) for call, text in zip(reply.calls, reply.arguments(), strict=True)]
    return {
        "id": f"resp_{next(_serial)}",
        "object": "response",
        "created_at": 1_790_000_000,
        "model": request.model,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": request.prompt_tokens,
            "input_tokens_details": {"cached_tokens": reply.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": reply.out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": request.prompt_tokens + reply.out,
        },
    }


def _function_call(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{next(_serial)}",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
        "status": "completed",
    }


def _responses_events(request: WireRequest, reply: Reply) -> Iterator[bytes]:
    response = _responses(request, reply)
    numbers = itertools.count()

    def event(name: str, **fields: Any) -> bytes:
        return _event({"type": name, "sequence_number": next(numbers), **fields}, name)

    begun = response | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(response["output"]):
        yield event("response.output_item.added", output_index=index, item=item | {"status": "in_progress"})
        where = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message" and item["content"][0]["type"] == "output_text":
            for piece in reply.pieces():
                yield event("response.output_text.delta", content_index=0, delta=piece, logprobs=[], **where)
            yield event("response.output_text.done", content_index=0, text=reply.text, logprobs=[], **where)
        elif item["type"] == "function_call":
            for part in _halves(item["arguments"]):
                yield event("response.function_call_arguments.delta", delta=part, **where)
        yield event("response.output_item.done", output_index=index, item=item)
    if reply.stop is not None:
        yield event(f"response.{response['status']}", response=response)


# OpenAI chat completions

_CHAT_STOPS = {"end": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refused": "content_filter"}


def _chat(request: WireRequest, reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}
            for call, text in zip(reply.calls, reply.arguments(), strict=True)
        ]
    finish = _CHAT_STOPS[reply.stop] if reply.stop else None
    return {
        "id": f"chatcmpl-{next(_serial)}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": _chat_usage(request, reply),
    }


def _chat_usage(request: WireRequest, reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": request.prompt_tokens,
        "completion_tokens": reply.out,
        "total_tokens": request.prompt_tokens + reply.out,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
    }


def _chat_events(request: WireRequest, reply: Reply) -> Iterator[bytes]:
    base = {
        "id": f"chatcmpl-{next(_serial)}",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": request.model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _event(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in reply.pieces():
        yield chunk({"content": piece})
    for index, (call, arguments) in enumerate(zip(reply.calls, reply.arguments(), strict=True)):
        head = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index, **head}]})
        for part in _halves(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    if reply.stop is None:
        return
    yield chunk({}, _CHAT_STOPS[reply.stop])
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield _event(base | {"choices": [], "usage": _chat_usage(request, reply)})
    yield b"data: [DONE]\n\n"
