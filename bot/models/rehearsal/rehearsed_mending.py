"""The rehearsed refiner and replanner: one adds the error to the brief, one changes nothing."""

from __future__ import annotations

import re
from typing import Any


def refine(text: str) -> dict[str, Any]:
    """The brief as it was, and what to mind."""
    found = re.search(
        r"^Brief: (?P<brief>.*?)\n(?:Criterion|For): .*?^Error: (?P<error>.*)", text, re.DOTALL | re.MULTILINE
    )
    if found is None:
        return {"intent": ""}
    return {"intent": f"{found['brief'].strip()}\n\nMind what went wrong before: {found['error'].strip()}"}


def replan() -> dict[str, Any]:
    """Rules cannot tell what news means for a plan, so it stays."""
    return {"why": "the rehearsal keeps to its plan", "add": [], "drop": [], "reassign": [], "rebrief": []}
