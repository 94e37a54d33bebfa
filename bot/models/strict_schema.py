"""JSON Schemas in the strict form that providers ask for: one form for all three wires.

`anthropic.transform_schema` gives the same for every schema in use, but for the `type` beside an `enum`, which it
drops. It would be a second form beside this one, so it is not used.
"""

from __future__ import annotations

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


def strict_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema in strict form; the one given is left as it was.

    Every property becomes required and no others are allowed, limits on numbers and lengths become
    part of the description, titles and defaults go. Whoever reads the reply validates it again.
    """
    strict = {key: _convert(key, value) for key, value in schema.items() if key not in _LIMITS and key not in _DROPPED}
    if "$ref" in strict:
        return {key: strict[key] for key in ("$ref", "$defs") if key in strict}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if "const" in strict:
        strict["enum"] = [strict.pop("const")]
    if strict.get("type") == "object" or "properties" in strict:
        strict.setdefault("properties", {})
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    limits = ", ".join(f"{key}: {schema[key]}" for key in _LIMITS if key in schema)
    if limits:
        strict["description"] = f"{strict.get('description', '')} {{{limits}}}".strip()
    return strict


def _convert(key: str, value: Any) -> Any:
    if key in {"properties", "$defs"}:
        return {name: strict_schema(part) for name, part in value.items()}
    if key in {"anyOf", "allOf", "oneOf", "prefixItems"}:
        return [strict_schema(part) for part in value]
    if key == "items" and isinstance(value, dict):
        return strict_schema(value)
    return value
