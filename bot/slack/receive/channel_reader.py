"""Reads the messages of a channel, or of one of its threads, in a span of time. If not all fit, the newest are kept.

In a channel, only messages of people and other apps are read, not the bot's own. Replies in threads are not read, and
the text says so. In a thread, the bot's own messages are read too, except its cards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.receive.thread_text import (
    MAX_MESSAGES,
    MAX_THREAD_TOKENS,
    ThreadMessage,
    ThreadText,
    list_people,
    parse_thread_message,
    render_thread_text,
)
from bot.slack.send.lookup import read_key
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from bot.slack.show.people import People
from handoff.contracts import ChannelSpan
from handoff.text.counts import format_count

PAGE_SIZE = 200
MAX_PAGES = 10
MAX_READ_SECONDS = 45.0
"""Seconds that reading one channel may take."""
MAX_PEOPLE = 40


EMPTY_TEXT = ThreadText()


@dataclass(frozen=True, slots=True)
class ChannelReadOutcome:
    """The outcome of reading a channel."""

    text: ThreadText = EMPTY_TEXT
    """The text of the messages."""
    message_count: int = 0
    """The number of messages."""
    fault: str = ""
    """Why the channel could not be read, or not in time; "" otherwise. Other omissions are in `text.gaps`."""
    speakers: tuple[str, ...] = ()
    """The ids of the people who wrote the messages."""


class ChannelReader:
    """Reads channels, within the budget of Slack calls. `bot_user` is the bot's own user id."""

    def __init__(self, client: AsyncWebClient, calls: WebCalls, people: People, *, bot_user: str) -> None:
        self._client = client
        self._calls = calls
        self._people = people
        self._bot_user = bot_user

    async def has_new_messages(self, span: ChannelSpan) -> bool | None:
        """Return True if there are messages in the span; None if Slack does not answer."""
        raw_messages: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(MAX_READ_SECONDS):
                await self._collect_pages(span, raw_messages, stop_at_first=1)
        except (SlackRefused, NoReply, TimeoutError):
            return None
        return bool(self._parse_messages(raw_messages, span))

    async def read(self, span: ChannelSpan, name: str, reader: str, heading: str) -> ChannelReadOutcome:
        """Read a channel for the person `reader`, with times in their zone.

        `name` is what people call the channel, such as its name with the #. `heading` is the line above the messages.
        """
        raw_messages: list[dict[str, Any]] = []
        fault = ""
        try:
            async with asyncio.timeout(MAX_READ_SECONDS):
                is_complete = await self._collect_pages(span, raw_messages)
        except SlackRefused as error:
            return ChannelReadOutcome(fault=f"{name} could not be read: {error}.")
        except (NoReply, TimeoutError):
            is_complete, fault = True, f"Slack did not give all of {name} in time: something may be missing."
        messages = self._parse_messages(raw_messages, span)
        names = await self._find_names(messages)
        zone, offset = await self._people.find_zone(reader) if messages else ("UTC", 0)
        text = render_thread_text(messages, names, offset=offset, zone=zone, room=MAX_THREAD_TOKENS, heading=heading)
        at_top = not span.thread_ts
        end = "newest" if at_top else "first"
        threads = sum(bool(one.get("reply_count")) for one in raw_messages) if at_top else 0
        files = sum(file.kind == "file" for one in messages for file in one.files) if at_top else 0
        gaps = (
            *text.gaps,
            *(
                [f"of {name} only the {end} {PAGE_SIZE * MAX_PAGES:,} messages were looked at"]
                if not is_complete
                else ()
            ),
            *([f"the answers in {format_count(threads, 'thread')} of {name} were not read"] if threads else ()),
            *([f"{format_count(files, 'file')} in {name} not opened"] if files else ()),
        )
        speakers = tuple(dict.fromkeys(one.user for one in messages if one.user and not one.by_app))[:MAX_PEOPLE]
        return ChannelReadOutcome(replace(text, gaps=gaps), len(messages), fault, speakers)

    def _parse_messages(self, messages: list[dict[str, Any]], span: ChannelSpan) -> list[ThreadMessage]:
        counted_in = [
            one for one in messages if one.get("user") != self._bot_user or (span.thread_ts and not _is_card(one))
        ]
        oldest_first = sorted(counted_in, key=lambda one: float(one["ts"]))
        return [one for one in map(parse_thread_message, oldest_first) if one is not None]

    async def _collect_pages(
        self, span: ChannelSpan, messages: list[dict[str, Any]], *, stop_at_first: int = 0
    ) -> bool:
        """Add the messages of the span to `messages`, page by page. Returns False if some were left out.

        Slack returns a channel newest first, a thread oldest first. Unless `stop_at_first` is 0, reading stops after
        the first page that has a message to read.
        """
        cursor = ""
        for _ in range(MAX_PAGES):
            data = await self._fetch_page(span, cursor)
            seen_stamps = {one["ts"] for one in messages}  # each page of a thread begins with its first message
            messages += [
                one
                for one in data.get("messages") or ()
                if isinstance(ts := one.get("ts"), str) and ts not in seen_stamps
            ]
            root = str(messages[0].get("thread_ts") or span.thread_ts) if messages and span.thread_ts else ""
            if root != span.thread_ts:  # the span names a reply, for which Slack returns only that reply
                messages.clear()
                return await self._collect_pages(span.model_copy(update={"thread_ts": root}), messages)
            cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor or (stop_at_first and self._parse_messages(messages, span)):
                return True
        return False

    async def _fetch_page(self, span: ChannelSpan, cursor: str) -> dict[str, Any]:
        of: dict[str, Any] = {"channel": span.channel, "limit": PAGE_SIZE, "cursor": cursor or None}
        of |= {"oldest": f"{span.since:.6f}", "latest": f"{span.until:.6f}"}
        client, method = self._client, "conversations.history"
        if span.thread_ts:
            of |= {"ts": span.thread_ts, "include_all_metadata": True}
            method = "conversations.replies"

        async def send() -> AsyncSlackResponse:
            return await (client.conversations_replies if span.thread_ts else client.conversations_history)(**of)

        return await self._calls.make(method, send, may_repeat=True)

    async def _find_names(self, messages: list[ThreadMessage]) -> Mapping[str, str]:
        users = list_people(messages[-MAX_MESSAGES:])[:MAX_PEOPLE]
        names = await asyncio.gather(*(self._people.find_name(user) for user in users))
        return {user: name for user, name in zip(users, names, strict=True) if name}


def _is_card(message: dict[str, Any]) -> bool:
    """Return True if a message is one of the bot's plan cards, which only show progress."""
    return read_key(message).partition(":")[2].partition(":")[0] == "card"
