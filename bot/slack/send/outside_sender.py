"""Sends messages that a person has approved to places outside of the job's thread, once each.

As in the outbox, the intent is recorded before the call, and Slack's id after it. If the outcome of a call is unknown,
the place is searched for the message's key before the message is sent again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.lookup import OutcomeUnknown, make_metadata, read_key
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.web_calls import NoReply, SlackRefused
from bot.slack.views.outgoing import Outgoing
from bot.store.values import Claim
from handoff.contracts import Place

log = logging.getLogger(__name__)

OUTSIDE_KEY_PREFIX = "sent-elsewhere:"
"""The start of the outbox keys of these messages, which stay when their job is erased."""
TRY_PAUSE_SECONDS = (0.0, 2.0, 5.0)
"""Seconds to wait before each try of a post that got no reply. The call of a tool cannot wait for minutes."""
MAX_PAGES = 20
PAGE_SIZE = 200
"""Messages in one page. If more than `MAX_PAGES` were written since the post was begun, OutcomeUnknown is raised."""
MAX_CLOCK_SKEW_SECONDS = 60.0
"""Seconds by which the search for a message begins before its intent, as Slack's clock may differ from the store's."""


class OutsideSender:
    """Sends messages of one job to other places. `claim` is the right to the job, and `place` the job's thread."""

    def __init__(self, outbox: Outbox, claim: Claim, place: Place) -> None:
        self._outbox = outbox
        self._claim = claim
        self._place = place

    async def post(self, channel: str, key: str, message: Outgoing) -> SentMessage:
        """Post a message into a channel, once. If the result has a `fault`, the message was certainly not posted.

        Raises JobGone, StoreError and OutcomeUnknown.
        """
        since = time.time()
        intent = await self._outbox.record_intent(self._claim, key)
        if intent.ts:
            return SentMessage(intent.ts, is_adopted=True)
        if not intent.is_first:
            elapsed_seconds = await self._outbox.wait_for_earlier_calls(intent)
            if found_ts := await self._find_message(channel, key, intent.began_at, elapsed_seconds):
                return await self._outbox.mark_sent(self._claim, key, found_ts)
        try:
            ts = await self._post_with_retries(channel, key, message, since, intent.began_at)
        except SlackRefused as error:
            return SentMessage("", str(error))
        return await self._outbox.mark_sent(self._claim, key, ts)

    async def look_up(self, channel: str, key: str) -> SentMessage | None:
        """Find the message with a key; None if surely not sent. Raises JobGone, StoreError and OutcomeUnknown."""
        intent = await self._outbox.record_intent(self._claim, key)
        if intent.ts:
            return SentMessage(intent.ts, is_adopted=True)
        if intent.is_first:  # no intent was recorded before, so it was never sent
            return None
        elapsed_seconds = await self._outbox.wait_for_earlier_calls(intent)
        found_ts = await self._find_message(channel, key, intent.began_at, elapsed_seconds)
        return await self._outbox.mark_sent(self._claim, key, found_ts) if found_ts else None

    async def _post_with_retries(self, channel: str, key: str, message: Outgoing, since: float, began_at: float) -> str:
        for pause in TRY_PAUSE_SECONDS:
            await asyncio.sleep(pause)
            try:
                return await self._post_once(channel, key, message, since)
            except NoReply as lost:
                log.warning("job %s: %s; looking for %s", self._place.job_id, lost, key)
                if found_ts := await self._find_message(channel, key, began_at, 0.0):
                    return found_ts
        raise SlackRefused("no_answer", f"it was not seen there after {len(TRY_PAUSE_SECONDS)} tries")

    async def _post_once(self, channel: str, key: str, message: Outgoing, since: float) -> str:
        async def post() -> AsyncSlackResponse:
            await self._outbox.confirm_claim(self._claim, key, since)
            return await self._outbox.client.chat_postMessage(
                channel=channel,
                text=message.text,
                blocks=list(message.blocks),
                metadata=make_metadata(self._place, key),
                unfurl_links=False,
                unfurl_media=False,
            )

        data = await self._outbox.calls.make("chat.postMessage", post, channel=channel, priority=message.priority)
        return str(data["ts"])

    async def _find_message(self, channel: str, key: str, began_at: float, elapsed_seconds: float) -> str:
        """Return the id of the message with this key; "" if no reading shows it. Raises OutcomeUnknown.

        `elapsed_seconds`: seconds since the message could have been posted, by which the waits are shortened.
        """
        looks = self._outbox.lookup.read_waits if elapsed_seconds < sum(self._outbox.lookup.read_waits) else (0.0,)
        for wait in looks:
            await asyncio.sleep(wait)
            try:
                async for one in self._iterate_messages(channel, began_at - MAX_CLOCK_SKEW_SECONDS):
                    if one.get("user") == self._outbox.lookup.bot_user_id and read_key(one) == key:
                        log.info("job %s: %s was there already", self._place.job_id, key, extra={"event": "reconciled"})
                        return str(one["ts"])
            except (SlackRefused, NoReply) as error:
                raise OutcomeUnknown(f"whether it was posted cannot be told: {error}") from error
        return ""

    async def _iterate_messages(self, channel: str, oldest: float) -> AsyncIterator[dict[str, Any]]:
        cursor = ""
        for _ in range(MAX_PAGES):
            data = await self._outbox.calls.make(
                "conversations.history",
                lambda cursor=cursor: self._outbox.client.conversations_history(  # type: ignore[misc]
                    channel=channel,
                    oldest=f"{oldest:.6f}",
                    include_all_metadata=True,
                    limit=PAGE_SIZE,
                    cursor=cursor or None,
                ),
                may_repeat=True,
            )
            for one in data.get("messages", []):
                yield one
            cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return
        raise OutcomeUnknown("whether it was posted cannot be told: too much was written there since")
