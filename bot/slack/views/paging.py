"""Lists by the page: which rows are on one, and the buttons that turn it. In messages and in the home."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import BUTTON_VALUE_LIMIT, Block, actions, button, context

TURN = "turn_page"
"""The action_id of the buttons, with `_back` or `_on` behind it: those of one row must differ."""
ROWS = 10
"""Rows on a page."""
MOST_WORDS = 500
"""Characters of a command that a button carries."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """Some rows of a list: those of page `number` of `pages`, both from 1. `total` counts the rows of the list."""

    rows: tuple[T, ...]
    number: int
    pages: int
    total: int


@dataclass(frozen=True, slots=True)
class PageTurn:
    """What a button that turns a page asks for: the page of a command's list, or of a section of the home."""

    word: str
    rest: str
    page: int


def take_page(rows: Sequence[T], number: int) -> ListPage[T]:
    """Take the rows of a page from the whole list; beyond its end the last page, before its beginning the first."""
    return make_page(rows[ROWS * (turned := clamp_page(len(rows), number)) - ROWS : ROWS * turned], number, len(rows))


def make_page(rows: Sequence[T], number: int, total: int) -> ListPage[T]:
    """Make a page of rows that were read as such, of so many in all."""
    return ListPage(tuple(rows), clamp_page(total, number), max(1, -(-total // ROWS)), total)


def clamp_page(total: int, number: int) -> int:
    """Return the page, from 1, that is shown for a number that anybody may have sent."""
    return max(1, min(number, -(-total // ROWS)))


def page_buttons(page: ListPage[T], word: str, rest: str = "") -> list[Block]:
    """Make the foot of a list: where one is in it, and the buttons; nothing if one page holds all.

    `word` and `rest` are the command whose list it is, or the name of a section of the home.
    """
    if page.pages == 1:
        return []
    ways = (("Newer", "back", page.number - 1), ("Older", "on", page.number + 1))
    row = [
        button(label, f"{TURN}_{way}", _carry_page(word, rest, to)) for label, way, to in ways if 1 <= to <= page.pages
    ]
    first = (page.number - 1) * ROWS + 1
    return [actions(row), context(f"{first} to {min(first + ROWS - 1, page.total)} of {page.total}")]


def _carry_page(word: str, rest: str, page: int) -> str:
    value = encode_data(PageTurn(word, rest[:MOST_WORDS], page))
    return value if len(value) <= BUTTON_VALUE_LIMIT else encode_data(PageTurn(word, "", page))


def read_turn(value: str) -> PageTurn | None:
    """Read the value of a button; None if it turns no page."""
    return decode_data(value, PageTurn)


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
