"""Prompts, model calls and reply schemas for the supervisor's roles, and a lenient parser for their replies."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cache
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from handoff.contracts import Terms
from handoff.text.headings import demote_headings
from handoff.text.reply_text import extract_json, replace_surrogates
from specialists.model import ModelCall, ModelMessage


@cache
def read_prompt(role: str) -> str:
    """Return the prompt of a role, such as `planner`."""
    return (Path(__file__).parent / f"{role}.md").read_text(encoding="utf-8").strip()


ROLES_WITH_CHANNEL_WORDS = frozenset({"planner", "replanner", "synthesizer"})
"""The roles whose prompts include the channel's instructions: the other roles see only parts of the work."""


def render_crew_words(terms: Terms, role: str) -> str:
    """Return the instructions of crew and channel for a role, each under a heading; empty if there are none.

    They follow the role's own prompt and stay the same in all calls of a crew, so that providers can cache both.
    """
    words_by_prompt = {"crew_words": terms.crew_words.get(role, "")}
    if role in ROLES_WITH_CHANNEL_WORDS:
        words_by_prompt["channel_words"] = terms.channel_words
    return "".join(
        f"\n\n{read_prompt(name)}\n\n{demote_headings(words)}" for name, words in words_by_prompt.items() if words
    )


def make_role_call(
    role: str,
    text: str,
    *,
    terms: Terms,
    max_tokens: int,
    deadline: float = inf,
    answer_schema: dict[str, Any] | None = None,
    on_text: Callable[[str], Awaitable[None]] | None = None,
    is_last: bool = False,
) -> ModelCall:
    """Build the model call of a role.

    Args:
        role: The name of the role and of its prompt.
        text: The brief; the circumstances are put before it.
        terms: Has the role's tier, the seconds of a call and the circumstances.
        max_tokens: Limit for the reply and for the thinking before it, which all providers count too.
        deadline: Most seconds for this call; `terms.call_seconds` limits them as well.
        answer_schema: JSON Schema of the reply; None: plain text.
        on_text: Called with each piece of the reply while it is written.
        is_last: True if the call writes the answer: budgets do not hold it back.
    """
    if terms.circumstances:
        text = f"{terms.circumstances}\n\n{text}"
    return ModelCall(
        purpose=role,
        system=read_prompt(role) + render_crew_words(terms, role),
        messages=(ModelMessage(role="user", text=text),),
        tier=terms.get_tier(role),
        max_tokens=max_tokens,
        timeout_seconds=min(deadline, terms.call_seconds),
        answer_schema=answer_schema,
        on_text=on_text,
        is_last=is_last,
    )


def parse_json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a reply; an empty one if there is none."""
    try:
        value = json.loads(extract_json(text))
    except (ValueError, RecursionError):  # RecursionError: a reply nested a thousand levels deep
        return {}
    return replace_surrogates(value) if isinstance(value, dict) else {}


def make_object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def make_reply_schema(
    model: type[BaseModel],
    *,
    enums: Mapping[str, Sequence[str]] = MappingProxyType({}),
    max_items: Mapping[str, int] = MappingProxyType({}),
    excluded_paths: Collection[str] = (),
) -> dict[str, Any]:
    """Return the JSON Schema of a reply that `model` parses: only types and enums, with all properties required.

    The properties are in the order of the model's fields, in which small models write them.

    Args:
        model: The pydantic model of the reply.
        enums: The texts that a property, or each item of a list, may have, by path, such as `subtasks.specialist`.
        max_items: The maximum number of items of a list, by its path.
        excluded_paths: Paths of properties that are left out.
    """
    whole = model.model_json_schema()
    parts = whole.get("$defs", {})

    def strip_schema(schema: dict[str, Any], path: str) -> dict[str, Any]:
        if "$ref" in schema:
            return strip_schema(parts[schema["$ref"].removeprefix("#/$defs/")], path)
        if "anyOf" in schema:
            return {"anyOf": [strip_schema(each, path) for each in schema["anyOf"]]}
        if schema["type"] == "object":
            paths = {name: f"{path}.{name}".lstrip(".") for name in schema["properties"]}
            properties = {
                name: part for name, part in schema["properties"].items() if paths[name] not in excluded_paths
            }
            return make_object_schema({name: strip_schema(part, paths[name]) for name, part in properties.items()})
        if schema["type"] == "array":
            limit = {"maxItems": max_items[path]} if path in max_items else {}
            return {"type": "array", "items": strip_schema(schema["items"], path), **limit}
        enum = enums.get(path, schema.get("enum"))
        return {"type": schema["type"], **({} if enum is None else {"enum": list(enum)})}

    return strip_schema(whole, "")
