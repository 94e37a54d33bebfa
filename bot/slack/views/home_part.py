"""What a part of the bot shows of itself in somebody's home: a titled list, by the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.slack.views.outgoing import Block
from bot.slack.views.paging import ListPage

Row = tuple[Block, ...]
"""The blocks of one row; of the whole home Slack takes 100, so that few make a good row."""


@dataclass(frozen=True, slots=True)
class HomePart:
    """A titled list: the `page` wanted of it.

    `none` says in a line (mrkdwn) that there are none; without it an empty list is left out, title and all.
    """

    title: str
    page: ListPage[Row]
    none: str = ""


@dataclass(frozen=True, slots=True)
class HomeSection:
    """A section of the home. `part(team, user, page)` gives what it shows that person; None: nothing.

    It is asked at each opening and each change, so it must be quick (some ms): it reads heads and counters, never logs.
    `name` is short, and names the section in its buttons. Sections for `admins` are asked for admins alone.
    """

    name: str
    part: Callable[[str, str, int], Awaitable[HomePart | None]]
    admins: bool = False
