"""Pages of lists, in messages and in the App Home: the rows of a page, and the buttons that turn pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import BUTTON_VALUE_LIMIT, Block, make_actions, make_button, make_context

TURN_PAGE_ACTION_PREFIX = "turn_page"
"""The beginning of the buttons' action_ids; `_back` or `_on` follows, as the ids in a row must differ."""
PAGE_ROWS = 10
"""Rows on a page."""
MAX_COMMAND_CHARS = 500
"""Most characters of a command's words in the value of a button."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """The rows of one page of a list: page `number` of `page_count`, counted from 1.

    `total_rows` counts the rows of the list.
    """

    rows: tuple[T, ...]
    number: int
    page_count: int
    total_rows: int


@dataclass(frozen=True, slots=True)
class PageTurn:
    """The data of a button that turns to `page`, in the list of a command or in a section of the App Home.

    `word` is the command and `rest` the words after it. For the App Home, `word` is the name of the section.
    """

    word: str
    rest: str
    page: int


def select_page(rows: Sequence[T], number: int) -> ListPage[T]:
    """Return a page of the whole list. A number below 1 gives the first page, one beyond the end the last."""
    return make_page(
        rows[PAGE_ROWS * (page_number := clamp_page(len(rows), number)) - PAGE_ROWS : PAGE_ROWS * page_number],
        number,
        len(rows),
    )


def make_page(rows: Sequence[T], number: int, total: int) -> ListPage[T]:
    """Make a page of rows that were read for that page. `total` is the number of rows of the whole list."""
    return ListPage(tuple(rows), clamp_page(total, number), max(1, -(-total // PAGE_ROWS)), total)


def clamp_page(total: int, number: int) -> int:
    """Return the nearest page that exists, from 1, since a button's number may be outdated or forged."""
    return max(1, min(number, -(-total // PAGE_ROWS)))


def render_page_buttons(page: ListPage[T], word: str, rest: str = "") -> list[Block]:
    """Make the foot of a list: the buttons that turn its page, and the numbers of the rows; [] if there is one page.

    `word` is the list's command and `rest` the words after it. For the App Home, `word` is the name of the section.
    """
    if page.page_count == 1:
        return []
    ways = (("Newer", "back", page.number - 1), ("Older", "on", page.number + 1))
    row = [
        make_button(label, f"{TURN_PAGE_ACTION_PREFIX}_{way}", _encode_turn(word, rest, to))
        for label, way, to in ways
        if 1 <= to <= page.page_count
    ]
    first = (page.number - 1) * PAGE_ROWS + 1
    return [
        make_actions(row),
        make_context(f"{first} to {min(first + PAGE_ROWS - 1, page.total_rows)} of {page.total_rows}"),
    ]


def _encode_turn(word: str, rest: str, page: int) -> str:
    value = encode_data(PageTurn(word, rest[:MAX_COMMAND_CHARS], page))
    return value if len(value) <= BUTTON_VALUE_LIMIT else encode_data(PageTurn(word, "", page))


def decode_turn(value: str) -> PageTurn | None:
    """Decode the value of a button; None if it turns no page."""
    return decode_data(value, PageTurn)


HomeRow = tuple[Block, ...]
"""The blocks of one row. They should be few, as Slack takes 100 blocks in a whole App Home."""


@dataclass(frozen=True, slots=True)
class HomeList:
    """One page of a titled list in the App Home.

    `empty_line` is the line (mrkdwn) that an empty list shows; without it, an empty list is left out with its title.
    """

    title: str
    page: ListPage[HomeRow]
    empty_line: str = ""


@dataclass(frozen=True, slots=True)
class HomeSection:
    """A section of the App Home. `make_list(team, user, page)` returns its content for a person, or None for nothing.

    `make_list` runs whenever the App Home is opened or changes, so it must be quick (some ms): it reads heads and
    counters, never logs. `name` is short, as the section's buttons carry it. With `is_for_admins`, only admins see it.
    """

    name: str
    make_list: Callable[[str, str, int], Awaitable[HomeList | None]]
    is_for_admins: bool = False
