"""Suggests in a direct message what to ask about the channel, thread or canvas that its person has open.

What somebody has open stays in memory for as long as it takes to suggest something, and is written nowhere. The
prompts name no channel: the one that is open when they are clicked is meant.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import HomeOpened, OpenView, ViewChanged
from bot.slack.send.web_calls import Background, WebCalls
from bot.slack.show.directory import Directory
from bot.slack.views.home import suggested_prompts

PAUSE = 2.0
"""Seconds between two sets of prompts for one person: who leafs through channels gets those of the last one."""
MOST_KEPT = 2_000
"""People whose prompts are remembered."""


@dataclass(frozen=True, slots=True)
class ShownPrompts:
    """The prompts that a direct message (its id) shows, and when they were set, on the monotonic clock."""

    channel: str
    prompts: list[dict[str, str]]
    at: float


class PromptDesk:
    """Suggests prompts to people, and other ones once these fit better.

    Args:
        client: Calls Slack.
        calls: The shared budget of calls.
        directory: Knows which channels the bot is in: it offers to summarise those alone.
        background: For what is done after Slack was told "received".
    """

    def __init__(
        self, client: AsyncWebClient, calls: WebCalls, directory: Directory | None, background: Background
    ) -> None:
        self._client = client
        self._calls = calls
        self._directory = directory
        self._background = background
        self._wanted: dict[str, tuple[str, OpenView | None]] = {}
        self._shown: OrderedDict[str, ShownPrompts] = OrderedDict()

    def suggest(self, opened: HomeOpened) -> None:
        """Suggest prompts to a person who opened their direct message with the bot."""
        self._shown.pop(opened.user, None)
        self._suggest(opened.user, opened.place.channel, opened.looks_at)

    async def on_view_changed(self, changed: ViewChanged, client: AsyncWebClient) -> None:
        """Suggest other prompts to a person who opened something else, without waiting for that."""
        del client
        self._suggest(changed.user, changed.place.channel, changed.looks_at)

    def _suggest(self, user: str, channel: str, view: OpenView | None) -> None:
        busy = user in self._wanted
        self._wanted[user] = (channel, view)
        if not busy:
            self._background.start(self._show_newest(user), "suggest prompts")

    async def _show_newest(self, user: str) -> None:
        """Show the prompts for the newest view, until there is no newer one."""
        done: tuple[str, OpenView | None] | None = None
        try:
            while self._wanted[user] is not done:
                shown = self._shown.get(user)
                await asyncio.sleep(shown.at + PAUSE - time.monotonic() if shown is not None else 0.0)
                done = self._wanted[user]
                await self._show_prompts(user, *done)
        finally:
            del self._wanted[user]

    async def _show_prompts(self, user: str, channel: str, view: OpenView | None) -> None:
        """Set the prompts of a person, unless they see these already."""
        prompts, shown = suggested_prompts(await self._view_kind(view)), self._shown.get(user)
        if shown is not None and shown.prompts == prompts:
            return
        channel = channel or (shown.channel if shown is not None else await self._direct_message(user))
        await self._calls.make(
            "assistant.threads.setSuggestedPrompts",
            lambda: self._client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=prompts),
            priority="status",
            again=True,
        )
        self._shown[user] = ShownPrompts(channel, prompts, time.monotonic())
        while len(self._shown) > MOST_KEPT:
            self._shown.popitem(last=False)

    async def _view_kind(self, view: OpenView | None) -> str:
        """Return what there is to suggest something about: a thread, channel or canvas; empty if nothing."""
        if view is None:
            return ""
        if view.canvas:
            return "canvas"
        if self._directory is None or not await self._directory.has_bot(view.channel):
            return ""
        return "thread" if view.thread_ts else "channel"

    async def _direct_message(self, user: str) -> str:
        found = await self._calls.make(
            "conversations.open", lambda: self._client.conversations_open(users=user), priority="status", again=True
        )
        return str(found["channel"]["id"])
