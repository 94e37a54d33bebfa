"""The Lua scripts: read from `scripts/` when first used, run by their sha1.

They travel with the release that wrote them (EVALSHA, not Functions), so that a
rolling deploy changes nothing under an older instance.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "scripts"
OF_A_JOB = frozenset(
    {"ingest", "beat", "release", "quarantine", "commit", "outbox_begin", "outbox_note", "keep"},
)
"""The scripts about one job: they get its keys first, which `job.lua` gives names to."""
OF_COUNTERS = frozenset({"admit", "settle", "spent"})
"""The scripts about rates, slots and budgets: `counters.lua` says how each is counted."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text and the sha1 (hex) that the server knows it by."""

    name: str
    text: str
    sha: str


@functools.cache
def load(name: str) -> Script:
    """The script of that name, with what it shares with the others in front."""
    shared = ["job"] if name in OF_A_JOB else ["counters"] if name in OF_COUNTERS else []
    parts = ["clock", *shared, name]
    text = "\n".join((FOLDER / f"{part}.lua").read_text(encoding="utf-8") for part in parts)
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
