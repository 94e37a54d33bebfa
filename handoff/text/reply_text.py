"""Parses the replies of models leniently: JSON within prose, lone surrogates, nesting."""

from __future__ import annotations

from typing import Any


def extract_json(text: str) -> str:
    """Return the JSON object in a reply, without the fences and prose around it; empty if there is none."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else ""


def replace_surrogates(value: Any) -> Any:
    """Replace each lone surrogate in the strings of `value`: JSON can hold one, but UTF-8 cannot encode it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(each) for key, each in value.items()}
    return [replace_surrogates(each) for each in value] if isinstance(value, list) else value


def is_nested_within(value: Any, levels: int) -> bool:
    """Return True if the lists and objects of `value` are nested at most `levels` deep."""
    if not isinstance(value, dict | list):
        return True
    inside = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(is_nested_within(each, levels - 1) for each in inside)
