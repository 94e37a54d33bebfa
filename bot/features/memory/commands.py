"""The commands to remember and to forget: after a mention, in a direct message, or as `/leadhand memory`.

Only a person's own message to the bot is a command: no tool writes memories, and the words of a page, a
file, a quotation or a forwarded message are never a command.
"""

from __future__ import annotations

from collections.abc import Collection

from bot.features.memory.service import MemoryDesk, MemoryEntry, NotKeptReason
from bot.features.memory.view import (
    MemoryPlace,
    MemoryRow,
    ask_which_one,
    forgotten_message,
    memory_list,
    memory_window,
    remembered_message,
    render_known_already,
)
from bot.slack.receive.subcommand import CommandContext, Reply
from bot.slack.show.notices import make_note, open_window, say
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.paging import take_page
from bot.store.values import MEMORIES_LIMIT
from handoff.contracts import Place
from handoff.conversation.memory import LONGEST, MemoryWish, is_certain_match, match_memories, place_for, wish_in

OPENED = "The window shows what I remember here and about you."
NOT_OPENED = "Slack did not open the window. Try `/leadhand memory` again."
WHAT_TO_ADD = "What shall I remember? `/leadhand memory add our fiscal year starts in April`"
NOT_KEPT_WORDS: dict[NotKeptReason, str] = {
    "empty": "I only remember people's own words, and your message only quotes others. Say it yourself.",
    "too_long": f"That is too long to remember as one thing ({LONGEST} characters). Say it shorter, or in parts.",
    "full": f"I remember {MEMORIES_LIMIT} things here, the most that I can. Have me forget one first "
    "(`/leadhand memory`), then say this again.",
}
NOT_YOURS = "Only the person who said it, or an admin, can have me forget it. I still remember it."
CHANGED = "Somebody changed that at the same moment, so nothing was forgotten. Look at it again: `/leadhand memory`."


def remember_words(text: str) -> str | None:
    """Return the thing that a message asks to remember; None if it asks for nothing of the kind."""
    return _match_wish(text, "remember")


def forget_words(text: str) -> str | None:
    """Return the thing that a message asks to forget; None if it asks for nothing of the kind."""
    return _match_wish(text, "forget")


def _match_wish(text: str, verb: str) -> str | None:
    wish = wish_in(text)
    return wish.text if wish is not None and wish.verb == verb else None


async def remember_this(given: CommandContext) -> Reply:
    """Remember a message's text and confirm it in the thread; in a channel, privately if it is about the person."""
    said, book = given.said, given.find(MemoryDesk)
    wish = wish_in(said.text) if said is not None else None
    if said is None or wish is None:
        return "no_command"
    kept = await book.remember(said.place, wish.text, user=given.user, mine=wish.mine, mark=given.mark, message=said.ts)
    if not isinstance(kept, MemoryEntry):
        return make_note(NOT_KEPT_WORDS[kept])
    if kept.again:
        return "told"
    message = _render_receipt(kept, given)
    if not kept.new or (kept.place == given.user and not said.direct):
        return message
    given.background.start(say(given.client, said.place, message), "say what is remembered")
    return "told"


def _render_receipt(kept: MemoryEntry, given: CommandContext) -> Outgoing:
    shown = MemoryRow(kept.place, kept.name, kept.memory, may_change=True)
    return remembered_message(shown, given.user) if kept.new else render_known_already(shown)


async def forget_this(given: CommandContext) -> Reply:
    """Forget the memory that a message means, or ask which one. Without a match, the message may be a request."""
    said, book = given.said, given.find(MemoryDesk)
    wish = wish_in(said.text) if said is not None else None
    if said is None or wish is None:
        return "no_command"
    place = place_for(given.channel, given.user, mine=wish.mine)
    kept = {one.name: one for one in await book.list_entries(given.team, place)}
    found = match_memories({name: one.memory for name, one in kept.items()}, wish.text)
    if not found:
        return "told" if book.has_forgotten(given.mark) else "no_command"
    if not is_certain_match({name: one.memory for name, one in kept.items()}, found, wish.text):
        return ask_which_one(list_shown(given.user, [kept[name] for name in found], book))
    return await _forget(given, book, kept[found[0]], said.place, alone=place == given.user and not said.direct)


async def _forget(given: CommandContext, book: MemoryDesk, kept: MemoryEntry, thread: Place, *, alone: bool) -> Reply:
    verdict, memory = await book.forget(given.team, kept.place, kept.name, user=given.user, mark=given.mark)
    if verdict != "done" or memory is None:
        return make_note(NOT_YOURS if verdict == "not_yours" else CHANGED)
    message = forgotten_message(memory, given.user)
    if alone:
        return message
    given.background.start(say(given.client, thread, message), "say what is forgotten")
    return "told"


async def memory(given: CommandContext) -> Outgoing:
    """Open the memory window, or render a list if none can be opened; `add TEXT` remembers a text."""
    book, (word, _, rest) = given.find(MemoryDesk), given.rest.partition(" ")
    if word.lower() == "add":
        return await _add(given, book, rest)
    spot = MemoryPlace(given.channel, given.channel.startswith("D"), given.page)
    if given.command.trigger and given.page == 1:
        window = await draw_memory_window(book, given.team, given.user, spot)
        return make_note(OPENED if await open_window(given.client, given.command.trigger, window) else NOT_OPENED)
    place = place_for(given.channel, given.user)
    rows = list_shown(given.user, await book.list_entries(given.team, place), book)
    return memory_list(take_page(rows, given.page), mine=spot.mine)


async def _add(given: CommandContext, book: MemoryDesk, rest: str) -> Outgoing:
    wish = wish_in(f"remember {rest}") or MemoryWish("remember", rest)
    if not wish.text.strip():
        return make_note(WHAT_TO_ADD)
    place = Place(team=given.team, channel=given.channel, thread_ts="")
    kept = await book.remember(place, wish.text, user=given.user, mine=wish.mine, mark=given.mark)
    if not isinstance(kept, MemoryEntry):
        return make_note(NOT_KEPT_WORDS[kept])
    return _render_receipt(kept, given)


def list_shown(user: str, kept: Collection[MemoryEntry], book: MemoryDesk) -> list[MemoryRow]:
    """Return memories as rows for a person, each with whether that person may change it."""
    return [MemoryRow(one.place, one.name, one.memory, book.may_change(one, user)) for one in kept]


async def draw_memory_window(
    book: MemoryDesk, team: str, user: str, spot: MemoryPlace, told: str = ""
) -> dict[str, object]:
    """Build the memory window for a person. Personal memories are looked up by the user's id, not by window data."""
    own = list_shown(user, await book.list_entries(team, user), book)
    here = [] if spot.channel.startswith("D") else list_shown(user, await book.list_entries(team, spot.channel), book)
    rows = own if spot.mine else here
    return memory_window(spot, take_page(rows, spot.page), (len(here), len(own)), told)
