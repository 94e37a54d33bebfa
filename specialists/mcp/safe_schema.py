"""What a server's JSON Schema may be, and the schema by which arguments are checked. Pure.

A schema is a text of others: it may point elsewhere, be endless, or hold a pattern that takes hours. So it is bounded
first, and what can hurt is a fault (the tool is not offered) or is left out (the server checks that itself).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from handoff.text.visible_text import visible
from specialists.mcp.shown_schema import schema_for_models

DEEPEST = 24
LARGEST = 64 * 1024
"""Characters of a schema as JSON."""
LARGEST_SHOWN = 16_000
"""Characters of it that a model is shown: each call carries them."""
MOST_PROPERTIES = 100

_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MAPS = ("properties", "$defs", "definitions", "dependentSchemas")
"""Keys under which the keys are names of the server's own."""
_VALUES = ("enum", "const", "default", "examples", "required")
"""Keys under which there are values and no schemas."""
_NOT_CHECKED = frozenset(
    {"pattern", "patternProperties", "format", "$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$vocabulary"}
    | {"unevaluatedProperties", "unevaluatedItems", "uniqueItems"}
    | {"contentSchema", "contentEncoding", "contentMediaType"}
)
"""Patterns can take hours and uniqueness minutes, ids change what references mean, and the rest is for nobody here."""


def fault(schema: Mapping[str, Any]) -> str:
    """Say why a tool with this schema cannot be used; empty if it can."""
    try:
        text = json.dumps(schema, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "its schema is nested too deep"
    if len(text) > LARGEST:
        return f"its schema has {len(text):,} characters, and at most {LARGEST:,} are read"
    if is_deeper_than(schema, DEEPEST):
        return f"its schema is nested more than {DEEPEST} deep"
    if away := _points_away(schema):
        return f"its schema points to another place, {visible(away)[:80]!r}"
    return _fault_of_arguments(schema)


def _fault_of_arguments(schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties", {})
    if schema.get("type", "object") != "object":
        return "its arguments are no object"
    if not isinstance(properties, dict) or not all(isinstance(one, dict | bool) for one in properties.values()):
        return "its properties are no schemas"
    if len(properties) > MOST_PROPERTIES:
        return f"it takes {len(properties)} arguments, and at most {MOST_PROPERTIES} are allowed"
    if odd := next((name for name in properties if not _PROPERTY.fullmatch(name)), None):
        return f"it has an argument named {visible(odd)[:40]!r}, which models cannot spell"
    if len(json.dumps(schema_for_models(schema), ensure_ascii=False)) > LARGEST_SHOWN:
        return f"its schema would add more than {LARGEST_SHOWN:,} characters to every call"
    return ""


def build_validation_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema by which arguments are checked."""
    return {**_remove_keys(dict(schema), _NOT_CHECKED), "type": "object"}


def _remove_keys(value: Any, names: frozenset[str], *, mapping: bool = False) -> Any:
    """Leave keys out at all levels. `mapping`: the keys of this level are names of the server's own."""
    if isinstance(value, list):
        return [_remove_keys(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: one if key in _VALUES and not mapping else _remove_keys(one, names, mapping=key in _MAPS and not mapping)
        for key, one in value.items()
        if mapping or key not in names
    }


def _points_away(value: Any) -> str:
    """Find a reference that leads out of the schema; empty if there is none."""
    if isinstance(value, dict):
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            to = value.get(key)
            if isinstance(to, str) and (key != "$ref" or not (to == "#" or to.startswith("#/"))):
                return to
        inside = [one for key, one in value.items() if key not in _VALUES]
    else:
        inside = value if isinstance(value, list) else []
    return next((found for one in inside if (found := _points_away(one))), "")


def is_deeper_than(value: Any, most: int) -> bool:
    """Return True if a JSON value is nested deeper than `most` levels. It goes no deeper itself."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inside is not None and (most == 0 or any(is_deeper_than(one, most - 1) for one in inside))
