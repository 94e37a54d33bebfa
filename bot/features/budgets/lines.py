"""What was spent in a month, in words for people."""

from __future__ import annotations

import time

from bot.limits.spending import Spent
from bot.slack.views.outgoing import format_count
from handoff.text.dollars import in_dollars, short


def spent_words(spent: Spent, now: float, *, everybody: bool = False) -> str:
    """Say what a person, or everybody together, spent in the month (UTC) of `now`, a time in seconds."""
    month = time.strftime("%B", time.gmtime(now)) + (", everybody together" if everybody else "")
    requests = f" on {format_count(spent.requests, 'request')}" if spent.requests else ""
    if not spent.tokens:
        return f"*{month}:* nothing spent{requests or ' yet'}."
    money = f"{in_dollars(spent.dollars)}, " if spent.dollars else ""
    return f"*{month}:* {money}{short(spent.tokens)} tokens{requests}."
