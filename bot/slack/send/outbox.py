"""Sends each message of a job once: the intent is recorded before the call, Slack's id after it.

A message carries its key in Slack's message metadata. If the outcome of a call is unknown, because the reply was lost
or the owner died, the thread is searched for the key before the message is sent again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.budget import CallBudget
from bot.slack.send.lookup import READ_WAIT_SECONDS, OutcomeUnknown, ThreadLookup, make_metadata, read_key
from bot.slack.send.published_limits import Priority
from bot.slack.send.web_calls import (
    CALL_TIMEOUT_SECONDS,
    JobGone,
    NoReply,
    OutdatedCall,
    PermissionCheck,
    SlackRefused,
    WebCalls,
)
from bot.slack.views.outgoing import Outgoing
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Intent
from handoff.contracts import Place
from handoff.summaries.summary import QUARANTINE_KEY_PREFIX, TRIAL_KEY_PREFIX

log = logging.getLogger(__name__)

MAX_STOP_TRIES = 3
"""Maximum number of tries to end a stream whose id was not recorded."""
TRY_PAUSE_SECONDS = (0.0, 0.0, 0.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0, 60.0)
"""Seconds to wait before each try of a post that got no reply: some minutes in all, as long as an outage of Slack's
may take. After the last try the message is given up: a job then goes on without its plan card, or ends without its
answer."""
CLAIM_FRESH_SECONDS = 2.0
"""Seconds for which a recorded intent proves that we may send. After a longer wait (for Slack's limits, or in a frozen
process) the store is asked again."""
REFUSED_BLOCKS_CODES = frozenset({"msg_too_long", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
"""Slack's error codes for blocks that it refuses; a simpler message may still be accepted."""
SIMPLE_BLOCKS = frozenset({"markdown", "section", "context", "header", "divider", "actions"})
"""The types of blocks that every workspace accepts. Some workspaces lack newer ones, such as the thumbs."""
STREAM_SUFFIX = ":stream"
"""The end of the key under which the stream of an answer is recorded: the intent before it starts, its id after."""
NOT_STARTED_MARK = "none"
"""Recorded in place of the id of a stream that Slack refused to start."""
NOT_STREAMING_CODES = frozenset({"message_not_found", "message_not_in_streaming_state", "message_not_owned_by_app"})
"""Slack's error codes for a message that is not being streamed."""


NOT_ALLOWED_FAULT = "it would have gone outside of its job's thread, which nobody allowed"
"""The fault of a message that would be posted outside of its job's thread. `handoff.access.rights` says what may be."""


MessageOrDraw = Outgoing | Callable[[], Outgoing]
"""A message, or a function that draws it when its turn has come, so that it shows the state at that time."""
DrawSimpler = Callable[[], Awaitable[Outgoing]]
OUTDATED_FAULT = "what it was to show was over before its turn came"


@dataclass(frozen=True, slots=True)
class SentMessage:
    """The outcome of sending a message, a file or a row."""

    ts: str
    """Its Slack id; "" if it was not sent and will not be."""
    fault: str = ""
    """Why it was not sent; "" if it was."""
    is_adopted: bool = False
    """True if an earlier call had sent it, so that it may show an older state."""


class Outbox:
    """Sends the messages that people must see exactly once.

    Args:
        client: made by `make_client`, without retries of its own.
        store: records intents and ids.
        budget: keeps the calls within Slack's limits.
        bot_user_id: the bot's user id, by which its own messages are recognised.
        read_waits: seconds to wait before each reading of a thread for a message whose outcome is unknown.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        store: Store,
        budget: CallBudget,
        *,
        bot_user_id: str,
        read_waits: Sequence[float] = READ_WAIT_SECONDS,
    ) -> None:
        self.client = client
        self.calls = WebCalls(budget)
        self.store = store
        self.lookup = ThreadLookup(client, self.calls, bot_user_id=bot_user_id, read_waits=read_waits)

    async def post(
        self,
        claim: Claim,
        place: Place,
        key: str,
        message: MessageOrDraw,
        *,
        cancel_event: asyncio.Event | None = None,
        draw_simpler: DrawSimpler | None = None,
    ) -> SentMessage:
        """Post a message into the thread, once. Raises JobGone if the job is no longer ours.

        If `cancel_event` is set while the message waits for its turn, the message is left out. If Slack refuses its
        blocks, the message that `draw_simpler` makes is sent instead.
        """
        if place.job_id != claim.key.job:
            return SentMessage("", NOT_ALLOWED_FAULT)
        since = time.time()
        intent = await self.record_intent(claim, key)
        if intent.ts:
            return SentMessage(intent.ts, is_adopted=True)
        since = since if intent.is_first else 0.0  # 0.0: the claim is confirmed before the call
        try:
            if not intent.is_first and (found_ts := await self.find_earlier_post(place, key, intent)):
                await self.mark_sent(claim, key, found_ts)
                return SentMessage(found_ts, is_adopted=True)
            ts = await self.post_with_retries(
                claim, place, key, message, confirmed_at=since, cancel_event=cancel_event, draw_simpler=draw_simpler
            )
        except OutdatedCall:
            return SentMessage("", OUTDATED_FAULT)
        except (SlackRefused, OutcomeUnknown) as error:
            return SentMessage("", str(error))
        return await self.mark_sent(claim, key, ts)

    async def record_intent(self, claim: Claim, key: str, *, sender: str = "") -> Intent:
        """Record that a message is about to be sent. Raises JobGone.

        `is_first` of the intent is True only for the owner that recorded it first and, if this owner has several
        senders, only for the `sender` that did.
        """
        operation = f"{claim.owner}:{claim.epoch}:{key}:{sender}"
        progress = not key.startswith((QUARANTINE_KEY_PREFIX, TRIAL_KEY_PREFIX))
        intent = await self.store.outbox.record_intent(claim, key, operation, is_progress=progress)
        if intent is None:
            raise JobGone(key)
        return intent

    async def record_draft(self, claim: Claim, key: str, draft: str) -> None:
        """Record the id of a message, file or canvas that is not finished yet. Raises JobGone."""
        if not await self.store.outbox.record_draft(claim, key, draft):
            raise JobGone(key)

    async def mark_sent(self, claim: Claim, key: str, ts: str) -> SentMessage:
        """Record the Slack id of what was sent. Raises JobGone."""
        if not await self.store.outbox.record_sent_message(claim, key, ts):
            raise JobGone(key)
        return SentMessage(ts)

    def make_claim_check(self, claim: Claim) -> PermissionCheck:
        """Return a function that tells whether this claim still holds, by asking the store each time.

        Use it for requests to Slack that are rare, or made long after the claim was confirmed last.
        """

        async def holds_claim() -> bool:
            head = await self.store.jobs.read_head(claim.key)
            return head is not None and head.owner == claim.owner

        return holds_claim

    async def confirm_claim(self, claim: Claim, key: str, confirmed_at: float) -> None:
        """Record that a message is sent now, if the claim was confirmed more than `CLAIM_FRESH_SECONDS` ago.

        `confirmed_at` is the time of that confirmation, in seconds since the epoch. The record tells a later owner how
        long to search for the message. Raises JobGone.
        """
        if abs(time.time() - confirmed_at) > CLAIM_FRESH_SECONDS and not await self.store.outbox.record_sending(
            claim, key
        ):
            raise JobGone(key)

    async def post_with_retries(
        self,
        claim: Claim,
        place: Place,
        key: str,
        message: MessageOrDraw,
        *,
        confirmed_at: float,
        cancel_event: asyncio.Event | None = None,
        draw_simpler: DrawSimpler | None = None,
    ) -> str:
        """Post a message and return its id. After a lost reply, the thread is searched before the next try.

        `confirmed_at`: the time at which the store last confirmed the claim, in seconds since the epoch.

        Raises SlackRefused, OutcomeUnknown, JobGone and OutdatedCall.
        """
        for pause in TRY_PAUSE_SECONDS:
            await asyncio.sleep(pause)
            try:
                return await self._post_once(claim, place, key, message, confirmed_at, cancel_event)
            except NoReply as lost:
                log.warning("job %s: %s; looking for %s", place.job_id, lost, key)
                if found_ts := await self.find_message(place, key):
                    return found_ts
            except SlackRefused as error:
                message = message if isinstance(message, Outgoing) else message()
                if error.code not in REFUSED_BLOCKS_CODES or not message.blocks:
                    raise
                log.warning("job %s: %s; it goes out in a simpler form", place.job_id, error)
                message, draw_simpler = (
                    await draw_simpler() if draw_simpler is not None else _simplify_message(message),
                    None,
                )
        raise SlackRefused("no_answer", f"the message was not seen in the thread after {len(TRY_PAUSE_SECONDS)} tries")

    async def _post_once(
        self,
        claim: Claim,
        place: Place,
        key: str,
        message: MessageOrDraw,
        confirmed_at: float,
        cancel_event: asyncio.Event | None = None,
    ) -> str:
        async def post() -> AsyncSlackResponse:
            await self.confirm_claim(claim, key, confirmed_at)
            drawn_message = message if isinstance(message, Outgoing) else message()
            return await self.client.chat_postMessage(
                channel=place.channel,
                thread_ts=place.thread_ts,
                text=drawn_message.text,
                blocks=list(drawn_message.blocks) or None,
                metadata=make_metadata(place, key),
                unfurl_links=False,
                unfurl_media=False,
            )

        priority = message.priority if isinstance(message, Outgoing) else "card"
        data = await self.calls.make(
            "chat.postMessage", post, channel=place.channel, priority=priority, cancel_event=cancel_event
        )
        return str(data["ts"])

    async def edit_message(
        self,
        place: Place,
        ts: str,
        message: MessageOrDraw,
        *,
        check_allowed: PermissionCheck | None,
        priority: Priority | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> bool:
        """Edit a message. Returns False if Slack refuses or does not answer.

        Without a `priority`, that of the message is used, or `card` if the message is drawn later. Raises JobGone if
        `check_allowed` returns False, and OutdatedCall if `cancel_event` is set before its turn.
        """

        async def edit() -> AsyncSlackResponse:
            drawn_message = message if isinstance(message, Outgoing) else message()
            return await self.client.chat_update(
                channel=place.channel, ts=ts, text=drawn_message.text, blocks=list(drawn_message.blocks)
            )

        try:
            await self.calls.make(
                "chat.update",
                edit,
                channel=place.channel,
                priority=priority or (message.priority if isinstance(message, Outgoing) else "card"),
                may_repeat=True,
                check_allowed=check_allowed,
                cancel_event=cancel_event,
            )
        except (SlackRefused, NoReply) as error:
            log.warning("job %s: the card was not edited: %s", place.job_id, error)
            return False
        return True

    async def find_earlier_post(self, place: Place, key: str, intent: Intent) -> str:
        """Return the id of the message if an earlier owner posted it, otherwise "". Raises OutcomeUnknown."""
        return await self.find_message(place, key, elapsed_seconds=await self.wait_for_earlier_calls(intent))

    async def wait_for_earlier_calls(self, intent: Intent) -> float:
        """Wait until no call of an earlier owner can still be under way. Returns the seconds passed since then."""
        over = await self.store.read_time() - max(intent.began_at, intent.sent_at) - CALL_TIMEOUT_SECONDS
        await asyncio.sleep(max(0.0, -over))
        return max(0.0, over)

    async def find_message(self, place: Place, key: str, *, elapsed_seconds: float = 0.0) -> str:
        """Return the id of the message with this key; "" if it is not in the thread. Raises OutcomeUnknown."""
        found_ts = await self.lookup.find_message(place, key, elapsed_seconds=elapsed_seconds)
        if found_ts:
            log.info("job %s: %s was there already", place.job_id, key, extra={"event": "reconciled"})
        return found_ts

    async def clear_stream(
        self, claim: Claim, place: Place, key: str, *, check_allowed: PermissionCheck, ts: str = ""
    ) -> None:
        """Delete the stream of an answer if it did not become the answer, whichever owner started it.

        It is called at each end of a request, and may be repeated. Raises JobGone and StoreError.

        Args:
            claim: The right to the job.
            place: The thread of the job.
            key: The key of the answer.
            check_allowed: Asked before each call.
            ts: The id of the stream, if this owner knows it.
        """
        records = await self.store.outbox.read_messages(claim.key)
        stream_intent, answer = records.get(key + STREAM_SUFFIX), records.get(key)
        if stream_intent is not None and stream_intent.ts == NOT_STARTED_MARK:
            return
        # Earlier releases recorded the stream in the entry of the answer: one left by an upgrade is deleted too.
        drafts = [one.draft_ts for one in (stream_intent, answer) if one is not None and one.draft_ts] or [ts]
        if drafts[0]:
            if answer is None or answer.ts != drafts[0]:
                await self.delete_message(place, drafts[0], check_allowed=check_allowed)
            return
        if stream_intent is None:
            return
        try:
            await self._clear_unrecorded_stream(place, key + STREAM_SUFFIX, stream_intent, check_allowed)
        except (SlackRefused, NoReply, OutcomeUnknown) as error:
            log.warning("job %s: an unfinished answer may be left in the thread: %s", place.job_id, error)

    async def clear_streams(self, claim: Claim, place: Place, *, check_allowed: PermissionCheck) -> None:
        """Delete the streams of a job's answers that were not posted. Raises JobGone and StoreError."""
        records = await self.store.outbox.read_messages(claim.key)
        for key in (name.removesuffix(STREAM_SUFFIX) for name in records if name.endswith(STREAM_SUFFIX)):
            if key not in records or not records[key].ts:
                await self.clear_stream(claim, place, key, check_allowed=check_allowed)

    async def _clear_unrecorded_stream(
        self, place: Place, record: str, intent: Intent, check_allowed: PermissionCheck
    ) -> None:
        """Find and delete a stream whose id was not recorded: its owner died, or the reply to its start was lost.

        It is a message of ours without a key that Slack reports as a stream, or lets us end as one. Slack ends streams
        by itself too: after minutes, and when a person presses Stop. Other messages without a key are left alone.
        """
        elapsed_seconds = await self.wait_for_earlier_calls(intent)
        async for messages in self.lookup.reread_thread(place, elapsed_seconds=elapsed_seconds):
            for message in self.lookup.list_unfinished_streams(messages, record, intent.began_at):
                ts = str(message["ts"])
                is_stream = read_key(message) or message.get("streaming_state")
                if is_stream or await self._end_stream(place, ts, record, check_allowed):
                    await self.delete_message(place, ts, check_allowed=check_allowed)
                    return

    async def _end_stream(self, place: Place, ts: str, record: str, check_allowed: PermissionCheck) -> bool:
        """End a stream and give its message the key `record`. Returns False if the message is no stream.

        Raises SlackRefused, NoReply and JobGone.
        """
        is_reply_lost = False
        for _ in range(MAX_STOP_TRIES):
            try:
                await self.calls.make(
                    "chat.stopStream",
                    lambda: self.client.chat_stopStream(
                        channel=place.channel, ts=ts, metadata=make_metadata(place, record)
                    ),
                    check_allowed=check_allowed,
                )
            except NoReply:
                is_reply_lost = True
            except SlackRefused as error:
                if error.code in NOT_STREAMING_CODES:  # an earlier call may have ended it, without a reply
                    return is_reply_lost and await self.find_message(place, record) == ts
                raise
            else:
                return True
        raise NoReply("chat.stopStream: no answer")

    async def delete_message(self, place: Place, ts: str, *, check_allowed: PermissionCheck | None) -> None:
        """Delete an unfinished message, or log why it stays. Raises JobGone if `check_allowed` returns False."""
        for pause in TRY_PAUSE_SECONDS:
            await asyncio.sleep(pause)
            try:
                await self.calls.make(
                    "chat.delete",
                    lambda: self.client.chat_delete(channel=place.channel, ts=ts),
                    may_repeat=True,
                    check_allowed=check_allowed,
                )
            except NoReply:
                continue
            except SlackRefused as error:
                if error.code != "message_not_found":
                    log.warning("job %s: the unfinished message %s stays: %s", place.job_id, ts, error)
            return
        log.warning("job %s: the unfinished message %s stays: Slack does not answer", place.job_id, ts)


def _simplify_message(message: Outgoing) -> Outgoing:
    """Return a message with its `SIMPLE_BLOCKS` alone; without any blocks if it has no others."""
    kept_blocks = tuple(block for block in message.blocks if block["type"] in SIMPLE_BLOCKS)
    return replace(message, blocks=kept_blocks if len(kept_blocks) < len(message.blocks) else ())
