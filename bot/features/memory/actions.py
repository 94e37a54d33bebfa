"""Clicks on what is remembered: the Forget button of a message, and the window with its pages, edits and additions."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.memory.commands import CHANGED, NOT_YOURS, UNKEPT, drawn, shown_to
from bot.features.memory.service import Changed, Kept, MemoryDesk
from bot.features.memory.view import (
    ADD,
    EDIT_WINDOW,
    FORGET_ONE,
    ROW_MENU,
    SHOW_PAGE,
    WORDS_ACTION,
    WORDS_BLOCK,
    Spot,
    forgotten_message,
    pointed_at,
    spot_of,
    words_window,
)
from bot.slack.receive.payloads import Click, Deleted, Edited, Window, parse_click, parse_window
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, open_on_top, redraw, redraw_window, soon, tell
from bot.slack.text.cleaning import clean
from handoff.contracts import Place

log = logging.getLogger(__name__)

_PAGES = re.compile(rf"^{SHOW_PAGE}_\w+$")
GONE = "That is forgotten already."
WAS_CHANGED = "Somebody changed it since you opened this. Go back, look at it, and edit it again."
EDITED_AWAY = "Your message no longer asks me to remember something, so I forgot what it said before."
DONE = "Forgotten. From the next request on it is not used."
_UNSAVED: dict[Changed, str] = {
    "not_yours": "Only who said it, or an admin, can change that.",
    "gone": "It was forgotten meanwhile. Go back and add it anew if it should be remembered.",
    "changed": WAS_CHANGED,
    "empty": UNKEPT["empty"],
    "too_long": UNKEPT["too_long"],
}


@dataclass(frozen=True, slots=True)
class InWindow:
    """A click in the window: whose, in which workspace and window (its id), what that shows, and with which trigger."""

    team: str
    user: str
    window: str
    spot: Spot
    trigger: str


class MemoryClicks:
    """The listeners of buttons and windows."""

    def __init__(self, book: MemoryDesk, background: Background) -> None:
        self._book = book
        self._background = background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(FORGET_ONE)(self.on_forget)
        app.action(_PAGES)(self.on_page)
        app.action(ROW_MENU)(self.on_row)
        app.action(ADD)(self.on_add)
        app.view(EDIT_WINDOW)(self.on_save)

    async def on_forget(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Forget the thing that the button of a message names."""
        click = parse_click(body, action)
        found = pointed_at(click.value) if isinstance(click, Click) else None
        if not isinstance(click, Click):
            log.warning("a click without %s was left alone", click.reason)
        elif found is None:
            self._tell(client, click, notices.OLD_BUTTON)
        else:
            await self._forget(click, *found, client, posted="message" in body)
        await ack()

    async def _forget(self, click: Click, place: str, name: str, client: AsyncWebClient, *, posted: bool) -> None:
        try:
            async with soon():
                verdict, memory = await self._book.forget(click.place.team, place, name, user=click.user)
        except Unrecorded:
            self._tell(client, click, notices.NOT_RECORDED)
            return
        if memory is not None and verdict == "done" and posted:
            done = redraw(client, click.place.channel, click.message_ts, forgotten_message(memory, click.user))
            self._background.start(done, "say that it is forgotten")
        else:
            words: dict[Changed, str] = {"done": DONE, "not_yours": NOT_YOURS, "gone": GONE, "changed": CHANGED}
            self._tell(client, click, words.get(verdict, CHANGED))

    async def on_page(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Turn the page of the window, or to the other side of it."""
        await ack()
        seen = _in_window(body)
        if seen is not None:
            side, _, page = str(action.get("value", "")).partition(" ")
            spot = replace(seen.spot, mine=side == "mine", page=int(page) if page.isdigit() else 1)
            await self._draw(client, replace(seen, spot=spot))

    async def on_row(self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient) -> None:
        """Edit or forget the thing of a row."""
        await ack()
        seen, option = _in_window(body), action.get("selected_option")
        value = str(option.get("value", "")) if isinstance(option, dict) else ""
        does, _, name = value.partition(" ")
        if seen is None or not name:
            return
        place = seen.user if seen.spot.mine else seen.spot.channel
        try:
            async with soon():
                if does == "edit":
                    await self._edit(seen, place, name, client)
                    return
                verdict, _ = await self._book.forget(seen.team, place, name, user=seen.user)
        except Unrecorded:
            await self._draw(client, seen, notices.NOT_RECORDED)
            return
        words: dict[Changed, str] = {"done": DONE, "not_yours": NOT_YOURS, "gone": GONE}
        await self._draw(client, seen, words.get(verdict, CHANGED))

    async def _edit(self, seen: InWindow, place: str, name: str, client: AsyncWebClient) -> None:
        kept = [one for one in await self._book.of(seen.team, place) if one.name == name]
        for one in shown_to(seen.user, kept, self._book):
            if one.may_change:
                await open_on_top(client, seen.trigger, words_window(seen.spot, one))
                return
        await self._draw(client, seen, NOT_YOURS if kept else GONE)

    async def on_add(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Open the window for something new."""
        await ack()
        seen = _in_window(body)
        if seen is not None:
            await open_on_top(client, seen.trigger, words_window(seen.spot))

    async def on_save(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Keep what was typed, and show the window below anew."""
        sent = parse_window(body)
        read = spot_of(sent.metadata) if isinstance(sent, Window) else None
        if not isinstance(sent, Window) or read is None:
            log.warning("a window without what it shows was left alone")
            await ack()
            return
        spot, of = read
        try:
            async with soon():
                fault = await self._save(sent, spot, of)
        except Unrecorded:
            fault = notices.NOT_RECORDED
        if fault:
            await ack(response_action="errors", errors={WORDS_BLOCK: fault})
            return
        await ack()
        below = str((body.get("view") or {}).get("root_view_id") or "")
        if below and below != sent.id:
            seen = InWindow(sent.team, sent.user, below, spot if of else replace(spot, page=1), "")
            self._background.start(self._draw(client, seen), "show what is remembered")

    async def _save(self, sent: Window, spot: Spot, of: dict[str, str]) -> str:
        """Keep what was typed; returns what is wrong with it, empty if nothing is."""
        text, place = sent.typed(WORDS_BLOCK, WORDS_ACTION), sent.user if spot.mine else spot.channel
        if name := of.get("name"):
            verdict = await self._book.edit(sent.team, place, name, text, user=sent.user, was=of.get("was", ""))
            return _UNSAVED.get(verdict, "")
        where = Place(team=sent.team, channel=spot.channel, thread_ts="")
        kept = await self._book.remember(where, text, user=sent.user, mine=spot.mine, mark=f"window/{sent.id}")
        if not isinstance(kept, Kept):
            return UNKEPT[kept]
        return "" if kept.new or kept.again else "I remember that already."

    async def _draw(self, client: AsyncWebClient, seen: InWindow, told: str = "") -> None:
        try:
            async with soon():
                window = await drawn(self._book, seen.team, seen.user, seen.spot, told)
        except Unrecorded:
            return  # what is shown stays as it was
        await redraw_window(client, seen.window, window)

    async def on_change(self, change: Edited | Deleted, client: AsyncWebClient) -> None:
        """Take in that a message was edited or deleted, and tell its author what is remembered of it now."""
        text = change.text if isinstance(change, Edited) else None
        now = await self._book.said_anew(change.place, change.ts, text, user=change.user)
        if now is not None and isinstance(change, Edited):
            words = f"I remember it as you changed it: {clean(now.text)}" if now.text else EDITED_AWAY
            outside = (
                change.place
                if change.place.thread_ts != change.ts
                else change.place.model_copy(update={"thread_ts": ""})
            )
            self._background.start(tell(client, outside, change.user, note(words)), "tell what became of an edit")

    def _tell(self, client: AsyncWebClient, click: Click, text: str) -> None:
        self._background.start(tell(client, click.private_place, click.user, note(text)), "answer a click")


def _in_window(body: dict[str, Any]) -> InWindow | None:
    """Read a click in the window; None if it is none."""
    view, user, team = body.get("view"), body.get("user"), body.get("team")
    if not isinstance(view, dict) or not isinstance(user, dict) or not isinstance(team, dict):
        return None
    read = spot_of(str(view.get("private_metadata") or ""))
    whose, who, window = (str(each.get("id") or "") for each in (team, user, view))
    if read is None or not (whose and who and window):
        return None
    return InWindow(whose, who, window, read[0], str(body.get("trigger_id") or ""))
