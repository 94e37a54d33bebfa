"""A server's JSON Schema as models see it: built anew of what we know, so that nothing else of it gets further. Pure.

It goes through a lot of code (wires of providers, forms, prompts) that expects a schema to be well made. So each
keyword has its type or is left out, references are written out, and the whole is bounded: what does not fit is
"anything".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handoff.text.visible_text import visible

LONGEST_TEXT = 300
"""Characters of one description inside it, and of one value."""
MOST_PARTS, LEAST_PARTS = 400, 12
"""Parts in all, and of one argument whatever the others take."""
DEEPEST = 8
MOST_VALUES = 100
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_CHOICES = ("anyOf", "oneOf", "allOf")
_NOT_ON_TOP = (*_CHOICES, "description", "enum", "const", "default")
"""What interfaces of models take inside a tool's schema, and not on top of it."""


def schema_for_models(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema as models see it, an object on top."""
    built = _Builder(schema).build(schema, 0)
    top = {key: value for key, value in built.items() if key not in _NOT_ON_TOP}
    return {**top, "type": "object", "properties": top.get("properties", {})}


@dataclass(slots=True)
class _Builder:
    """Builds the parts of one schema, as many as there may be. `root` is where references lead."""

    root: Mapping[str, Any]
    left: int = MOST_PARTS

    def build(self, schema: Any, depth: int) -> dict[str, Any]:
        """Build a part; empty if it is no schema, lies too deep, or is one too many."""
        schema = self._follow_references(schema)
        self.left -= 1
        if not isinstance(schema, Mapping) or self.left < 0 or depth > DEEPEST:
            return {}
        built: dict[str, Any] = {}
        for key, read in _PLAIN.items():
            value = read(schema.get(key))
            if value is not None:
                built[key] = value
        return built | self._build_part(schema, depth + 1)

    def _build_part(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        built: dict[str, Any] = {}
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            built["properties"] = self._build_properties(properties, depth)
            needed = schema.get("required")
            named = [one for one in built["properties"] if isinstance(needed, list) and one in needed]
            if named:
                built["required"] = named
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), Mapping):
                built[key] = self.build(schema[key], depth)
        if isinstance(schema.get("additionalProperties"), bool):
            built["additionalProperties"] = schema["additionalProperties"]
        for key in _CHOICES:
            if isinstance(schema.get(key), list) and schema[key]:
                built[key] = [self.build(one, depth) for one in schema[key][:MOST_VALUES]]
        return built

    def _build_properties(self, properties: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if depth > 1:
            return {visible(name): self.build(one, depth) for name, one in properties.items()}
        # Of a tool's own arguments each has its share, so that one leaves room for the others.
        share = max(MOST_PARTS // max(len(properties), 1), LEAST_PARTS)
        return {visible(name): _Builder(self.root, share).build(one, depth) for name, one in properties.items()}

    def _follow_references(self, schema: Any) -> Any:
        """Follow references to where they lead; a few times, as they may lead in a circle."""
        for _ in range(DEEPEST):
            to = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(to, str):
                return schema
            schema = self._resolve_reference(to)
        return None

    def _resolve_reference(self, to: str) -> Any:
        found: Any = self.root
        for step in to.removeprefix("#").strip("/").split("/"):
            if step:
                found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return found


def _clean_type(value: Any) -> Any:
    if isinstance(value, list):
        kinds = [one for one in value if isinstance(one, str) and one in _TYPES]
        return kinds or None
    return value if isinstance(value, str) and value in _TYPES else None


def _clean_text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    text = " ".join(visible(value).split())
    return (text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…") or None


def _clean_value(value: Any) -> Any:
    """Return a value if it is plain; None if it is not, or is a text that is long or hides something."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT and visible(value) == value else None
    return value if isinstance(value, bool | int | float) else None


def _clean_values(value: Any) -> list[Any] | None:
    if not isinstance(value, list) or not 0 < len(value) <= MOST_VALUES:
        return None
    fit = [one for one in value if one is None or _clean_value(one) is not None]
    return fit if len(fit) == len(value) else None


def _clean_number(value: Any) -> float | int | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _clean_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "type": _clean_type,
    "description": _clean_text,
    "enum": _clean_values,
    "const": _clean_value,
    "default": _clean_value,
    **dict.fromkeys(_COUNTS, _clean_count),
    **dict.fromkeys(_BOUNDS, _clean_number),
}
