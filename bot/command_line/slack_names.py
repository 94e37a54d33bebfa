"""Replaces Slack's ids by names of people and channels in what a command prints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bot.settings import Settings
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import WebCalls, close_client, make_client
from bot.slack.show.people import People
from handoff.text.invisible_characters import remove_invisible

ReplaceIds = Callable[[str], Awaitable[str]]
"""Returns the text with Slack's ids in it replaced by names."""


@asynccontextmanager
async def open_name_lookup(settings: Settings, *, keep_ids: bool) -> AsyncIterator[ReplaceIds]:
    """Yield a function that replaces ids by names from Slack.

    With `keep_ids`, or without a bot token, it keeps the ids.
    """
    if keep_ids or not settings.bot_token:
        yield _keep_ids
        return
    client = make_client(settings.bot_token, settings.slack_api_url)
    people = People(client, WebCalls(CallBudget(is_unlimited=True)))

    async def replace_ids(text: str) -> str:
        return remove_invisible(await people.replace_ids_by_names(text, private=True))

    try:
        yield replace_ids
    finally:
        await close_client(client)


async def _keep_ids(text: str) -> str:
    return text
