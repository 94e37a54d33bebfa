"""JSON replies of models: the schemas that ask for them, and reading them leniently, with fences and prose around."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from handoff.text.reply_text import json_in, replace_surrogates


def json_object(text: str) -> dict[str, Any]:
    """Give the JSON object in a reply; an empty one if there is none."""
    try:
        value = json.loads(json_in(text))
    except (ValueError, RecursionError):  # the latter: a reply nested a thousand levels deep
        return {}
    return replace_surrogates(value) if isinstance(value, dict) else {}


def closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    """Give the JSON Schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def reply_schema(
    model: type[BaseModel],
    *,
    enums: Mapping[str, Sequence[str]] = MappingProxyType({}),
    most: Mapping[str, int] = MappingProxyType({}),
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Give the JSON Schema of a reply that `model` reads: types and enums alone, all properties required, in order.

    Small models write properties in that order, so the order of the model's fields counts.

    Args:
        model: The pydantic model of the reply.
        enums: The texts that a property may have, by its path, such as `subtasks.specialist`; of a list: its items.
        most: The most items that a list may have, by its path.
        without: Paths of properties that are left out.
    """
    whole = model.model_json_schema()
    parts = whole.get("$defs", {})

    def bare(schema: dict[str, Any], path: str) -> dict[str, Any]:
        if "$ref" in schema:
            return bare(parts[schema["$ref"].removeprefix("#/$defs/")], path)
        if "anyOf" in schema:
            return {"anyOf": [bare(each, path) for each in schema["anyOf"]]}
        if schema["type"] == "object":
            paths = {name: f"{path}.{name}".lstrip(".") for name in schema["properties"]}
            kept = {name: part for name, part in schema["properties"].items() if paths[name] not in without}
            return closed_object({name: bare(part, paths[name]) for name, part in kept.items()})
        if schema["type"] == "array":
            limit = {"maxItems": most[path]} if path in most else {}
            return {"type": "array", "items": bare(schema["items"], path), **limit}
        enum = enums.get(path, schema.get("enum"))
        return {"type": schema["type"], **({} if enum is None else {"enum": list(enum)})}

    return bare(whole, "")
