"""Reads JSON replies as leniently as can be: fences, prose around them and missing parts are no reason to fail."""

from __future__ import annotations

import json
from typing import Any

from handoff.reply_text import json_in, replace_surrogates


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a reply; empty where there is none."""
    try:
        value = json.loads(json_in(text))
    except (ValueError, RecursionError):  # the latter: a reply nested a thousand levels deep
        return {}
    return replace_surrogates(value) if isinstance(value, dict) else {}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
