"""Converts JSON schemas: to the strict form that Anthropic and OpenAI take, or to what compatible servers enforce.

`anthropic.transform_schema` gives the same strict form for every schema in use, but for the `type` beside an `enum`,
which it drops. It would be a second form beside this one, so it is not used.
"""

from __future__ import annotations

import re
from typing import Any

_LIMITS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
)
"""Keywords that not every provider enforces: they move into the description, where the model can read them."""

_DROPPED = ("title", "default", "examples", "discriminator", "additionalProperties", "required")
_LONGEST = 1_000
"""The most items or characters that a local server's grammar is asked to count: of more, some refuse, all get slow."""
_FORMATS = ("date", "time", "date-time", "uuid")
_ANCHORED = re.compile(r"\^[^\\(]*\$")
"""Patterns of characters and classes alone: some servers know no more."""


def strict_schema(schema: dict[str, Any], *, limits: bool = False) -> dict[str, Any]:
    """Return the schema in strict form; the one given is left as it was.

    Every property becomes required and no others are allowed, titles and defaults go. Limits on numbers and lengths
    become part of the description; with `limits`, those that compatible servers enforce stay keywords. The reader of
    the reply validates it again. A free map (`dict[str, str]`) stays one, which the providers refuse: ask for a list
    of names with values instead.
    """
    kept = _find_enforced_limits(schema) if limits else frozenset()
    strict = {
        key: _convert(key, value, limits=limits)
        for key, value in schema.items()
        if (key not in _LIMITS or key in kept) and key not in _DROPPED
    }
    if "$ref" in strict:
        return {key: strict[key] for key in ("$ref", "$defs") if key in strict}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if not all(strict.get("anyOf", (True,))):
        del strict["anyOf"]  # a choice between keywords such as `required` is none any more
    if "const" in strict:
        strict["enum"] = [strict.pop("const")]
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    elif strict.get("type") == "object":
        strict |= _map_of(schema, limits=limits)
    moved = ", ".join(f"{key}: {schema[key]}" for key in _LIMITS if key in schema and key not in kept)
    if moved:
        strict["description"] = f"{strict.get('description', '')} {{{moved}}}".strip()
    return strict


def drop_unenforced_limits(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's schema without the limits that compatible servers ignore or choke on.

    Whoever runs the tool checks its arguments again.
    """
    kept = _find_enforced_limits(schema)
    return {
        key: _convert_inner(key, value, drop_unenforced_limits)
        for key, value in schema.items()
        if key not in _LIMITS or key in kept
    }


def _map_of(schema: dict[str, Any], *, limits: bool) -> dict[str, Any]:
    """Write an object without properties: an empty one, or a map whose values have a schema."""
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return {"additionalProperties": strict_schema(values, limits=limits)}
    if values is True:
        return {"additionalProperties": True}
    return {"properties": {}, "required": [], "additionalProperties": False}


def _find_enforced_limits(schema: dict[str, Any]) -> frozenset[str]:
    """Return the limits of a schema that llama.cpp, and with it Ollama and LM Studio, holds a model to."""
    kept = {
        key for key in ("minItems", "maxItems", "minLength", "maxLength") if schema.get(key, _LONGEST + 1) <= _LONGEST
    }
    if schema.get("type") == "integer":
        kept |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} & set(schema)
    if schema.get("format") in _FORMATS:
        kept.add("format")
    if _ANCHORED.fullmatch(str(schema.get("pattern", ""))):
        kept.add("pattern")
    return frozenset(kept)


def _convert(key: str, value: Any, *, limits: bool) -> Any:
    return _convert_inner(key, value, lambda part: strict_schema(part, limits=limits))


def _convert_inner(key: str, value: Any, convert: Any) -> Any:
    """Convert the schemas that lie inside a keyword's value."""
    if key in {"properties", "$defs"}:
        return {name: convert(part) for name, part in value.items()}
    if key in {"anyOf", "allOf", "oneOf", "prefixItems"}:
        return [convert(part) for part in value]
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        return convert(value)
    return value
