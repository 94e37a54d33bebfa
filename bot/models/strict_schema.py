"""Converts JSON schemas: to the strict form that Anthropic and OpenAI take, or to what compatible servers enforce.

`anthropic.transform_schema` returns the same strict form for every schema in use, except that it drops the `type` of
an `enum`. It is not used, so that all providers get the same form.
"""

from __future__ import annotations

import re
from typing import Any

_LIMIT_KEYWORDS = (
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
"""Keywords that some providers do not enforce. They move into the description, where the model can read them."""

_DROPPED_KEYWORDS = ("title", "default", "examples", "discriminator", "additionalProperties", "required")
_MAX_ENFORCED_LIMIT = 1_000
"""The highest limit on items or characters that is sent to local servers: more makes them slow, and some refuse it."""
_FORMATS = ("date", "time", "date-time", "uuid")
_SIMPLE_PATTERN = re.compile(r"\^[^\\(]*\$")
"""Anchored patterns without groups and escapes: some servers support no others."""


def make_strict_schema(schema: dict[str, Any], *, keeps_limits: bool = False) -> dict[str, Any]:
    """Return a schema's strict form, without changing the schema.

    Every property becomes required, others are forbidden, and titles and defaults are dropped. Limits on numbers and
    lengths move into the description; with `keeps_limits`, those that compatible servers enforce stay keywords. The
    caller validates the reply again. A free map (`dict[str, str]`) is not converted, and providers refuse it: use a
    list of names with values instead.
    """
    enforced_keywords = _find_enforced_limits(schema) if keeps_limits else frozenset()
    strict = {
        key: _convert(key, value, keeps_limits=keeps_limits)
        for key, value in schema.items()
        if (key not in _LIMIT_KEYWORDS or key in enforced_keywords) and key not in _DROPPED_KEYWORDS
    }
    if "$ref" in strict:
        return {key: strict[key] for key in ("$ref", "$defs") if key in strict}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if not all(strict.get("anyOf", (True,))):
        del strict["anyOf"]  # a branch had only dropped keywords, such as `required`
    if "const" in strict:
        strict["enum"] = [strict.pop("const")]
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    elif strict.get("type") == "object":
        strict |= _convert_object(schema, keeps_limits=keeps_limits)
    limit_text = ", ".join(
        f"{key}: {schema[key]}" for key in _LIMIT_KEYWORDS if key in schema and key not in enforced_keywords
    )
    if limit_text:
        strict["description"] = f"{strict.get('description', '')} {{{limit_text}}}".strip()
    return strict


def drop_unenforced_limits(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's schema without the limits that compatible servers ignore or refuse.

    The arguments are checked again before the tool runs.
    """
    enforced_keywords = _find_enforced_limits(schema)
    return {
        key: _convert_inner(key, value, drop_unenforced_limits)
        for key, value in schema.items()
        if key not in _LIMIT_KEYWORDS or key in enforced_keywords
    }


def _convert_object(schema: dict[str, Any], *, keeps_limits: bool) -> dict[str, Any]:
    """Return the keywords of a strict schema for an object without properties: a map of values, or an empty object."""
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return {"additionalProperties": make_strict_schema(values, keeps_limits=keeps_limits)}
    if values is True:
        return {"additionalProperties": True}
    return {"properties": {}, "required": [], "additionalProperties": False}


def _find_enforced_limits(schema: dict[str, Any]) -> frozenset[str]:
    """Return the limit keywords in a schema that llama.cpp enforces, and so do Ollama and LM Studio."""
    enforced_keywords = {
        key
        for key in ("minItems", "maxItems", "minLength", "maxLength")
        if schema.get(key, _MAX_ENFORCED_LIMIT + 1) <= _MAX_ENFORCED_LIMIT
    }
    if schema.get("type") == "integer":
        enforced_keywords |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} & set(schema)
    if schema.get("format") in _FORMATS:
        enforced_keywords.add("format")
    if _SIMPLE_PATTERN.fullmatch(str(schema.get("pattern", ""))):
        enforced_keywords.add("pattern")
    return frozenset(enforced_keywords)


def _convert(key: str, value: Any, *, keeps_limits: bool) -> Any:
    return _convert_inner(key, value, lambda part: make_strict_schema(part, keeps_limits=keeps_limits))


def _convert_inner(key: str, value: Any, convert: Any) -> Any:
    """Convert the schemas inside a keyword's value. Any other value is returned unchanged."""
    if key in {"properties", "$defs"}:
        return {name: convert(part) for name, part in value.items()}
    if key in {"anyOf", "allOf", "oneOf", "prefixItems"}:
        return [convert(part) for part in value]
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        return convert(value)
    return value
