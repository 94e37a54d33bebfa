"""Figures of a trace in a few words for people: seconds, tokens, dollars."""

from __future__ import annotations

from handoff.contracts import Usage
from handoff.text.dollars import in_dollars

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def took(seconds: float) -> str:
    """Say how long something took: 80 ms, 2.4 s, 36 s, 1 min 12 s, 2 h 5 min, 2.1 days."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < MINUTE - 0.5:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < 2 * DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole / DAY:.1f} days"


def tokens(usage: Usage) -> str:
    """Say how many tokens a usage has; empty for none."""
    count = usage.tokens_in + usage.tokens_out
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size:
            return f"{count / size:.1f}{unit} tokens"
    return f"{count} tokens" if count else ""


def dollars(usage: Usage) -> str:
    """Say what a usage cost; empty if that is nothing, or no price is known."""
    return in_dollars(usage.cost) if usage.cost else ""
