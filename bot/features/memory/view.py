"""Renders memories for people: messages, lists and windows. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import Block, Outgoing, make_actions, make_button, make_context, make_section
from bot.slack.views.paging import PAGE_ROWS, ListPage, render_page_buttons
from handoff.conversation.memory import MAX_MEMORY_LENGTH, Memory

MEMORY_WINDOW, EDIT_WINDOW = "memory", "memory_edit"
"""The callback_ids of the window that lists memories, and of the window that edits one."""
FORGET_BUTTON, PAGE_BUTTON, ROW_MENU, ADD_BUTTON = "memory_forget", "memory_page", "memory_row", "memory_add"
"""The action_ids of the button that forgets one memory, of those that turn pages and sides (as a prefix), of the menu
of a row, and of the button that adds a memory."""
WORDS_BLOCK, WORDS_ACTION = "words", "text"
EMPTY_CHANNEL_TEXT = "Nothing yet. Say “@leadhand remember that our fiscal year starts in April”, or press *Add*."
EMPTY_PERSONAL_TEXT = "Nothing yet. Say “remember that I prefer tables” in our direct messages, or press *Add*."
CHANNEL_USE_TEXT = "Used for requests in this channel, whoever makes them, and nowhere else."
PERSONAL_USE_TEXT = "Used for what you ask in our direct messages, and nowhere else. Nobody but you sees it."
_MAX_EXCERPT_CHARS = 120


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory as it is shown to a person. `may_change` is True if that person may edit and forget it."""

    place: str
    name: str
    memory: Memory
    may_change: bool


@dataclass(frozen=True, slots=True)
class MemoryView:
    """The content of a memory window: a page of its channel's memories, or with `mine` of the person's."""

    channel: str
    mine: bool = False
    page: int = 1

    @property
    def side(self) -> str:
        """The window's side in its buttons' values: "mine" or "here"."""
        return "mine" if self.mine else "here"


@dataclass(frozen=True, slots=True)
class MemoryEditData(MemoryView):
    """The metadata of the window that edits a memory: its name and its text before, both empty for a new one."""

    name: str = ""
    was: str = ""

    @property
    def view(self) -> MemoryView:
        """The content of the memory window below this one."""
        return MemoryView(self.channel, self.mine, self.page)


@dataclass(frozen=True, slots=True)
class MemoryButtonData:
    """The data of a Forget button: the memory's place and name."""

    place: str
    name: str


def render_remembered(row: MemoryRow, reader: str) -> Outgoing:
    """Render the confirmation of a new memory: its text, for whom it is used, and how to undo it."""
    text = clean_mrkdwn(row.memory.text)
    if row.place == reader:
        head = f":memo: *I remember about you:* {text}"
        use_note = "I use it from your next request in our direct messages on: there alone, and for you alone."
        who = "`/leadhand memory` shows, edits and forgets what I remember."
    else:
        head = f":memo: *I remember for this channel:* {text}"
        use_note = "I use it from the next request in this channel on, whoever makes it, and nowhere else."
        who = f"{render_mention(row.memory.user)} or an admin can edit or forget it: `/leadhand memory`."
    blocks = (make_section(head), make_context(use_note, who), make_actions([_make_forget_button(row)]))
    return Outgoing(text=clean_mrkdwn(f"I remember: {row.memory.text}", limit=300), blocks=blocks)


def render_known_already(row: MemoryRow) -> Outgoing:
    """Render the reply that the same text is remembered already."""
    text = f"I already remember that: {clean_mrkdwn(row.memory.text)}"
    short = clean_mrkdwn(f"I already remember that: {row.memory.text}", limit=300)
    return Outgoing(text=short, blocks=(make_section(text), make_context(describe_source(row.memory))))


def render_forgotten(memory: Memory, user: str) -> Outgoing:
    """Render the message that a memory is forgotten. It replaces the message with the Forget button, or is a reply."""
    text = f"Forgotten by {render_mention(user)}: {clean_mrkdwn(to_plain_line(memory.text, _MAX_EXCERPT_CHARS))}"
    later = "From the next request on it is not used, and requests that had it keep no copy of its words."
    return Outgoing(text="Forgotten.", blocks=(make_section(text), make_context(later)))


def render_forget_choice(rows: Sequence[MemoryRow]) -> Outgoing:
    """Render the question which memory is to be forgotten, with a button for each that the person may change."""
    blocks: list[Block] = [make_section("Which one shall I forget?")]
    for one in rows:
        row = make_section(f"{clean_mrkdwn(one.memory.text)}\n{describe_source(one.memory)}")
        blocks.append({**row, "accessory": _make_forget_button(one)} if one.may_change else row)
    if not all(one.may_change for one in rows):
        blocks.append(make_context("Where there is no button, only who said it or an admin can."))
    return Outgoing(text="Which one shall I forget?", blocks=tuple(blocks))


def render_memory_list(page: ListPage[MemoryRow], *, about_person: bool) -> Outgoing:
    """Render a page of memories as a message, for use after a mention, where Slack opens no window."""
    title = "What I remember about you" if about_person else "What I remember for this channel"
    rows = [make_section(f"{clean_mrkdwn(one.memory.text)}\n{describe_source(one.memory)}") for one in page.rows]
    blocks = [
        make_section(f"*{title}*"),
        *(rows or [make_context(EMPTY_PERSONAL_TEXT if about_person else EMPTY_CHANNEL_TEXT)]),
    ]
    end = make_context(
        f"{PERSONAL_USE_TEXT if about_person else CHANNEL_USE_TEXT} `/leadhand memory` opens a window that adds, "
        "edits and forgets."
    )
    return Outgoing(text=title, blocks=(*blocks, *render_page_buttons(page, "memory"), end))


def render_memory_window(
    view: MemoryView, page: ListPage[MemoryRow], counts: tuple[int, int], notice: str = ""
) -> Block:
    """Build the memory window. `counts` are a pair for the channel and the person; `notice` is a line at the top."""
    blocks: list[Block] = [_make_scope_buttons(view, counts)]
    blocks += [make_context(notice)] if notice else []
    blocks += [make_context(PERSONAL_USE_TEXT if view.mine else CHANNEL_USE_TEXT)]
    for one in page.rows:
        blocks += _render_row(one)
    blocks += [] if page.rows else [make_section(EMPTY_PERSONAL_TEXT if view.mine else EMPTY_CHANNEL_TEXT)]
    blocks += _make_paging_buttons(view, page)
    return {
        "type": "modal",
        "callback_id": MEMORY_WINDOW,
        "private_metadata": encode_data(view),
        "title": {"type": "plain_text", "text": "Memory"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": blocks,
    }


def render_edit_window(view: MemoryView, row: MemoryRow | None = None) -> Block:
    """Build the window with the text of one memory, or of a new one if `row` is None."""
    where = "about you" if view.mine else "for this channel"
    field: Block = {
        "type": "plain_text_input",
        "action_id": WORDS_ACTION,
        "multiline": True,
        "max_length": MAX_MEMORY_LENGTH,
        "placeholder": {"type": "plain_text", "text": "Our fiscal year starts in April"},
    }
    data = MemoryEditData(view.channel, view.mine, view.page)
    if row is not None:
        field["initial_value"] = row.memory.text
        data = replace(data, name=row.name, was=row.memory.text)
    return {
        "type": "modal",
        "callback_id": EDIT_WINDOW,
        "private_metadata": encode_data(data),
        "title": {"type": "plain_text", "text": "Edit" if row is not None else "Remember"},
        "submit": {"type": "plain_text", "text": "Save"},
        "close": {"type": "plain_text", "text": "Back"},
        "blocks": [
            {
                "type": "input",
                "block_id": WORDS_BLOCK,
                "label": {"type": "plain_text", "text": f"What shall I remember {where}?"},
                "element": field,
            },
            make_context(PERSONAL_USE_TEXT if view.mine else CHANNEL_USE_TEXT),
        ],
    }


def describe_source(memory: Memory) -> str:
    """Render who wrote a memory and when, with a link to the message if there is one."""
    parts = [render_mention(memory.user), _render_date(memory.at)]
    if memory.edited_by:
        parts.append(f"changed by {render_mention(memory.edited_by)}, {_render_date(memory.edited)}")
    if memory.link:
        parts.append(f"<{memory.link.replace('&', '&amp;')}|message>")
    return " · ".join(parts)


def _render_date(at: float) -> str:
    fallback = datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%d")
    return f"<!date^{int(at)}^{{date_pretty}}|{fallback}>"


def _make_forget_button(row: MemoryRow) -> Block:
    return make_button("Forget", FORGET_BUTTON, encode_data(MemoryButtonData(row.place, row.name)), style="danger")


def _make_scope_buttons(view: MemoryView, counts: tuple[int, int]) -> Block:
    """Build the row of buttons: one for the channel's memories, one for the person's, and one that adds.

    A direct message has only the last one, as it has no memories of a channel.
    """
    here, mine = counts
    add = make_button("Add", ADD_BUTTON, view.side)
    if view.channel.startswith("D"):
        return make_actions([add])
    row = [make_button(f"This channel ({here})", f"{PAGE_BUTTON}_here", "here 1", style="" if view.mine else "primary")]
    row.append(
        make_button(f"About you ({mine})", f"{PAGE_BUTTON}_mine", "mine 1", style="primary" if view.mine else "")
    )
    return make_actions([*row, add])


def _render_row(row: MemoryRow) -> list[Block]:
    text = make_section(clean_mrkdwn(row.memory.text))
    if row.may_change:
        options = [("Edit", "edit"), ("Forget", "forget")]
        menu = [{"text": {"type": "plain_text", "text": label}, "value": f"{do} {row.name}"} for label, do in options]
        text = {**text, "accessory": {"type": "overflow", "action_id": ROW_MENU, "options": menu}}
    return [text, make_context(describe_source(row.memory))]


def _make_paging_buttons(view: MemoryView, page: ListPage[MemoryRow]) -> list[Block]:
    if page.page_count == 1:
        return []
    ways = (("Newer", "newer", page.number - 1), ("Older", "older", page.number + 1))
    row = [
        make_button(label, f"{PAGE_BUTTON}_{way}", f"{view.side} {to}")
        for label, way, to in ways
        if 1 <= to <= page.page_count
    ]
    first = (page.number - 1) * PAGE_ROWS + 1
    return [make_actions(row), make_context(f"{first} to {first + len(page.rows) - 1} of {page.total_rows}")]
