"""What models reply, as leniently as can be read."""

from __future__ import annotations

from typing import Any


def json_in(text: str) -> str:
    """The JSON object in a reply, without fences and prose around it; empty where there is none."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else ""


def sound(value: Any) -> Any:
    """The same value with no half of a character in its texts: JSON can hold one, and nothing can keep it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {sound(key): sound(each) for key, each in value.items()}
    return [sound(each) for each in value] if isinstance(value, list) else value
