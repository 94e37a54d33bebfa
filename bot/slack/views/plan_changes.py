"""What a second look at a plan changed in it, in words for the plan card."""

from __future__ import annotations

from bot.slack.text.cleaning import plain
from handoff.state import Ask, Work

MAX_LINE = 500
LOOKING = "a second look at the plan"
"""The thing that a row waits for while the planner looks at the plan again."""


def row_words(work: Work) -> list[str]:
    """Say what was changed in a row, and why; nothing for a dropped one, which shows its reason already."""
    return [work.changed] if work.changed and work.state != "skipped" else []


def changes_line(ask: Ask) -> str:
    """Say what was changed in all, in one line of plain text; empty for nothing."""
    changed = [
        f"{plain(work.subtask.title, 60)} ({work.changed.rstrip('.')})" for work in ask.work.values() if work.changed
    ]
    return plain("Plan changed: " + "; ".join(changed), MAX_LINE) if changed else ""
