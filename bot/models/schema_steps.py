"""Tool calls as steps in a JSON schema, for servers that do not recognise their model's tool calls.

A call with tools is sent without them: the system prompt lists the tools, the reply must be the JSON of one step (a
tool's name, and arguments that fit the tool's schema), and earlier calls and replies become plain messages.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from bot.models.strict_schema import drop_unenforced_limits
from bot.models.wire import WireReply
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from specialists.turns.text_calls import find_written_call

_DROPPED_KEYWORDS = ("properties", "$defs", "title", "default", "description")
_PROMPT = Path(__file__).with_name("schema_steps.md")


def convert_to_step_request(call: ModelCall) -> ModelCall:
    """Convert a call with tools into a call without tools, whose system prompt asks for one step."""
    system = f"{call.system}\n\n{_read_prompt().format(tools=_list_tools(call.tools))}".strip()
    # The streamed text is JSON, which nobody should see.
    return replace(
        call, system=system, messages=_flatten_messages(call.messages), tools=(), tool_choice="auto", on_text=None
    )


def make_steps_schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """Return the JSON Schema of a step with one of these tools.

    Each tool has a branch with its name and its arguments. If these were separate choices, models would combine the
    name of one tool with the arguments of another.
    """
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {"tool": {"const": tool.name}, "arguments": _inline_references(tool.parameters)},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
            for tool in tools
        ]
    }


def extract_step_call(reply: WireReply, tools: Sequence[ToolSpec]) -> WireReply:
    """Return the reply with the tool call that its text contains, in place of the text. Unchanged if it has none."""
    call = find_written_call(reply.text, tools) if reply.stop_reason in {"end", "tool_use"} else None
    if call is None:
        return reply
    call = call.model_copy(update={"id": f"call_{secrets.token_hex(8)}"})
    return replace(reply, text="", calls=(call,), stop_reason="tool_use")


@cache
def _read_prompt() -> str:
    return _PROMPT.read_text(encoding="utf-8").strip()


def _list_tools(tools: Sequence[ToolSpec]) -> str:
    return "\n".join(
        f"- {tool.name}({_render_signature(tool.parameters)}): {_collapse_whitespace(tool.description)}"
        for tool in tools
    )


def _render_signature(schema: dict[str, Any]) -> str:
    required_names = schema.get("required", ())
    return ", ".join(
        f"{name}{'' if name in required_names else '?'}: {_describe_type(part)}"
        for name, part in schema.get("properties", {}).items()
    )


def _describe_type(schema: dict[str, Any]) -> str:
    """Describe a value's type in a few words, such as `[string]`, `a|b` or `integer (a year)`."""
    if "enum" in schema:
        kind = "|".join(map(str, schema["enum"]))
    elif schema.get("type") == "array":
        kind = f"[{_describe_type(schema.get('items', {}))}]"
    else:
        kind = str(schema.get("type", "any"))
    return f"{kind} ({about})" if (about := schema.get("description")) else kind


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def _inline_references(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's schema with its references inlined, as they would not resolve inside a larger schema."""
    parts = schema.get("$defs", {})

    def inline(value: Any, inside: tuple[str, ...] = ()) -> Any:
        if isinstance(value, list):
            return [inline(each, inside) for each in value]
        if not isinstance(value, dict):
            return value
        name = str(value.get("$ref", "")).removeprefix("#/$defs/")
        if name in inside:
            return {}  # a recursive schema cannot be inlined: allow anything
        if name in parts:
            return inline(parts[name], (*inside, name))
        properties = {name: inline(part, inside) for name, part in value.get("properties", {}).items()}
        rest = {key: inline(each, inside) for key, each in value.items() if key not in _DROPPED_KEYWORDS}
        return rest | ({"properties": properties} if properties else {})

    inlined_schema: dict[str, Any] = inline(drop_unenforced_limits(schema))
    return {"additionalProperties": False, **inlined_schema}


def _flatten_messages(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Render the conversation so far as plain messages: calls as the JSON of steps, tool replies as a user's text."""
    flat_messages, names = [], dict[str, str]()
    for message in messages:
        names |= {call.id: call.name for call in message.calls}
        steps = (
            json.dumps({"tool": call.name, "arguments": call.arguments}, ensure_ascii=False) for call in message.calls
        )
        replies = (
            f"# {names.get(reply.call_id, 'tool')} {'failed' if reply.failed else 'replied'}\n{reply.text}"
            for reply in message.replies
        )
        role = "assistant" if message.role == "assistant" else "user"
        text = "\n".join(filter(None, (message.text, *steps))) if role == "assistant" else ""
        text = text or "\n\n".join(filter(None, (*replies, message.text)))
        flat_messages.append(ModelMessage(role=role, text=text, pictures=message.pictures))
    return tuple(flat_messages)
