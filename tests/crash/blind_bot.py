"""Bots that never find what an earlier one posted: to see that the comparison of ends can fail."""

from __future__ import annotations

from unittest.mock import patch

from bot.slack.send.lookup import ThreadLookup
from tests.crash.bot import life
from tests.nursery.forks import serve


async def finds_nothing(*_: object, **__: object) -> str:
    """In the place of the look-up."""
    return ""


if __name__ == "__main__":
    with patch.object(ThreadLookup, "find_message", finds_nothing):
        serve(life)
