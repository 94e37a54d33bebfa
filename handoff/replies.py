"""What models reply, as leniently as can be read."""

from __future__ import annotations


def json_in(text: str) -> str:
    """The JSON object in a reply, without fences and prose around it; empty where there is none."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else ""
