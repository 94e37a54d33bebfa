"""Requests of the three wire formats, read into what they have in common."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from handoff.contracts import ToolCall, ToolReply
from specialists.model import ModelMessage, Picture
from specialists.tools.tool import ToolSpec

Api = Literal["anthropic", "responses", "chat"]

FAILURE_PREFIX = "ERROR: "
"""How our OpenAI providers mark a failed tool reply; Anthropic has a field for it."""


@dataclass
class WireRequest:
    """One request as it came in. Everything but `api` and `body` is worked out when it is asked for."""

    api: Api
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def model(self) -> str:
        return str(self.body.get("model"))

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def max_tokens(self) -> int:
        names = ("max_tokens", "max_output_tokens", "max_completion_tokens")
        return next((self.body[name] for name in names if name in self.body), 4096)

    @cached_property
    def system(self) -> str:
        if self.api == "anthropic":
            system = self.body.get("system") or ""
            return system if isinstance(system, str) else "".join(block["text"] for block in system)
        if self.api == "responses":
            return str(self.body.get("instructions") or "")
        return "\n".join(each["content"] for each in self.body["messages"] if each["role"] == "system")

    @cached_property
    def messages(self) -> tuple[ModelMessage, ...]:
        if self.api == "anthropic":
            return tuple(_anthropic_message(each) for each in self.body["messages"])
        if self.api == "responses":
            return _responses_messages(self.body["input"])
        return _chat_messages(self.body["messages"])

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        specs = self.body.get("tools") or []
        if self.api == "anthropic":
            return tuple(ToolSpec(each["name"], each.get("description", ""), each["input_schema"]) for each in specs)
        if self.api == "chat":
            specs = [each["function"] for each in specs]
        return tuple(ToolSpec(each["name"], each.get("description", ""), each["parameters"]) for each in specs)

    @cached_property
    def answer_schema(self) -> dict[str, Any] | None:
        if self.api == "anthropic":
            asked = (self.body.get("output_config") or {}).get("format")
        elif self.api == "responses":
            asked = (self.body.get("text") or {}).get("format")
        else:
            asked = (self.body.get("response_format") or {}).get("json_schema")
        return asked["schema"] if asked else None

    @cached_property
    def prompt_tokens(self) -> int:
        """The prompt's size by our rule of thumb: characters / 4, rounded down.

        Counted are the system prompt, the text of messages, the names and JSON arguments of tool calls, the
        text of tool replies, each tool's name, description and schema (compact JSON), and the answer's schema.
        """
        size = len(self.system)
        for message in self.messages:
            size += len(message.text)
            size += sum(len(call.name) + len(_compact(call.arguments)) for call in message.calls)
            size += sum(len(reply.text) for reply in message.replies)
        size += sum(len(tool.name) + len(tool.description) + len(_compact(tool.parameters)) for tool in self.tools)
        if self.answer_schema is not None:
            size += len(_compact(self.answer_schema))
        return size // 4


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _anthropic_message(message: dict[str, Any]) -> ModelMessage:
    content = message["content"]
    if isinstance(content, str):
        return ModelMessage(role=message["role"], text=content)
    text, pictures = _parts(content)
    calls = tuple(
        ToolCall(id=block["id"], name=block["name"], arguments=block["input"])
        for block in content
        if block["type"] == "tool_use"
    )
    replies = tuple(
        ToolReply(call_id=block["tool_use_id"], text=block["content"], failed=block.get("is_error", False))
        for block in content
        if block["type"] == "tool_result"
    )
    role = "tool" if replies else message["role"]
    return ModelMessage(role=role, text=text, calls=calls, replies=replies, pictures=pictures)


def _parts(content: str | list[dict[str, Any]] | None) -> tuple[str, tuple[Picture, ...]]:
    """The text and the pictures of a content, in any of the formats. A picture's name stands before it, as a text."""
    if not isinstance(content, list):
        return content or "", ()
    texts: list[str] = []
    pictures: list[Picture] = []
    for part in content:
        if part["type"] in {"text", "input_text", "output_text"}:
            texts.append(part["text"])
        elif part["type"] in {"image", "image_url", "input_image"}:
            pictures.append(_picture(texts.pop().removesuffix(":"), part))
    return "".join(texts), tuple(pictures)


def _picture(name: str, part: dict[str, Any]) -> Picture:
    if part["type"] == "image":
        kind, data = part["source"]["media_type"], part["source"]["data"]
    else:
        url = part["image_url"] if part["type"] == "input_image" else part["image_url"]["url"]
        kind, data = url.removeprefix("data:").split(";base64,")
    return Picture(name=name, media_type=kind, data=b64decode(data, validate=True))


def _responses_messages(items: list[dict[str, Any]]) -> tuple[ModelMessage, ...]:
    messages: list[ModelMessage] = []
    for item in items:
        if item.get("type") == "function_call":
            call = ToolCall(id=item["call_id"], name=item["name"], arguments=json.loads(item["arguments"]))
            messages.append(ModelMessage(role="assistant", calls=(call,)))
        elif item.get("type") == "function_call_output":
            messages.append(ModelMessage(role="tool", replies=(_reply(item["call_id"], item["output"]),)))
        elif item.get("type") != "reasoning":
            text, pictures = _parts(item["content"])
            messages.append(ModelMessage(role=item["role"], text=text, pictures=pictures))
    return _join_neighbours(messages)


def _chat_messages(items: list[dict[str, Any]]) -> tuple[ModelMessage, ...]:
    messages: list[ModelMessage] = []
    for item in items:
        if item["role"] == "tool":
            messages.append(ModelMessage(role="tool", replies=(_reply(item["tool_call_id"], item["content"]),)))
        elif item["role"] != "system":
            calls = tuple(
                ToolCall(
                    id=call["id"], name=call["function"]["name"], arguments=json.loads(call["function"]["arguments"])
                )
                for call in item.get("tool_calls") or ()
            )
            text, pictures = _parts(item.get("content"))
            messages.append(ModelMessage(role=item["role"], text=text, calls=calls, pictures=pictures))
    return _join_neighbours(messages)


def _reply(call_id: str, text: str) -> ToolReply:
    return ToolReply(call_id=call_id, text=text.removeprefix(FAILURE_PREFIX), failed=text.startswith(FAILURE_PREFIX))


def _join_neighbours(messages: list[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Neighbours of the same turn as one message: both OpenAI formats spread calls and replies over several."""
    joined: list[ModelMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and last.role == message.role != "user" and (message.calls or message.replies):
            joined[-1] = last.model_copy(
                update={"calls": last.calls + message.calls, "replies": last.replies + message.replies}
            )
        else:
            joined.append(message)
    return tuple(joined)
