"""Suggests prompts in a person's direct message, for the channel, thread or canvas that they have open in Slack.

The open view is kept in memory until the prompts are set, and is never stored. The prompts name no channel: they refer
to the one that is open when a person clicks them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import AppContext, AppContextChanged, HomeOpened
from bot.slack.send.web_calls import BackgroundTasks, WebCalls
from bot.slack.show.directory import Directory
from bot.slack.views.home import list_suggested_prompts

PROMPT_PAUSE_SECONDS = 2.0
"""Minimum seconds between two updates of a person's prompts. If they switch channels meanwhile, the last one counts."""
MAX_REMEMBERED_PEOPLE = 2_000
"""Maximum number of people whose shown prompts are remembered."""


@dataclass(frozen=True, slots=True)
class ShownPrompts:
    """The prompts shown in the direct message `channel`. `at` is when they were set, in monotonic seconds."""

    channel: str
    prompts: list[dict[str, str]]
    at: float


class PromptService:
    """Suggests prompts to people, and replaces them when they open another view.

    Args:
        client: The Slack client.
        calls: The shared budget of calls.
        directory: Knows which channels the bot is in. Prompts about a channel are suggested only for those.
        background: Runs work after Slack's event was acknowledged.
    """

    def __init__(
        self, client: AsyncWebClient, calls: WebCalls, directory: Directory | None, background: BackgroundTasks
    ) -> None:
        self._client = client
        self._calls = calls
        self._directory = directory
        self._background = background
        self._pending_views: dict[str, tuple[str, AppContext | None]] = {}
        self._shown_prompts: OrderedDict[str, ShownPrompts] = OrderedDict()

    def start_suggesting(self, event: HomeOpened) -> None:
        """Suggest prompts to a person who opened their direct message with the bot."""
        self._shown_prompts.pop(event.user, None)
        self._queue_view(event.user, event.place.channel, event.app_context)

    async def on_view_changed(self, event: AppContextChanged, client: AsyncWebClient) -> None:
        """Start to suggest other prompts to a person who opened another view."""
        del client
        self._queue_view(event.user, event.place.channel, event.app_context)

    def _queue_view(self, user: str, channel: str, view: AppContext | None) -> None:
        busy = user in self._pending_views
        self._pending_views[user] = (channel, view)
        if not busy:
            self._background.start(self._show_newest_prompts(user), "suggest prompts")

    async def _show_newest_prompts(self, user: str) -> None:
        """Set the prompts for a person's newest view, and repeat this while a newer one arrives."""
        shown_view: tuple[str, AppContext | None] | None = None
        try:
            while self._pending_views[user] is not shown_view:
                shown_prompts = self._shown_prompts.get(user)
                await asyncio.sleep(
                    shown_prompts.at + PROMPT_PAUSE_SECONDS - time.monotonic() if shown_prompts is not None else 0.0
                )
                shown_view = self._pending_views[user]
                await self._show_prompts(user, *shown_view)
        finally:
            del self._pending_views[user]

    async def _show_prompts(self, user: str, channel: str, view: AppContext | None) -> None:
        """Set the prompts of a person, unless these are shown already."""
        prompts, shown_prompts = list_suggested_prompts(await self._classify_view(view)), self._shown_prompts.get(user)
        if shown_prompts is not None and shown_prompts.prompts == prompts:
            return
        channel = channel or (
            shown_prompts.channel if shown_prompts is not None else await self._open_direct_message(user)
        )
        await self._calls.make(
            "assistant.threads.setSuggestedPrompts",
            lambda: self._client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=prompts),
            priority="status",
            may_repeat=True,
        )
        self._shown_prompts[user] = ShownPrompts(channel, prompts, time.monotonic())
        while len(self._shown_prompts) > MAX_REMEMBERED_PEOPLE:
            self._shown_prompts.popitem(last=False)

    async def _classify_view(self, view: AppContext | None) -> str:
        """Return the kind of view that prompts can be suggested for: thread, channel or canvas; otherwise ""."""
        if view is None:
            return ""
        if view.canvas:
            return "canvas"
        if self._directory is None or not await self._directory.has_bot(view.channel):
            return ""
        return "thread" if view.thread_ts else "channel"

    async def _open_direct_message(self, user: str) -> str:
        response = await self._calls.make(
            "conversations.open",
            lambda: self._client.conversations_open(users=user),
            priority="status",
            may_repeat=True,
        )
        return str(response["channel"]["id"])
