"""The rehearsal's reducer, selector and verifier: rules that compare nothing, and say so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from bot.models.rehearsal.rehearsed_brief import sections, sentences

_KEPT = 3
"""Sentences of each source that are kept."""
_RESULT = re.compile(r'^<result id="(?P<id>[^"]+)" sure="(?P<confidence>\d+)"/>[ \t]*$', re.MULTILINE)


def condense(text: str) -> str:
    """The first sentences under each heading."""
    material = sections(text, ("Request", "Goal", "Length", "Material")).get("Material", "")
    notes = []
    for chunk in re.split(r"^## ", material, flags=re.MULTILINE)[1:]:
        heading, _, body = chunk.partition("\n")
        notes.append("\n".join([f"## {heading}", *(f"- {one}" for one in sentences(body)[:_KEPT])]))
    return "\n".join(notes)


def verify(_: str) -> str:
    """Refute nothing."""
    return json.dumps({"sentences": [], "unanswered": [], "contradictions": []})


def select(text: str) -> str:
    """The surest result, as its specialist says."""
    found = _RESULT.findall(text)
    chosen = max(found, key=lambda one: int(one[1]))[0] if found else ""
    return json.dumps({"reason": "rules compare nothing, so the first of the surest is taken", "chosen": chosen})


REPLIES: Mapping[str, Callable[[str], str]] = {
    "reducer": condense,
    "selector": select,
    "verifier": verify,
}
"""By purpose: what is said to a call's message."""
