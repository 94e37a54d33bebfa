"""Handles the Forget button of a message, and the memory window: its pages, edits and additions."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.memory.commands import (
    FORGET_CONFLICT_TEXT,
    NOT_AUTHOR_TEXT,
    NOT_KEPT_TEXTS,
    build_memory_window,
    make_rows,
)
from bot.features.memory.service import ChangeOutcome, MemoriesService, MemoryEntry
from bot.features.memory.view import (
    ADD_BUTTON,
    EDIT_WINDOW,
    FORGET_BUTTON,
    PAGE_BUTTON,
    ROW_MENU,
    WORDS_ACTION,
    WORDS_BLOCK,
    MemoryButtonData,
    MemoryEditData,
    MemoryView,
    render_edit_window,
    render_forgotten,
)
from bot.slack.receive.payloads import Click, MessageDeleted, MessageEdited, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, make_field_error
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import edit_message, make_note, push_window, show_ephemeral, update_window
from bot.slack.text.cleaning import clean_mrkdwn
from bot.slack.views.button_data import decode_data
from handoff.contracts import Place

log = logging.getLogger(__name__)

_PAGE_ACTIONS = re.compile(rf"^{PAGE_BUTTON}_\w+$")
ALREADY_FORGOTTEN_TEXT = "That was already forgotten."
EDIT_CONFLICT_TEXT = "Somebody changed it since you opened this. Go back, look at it, and edit it again."
EDITED_AWAY_TEXT = "Your message no longer asks me to remember something, so I forgot what it said before."
FORGOTTEN_TEXT = "Forgotten. From the next request on it is not used."
_UNSAVED_TEXTS: dict[ChangeOutcome, str] = {
    "not_yours": "Only the person who said it, or an admin, can change that.",
    "gone": "Somebody had me forget it meanwhile. Go back and add it again if I should remember it.",
    "changed": EDIT_CONFLICT_TEXT,
    "empty": NOT_KEPT_TEXTS["empty"],
    "too_long": NOT_KEPT_TEXTS["too_long"],
}


@dataclass(frozen=True, slots=True)
class OpenMemoryWindow:
    """An open memory window: its workspace, its user, its view id (`window`), what it shows, and a trigger.

    The trigger of the click opens another window on top of it.
    """

    team: str
    user: str
    window: str
    view: MemoryView
    trigger: str


class MemoryClicks:
    """The listeners for the memory's buttons and windows."""

    def __init__(self, memories: MemoriesService, background: BackgroundTasks) -> None:
        self._book = memories
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and windows, and for edits of messages."""
        router.on_click(FORGET_BUTTON, self.on_forget)
        router.on_click(_PAGE_ACTIONS, self.on_page, fault=notices.NOT_READ)
        router.on_click(ROW_MENU, self.on_row)
        router.on_click(ADD_BUTTON, self.on_add, fault=notices.WINDOW_FAILED)
        router.on_window(EDIT_WINDOW, self.on_save)
        router.on_event(MessageEdited, self.on_change)
        router.on_event(MessageDeleted, self.on_change)

    async def on_forget(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Forget the memory that the button of a message names."""
        found = decode_data(click.value, MemoryButtonData)
        if found is None:
            return notices.OLD_BUTTON
        verdict, memory = await self._book.forget(click.place.team, found.place, found.name, user=click.user)
        if memory is not None and verdict == "done" and click.is_posted:
            done = edit_message(client, click.place.channel, click.message_ts, render_forgotten(memory, click.user))
            self._background.start(done, "say that it is forgotten")
            return None
        words: dict[ChangeOutcome, str] = {
            "done": FORGOTTEN_TEXT,
            "not_yours": NOT_AUTHOR_TEXT,
            "gone": ALREADY_FORGOTTEN_TEXT,
        }
        return words.get(verdict, FORGET_CONFLICT_TEXT)

    async def on_page(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Show another page of the window, or its other side: the channel's or the person's memories."""
        seen = _find_clicked_window(click)
        if seen is not None:
            side, _, page = click.value.partition(" ")
            spot = replace(seen.view, mine=side == "mine", page=int(page) if page.isdigit() else 1)
            await self._redraw(client, replace(seen, view=spot))
        return None

    async def on_row(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Edit or forget the memory in a row of the window."""
        seen, (does, _, name) = _find_clicked_window(click), click.value.partition(" ")
        if seen is None or not name:
            return notices.OLD_BUTTON
        place = seen.user if seen.view.mine else seen.view.channel
        if does == "edit":
            await self._open_edit_form(seen, place, name, client)
            return None
        verdict, _ = await self._book.forget(seen.team, place, name, user=seen.user)
        words: dict[ChangeOutcome, str] = {
            "done": FORGOTTEN_TEXT,
            "not_yours": NOT_AUTHOR_TEXT,
            "gone": ALREADY_FORGOTTEN_TEXT,
        }
        await self._redraw(client, seen, words.get(verdict, FORGET_CONFLICT_TEXT))
        return None

    async def _open_edit_form(self, window: OpenMemoryWindow, place: str, name: str, client: AsyncWebClient) -> None:
        kept = [one for one in await self._book.list_entries(window.team, place) if one.name == name]
        for one in make_rows(window.user, kept, self._book):
            if one.may_change:
                await push_window(client, window.trigger, render_edit_window(window.view, one))
                return
        await self._redraw(client, window, NOT_AUTHOR_TEXT if kept else ALREADY_FORGOTTEN_TEXT)

    async def on_add(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window for a new memory."""
        seen = _find_clicked_window(click)
        if seen is not None:
            await push_window(client, seen.trigger, render_edit_window(seen.view))
        return None

    async def on_save(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Save the typed text, and redraw the window below."""
        about = decode_data(submission.metadata, MemoryEditData)
        if about is None:
            log.warning("a window without what it shows was left alone")
            return None
        fault = await self._save_text(submission, about)
        if fault:
            return make_field_error(WORDS_BLOCK, fault)
        if submission.root_id:
            spot = about.view if about.name else replace(about.view, page=1)
            seen = OpenMemoryWindow(submission.team, submission.user, submission.root_id, spot, "")
            self._background.start(self._redraw(client, seen), "show what is remembered")
        return None

    async def _save_text(self, submission: ViewSubmission, edit: MemoryEditData) -> str:
        """Save the typed text. Returns its fault as a sentence, or "" if it was saved."""
        spot, text = edit.view, submission.read_text(WORDS_BLOCK, WORDS_ACTION)
        place = submission.user if spot.mine else spot.channel
        if edit.name:
            verdict = await self._book.edit(
                submission.team, place, edit.name, text, user=submission.user, seen_text=edit.was
            )
            return _UNSAVED_TEXTS.get(verdict, "")
        where = Place(team=submission.team, channel=spot.channel, thread_ts="")
        kept = await self._book.remember(
            where, text, user=submission.user, about_person=spot.mine, mark=f"window/{submission.id}"
        )
        if not isinstance(kept, MemoryEntry):
            return NOT_KEPT_TEXTS[kept]
        return "" if kept.is_new or kept.is_repeat else "I already remember that."

    async def _redraw(self, client: AsyncWebClient, window: OpenMemoryWindow, notice: str = "") -> None:
        await update_window(
            client, window.window, await build_memory_window(self._book, window.team, window.user, window.view, notice)
        )

    async def on_change(self, change: MessageEdited | MessageDeleted, client: AsyncWebClient) -> None:
        """Apply a message's edit or deletion to the memory made from it, and tell its author the result of an edit."""
        text = change.text if isinstance(change, MessageEdited) else None
        now = await self._book.apply_message_change(change.place, change.ts, text, user=change.user)
        if now is not None and isinstance(change, MessageEdited):
            words = f"I remember it as you changed it: {clean_mrkdwn(now.text)}" if now.text else EDITED_AWAY_TEXT
            outside = (
                change.place
                if change.place.thread_ts != change.ts
                else change.place.model_copy(update={"thread_ts": ""})
            )
            self._background.start(
                show_ephemeral(client, outside, change.user, make_note(words)), "tell what became of an edit"
            )


def _find_clicked_window(click: Click) -> OpenMemoryWindow | None:
    """Return the window of a click; None if the click was not in a memory window."""
    spot = decode_data(click.metadata, MemoryView)
    if spot is None or not click.window:
        return None
    return OpenMemoryWindow(click.place.team, click.user, click.window, spot, click.trigger_id)
