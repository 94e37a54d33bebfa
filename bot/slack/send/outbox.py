"""Sends each message of a job once: the intent is recorded before the call, Slack's id after it.

A message carries its key in Slack's message metadata. Where a call was left
in doubt, by a lost reply or by an owner that died, the thread is searched for
the key before anything is sent again.
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
from bot.slack.send.lookup import LOOKS, Lookup, OutcomeUnknown, metadata, read_key
from bot.slack.send.published_limits import Priority
from bot.slack.send.web_calls import CALL_SECONDS, Allowed, CallNeedless, JobGone, NoReply, SlackRefused, WebCalls
from bot.slack.views.outgoing import Outgoing
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Intent
from handoff.contracts import Place
from handoff.summaries.summary import SET_ASIDE, TRIED_ALONE

log = logging.getLogger(__name__)

SENDS = 3
"""Tries to end a stream that nobody recorded."""
PAUSES = (0.0, 0.0, 0.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0, 60.0)
"""Seconds before each try of a post whose outcome Slack does not tell: some minutes in all, as a bad spell of Slack's
takes. A message that is given up never comes: a job would go on without its plan card, or end without its answer."""
FRESH_SECONDS = 2.0
"""Seconds for which an intent speaks for our right to send: after a longer wait (for Slack's limits, or as a frozen
process) the store is asked again."""
BLOCK_ERRORS = frozenset({"msg_too_long", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
"""Slack's words for blocks that it does not take; what is simpler may still go through."""
SIMPLE = frozenset({"markdown", "section", "context", "header", "divider", "actions"})
"""Blocks that every workspace knows. Newer ones, such as the thumbs, may be missing in some."""
STREAM_SUFFIX = ":stream"
"""The end of the key under which the stream of an answer is recorded: the intent before it starts, its id after."""
NOT_STARTED = "none"
"""Recorded as the id of a stream that Slack refused to start."""
NO_STREAM = frozenset({"message_not_found", "message_not_in_streaming_state", "message_not_owned_by_app"})
"""Slack's words for a message that is not being streamed."""


NOT_ALLOWED_ELSEWHERE = "it would have gone outside of its job's thread, which nobody allowed"
"""Said of what a job would post in another place: see `handoff.access.rights` for what may go there."""


Drawable = Outgoing | Callable[[], Outgoing]
"""A message, or what draws it once its turn has come: it shows what is true then."""
DrawSimpler = Callable[[], Awaitable[Outgoing]]
NO_LONGER_TRUE = "what it was to show was over before its turn came"


@dataclass(frozen=True, slots=True)
class SentMessage:
    """The place of a message: its Slack id, or (with an empty id) why it can never be there.

    `adopted`: it was there before, as somebody drew it then.
    """

    ts: str
    fault: str = ""
    adopted: bool = False


class Outbox:
    """The way out for everything that people must see once.

    Args:
        client: made by `make_client`, without retries of its own.
        store: records intents and ids.
        budget: keeps within Slack's limits.
        bot_user_id: tells our own messages from others'.
        looks: seconds to wait before each look for a message in doubt.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        store: Store,
        budget: CallBudget,
        *,
        bot_user_id: str,
        looks: Sequence[float] = LOOKS,
    ) -> None:
        self.client = client
        self.calls = WebCalls(budget)
        self.store = store
        self.lookup = Lookup(client, self.calls, bot_user_id=bot_user_id, looks=looks)

    async def post(
        self,
        claim: Claim,
        place: Place,
        key: str,
        message: Drawable,
        *,
        needless: asyncio.Event | None = None,
        simpler: DrawSimpler | None = None,
    ) -> SentMessage:
        """Put a message into the thread, once. Raises JobGone if the job is no longer ours.

        `needless`: the message is left out if this is set while it waits for its turn. `simpler` gives what is sent if
        Slack does not take the message.
        """
        if place.job_id != claim.key.job:
            return SentMessage("", NOT_ALLOWED_ELSEWHERE)
        since = time.time()
        intent = await self.begin(claim, key)
        if intent.ts:
            return SentMessage(intent.ts, adopted=True)
        since = since if intent.first else 0.0  # the store knows the time of an earlier owner
        try:
            if not intent.first and (found := await self.find_earlier(place, key, intent)):
                await self.mark_sent(claim, key, found)
                return SentMessage(found, adopted=True)
            ts = await self.send(claim, place, key, message, since=since, needless=needless, simpler=simpler)
        except CallNeedless:
            return SentMessage("", NO_LONGER_TRUE)
        except (SlackRefused, OutcomeUnknown) as error:
            return SentMessage("", str(error))
        return await self.mark_sent(claim, key, ts)

    async def begin(self, claim: Claim, key: str, *, sender: str = "") -> Intent:
        """Record that a message is about to be sent. Raises JobGone.

        The intent is `first` for the owner that recorded it; if an owner has several senders, for one `sender` alone.
        """
        operation = f"{claim.owner}:{claim.epoch}:{key}:{sender}"
        progress = not key.startswith((SET_ASIDE, TRIED_ALONE))
        intent = await self.store.outbox.begin(claim, key, operation, progress=progress)
        if intent is None:
            raise JobGone(key)
        return intent

    async def record_draft(self, claim: Claim, key: str, draft: str) -> None:
        """Record the id of what was begun and is not finished. Raises JobGone."""
        if not await self.store.outbox.note_draft(claim, key, draft):
            raise JobGone(key)

    async def mark_sent(self, claim: Claim, key: str, ts: str) -> SentMessage:
        """Record where the message is. Raises JobGone."""
        if not await self.store.outbox.note_finished(claim, key, ts):
            raise JobGone(key)
        return SentMessage(ts)

    def make_claim_check(self, claim: Claim) -> Allowed:
        """Return a check that asks the store, each time, if this claim still has its job: for rare or late calls."""

        async def holds() -> bool:
            head = await self.store.jobs.head(claim.key)
            return head is not None and head.owner == claim.owner

        return holds

    async def confirm_claim(self, claim: Claim, key: str, since: float) -> None:
        """Tell the store that a message is sent now, if it last said long ago (`since`, s since the epoch) that we may.

        Whoever takes over looks for it as long as a message sent just then may take to be seen. Raises JobGone.
        """
        if abs(time.time() - since) > FRESH_SECONDS and not await self.store.outbox.note_sending(claim, key):
            raise JobGone(key)

    async def send(
        self,
        claim: Claim,
        place: Place,
        key: str,
        message: Drawable,
        *,
        since: float,
        needless: asyncio.Event | None = None,
        simpler: DrawSimpler | None = None,
    ) -> str:
        """Post, and after each doubt look before posting again. Raises SlackRefused, OutcomeUnknown and JobGone.

        `since`: when the store last said that the job is ours, in seconds since the epoch. Returns the id.
        Raises CallNeedless as well.
        """
        for pause in PAUSES:
            await asyncio.sleep(pause)
            try:
                return await self._post_once(claim, place, key, message, since, needless)
            except NoReply as lost:
                log.warning("job %s: %s; looking for %s", place.job_id, lost, key)
                if found := await self.find(place, key):
                    return found
            except SlackRefused as error:
                message = message if isinstance(message, Outgoing) else message()
                if error.code not in BLOCK_ERRORS or not message.blocks:
                    raise
                log.warning("job %s: %s; it goes out in a simpler form", place.job_id, error)
                message, simpler = await simpler() if simpler is not None else _simplify_message(message), None
        raise SlackRefused("no_answer", f"the message was not seen in the thread after {len(PAUSES)} tries")

    async def _post_once(
        self,
        claim: Claim,
        place: Place,
        key: str,
        message: Drawable,
        since: float,
        needless: asyncio.Event | None = None,
    ) -> str:
        async def post() -> AsyncSlackResponse:
            await self.confirm_claim(claim, key, since)
            drawn = message if isinstance(message, Outgoing) else message()
            return await self.client.chat_postMessage(
                channel=place.channel,
                thread_ts=place.thread_ts,
                text=drawn.text,
                blocks=list(drawn.blocks) or None,
                metadata=metadata(place, key),
                unfurl_links=False,
                unfurl_media=False,
            )

        priority = message.priority if isinstance(message, Outgoing) else "card"
        data = await self.calls.make(
            "chat.postMessage", post, channel=place.channel, priority=priority, needless=needless
        )
        return str(data["ts"])

    async def update(
        self,
        place: Place,
        ts: str,
        message: Drawable,
        *,
        allowed: Allowed | None,
        priority: Priority | None = None,
        needless: asyncio.Event | None = None,
    ) -> bool:
        """Edit a message in place; drawing the same twice does no harm. False if Slack refuses for good.

        `priority` is the message's own unless given. Raises JobGone where it is not `allowed`, and CallNeedless.
        """

        async def edit() -> AsyncSlackResponse:
            drawn = message if isinstance(message, Outgoing) else message()
            return await self.client.chat_update(
                channel=place.channel, ts=ts, text=drawn.text, blocks=list(drawn.blocks)
            )

        try:
            await self.calls.make(
                "chat.update",
                edit,
                channel=place.channel,
                priority=priority or (message.priority if isinstance(message, Outgoing) else "card"),
                again=True,
                allowed=allowed,
                needless=needless,
            )
        except (SlackRefused, NoReply) as error:
            log.warning("job %s: the card was not edited: %s", place.job_id, error)
            return False
        return True

    async def find_earlier(self, place: Place, key: str, intent: Intent) -> str:
        """Find the id of the message that an earlier owner may have posted; empty if none. Raises OutcomeUnknown."""
        return await self.find(place, key, waited=await self.wait_for_calls(intent))

    async def wait_for_calls(self, intent: Intent) -> float:
        """Wait until no call of an earlier owner can be under way any more. Gives the seconds since that was so."""
        over = await self.store.now() - max(intent.began, intent.sent) - CALL_SECONDS
        await asyncio.sleep(max(0.0, -over))
        return max(0.0, over)

    async def find(self, place: Place, key: str, *, waited: float = 0.0) -> str:
        """Find the id of the message that carries this key, as `Lookup.message` does."""
        found = await self.lookup.message(place, key, waited=waited)
        if found:
            log.info("job %s: %s was there already", place.job_id, key, extra={"event": "reconciled"})
        return found

    async def clear_stream(self, claim: Claim, place: Place, key: str, *, allowed: Allowed, ts: str = "") -> None:
        """Take away what was streamed of the answer `key` and did not become it, whichever owner began it.

        Every end of a request does this, and it may be repeated. Raises JobGone and StoreError.

        Args:
            claim: The right to the job.
            place: Its thread.
            key: The answer's.
            allowed: Asked before each call.
            ts: The id of the stream, if this owner knows it.
        """
        records = await self.store.outbox.messages(claim.key)
        begun, answer = records.get(key + STREAM_SUFFIX), records.get(key)
        if begun is not None and begun.ts == NOT_STARTED:
            return
        # Releases before this one recorded it beside the answer: what they left at an upgrade goes as well.
        drafts = [one.draft_ts for one in (begun, answer) if one is not None and one.draft_ts] or [ts]
        if drafts[0]:
            if answer is None or answer.ts != drafts[0]:
                await self.delete(place, drafts[0], allowed=allowed)
            return
        if begun is None:
            return
        try:
            await self._clear_unrecorded(place, key + STREAM_SUFFIX, begun, allowed)
        except (SlackRefused, NoReply, OutcomeUnknown) as error:
            log.warning("job %s: an unfinished answer may be left in the thread: %s", place.job_id, error)

    async def clear_streams(self, claim: Claim, place: Place, *, allowed: Allowed) -> None:
        """Clear the streams of all answers of a job that are not in the thread yet. Raises JobGone and StoreError."""
        records = await self.store.outbox.messages(claim.key)
        for key in (name.removesuffix(STREAM_SUFFIX) for name in records if name.endswith(STREAM_SUFFIX)):
            if key not in records or not records[key].ts:
                await self.clear_stream(claim, place, key, allowed=allowed)

    async def _clear_unrecorded(self, place: Place, record: str, begun: Intent, allowed: Allowed) -> None:
        """Find the stream that was about to be started when its owner died, or whose start was left without a reply.

        It is a message of ours without a key that Slack calls a stream, or lets us end as one. Slack ends streams by
        itself too: after minutes, and when a person presses Stop. Other messages without a key are left alone.
        """
        waited = await self.wait_for_calls(begun)
        async for messages in self.lookup.iterate_looks(place, waited=waited):
            for message in self.lookup.list_half_written(messages, record, begun.began):
                ts = str(message["ts"])
                is_stream = read_key(message) or message.get("streaming_state")
                if is_stream or await self._end_now(place, ts, record, allowed):
                    await self.delete(place, ts, allowed=allowed)
                    return

    async def _end_now(self, place: Place, ts: str, record: str, allowed: Allowed) -> bool:
        """End a stream, under a key of its own. False if there is none. Raises SlackRefused, NoReply and JobGone."""
        lost = False
        for _ in range(SENDS):
            try:
                await self.calls.make(
                    "chat.stopStream",
                    lambda: self.client.chat_stopStream(channel=place.channel, ts=ts, metadata=metadata(place, record)),
                    allowed=allowed,
                )
            except NoReply:
                lost = True
            except SlackRefused as error:
                if error.code in NO_STREAM:  # unless the call before ended it, and its answer was lost
                    return lost and await self.find(place, record) == ts
                raise
            else:
                return True
        raise NoReply("chat.stopStream: no answer")

    async def delete(self, place: Place, ts: str, *, allowed: Allowed | None) -> None:
        """Take a half-written message out of the thread. Raises JobGone where it is not `allowed` any more."""
        for pause in PAUSES:
            await asyncio.sleep(pause)
            try:
                await self.calls.make(
                    "chat.delete",
                    lambda: self.client.chat_delete(channel=place.channel, ts=ts),
                    again=True,
                    allowed=allowed,
                )
            except NoReply:
                continue
            except SlackRefused as error:
                if error.code != "message_not_found":
                    log.warning("job %s: the unfinished message %s stays: %s", place.job_id, ts, error)
            return
        log.warning("job %s: the unfinished message %s stays: Slack does not answer", place.job_id, ts)


def _simplify_message(message: Outgoing) -> Outgoing:
    """Leave out of a message the blocks that not every workspace knows; if it has none, all but its text."""
    kept = tuple(block for block in message.blocks if block["type"] in SIMPLE)
    return replace(message, blocks=kept if len(kept) < len(message.blocks) else ())
