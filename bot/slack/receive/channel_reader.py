"""Reads what was said at the top of a channel between two times: what a schedule summarises. It keeps the newest.

Only people's words and other apps' count: what the bot posted there itself is left out. Answers in threads are not
read, and the reader of the text is told so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.thread_text import (
    MOST_MESSAGES,
    THREAD_TOKENS,
    Said,
    ThreadText,
    parse_said,
    people_in,
    thread_text,
)
from bot.slack.send.web_calls import NoReply, Refused, WebCalls
from bot.slack.show.people import People
from bot.slack.views.outgoing import counted
from handoff.contracts import ChannelSpan

PAGE = 200
MOST_PAGES = 10
SECONDS = 45.0
"""Seconds that reading one channel may take."""
MOST_PEOPLE = 40
ABOVE = "What was said in {channel} since the last run, the oldest first."


NOTHING_SAID = ThreadText()


@dataclass(frozen=True, slots=True)
class ChannelRead:
    """What was said in a channel: `count` messages, and their text. `fault` says why it could not be read."""

    thread: ThreadText = NOTHING_SAID
    count: int = 0
    fault: str = ""
    speakers: tuple[str, ...] = ()


class ChannelReader:
    """Reads channels, within the budget of calls. `bot_user` tells the bot's own messages from others'."""

    def __init__(self, client: AsyncWebClient, calls: WebCalls, people: People, *, bot_user: str) -> None:
        self._client = client
        self._calls = calls
        self._people = people
        self._bot_user = bot_user

    async def anything_new(self, span: ChannelSpan) -> bool | None:
        """Return True if anybody said something; None if Slack does not tell."""
        found: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(SECONDS):
                await self._pages(span, found, enough=1)
        except (Refused, NoReply, TimeoutError):
            return None
        return bool(self._said(found))

    async def read(self, span: ChannelSpan, name: str, reader: str) -> ChannelRead:
        """Read it for the person `reader`, in whose zone the times are. `name` is the channel's, with its #."""
        found: list[dict[str, Any]] = []
        fault = ""
        try:
            async with asyncio.timeout(SECONDS):
                whole = await self._pages(span, found)
        except Refused as error:
            return ChannelRead(fault=f"{name} could not be read: {error}.")
        except (NoReply, TimeoutError):
            whole, fault = True, f"Slack did not give all of {name} in time: something may be missing."
        said = self._said(found)
        names = await self._names(said)
        zone, offset = await self._people.zone(reader) if said else ("UTC", 0)
        text = thread_text(said, names, offset=offset, zone=zone, room=THREAD_TOKENS, above=ABOVE.format(channel=name))
        threads = sum(bool(one.get("reply_count")) for one in found)
        files = sum(file.kind == "file" for one in said for file in one.files)
        gaps = (
            *text.gaps,
            *([f"of {name} only the newest {PAGE * MOST_PAGES:,} messages were looked at"] if not whole else ()),
            *([f"the answers in {counted(threads, 'thread')} of {name} were not read"] if threads else ()),
            *([f"{counted(files, 'file')} in {name} not opened"] if files else ()),
        )
        speakers = tuple(dict.fromkeys(one.user for one in said if one.user and not one.by_app))[:MOST_PEOPLE]
        return ChannelRead(replace(text, gaps=gaps), len(said), fault, speakers)

    def _said(self, found: list[dict[str, Any]]) -> list[Said]:
        others = sorted((one for one in found if one.get("user") != self._bot_user), key=lambda one: float(one["ts"]))
        return [one for one in map(parse_said, others) if one is not None]

    async def _pages(self, span: ChannelSpan, found: list[dict[str, Any]], *, enough: int = 0) -> bool:
        """Collect the messages, the newest first. False if there are more than are looked at."""
        cursor = ""
        for _ in range(MOST_PAGES):
            data = await self._calls.make(
                "conversations.history",
                lambda cursor=cursor: self._client.conversations_history(  # type: ignore[misc]
                    channel=span.channel,
                    oldest=f"{span.since:.6f}",
                    latest=f"{span.until:.6f}",
                    limit=PAGE,
                    cursor=cursor or None,
                ),
                again=True,
            )
            found += [one for one in data.get("messages") or () if isinstance(one.get("ts"), str)]
            cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor or (enough and self._said(found)):
                return True
        return False

    async def _names(self, said: list[Said]) -> Mapping[str, str]:
        users = people_in(said[-MOST_MESSAGES:])[:MOST_PEOPLE]
        names = await asyncio.gather(*(self._people.name(user) for user in users))
        return {user: name for user, name in zip(users, names, strict=True) if name}
