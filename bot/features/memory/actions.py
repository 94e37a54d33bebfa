"""Handles the Forget button of a message, and the memory window: its pages, edits and additions."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.memory.commands import CHANGED, NOT_KEPT_WORDS, NOT_YOURS, draw_memory_window, list_shown
from bot.features.memory.service import ChangeOutcome, MemoryDesk, MemoryEntry
from bot.features.memory.view import (
    ADD,
    EDIT_WINDOW,
    FORGET_ONE,
    ROW_MENU,
    SHOW_PAGE,
    WORDS_ACTION,
    WORDS_BLOCK,
    AboutMemory,
    AboutMemoryEdit,
    MemoryPlace,
    forgotten_message,
    words_window,
)
from bot.slack.receive.payloads import Click, MessageDeleted, MessageEdited, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, field_error
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_on_top, redraw, redraw_window, tell
from bot.slack.text.cleaning import clean
from bot.slack.views.button_data import decode_data
from handoff.contracts import Place

log = logging.getLogger(__name__)

_PAGES = re.compile(rf"^{SHOW_PAGE}_\w+$")
GONE = "That was already forgotten."
WAS_CHANGED = "Somebody changed it since you opened this. Go back, look at it, and edit it again."
EDITED_AWAY = "Your message no longer asks me to remember something, so I forgot what it said before."
DONE = "Forgotten. From the next request on it is not used."
_UNSAVED: dict[ChangeOutcome, str] = {
    "not_yours": "Only the person who said it, or an admin, can change that.",
    "gone": "Somebody had me forget it meanwhile. Go back and add it again if I should remember it.",
    "changed": WAS_CHANGED,
    "empty": NOT_KEPT_WORDS["empty"],
    "too_long": NOT_KEPT_WORDS["too_long"],
}


@dataclass(frozen=True, slots=True)
class OpenMemoryWindow:
    """An open memory window: its workspace, its user, its view id (`window`), what it shows, and a trigger.

    The trigger of the click opens another window on top of it.
    """

    team: str
    user: str
    window: str
    spot: MemoryPlace
    trigger: str


class MemoryClicks:
    """The listeners for the memory's buttons and windows."""

    def __init__(self, book: MemoryDesk, background: Background) -> None:
        self._book = book
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and windows, and for edits of messages."""
        router.on_click(FORGET_ONE, self.on_forget)
        router.on_click(_PAGES, self.on_page, fault=notices.NOT_READ)
        router.on_click(ROW_MENU, self.on_row)
        router.on_click(ADD, self.on_add, fault=notices.NO_WINDOW)
        router.on_window(EDIT_WINDOW, self.on_save)
        router.on_event(MessageEdited, self.on_change)
        router.on_event(MessageDeleted, self.on_change)

    async def on_forget(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Forget the memory that the button of a message names."""
        found = decode_data(click.value, AboutMemory)
        if found is None:
            return notices.OLD_BUTTON
        verdict, memory = await self._book.forget(click.place.team, found.place, found.name, user=click.user)
        if memory is not None and verdict == "done" and click.posted:
            done = redraw(client, click.place.channel, click.message_ts, forgotten_message(memory, click.user))
            self._background.start(done, "say that it is forgotten")
            return None
        words: dict[ChangeOutcome, str] = {"done": DONE, "not_yours": NOT_YOURS, "gone": GONE}
        return words.get(verdict, CHANGED)

    async def on_page(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Show another page of the window, or its other side: the channel's or the person's memories."""
        seen = _read_window_click(click)
        if seen is not None:
            side, _, page = click.value.partition(" ")
            spot = replace(seen.spot, mine=side == "mine", page=int(page) if page.isdigit() else 1)
            await self._draw(client, replace(seen, spot=spot))
        return None

    async def on_row(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Edit or forget the memory in a row of the window."""
        seen, (does, _, name) = _read_window_click(click), click.value.partition(" ")
        if seen is None or not name:
            return notices.OLD_BUTTON
        place = seen.user if seen.spot.mine else seen.spot.channel
        if does == "edit":
            await self._open_edit_form(seen, place, name, client)
            return None
        verdict, _ = await self._book.forget(seen.team, place, name, user=seen.user)
        words: dict[ChangeOutcome, str] = {"done": DONE, "not_yours": NOT_YOURS, "gone": GONE}
        await self._draw(client, seen, words.get(verdict, CHANGED))
        return None

    async def _open_edit_form(self, seen: OpenMemoryWindow, place: str, name: str, client: AsyncWebClient) -> None:
        kept = [one for one in await self._book.list_entries(seen.team, place) if one.name == name]
        for one in list_shown(seen.user, kept, self._book):
            if one.may_change:
                await open_on_top(client, seen.trigger, words_window(seen.spot, one))
                return
        await self._draw(client, seen, NOT_YOURS if kept else GONE)

    async def on_add(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window for a new memory."""
        seen = _read_window_click(click)
        if seen is not None:
            await open_on_top(client, seen.trigger, words_window(seen.spot))
        return None

    async def on_save(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Save the typed text, and redraw the window below."""
        about = decode_data(sent.metadata, AboutMemoryEdit)
        if about is None:
            log.warning("a window without what it shows was left alone")
            return None
        fault = await self._save(sent, about)
        if fault:
            return field_error(WORDS_BLOCK, fault)
        if sent.below:
            spot = about.spot if about.name else replace(about.spot, page=1)
            seen = OpenMemoryWindow(sent.team, sent.user, sent.below, spot, "")
            self._background.start(self._draw(client, seen), "show what is remembered")
        return None

    async def _save(self, sent: ViewSubmission, about: AboutMemoryEdit) -> str:
        """Save the typed text. Returns its fault as a sentence, or "" if it was saved."""
        spot, text = about.spot, sent.read_text(WORDS_BLOCK, WORDS_ACTION)
        place = sent.user if spot.mine else spot.channel
        if about.name:
            verdict = await self._book.edit(sent.team, place, about.name, text, user=sent.user, was=about.was)
            return _UNSAVED.get(verdict, "")
        where = Place(team=sent.team, channel=spot.channel, thread_ts="")
        kept = await self._book.remember(where, text, user=sent.user, mine=spot.mine, mark=f"window/{sent.id}")
        if not isinstance(kept, MemoryEntry):
            return NOT_KEPT_WORDS[kept]
        return "" if kept.new or kept.again else "I already remember that."

    async def _draw(self, client: AsyncWebClient, seen: OpenMemoryWindow, told: str = "") -> None:
        await redraw_window(
            client, seen.window, await draw_memory_window(self._book, seen.team, seen.user, seen.spot, told)
        )

    async def on_change(self, change: MessageEdited | MessageDeleted, client: AsyncWebClient) -> None:
        """Apply a message's edit or deletion to the memory made from it, and tell its author the result of an edit."""
        text = change.text if isinstance(change, MessageEdited) else None
        now = await self._book.follow_edit(change.place, change.ts, text, user=change.user)
        if now is not None and isinstance(change, MessageEdited):
            words = f"I remember it as you changed it: {clean(now.text)}" if now.text else EDITED_AWAY
            outside = (
                change.place
                if change.place.thread_ts != change.ts
                else change.place.model_copy(update={"thread_ts": ""})
            )
            self._background.start(tell(client, outside, change.user, make_note(words)), "tell what became of an edit")


def _read_window_click(click: Click) -> OpenMemoryWindow | None:
    """Return the window of a click; None if the click was not in a memory window."""
    spot = decode_data(click.metadata, MemoryPlace)
    if spot is None or not click.window:
        return None
    return OpenMemoryWindow(click.place.team, click.user, click.window, spot, click.trigger)
