"""Finds the bot's own earlier messages in a thread, by their key or by the file that they show.

If Slack does not let us read the thread, it is unknown whether a message is there, and OutcomeUnknown is raised.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from handoff.contracts import Place

log = logging.getLogger(__name__)

METADATA_EVENT_TYPE = "leadhand_post"
READ_WAIT_SECONDS = (0.0, 1.0, 2.0, 4.0)
"""Seconds to wait before each reading of a thread for a message: Slack's history may lag by their sum."""
MAX_FURTHER_READS = 10
"""Maximum number of further readings if the last scheduled one got no reply."""
FURTHER_READ_SECONDS = 10.0
"""Seconds to wait before each further reading."""
MAX_CLOCK_SKEW_SECONDS = 60.0
"""Seconds by which Slack's clock may differ from the store's."""
THREAD_NOT_FOUND_CODE = "thread_not_found"
"""Slack's error code for a thread that was deleted, or is so new that Slack's history does not have it yet."""


def _compute_remaining_waits(waits: Sequence[float], elapsed_seconds: float) -> list[float]:
    """Return the seconds to wait before each reading that is left after `elapsed_seconds` seconds, at least one."""
    late = [at - elapsed_seconds for at in itertools.accumulate(waits) if at > elapsed_seconds]
    return [0.0, *(at - before for before, at in itertools.pairwise([0.0, *late]))] if elapsed_seconds else list(waits)


class OutcomeUnknown(Exception):
    """It is unknown whether a message, file or row was sent. The text can be shown to people."""


def make_metadata(place: Place, key: str) -> dict[str, Any]:
    """Return the Slack metadata by which the bot recognises its own message: its key and its job."""
    return {"event_type": METADATA_EVENT_TYPE, "event_payload": {"key": key, "job": place.job_id}}


def read_key(message: dict[str, Any]) -> str:
    """Return the key in the metadata of the bot's own message; "" if it has none."""
    metadata = message.get("metadata") or {}
    return (
        str(metadata.get("event_payload", {}).get("key", ""))
        if metadata.get("event_type") == METADATA_EVENT_TYPE
        else ""
    )


async def fetch_message(client: AsyncWebClient, channel: str, ts: str) -> dict[str, Any]:
    """Fetch one message with its metadata, outside the budget; {} if it is missing or Slack does not show it."""

    async def read() -> AsyncSlackResponse:
        return await client.conversations_replies(channel=channel, ts=ts, limit=1, include_all_metadata=True)

    try:
        reply = await WebCalls(CallBudget(is_unlimited=True)).make("conversations.replies", read, may_repeat=True)
    except (SlackRefused, NoReply) as error:
        log.info("a message could not be looked at: %s", error)
        return {}
    messages = reply.get("messages") or []
    return next((one for one in messages if isinstance(one, dict) and one.get("ts") == ts), {})


class ThreadLookup:
    """Reads threads to find the bot's own messages.

    Args:
        client: made by `make_client`.
        calls: makes the calls within the budget.
        bot_user_id: the bot's user id, by which its messages are recognised.
        read_waits: seconds to wait before each reading of a thread.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        calls: WebCalls,
        *,
        bot_user_id: str,
        read_waits: Sequence[float] = READ_WAIT_SECONDS,
    ) -> None:
        self._client = client
        self._calls = calls
        self.read_waits = read_waits
        self.bot_user_id = bot_user_id

    async def find_message(self, place: Place, key: str, *, elapsed_seconds: float = 0.0) -> str:
        """Return the id of the message with this key; "" if no reading shows it. Raises OutcomeUnknown.

        `elapsed_seconds`: seconds since the message could have been posted, by which the waits are shortened.
        """
        return await self._find_first(
            place, lambda one: str(one["ts"]) if read_key(one) == key else "", elapsed_seconds
        )

    async def find_file(self, place: Place, file_id: str, *, elapsed_seconds: float = 0.0) -> str:
        """Return the id of a file if the thread shows the file; "" if no reading does. Raises OutcomeUnknown."""

        def match_file(message: dict[str, Any]) -> str:
            return file_id if any(file.get("id") == file_id for file in message.get("files") or ()) else ""

        return await self._find_first(place, match_file, elapsed_seconds)

    async def read_until(self, place: Place, is_enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Read the thread until `is_enough` returns True for its messages, or all readings are done.

        Returns the messages. Raises SlackRefused and NoReply.
        """
        messages: list[dict[str, Any]] = []
        for number, wait in enumerate(self.read_waits, 1):
            await asyncio.sleep(wait)
            try:
                messages = await self.read_thread(place)
            except SlackRefused as error:
                if error.code != THREAD_NOT_FOUND_CODE or number == len(self.read_waits):
                    raise
            if is_enough(messages):
                break
        return messages

    async def _find_first(self, place: Place, match: Callable[[dict[str, Any]], str], elapsed_seconds: float) -> str:
        async for messages in self.reread_thread(place, elapsed_seconds=elapsed_seconds):
            for message in messages:
                if message.get("user") == self.bot_user_id and (found_id := match(message)):
                    return found_id
        return ""

    async def reread_thread(self, place: Place, *, elapsed_seconds: float) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the messages of the thread at each reading, as long as Slack's history may lag. Raises OutcomeUnknown.

        `elapsed_seconds`: seconds by which the waits are shortened. If the last reading gets no reply, up to
            `MAX_FURTHER_READS`
        follow.
        """
        looks = _compute_remaining_waits(self.read_waits, elapsed_seconds)
        for number, wait in enumerate(
            itertools.chain(looks, itertools.repeat(FURTHER_READ_SECONDS, MAX_FURTHER_READS)), 1
        ):
            await asyncio.sleep(wait)
            try:
                messages = await self.read_thread(place)
            except SlackRefused as error:
                if error.code == THREAD_NOT_FOUND_CODE and number < len(looks):
                    continue
                raise OutcomeUnknown(f"whether it was posted cannot be told: {error}") from error
            except NoReply as lost:
                log.warning("job %s: a look into the thread failed: %s", place.job_id, lost)
                continue
            yield messages
            if number >= len(looks):
                return
        raise OutcomeUnknown("whether it was posted cannot be told: Slack does not answer")

    def list_unfinished_streams(
        self, messages: Sequence[dict[str, Any]], record: str, since: float
    ) -> list[dict[str, Any]]:
        """Return the bot's messages that may be a stream which never became an answer, newest first.

        They have neither metadata nor a file, or they have the key `record`. Messages from before `since` (in seconds
        since the epoch) are left out.
        """
        ours = [message for message in messages if message.get("user") == self.bot_user_id]
        bare = [one for one in ours if (not one.get("metadata") and not one.get("files")) or read_key(one) == record]
        return [message for message in reversed(bare) if float(message["ts"]) > since - MAX_CLOCK_SKEW_SECONDS]

    async def read_thread(self, place: Place) -> list[dict[str, Any]]:
        """Read the whole thread, oldest first, with metadata. Raises SlackRefused and NoReply; never returns a part."""
        messages: list[dict[str, Any]] = []
        cursor = ""
        while True:
            data = await self._fetch_replies(place, cursor)
            messages += data.get("messages", [])
            cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return messages

    async def _fetch_replies(self, place: Place, cursor: str) -> dict[str, Any]:
        return await self._calls.make(
            "conversations.replies",
            lambda: self._client.conversations_replies(
                channel=place.channel, ts=place.thread_ts, include_all_metadata=True, limit=200, cursor=cursor or None
            ),
            may_repeat=True,
        )
