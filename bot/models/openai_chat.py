"""The wire format of OpenAI's chat completions, which Ollama, LM Studio, llama.cpp, vLLM and gateways speak."""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bot.models.chat_completions import classify_chunk, collect_completion, read_completion
from bot.models.event_stream import SILENCE_SECONDS, make_silence_limits, read_events
from bot.models.openai_client import is_openai_url, is_unencrypted_url, make_connection, post_request
from bot.models.picture_support import OPENAI_LIMITS, openai_sees_pictures
from bot.models.refused_fields import RefusedFields
from bot.models.schema_steps import convert_to_step_request, extract_step_call, make_steps_schema
from bot.models.server_facts import fetch_context_size, fetch_picture_support
from bot.models.strict_schema import drop_unenforced_limits, make_strict_schema
from bot.models.wire import Emitter, ProviderConnection, WireReply, choose_effort, choose_temperature, make_data_url
from handoff.contracts import ToolCall
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec

_SCHEMA_PROMPT_PATH = Path(__file__).with_name("schema_in_words.md")
_NO_TOOLS_WORDS = re.compile(
    r"(?:support|allow)\w* (?:for )?(?:tools?|functions?)\b|tools? (?:is|are) not supported", re.IGNORECASE
)
_SCHEMA_WORDS = r"response.?format|json.?schema|structured.?output|grammar"
_REFUSAL_PATTERNS = {
    "max_tokens": re.compile("max_completion_tokens"),  # OpenAI's newer models know only that name
    "max_completion_tokens": re.compile(r"tokens\W+is too large"),  # a small context: the server sets the limit
    "limits": re.compile(rf"{_SCHEMA_WORDS}|m(?:in|ax)(?:Items|Length)|\bpattern\b|repetition", re.IGNORECASE),
    "steps": re.compile(_SCHEMA_WORDS, re.IGNORECASE),
    "response_format": re.compile(_SCHEMA_WORDS, re.IGNORECASE),
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
"""How models call tools: `native` by the server's tool calls, `schema` by steps in a JSON schema (`schema_steps`).

`auto` begins as `native`, and goes on as `schema` for a model whose tool calls the server refuses or misses."""


class OpenAIChat:
    """OpenAI's chat completions, as any compatible server speaks them.

    Args:
        api_key: The server's key; local servers take any.
        base_url: The server's address, up to and with `/v1`; None for OpenAI's own.
        silence: Seconds without an event after which a call is given up.
        tool_mode: How models call tools.
        is_own_server: True if the server is OpenAI's own, whatever its address.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        silence: float = SILENCE_SECONDS,
        tool_mode: ToolMode = "auto",
        is_own_server: bool | None = None,
    ) -> None:
        self.base_url = base_url
        self.picture_limits = OPENAI_LIMITS
        self._silence = silence
        self._api_key = api_key
        self._is_own_server = is_openai_url(base_url) if is_own_server is None else is_own_server
        self._tool_mode: ToolMode = "native" if self._is_own_server else tool_mode
        words = _REFUSAL_PATTERNS | ({"tools": _NO_TOOLS_WORDS} if self._tool_mode == "auto" else {})
        self._refused_fields = RefusedFields(words)

    def connect(self) -> ProviderConnection:
        """Import the SDK and make a client. Blocks for about 1.5 s at the first call."""
        return make_connection(
            self._api_key, self.base_url, keeps_connections=self._is_own_server or not is_unencrypted_url(self.base_url)
        )

    def needs_step_schema(self, model: str) -> bool:
        """Return True if this model calls tools by steps in a JSON schema."""
        return self._tool_mode == "schema" or "tools" in self._refused_fields.find_fields(model)

    async def fetch_context_size(self, connection: ProviderConnection, model: str) -> int | None:
        """Return the size of a model's context in tokens; None if the server does not report it."""
        del connection
        if self.base_url is None or self._is_own_server:
            return None
        return await fetch_context_size(self.base_url, model, {"Authorization": f"Bearer {self._api_key}"})

    async def sees_pictures(self, connection: ProviderConnection, model: str) -> bool | None:
        """Return whether a model sees pictures: for OpenAI by its name, otherwise as the server reports, or None."""
        del connection
        if self.base_url is None or self._is_own_server:
            return openai_sees_pictures(model)
        return await fetch_picture_support(self.base_url, model, {"Authorization": f"Bearer {self._api_key}"})

    async def send(
        self, connection: ProviderConnection, call: ModelCall, model: str, emitter: Emitter, prompt_tokens: int
    ) -> WireReply:
        """Send a call and read the reply. A field that the server refuses is replaced or omitted from then on."""
        silence_limits = make_silence_limits(self._silence, 0 if self._is_own_server else prompt_tokens)

        async def post(request: dict[str, Any]) -> WireReply:
            # Nobody should see step JSON.
            text_emitter = emitter if "tools" in request or not call.tools else Emitter(None)
            opening = partial(post_request, connection.client, "chat/completions", request)
            async with aclosing(read_events(opening, silence_limits, classify_chunk)) as chunks:
                return read_completion(await collect_completion(chunks, text_emitter))

        async def send_request(*, with_steps: bool) -> WireReply:
            def render_request(without: frozenset[str]) -> dict[str, Any]:
                return _make_request(
                    call, model, without, is_own_server=self._is_own_server, with_steps=with_steps or "tools" in without
                )

            return await self._refused_fields.send_until_accepted(model, connection.sdk, render_request, post)

        native_reply = await send_request(with_steps=self._tool_mode == "schema")
        if native_reply.calls or not call.tools or self._tool_mode == "native":
            return native_reply
        step_reply = extract_step_call(native_reply, call.tools)
        if self.needs_step_schema(model):
            return step_reply
        if step_reply.calls:
            self._refused_fields.add(model, "tools")  # the server does not recognise its model's calls
        elif call.tool_choice == "required" and step_reply.stop_reason == "end":
            # Some servers ignore a required tool choice. A schema enforces a call, at the price of a second request.
            forced_reply = extract_step_call(await send_request(with_steps=True), call.tools)
            step_reply = replace(
                forced_reply if forced_reply.calls else step_reply, tokens=native_reply.tokens + forced_reply.tokens
            )
        return step_reply


def _make_request(
    call: ModelCall, model: str, omitted_fields: frozenset[str], *, is_own_server: bool, with_steps: bool
) -> dict[str, Any]:
    """Render a call without `omitted_fields` (keys of `_REFUSAL_PATTERNS`). `with_steps`: a schema holds its steps."""
    schema, field = None, "response_format"
    if call.tools and with_steps:
        call, schema, field = convert_to_step_request(call), make_steps_schema(call.tools), "steps"
    elif call.answer_schema is not None:
        schema = make_strict_schema(
            call.answer_schema, keeps_limits=not is_own_server and "limits" not in omitted_fields
        )
    request = {"model": model} | _make_settings(call, omitted_fields, is_own_server=is_own_server)
    instructions = call.system
    if schema is not None and field in omitted_fields:
        instructions = f"{instructions}\n\n{_describe_schema(schema)}".strip()
    elif schema is not None:
        answer = {"name": "answer", "schema": schema, "strict": True}
        request["response_format"] = {"type": "json_schema", "json_schema": answer}
    system = [{"role": "system", "content": instructions}] if instructions else []
    with_thoughts = "thoughts" not in omitted_fields
    messages = (item for message in call.messages for item in _render_messages(message, with_thoughts=with_thoughts))
    return request | {"messages": [*system, *messages]}


def _make_settings(call: ModelCall, omitted_fields: frozenset[str], *, is_own_server: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    limit = "max_completion_tokens" if "max_tokens" in omitted_fields else "max_tokens"
    if limit not in omitted_fields:
        settings[limit] = call.max_tokens
    if "stream" not in omitted_fields:
        settings["stream"] = True
        settings |= {} if "stream_options" in omitted_fields else {"stream_options": {"include_usage": True}}
    if (
        effort := choose_effort(call, is_provider_server=is_own_server)
    ) is not None and "reasoning_effort" not in omitted_fields:
        settings["reasoning_effort"] = effort
    if (
        temperature := choose_temperature(call, is_provider_server=is_own_server)
    ) is not None and "temperature" not in omitted_fields:
        settings["temperature"] = temperature
    if call.tools:
        settings["tools"] = [_render_tool(tool, is_own_server=is_own_server) for tool in call.tools]
        if call.tool_choice == "required" and "tool_choice" not in omitted_fields:
            settings["tool_choice"] = "required"
    return settings


def _render_tool(tool: ToolSpec, *, is_own_server: bool) -> dict[str, Any]:
    parameters = tool.parameters if is_own_server else drop_unenforced_limits(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _describe_schema(schema: dict[str, Any]) -> str:
    words = _SCHEMA_PROMPT_PATH.read_text(encoding="utf-8").strip()
    return words.format(schema=json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


def _render_messages(message: ModelMessage, *, with_thoughts: bool) -> list[dict[str, Any]]:
    if message.role == "assistant":
        opaque_fields = message.thoughts[0] if message.thoughts and with_thoughts else {}
        assistant_message: dict[str, Any] = {"role": "assistant", "content": message.text}
        if message.calls:
            assistant_message["tool_calls"] = [
                _render_call(call, opaque_fields.get("calls", {}).get(call.id, {})) for call in message.calls
            ]
        return [opaque_fields.get("fields", {}) | assistant_message]
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


def _render_call(call: ToolCall, opaque_fields: dict[str, Any]) -> dict[str, Any]:
    """Render a tool call, with the unknown fields of the provider that came with it."""
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {
        **opaque_fields.get("call", {}),
        "id": call.id,
        "type": "function",
        "function": {**opaque_fields.get("function", {}), **function},
    }


def _render_content(message: ModelMessage) -> str | list[dict[str, Any]]:
    """Render a message's text; with pictures, as a list of parts in which each picture follows its name."""
    if not message.pictures:
        return message.text
    parts: list[dict[str, Any]] = []
    for picture in message.pictures:
        parts.append({"type": "text", "text": f"{picture.name}:"})
        parts.append({"type": "image_url", "image_url": {"url": make_data_url(picture), "detail": "auto"}})
    return parts + ([{"type": "text", "text": message.text}] if message.text else [])
