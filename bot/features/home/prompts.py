"""Suggests prompts in a person's direct message, for the channel, thread or canvas that they have open in Slack.

The open view stays in memory only until the prompts are set, and is stored nowhere. The
prompts name no channel: they mean the one that is open when they are clicked.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import HomeOpened, OpenView, ViewChanged
from bot.slack.send.web_calls import BackgroundTasks, WebCalls
from bot.slack.show.directory import Directory
from bot.slack.views.home import list_suggested_prompts

PROMPT_PAUSE = 2.0
"""Seconds between two sets of prompts for one person, who may switch channels quickly: the last channel counts."""
MAX_REMEMBERED = 2_000
"""Maximum number of people whose shown prompts are remembered."""


@dataclass(frozen=True, slots=True)
class ShownPrompts:
    """The prompts that a direct message (its id) shows, and when they were set, on the monotonic clock."""

    channel: str
    prompts: list[dict[str, str]]
    at: float


class PromptService:
    """Suggests prompts to people, and replaces them when they open another view.

    Args:
        client: The Slack client.
        calls: The shared budget of calls.
        directory: Knows which channels the bot is in: it offers to summarise only those.
        background: Runs work after Slack's event was acknowledged.
    """

    def __init__(
        self, client: AsyncWebClient, calls: WebCalls, directory: Directory | None, background: BackgroundTasks
    ) -> None:
        self._client = client
        self._calls = calls
        self._directory = directory
        self._background = background
        self._wanted: dict[str, tuple[str, OpenView | None]] = {}
        self._shown: OrderedDict[str, ShownPrompts] = OrderedDict()

    def start_suggesting(self, opened: HomeOpened) -> None:
        """Suggest prompts to a person who opened their direct message with the bot."""
        self._shown.pop(opened.user, None)
        self._start_suggesting(opened.user, opened.place.channel, opened.open_view)

    async def on_view_changed(self, event: ViewChanged, client: AsyncWebClient) -> None:
        """Start to suggest other prompts to a person who opened another view."""
        del client
        self._start_suggesting(event.user, event.place.channel, event.open_view)

    def _start_suggesting(self, user: str, channel: str, view: OpenView | None) -> None:
        busy = user in self._wanted
        self._wanted[user] = (channel, view)
        if not busy:
            self._background.start(self._show_newest(user), "suggest prompts")

    async def _show_newest(self, user: str) -> None:
        """Set the prompts for a person's newest view, and repeat this while a newer one arrives."""
        done: tuple[str, OpenView | None] | None = None
        try:
            while self._wanted[user] is not done:
                shown = self._shown.get(user)
                await asyncio.sleep(shown.at + PROMPT_PAUSE - time.monotonic() if shown is not None else 0.0)
                done = self._wanted[user]
                await self._show_prompts(user, *done)
        finally:
            del self._wanted[user]

    async def _show_prompts(self, user: str, channel: str, view: OpenView | None) -> None:
        """Set the prompts of a person, unless these are shown already."""
        prompts, shown = list_suggested_prompts(await self._classify_view(view)), self._shown.get(user)
        if shown is not None and shown.prompts == prompts:
            return
        channel = channel or (shown.channel if shown is not None else await self._open_direct_message(user))
        await self._calls.make(
            "assistant.threads.setSuggestedPrompts",
            lambda: self._client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=prompts),
            priority="status",
            may_repeat=True,
        )
        self._shown[user] = ShownPrompts(channel, prompts, time.monotonic())
        while len(self._shown) > MAX_REMEMBERED:
            self._shown.popitem(last=False)

    async def _classify_view(self, view: OpenView | None) -> str:
        """Return the kind of view that prompts can be suggested for: thread, channel or canvas; otherwise ""."""
        if view is None:
            return ""
        if view.canvas:
            return "canvas"
        if self._directory is None or not await self._directory.has_bot(view.channel):
            return ""
        return "thread" if view.thread_ts else "channel"

    async def _open_direct_message(self, user: str) -> str:
        found = await self._calls.make(
            "conversations.open",
            lambda: self._client.conversations_open(users=user),
            priority="status",
            may_repeat=True,
        )
        return str(found["channel"]["id"])
