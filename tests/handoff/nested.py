"""How deep a subtask lies."""

from __future__ import annotations

from handoff.state.job_state import Ask


def level(ask: Ask, subtask: str) -> int:
    """How many subtasks a subtask is inside: 0 for those of the request's own plan."""
    work = ask.work.get(subtask)
    return 0 if work is None or not work.within else 1 + level(ask, work.within)
