"""Rebuilds a server's JSON Schema for models from known keywords only, so that nothing else gets through. Pure.

Code that uses the schema (model clients, forms, prompts) expects it to be well-formed. So a keyword of the wrong type
is left out, and references are replaced by their targets. A part beyond the bounds becomes {}, which accepts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handoff.text.invisible_characters import remove_invisible

LONGEST_TEXT = 300
"""Most characters of one description in the schema, and of one value."""
MAX_SUBSCHEMAS, MIN_ARGUMENT_SUBSCHEMAS = 400, 12
"""The parts (subschemas) that the arguments share equally, and the least that each argument may have."""
MAX_LEVELS = 8
MAX_VALUES = 100
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COMBINATORS = ("anyOf", "oneOf", "allOf")
_INNER_ONLY = (*_COMBINATORS, "description", "enum", "const", "default")
"""Keywords that model providers accept inside a tool's schema, but not at its top."""


def rebuild_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema for models. Its top is always an object with `properties`."""
    built_schema = _SchemaBuilder(schema).build(schema, 0)
    top = {key: value for key, value in built_schema.items() if key not in _INNER_ONLY}
    return {**top, "type": "object", "properties": top.get("properties", {})}


@dataclass(slots=True)
class _SchemaBuilder:
    """Builds the parts of one schema.

    References are looked up in `root`; `subschemas_left` is the number of parts that may still be built.
    """

    root: Mapping[str, Any]
    subschemas_left: int = MAX_SUBSCHEMAS

    def build(self, schema: Any, depth: int) -> dict[str, Any]:
        """Build a part; {} if it is no schema, lies too deep, or no part is left."""
        schema = self._follow_references(schema)
        self.subschemas_left -= 1
        if not isinstance(schema, Mapping) or self.subschemas_left < 0 or depth > MAX_LEVELS:
            return {}
        built_schema: dict[str, Any] = {}
        for key, clean in _KEYWORD_CLEANERS.items():
            value = clean(schema.get(key))
            if value is not None:
                built_schema[key] = value
        return built_schema | self._build_subschemas(schema, depth + 1)

    def _build_subschemas(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        built_schema: dict[str, Any] = {}
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            built_schema["properties"] = self._build_properties(properties, depth)
            required_keys = schema.get("required")
            required_names = [
                one for one in built_schema["properties"] if isinstance(required_keys, list) and one in required_keys
            ]
            if required_names:
                built_schema["required"] = required_names
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), Mapping):
                built_schema[key] = self.build(schema[key], depth)
        if isinstance(schema.get("additionalProperties"), bool):
            built_schema["additionalProperties"] = schema["additionalProperties"]
        for key in _COMBINATORS:
            if isinstance(schema.get(key), list) and schema[key]:
                built_schema[key] = [self.build(one, depth) for one in schema[key][:MAX_VALUES]]
        return built_schema

    def _build_properties(self, properties: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if depth > 1:
            return {remove_invisible(name): self.build(one, depth) for name, one in properties.items()}
        # Each argument of the tool has its share of parts, so that one leaves room for the others.
        share = max(MAX_SUBSCHEMAS // max(len(properties), 1), MIN_ARGUMENT_SUBSCHEMAS)
        return {
            remove_invisible(name): _SchemaBuilder(self.root, share).build(one, depth)
            for name, one in properties.items()
        }

    def _follow_references(self, schema: Any) -> Any:
        """Return the schema that references lead to; None after `MAX_LEVELS` references, as they may be circular."""
        for _ in range(MAX_LEVELS):
            reference = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(reference, str):
                return schema
            schema = self._resolve_reference(reference)
        return None

    def _resolve_reference(self, reference: str) -> Any:
        target: Any = self.root
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step:
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        return target


def _clean_type(value: Any) -> Any:
    if isinstance(value, list):
        kinds = [one for one in value if isinstance(one, str) and one in _TYPES]
        return kinds or None
    return value if isinstance(value, str) and value in _TYPES else None


def _clean_text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    text = " ".join(remove_invisible(value).split())
    return (text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…") or None


def _clean_value(value: Any) -> Any:
    """Return a plain value; None for others, and for a text that is long or has invisible characters."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT and remove_invisible(value) == value else None
    return value if isinstance(value, bool | int | float) else None


def _clean_values(value: Any) -> list[Any] | None:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_VALUES:
        return None
    valid_values = [one for one in value if one is None or _clean_value(one) is not None]
    return valid_values if len(valid_values) == len(value) else None


def _clean_number(value: Any) -> float | int | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _clean_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


_KEYWORD_CLEANERS: Mapping[str, Callable[[Any], Any]] = {
    "type": _clean_type,
    "description": _clean_text,
    "enum": _clean_values,
    "const": _clean_value,
    "default": _clean_value,
    **dict.fromkeys(_COUNTS, _clean_count),
    **dict.fromkeys(_BOUNDS, _clean_number),
}
