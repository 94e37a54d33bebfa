"""The wire format of OpenAI's chat completions: Ollama, LM Studio, llama.cpp, vLLM and gateways speak it."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.models.openai_client import connect, post
from bot.models.strict_schema import strict_schema
from bot.models.think_tags import ThinkTagStripper, strip_thinking
from bot.models.wire import (
    BadReplyError,
    Connection,
    Emitter,
    Reading,
    Tokens,
    WireError,
    json_object,
    tool_call,
    whole_count,
)
from handoff.contracts import StopReason, ToolCall
from specialists.turns.model import ModelCall, ModelMessage

if TYPE_CHECKING:
    import openai

_IN_WORDS = Path(__file__).with_name("schema_in_words.md")
_REFUSALS = {
    "max_tokens": re.compile("max_completion_tokens"),  # OpenAI's newer models know only that name
    "max_completion_tokens": re.compile(r"tokens\W+is too large"),  # a small context, which is the server's limit then
    "response_format": re.compile(r"response.?format|json.?schema|structured.?output|grammar", re.IGNORECASE),
    "stream_options": re.compile(r"stream_options|include_usage"),
}
"""Fields that not every server takes, and the words by which one refuses them."""
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


class OpenAIChat:
    """OpenAI's chat completions, as any compatible server speaks them.

    Args:
        api_key: The server's key; local servers take any.
        base_url: The server's address, up to and with `/v1`; None for OpenAI's own.
    """

    def __init__(self, api_key: str, base_url: str | None = None) -> None:
        self.base_url = base_url
        self._api_key = api_key
        self._refused: dict[str, frozenset[str]] = {}

    def connect(self) -> Connection:
        """See `Wire.connect`."""
        return connect(self._api_key, self.base_url)

    async def send(self, connection: Connection, call: ModelCall, model: str, emitter: Emitter) -> Reading:
        """See `Wire.send`. A field that the server refuses is left out or said in another way from then on."""
        sdk = connection.sdk
        while True:
            request = _request(call, model, self._refused.get(model, frozenset()))
            try:
                return await _post(connection.client, request, emitter)
            except (sdk.BadRequestError, sdk.UnprocessableEntityError) as error:
                said = f"{error} {error.response.text}"
                new = {name for name, words in _REFUSALS.items() if name in request and words.search(said)}
                if not new:
                    raise
                self._refused[model] = self._refused.get(model, frozenset()) | new


async def _post(client: openai.AsyncOpenAI, request: dict[str, Any], emitter: Emitter) -> Reading:
    if not request.get("stream"):
        return _read(json_object(await post(client, "chat/completions", request)))
    async with await client.chat.completions.create(**request) as stream:
        return _read(await _collect(stream, emitter))


def _request(call: ModelCall, model: str, without: frozenset[str]) -> dict[str, Any]:
    """Write a call in the wire format, doing `without` those fields of `_REFUSALS`."""
    instructions = call.system
    request: dict[str, Any] = {"model": model}
    limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    if limit not in without:
        request[limit] = call.max_tokens
    if call.on_text is not None:
        request["stream"] = True
        request |= {} if "stream_options" in without else {"stream_options": {"include_usage": True}}
    if call.tools:
        request["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in call.tools
        ]
    if call.answer_schema is not None:
        schema = strict_schema(call.answer_schema)
        if "response_format" in without:
            instructions = f"{instructions}\n\n{_in_words(schema)}".strip()
        else:
            answer = {"name": "answer", "schema": schema, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": answer}
    system = [{"role": "system", "content": instructions}] if instructions else []
    return request | {"messages": system + [item for message in call.messages for item in _messages(message)]}


def _in_words(schema: dict[str, Any]) -> str:
    words = _IN_WORDS.read_text(encoding="utf-8").strip()
    return words.format(schema=json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


def _messages(message: ModelMessage) -> list[dict[str, Any]]:
    if message.role == "assistant":
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in message.calls
        ]
        return [{"role": "assistant", "content": message.text, **({"tool_calls": calls} if calls else {})}]
    replies: list[dict[str, Any]] = [
        {
            "role": "tool",
            "tool_call_id": reply.call_id,
            "content": f"ERROR: {reply.text}" if reply.failed else reply.text,
        }
        for reply in message.replies
    ]
    return [*replies, {"role": "user", "content": message.text}] if message.text or not replies else replies


def _read(completion: dict[str, Any]) -> Reading:
    """Read a completion. Raises BadReplyError or WireError for anything else."""
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
    text = strip_thinking(_text(message.get("content")))
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
    """Return the text of a message. Some servers give it in parts, thinking apart from the words."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


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


def _tokens(usage: Any) -> Tokens:
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return Tokens(
        whole_count(usage, "prompt_tokens"),
        whole_count(usage, "completion_tokens"),
        whole_count(details, "cached_tokens"),
        whole_count(details, "cache_write_tokens"),
    )


async def _collect(stream: Any, emitter: Emitter) -> dict[str, Any]:
    """Collect a stream into the completion that a call without one returns."""
    text = refusal = ""
    without_thinking = ThinkTagStripper()
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
            await emitter.emit(without_thinking.feed(piece))
    await emitter.emit(without_thinking.end())
    message = {"content": text, "refusal": refusal, "tool_calls": calls}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _add_call(calls: list[dict[str, Any]], part: Any) -> None:
    """Add a part of a stream to the tool call that it continues, or as a new one.

    Some servers give each call whole under the index 0, or under none; then a second id or name marks a new call.
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
