"""The wire format of OpenAI's chat completions, which Ollama, LM Studio, llama.cpp, vLLM and gateways speak."""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bot.models.chat_reply import collect, kind_of, read
from bot.models.event_stream import SILENCE, make_silence_limits, read_events
from bot.models.openai_client import connect, is_openai, is_unencrypted, post_request
from bot.models.picture_support import OPENAI_LIMITS, openai_sees_pictures
from bot.models.refused_fields import RefusedFields
from bot.models.schema_steps import convert_to_step, read_step, steps_schema
from bot.models.server_facts import fetch_context_size, fetch_picture_support
from bot.models.strict_schema import drop_unenforced_limits, strict_schema
from bot.models.wire import Emitter, ProviderConnection, WireReply, data_url, effort_of, temperature_of
from handoff.contracts import ToolCall
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec

_IN_WORDS = Path(__file__).with_name("schema_in_words.md")
_NO_TOOLS = re.compile(
    r"(?:support|allow)\w* (?:for )?(?:tools?|functions?)\b|tools? (?:is|are) not supported", re.IGNORECASE
)
_SCHEMAS = r"response.?format|json.?schema|structured.?output|grammar"
_REFUSALS = {
    "max_tokens": re.compile("max_completion_tokens"),  # OpenAI's newer models know only that name
    "max_completion_tokens": re.compile(r"tokens\W+is too large"),  # a small context: the server sets the limit
    "limits": re.compile(rf"{_SCHEMAS}|m(?:in|ax)(?:Items|Length)|\bpattern\b|repetition", re.IGNORECASE),
    "steps": re.compile(_SCHEMAS, re.IGNORECASE),
    "response_format": re.compile(_SCHEMAS, re.IGNORECASE),
    "stream_options": re.compile(r"stream_options|include_usage"),
    "stream": re.compile(r"\bstream(?:ing)?\b", re.IGNORECASE),
    "tool_choice": re.compile(r"tool.?choice", re.IGNORECASE),
    "temperature": re.compile("temperature", re.IGNORECASE),
    "reasoning_effort": re.compile(r"reasoning.?effort", re.IGNORECASE),
    "thoughts": re.compile(
        r"\A(?!.*(?:missing|must be (?:passed|provided|sent|included)))"
        r".*(?:extra_content|reasoning_(?:content|details)|thought.?signature|thinking_blocks|\breasoning\b|"
        r"(?:unknown|unrecognized|unsupported|additional|extra|unexpected) (?:name|field|propert|input|argument|param)"
        r".*messages|messages.*(?:extra (?:input|field)|not permitted|not allowed|unsupported|unexpected))",
        re.IGNORECASE | re.DOTALL,
    ),
}
"""Request fields that some servers refuse, each with a pattern for the error message that refuses it.

`limits` are the length limits in an answer's schema, `steps` is the schema of a step, and `thoughts` are the unknown
fields of earlier replies that are sent back.
"""
ToolMode = Literal["auto", "native", "schema"]
"""How models call tools: `native` by the server's own calls, `schema` by `schema_steps`, `auto` natively at first."""


class OpenAIChat:
    """OpenAI's chat completions, as any compatible server speaks them.

    Args:
        api_key: The server's key; local servers take any.
        base_url: The server's address, up to and with `/v1`; None for OpenAI's own.
        silence: Seconds without an event after which a call is given up.
        tool_mode: How models call tools.
        own: True if the server is OpenAI's own, whatever its address.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        silence: float = SILENCE,
        tool_mode: ToolMode = "auto",
        own: bool | None = None,
    ) -> None:
        self.base_url = base_url
        self.picture_limits = OPENAI_LIMITS
        self._silence = silence
        self._api_key = api_key
        self._own = is_openai(base_url) if own is None else own
        self._tool_mode: ToolMode = "native" if self._own else tool_mode
        words = _REFUSALS | ({"tools": _NO_TOOLS} if self._tool_mode == "auto" else {})
        self._refused = RefusedFields(words)

    def connect(self) -> ProviderConnection:
        """Import the SDK and make a client."""
        return connect(self._api_key, self.base_url, keep=self._own or not is_unencrypted(self.base_url))

    def needs_step_schema(self, model: str) -> bool:
        """Return True if this model calls tools by steps in a JSON schema, see `schema_steps`."""
        return self._tool_mode == "schema" or "tools" in self._refused.find_fields(model)

    async def fetch_context_size(self, connection: ProviderConnection, model: str) -> int | None:
        """Return the size of a model's context in tokens; None if the server does not report it."""
        del connection
        if self.base_url is None or self._own:
            return None
        return await fetch_context_size(self.base_url, model, {"Authorization": f"Bearer {self._api_key}"})

    async def sees_pictures(self, connection: ProviderConnection, model: str) -> bool | None:
        """Return whether a model sees pictures: for OpenAI by its name, otherwise as the server reports, or None."""
        del connection
        if self.base_url is None or self._own:
            return openai_sees_pictures(model)
        return await fetch_picture_support(self.base_url, model, {"Authorization": f"Bearer {self._api_key}"})

    async def send(
        self, connection: ProviderConnection, call: ModelCall, model: str, emitter: Emitter, prompt_tokens: int
    ) -> WireReply:
        """Send a call and read the reply. A field that the server refuses is replaced or left out from then on."""
        quiet = make_silence_limits(self._silence, 0 if self._own else prompt_tokens)

        async def post(request: dict[str, Any]) -> WireReply:
            heard = emitter if "tools" in request or not call.tools else Emitter(None)  # nobody should see step JSON
            opening = partial(post_request, connection.client, "chat/completions", request)
            async with aclosing(read_events(opening, quiet, kind_of)) as chunks:
                return read(await collect(chunks, heard))

        async def send(*, steps: bool) -> WireReply:
            def request_of(without: frozenset[str]) -> dict[str, Any]:
                return _make_request(call, model, without, own=self._own, steps=steps or "tools" in without)

            return await self._refused.send(model, connection.sdk, request_of, post)

        reading = await send(steps=self._tool_mode == "schema")
        if reading.calls or not call.tools or self._tool_mode == "native":
            return reading
        told = read_step(reading, call.tools)
        if self.needs_step_schema(model):
            return told
        if told.calls:
            self._refused.add(model, "tools")  # the server does not recognise its model's calls
        elif call.tool_choice == "required" and told.stop == "end":
            # Some servers ignore a required tool choice. A schema enforces a call, at the price of a second request.
            forced = read_step(await send(steps=True), call.tools)
            told = replace(forced if forced.calls else told, tokens=reading.tokens + forced.tokens)
        return told


def _make_request(call: ModelCall, model: str, without: frozenset[str], *, own: bool, steps: bool) -> dict[str, Any]:
    """Render a call in the wire format, `without` these fields of `_REFUSALS`; with `steps`, as in `schema_steps`."""
    schema, field = None, "response_format"
    if call.tools and steps:
        call, schema, field = convert_to_step(call), steps_schema(call.tools), "steps"
    elif call.answer_schema is not None:
        schema = strict_schema(call.answer_schema, limits=not own and "limits" not in without)
    request = {"model": model} | _make_settings(call, without, own=own)
    instructions = call.system
    if schema is not None and field in without:
        instructions = f"{instructions}\n\n{_describe_schema(schema)}".strip()
    elif schema is not None:
        answer = {"name": "answer", "schema": schema, "strict": True}
        request["response_format"] = {"type": "json_schema", "json_schema": answer}
    system = [{"role": "system", "content": instructions}] if instructions else []
    thoughts = "thoughts" not in without
    messages = (item for message in call.messages for item in _render_messages(message, thoughts=thoughts))
    return request | {"messages": [*system, *messages]}


def _make_settings(call: ModelCall, without: frozenset[str], *, own: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    if limit not in without:
        settings[limit] = call.max_tokens
    if "stream" not in without:
        settings["stream"] = True
        settings |= {} if "stream_options" in without else {"stream_options": {"include_usage": True}}
    if (effort := effort_of(call, own=own)) is not None and "reasoning_effort" not in without:
        settings["reasoning_effort"] = effort
    if (temperature := temperature_of(call, own=own)) is not None and "temperature" not in without:
        settings["temperature"] = temperature
    if call.tools:
        settings["tools"] = [_render_tool(tool, own=own) for tool in call.tools]
        if call.tool_choice == "required" and "tool_choice" not in without:
            settings["tool_choice"] = "required"
    return settings


def _render_tool(tool: ToolSpec, *, own: bool) -> dict[str, Any]:
    parameters = tool.parameters if own else drop_unenforced_limits(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _describe_schema(schema: dict[str, Any]) -> str:
    words = _IN_WORDS.read_text(encoding="utf-8").strip()
    return words.format(schema=json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


def _render_messages(message: ModelMessage, *, thoughts: bool) -> list[dict[str, Any]]:
    if message.role == "assistant":
        own = message.thoughts[0] if message.thoughts and thoughts else {}
        written: dict[str, Any] = {"role": "assistant", "content": message.text}
        if message.calls:
            written["tool_calls"] = [
                _render_call(call, own.get("calls", {}).get(call.id, {})) for call in message.calls
            ]
        return [own.get("fields", {}) | written]
    replies: list[dict[str, Any]] = [
        {
            "role": "tool",
            "tool_call_id": reply.call_id,
            "content": f"ERROR: {reply.text}" if reply.failed else reply.text,
        }
        for reply in message.replies
    ]
    if replies and not message.text and not message.pictures:
        return replies
    return [*replies, {"role": "user", "content": _render_content(message)}]


def _render_call(call: ToolCall, own: dict[str, Any]) -> dict[str, Any]:
    """Render a tool call, with the provider's fields (`own`) that came with it."""
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {
        **own.get("call", {}),
        "id": call.id,
        "type": "function",
        "function": {**own.get("function", {}), **function},
    }


def _render_content(message: ModelMessage) -> str | list[dict[str, Any]]:
    """Render a message's text; with pictures, as a list of parts in which each picture follows its name."""
    if not message.pictures:
        return message.text
    parts: list[dict[str, Any]] = []
    for picture in message.pictures:
        parts.append({"type": "text", "text": f"{picture.name}:"})
        parts.append({"type": "image_url", "image_url": {"url": data_url(picture), "detail": "auto"}})
    return parts + ([{"type": "text", "text": message.text}] if message.text else [])
