"""Renders memories for people: messages, lists and windows. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import Block, Outgoing, actions, button, context, section
from bot.slack.views.paging import ROWS, ListPage, page_buttons
from handoff.conversation.memory import LONGEST, Memory

WINDOW, EDIT_WINDOW = "memory", "memory_edit"
"""The callback_ids of the window that lists memories, and of the window that edits one."""
FORGET_ONE, SHOW_PAGE, ROW_MENU, ADD = "memory_forget", "memory_page", "memory_row", "memory_add"
"""The action_ids of the button that forgets one memory, of those that turn pages and sides (as a prefix), of the menu
of a row, and of the button that adds a memory."""
WORDS_BLOCK, WORDS_ACTION = "words", "text"
EMPTY_CHANNEL = "Nothing yet. Say “@leadhand remember that our fiscal year starts in April”, or press *Add*."
EMPTY_OWN = "Nothing yet. Say “remember that I prefer tables” in our direct messages, or press *Add*."
USED_HERE = "Used for requests in this channel, whoever makes them, and nowhere else."
USED_OWN = "Used for what you ask in our direct messages, and nowhere else. Nobody but you sees it."
_EXCERPT = 120


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory as it is shown to a person, with whether that person may change it."""

    place: str
    name: str
    memory: Memory
    may_change: bool


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """What a window shows: the memories of its channel, or with `mine` those of the person; and the page."""

    channel: str
    mine: bool = False
    page: int = 1

    @property
    def side(self) -> str:
        """The window's side in its buttons' values: "mine" or "here"."""
        return "mine" if self.mine else "here"


@dataclass(frozen=True, slots=True)
class AboutMemoryEdit(MemoryPlace):
    """The metadata of the window that edits a memory: its name and its text, both empty for a new one."""

    name: str = ""
    was: str = ""

    @property
    def spot(self) -> MemoryPlace:
        """What the window below this one shows."""
        return MemoryPlace(self.channel, self.mine, self.page)


@dataclass(frozen=True, slots=True)
class AboutMemory:
    """The data of a Forget button: the memory's place and name."""

    place: str
    name: str


def remembered_message(one: MemoryRow, reader: str) -> Outgoing:
    """Render the confirmation of a new memory: its text, for whom it is used, and how to undo it."""
    text = clean(one.memory.text)
    if one.place == reader:
        head = f":memo: *I remember about you:* {text}"
        used = "I use it from your next request in our direct messages on: there alone, and for you alone."
        who = "`/leadhand memory` shows, edits and forgets what I remember."
    else:
        head = f":memo: *I remember for this channel:* {text}"
        used = "I use it from the next request in this channel on, whoever makes it, and nowhere else."
        who = f"{mention(one.memory.user)} or an admin can edit or forget it: `/leadhand memory`."
    blocks = (section(head), context(used, who), actions([_forget_button(one)]))
    return Outgoing(text=clean(f"I remember: {one.memory.text}", limit=300), blocks=blocks)


def render_known_already(one: MemoryRow) -> Outgoing:
    """Render the reply that the same text is remembered already."""
    text = f"I already remember that: {clean(one.memory.text)}"
    short = clean(f"I already remember that: {one.memory.text}", limit=300)
    return Outgoing(text=short, blocks=(section(text), context(describe_source(one.memory))))


def forgotten_message(memory: Memory, by: str) -> Outgoing:
    """Render the message that a memory is forgotten. It replaces the message with the button, or is a reply."""
    text = f"Forgotten by {mention(by)}: {clean(plain(memory.text, _EXCERPT))}"
    later = "From the next request on it is not used, and requests that had it keep no copy of its words."
    return Outgoing(text="Forgotten.", blocks=(section(text), context(later)))


def ask_which_one(found: Sequence[MemoryRow]) -> Outgoing:
    """Render the question which memory is to be forgotten, with a button for each that the person may change."""
    blocks: list[Block] = [section("Which one shall I forget?")]
    for one in found:
        row = section(f"{clean(one.memory.text)}\n{describe_source(one.memory)}")
        blocks.append({**row, "accessory": _forget_button(one)} if one.may_change else row)
    if not all(one.may_change for one in found):
        blocks.append(context("Where there is no button, only who said it or an admin can."))
    return Outgoing(text="Which one shall I forget?", blocks=tuple(blocks))


def memory_list(page: ListPage[MemoryRow], *, mine: bool) -> Outgoing:
    """Render a page of memories as a message, for use after a mention, where Slack opens no window."""
    title = "What I remember about you" if mine else "What I remember for this channel"
    rows = [section(f"{clean(one.memory.text)}\n{describe_source(one.memory)}") for one in page.rows]
    blocks = [section(f"*{title}*"), *(rows or [context(EMPTY_OWN if mine else EMPTY_CHANNEL)])]
    end = context(f"{USED_OWN if mine else USED_HERE} `/leadhand memory` opens a window that adds, edits and forgets.")
    return Outgoing(text=title, blocks=(*blocks, *page_buttons(page, "memory"), end))


def memory_window(spot: MemoryPlace, page: ListPage[MemoryRow], counts: tuple[int, int], told: str = "") -> Block:
    """Build the memory window. `counts` are a pair for the channel and the person; `told` is a line at the top."""
    blocks: list[Block] = [_scope_buttons(spot, counts)]
    blocks += [context(told)] if told else []
    blocks += [context(USED_OWN if spot.mine else USED_HERE)]
    for one in page.rows:
        blocks += _memory_blocks(one)
    blocks += [] if page.rows else [section(EMPTY_OWN if spot.mine else EMPTY_CHANNEL)]
    blocks += _paging_buttons(spot, page)
    return {
        "type": "modal",
        "callback_id": WINDOW,
        "private_metadata": encode_data(spot),
        "title": {"type": "plain_text", "text": "Memory"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": blocks,
    }


def words_window(spot: MemoryPlace, one: MemoryRow | None = None) -> Block:
    """Build the window with the text of one memory, or of a new one if `one` is None."""
    where = "about you" if spot.mine else "for this channel"
    field: Block = {
        "type": "plain_text_input",
        "action_id": WORDS_ACTION,
        "multiline": True,
        "max_length": LONGEST,
        "placeholder": {"type": "plain_text", "text": "Our fiscal year starts in April"},
    }
    shows = AboutMemoryEdit(spot.channel, spot.mine, spot.page)
    if one is not None:
        field["initial_value"] = one.memory.text
        shows = replace(shows, name=one.name, was=one.memory.text)
    return {
        "type": "modal",
        "callback_id": EDIT_WINDOW,
        "private_metadata": encode_data(shows),
        "title": {"type": "plain_text", "text": "Edit" if one is not None else "Remember"},
        "submit": {"type": "plain_text", "text": "Save"},
        "close": {"type": "plain_text", "text": "Back"},
        "blocks": [
            {
                "type": "input",
                "block_id": WORDS_BLOCK,
                "label": {"type": "plain_text", "text": f"What shall I remember {where}?"},
                "element": field,
            },
            context(USED_OWN if spot.mine else USED_HERE),
        ],
    }


def describe_source(memory: Memory) -> str:
    """Render who wrote a memory and when, with a link to the message if there is one."""
    said = [mention(memory.user), _date_markup(memory.at)]
    if memory.edited_by:
        said.append(f"changed by {mention(memory.edited_by)}, {_date_markup(memory.edited)}")
    if memory.link:
        said.append(f"<{memory.link.replace('&', '&amp;')}|message>")
    return " · ".join(said)


def _date_markup(at: float) -> str:
    fallback = datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%d")
    return f"<!date^{int(at)}^{{date_pretty}}|{fallback}>"


def _forget_button(one: MemoryRow) -> Block:
    return button("Forget", FORGET_ONE, encode_data(AboutMemory(one.place, one.name)), style="danger")


def _scope_buttons(spot: MemoryPlace, counts: tuple[int, int]) -> Block:
    """Build the row of buttons: two that choose whose memories are shown, the present one marked, and one that adds."""
    here, mine = counts
    add = button("Add", ADD, spot.side)
    if spot.channel.startswith("D"):
        return actions([add])
    row = [button(f"This channel ({here})", f"{SHOW_PAGE}_here", "here 1", style="" if spot.mine else "primary")]
    row.append(button(f"About you ({mine})", f"{SHOW_PAGE}_mine", "mine 1", style="primary" if spot.mine else ""))
    return actions([*row, add])


def _memory_blocks(one: MemoryRow) -> list[Block]:
    text = section(clean(one.memory.text))
    if one.may_change:
        options = [("Edit", "edit"), ("Forget", "forget")]
        menu = [{"text": {"type": "plain_text", "text": label}, "value": f"{do} {one.name}"} for label, do in options]
        text = {**text, "accessory": {"type": "overflow", "action_id": ROW_MENU, "options": menu}}
    return [text, context(describe_source(one.memory))]


def _paging_buttons(spot: MemoryPlace, page: ListPage[MemoryRow]) -> list[Block]:
    if page.pages == 1:
        return []
    ways = (("Newer", "newer", page.number - 1), ("Older", "older", page.number + 1))
    row = [button(label, f"{SHOW_PAGE}_{way}", f"{spot.side} {to}") for label, way, to in ways if 1 <= to <= page.pages]
    first = (page.number - 1) * ROWS + 1
    return [actions(row), context(f"{first} to {first + len(page.rows) - 1} of {page.total}")]
