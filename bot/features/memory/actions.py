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
    make_memory_rows,
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
from bot.slack.show.notices import edit_message, make_note, push_window, show_ephemeral_message, update_window
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
    """An open memory window. `view_id` is Slack's view id, and `view` is its content.

    `trigger_id` is the trigger id of a click in it, with which another window can be opened on top of it.
    """

    team: str
    user: str
    view_id: str
    view: MemoryView
    trigger_id: str


class MemoryClicks:
    """The listeners for the memory's buttons and windows."""

    def __init__(self, memories: MemoriesService, background: BackgroundTasks) -> None:
        self._memories = memories
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for buttons and windows, and for edits of messages."""
        router.on_click(FORGET_BUTTON, self.on_forget)
        router.on_click(_PAGE_ACTIONS, self.on_page, fault=notices.NOT_READ)
        router.on_click(ROW_MENU, self.on_row_menu)
        router.on_click(ADD_BUTTON, self.on_add, fault=notices.WINDOW_FAILED)
        router.on_window(EDIT_WINDOW, self.on_save)
        router.on_event(MessageEdited, self.on_message_changed)
        router.on_event(MessageDeleted, self.on_message_changed)

    async def on_forget(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Forget the memory that the button of a message names."""
        button_data = decode_data(click.value, MemoryButtonData)
        if button_data is None:
            return notices.OLD_BUTTON
        verdict, memory = await self._memories.forget(
            click.place.team, button_data.place, button_data.name, user=click.user
        )
        if memory is not None and verdict == "done" and click.is_posted:
            message_edit = edit_message(
                client, click.place.channel, click.message_ts, render_forgotten(memory, click.user)
            )
            self._background.start(message_edit, "say that it is forgotten")
            return None
        words: dict[ChangeOutcome, str] = {
            "done": FORGOTTEN_TEXT,
            "not_yours": NOT_AUTHOR_TEXT,
            "gone": ALREADY_FORGOTTEN_TEXT,
        }
        return words.get(verdict, FORGET_CONFLICT_TEXT)

    async def on_page(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Show another page of the window, or switch between the channel's and the person's memories."""
        window = _find_clicked_window(click)
        if window is not None:
            side, _, page = click.value.partition(" ")
            view = replace(window.view, mine=side == "mine", page=int(page) if page.isdigit() else 1)
            await self._redraw(client, replace(window, view=view))
        return None

    async def on_row_menu(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Edit or forget the memory in a row of the window."""
        window, (action, _, name) = _find_clicked_window(click), click.value.partition(" ")
        if window is None or not name:
            return notices.OLD_BUTTON
        place = window.user if window.view.mine else window.view.channel
        if action == "edit":
            await self._open_edit_form(window, place, name, client)
            return None
        verdict, _ = await self._memories.forget(window.team, place, name, user=window.user)
        words: dict[ChangeOutcome, str] = {
            "done": FORGOTTEN_TEXT,
            "not_yours": NOT_AUTHOR_TEXT,
            "gone": ALREADY_FORGOTTEN_TEXT,
        }
        await self._redraw(client, window, words.get(verdict, FORGET_CONFLICT_TEXT))
        return None

    async def _open_edit_form(self, window: OpenMemoryWindow, place: str, name: str, client: AsyncWebClient) -> None:
        entries = [one for one in await self._memories.list_entries(window.team, place) if one.name == name]
        for one in make_memory_rows(window.user, entries, self._memories):
            if one.may_change:
                await push_window(client, window.trigger_id, render_edit_window(window.view, one))
                return
        await self._redraw(client, window, NOT_AUTHOR_TEXT if entries else ALREADY_FORGOTTEN_TEXT)

    async def on_add(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window for a new memory."""
        window = _find_clicked_window(click)
        if window is not None:
            await push_window(client, window.trigger_id, render_edit_window(window.view))
        return None

    async def on_save(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Save the typed text, and redraw the window below. Returns a field error if it cannot be saved."""
        edit = decode_data(submission.metadata, MemoryEditData)
        if edit is None:
            log.warning("a window without what it shows was left alone")
            return None
        fault = await self._save_text(submission, edit)
        if fault:
            return make_field_error(WORDS_BLOCK, fault)
        if submission.root_id:
            view = edit.view if edit.name else replace(edit.view, page=1)
            window = OpenMemoryWindow(submission.team, submission.user, submission.root_id, view, "")
            self._background.start(self._redraw(client, window), "show what is remembered")
        return None

    async def _save_text(self, submission: ViewSubmission, edit: MemoryEditData) -> str:
        """Save the typed text. Returns its fault as a sentence, or "" if it was saved."""
        view, text = edit.view, submission.read_text(WORDS_BLOCK, WORDS_ACTION)
        place = submission.user if view.mine else view.channel
        if edit.name:
            verdict = await self._memories.edit(
                submission.team, place, edit.name, text, user=submission.user, seen_text=edit.was
            )
            return _UNSAVED_TEXTS.get(verdict, "")
        where = Place(team=submission.team, channel=view.channel, thread_ts="")
        result = await self._memories.remember(
            where, text, user=submission.user, about_person=view.mine, mark=f"window/{submission.id}"
        )
        if not isinstance(result, MemoryEntry):
            return NOT_KEPT_TEXTS[result]
        return "" if result.is_new or result.is_repeat else "I already remember that."

    async def _redraw(self, client: AsyncWebClient, window: OpenMemoryWindow, notice: str = "") -> None:
        await update_window(
            client,
            window.view_id,
            await build_memory_window(self._memories, window.team, window.user, window.view, notice),
        )

    async def on_message_changed(self, change: MessageEdited | MessageDeleted, client: AsyncWebClient) -> None:
        """Apply the edit or deletion of a message to the memory made from it. After an edit, its author gets a note."""
        text = change.text if isinstance(change, MessageEdited) else None
        now = await self._memories.apply_message_change(change.place, change.ts, text, user=change.user)
        if now is not None and isinstance(change, MessageEdited):
            words = f"I remember it as you changed it: {clean_mrkdwn(now.text)}" if now.text else EDITED_AWAY_TEXT
            outside = (
                change.place
                if change.place.thread_ts != change.ts
                else change.place.model_copy(update={"thread_ts": ""})
            )
            self._background.start(
                show_ephemeral_message(client, outside, change.user, make_note(words)), "tell what became of an edit"
            )


def _find_clicked_window(click: Click) -> OpenMemoryWindow | None:
    """Return the window of a click; None if the click was not in a memory window."""
    view = decode_data(click.metadata, MemoryView)
    if view is None or not click.window_id:
        return None
    return OpenMemoryWindow(click.place.team, click.user, click.window_id, view, click.trigger_id)
