"""The rehearsal's arbiter, reducer, critic and selector: rules that judge nothing, and say so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from bot.models.rehearsal.rehearsed_brief import sections, sentences

_KEPT = 3
"""Sentences of each source that are kept."""
_RESULT = re.compile(r'^<result id="(?P<id>[^"]+)" sure="(?P<confidence>\d+)"/>[ \t]*$', re.MULTILINE)


def arbitrate(text: str) -> str:
    """Each pair contradicts itself, and nobody can tell which side is right."""
    pairs = len(re.findall(r"^## Pair \d+$", text, re.MULTILINE))
    reason = "The rehearsal model cannot weigh evidence."
    judged = {"reason": reason, "verdict": "contradict", "supported": "none", "confidence": 0}
    return json.dumps({"judgements": [{"pair": number, **judged} for number in range(1, pairs + 1)]})


def condense(text: str) -> str:
    """The first sentences under each heading."""
    material = sections(text, ("Request", "Goal", "Length", "Material")).get("Material", "")
    notes = []
    for chunk in re.split(r"^## ", material, flags=re.MULTILINE)[1:]:
        heading, _, body = chunk.partition("\n")
        notes.append("\n".join([f"## {heading}", *(f"- {one}" for one in sentences(body)[:_KEPT])]))
    return "\n".join(notes)


def review(_: str) -> str:
    """No fault is found."""
    return json.dumps({"reason": "The rehearsal model compares nothing.", "faults": []})


def select(text: str) -> str:
    """The surest result, as its specialist says."""
    found = _RESULT.findall(text)
    chosen = max(found, key=lambda one: int(one[1]))[0] if found else ""
    return json.dumps({"reason": "rules compare nothing, so the first of the surest is taken", "chosen": chosen})


REPLIES: Mapping[str, Callable[[str], str]] = {
    "arbiter": arbitrate,
    "reducer": condense,
    "critic": review,
    "selector": select,
}
"""By purpose: what is said to a call's message."""
