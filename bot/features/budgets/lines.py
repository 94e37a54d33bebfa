"""What was spent in a month, in words for people."""

from __future__ import annotations

import time

from bot.limits.spending import Spent
from bot.slack.views.outgoing import counted
from handoff.text.dollars import in_dollars


def spent_words(spent: Spent, now: float, *, everybody: bool = False) -> str:
    """Say what a person, or everybody together, spent in the month (UTC) of `now`, a time in seconds."""
    month = time.strftime("%B", time.gmtime(now))
    whose = "all requests" if everybody else "your requests"
    if not spent.requests:
        return f"*{month}:* none of {whose} ended yet, so nothing is spent."
    money = f"{in_dollars(spent.dollars)}, " if spent.dollars else ""
    return f"*{month}:* {money}{spent.tokens:,} tokens on {counted(spent.requests, 'request')} that ended."
