"""Streams an answer into the thread while it is written, with Slack's streaming methods.

Streaming is an extra: if it fails, the answer is posted whole. A stream gets its key only when it ends, as Slack takes
none at its start. So its intent is recorded before it starts, and a stream that did not become the answer is deleted at
the end of the request, by `Outbox.clear_stream`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Collection, Sequence
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.lookup import OutcomeUnknown, make_metadata
from bot.slack.send.outbox import NOT_STARTED_MARK, STREAM_SUFFIX, Outbox, SentMessage
from bot.slack.send.web_calls import JobGone, NoReply, OutdatedCall, PermissionCheck, SlackRefused
from bot.slack.text.cleaning import StreamCleaner
from bot.slack.views.outgoing import Outgoing
from bot.store.values import Claim, StoreError
from handoff.contracts import Place

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.4
"""Seconds before a stream is started, and between two pieces. An answer that is complete sooner is just posted."""
MAX_STREAM_CHARACTERS = 11_000
"""Maximum number of characters of a streamed answer; a longer one is posted in parts instead."""


class AnswerStream:
    """The stream of one answer. `write` never waits for Slack. Nothing is sent once `check_allowed` returns False.

    `reader` is the id of the requester. `known` are the addresses that may become links.
    """

    def __init__(
        self,
        outbox: Outbox,
        claim: Claim,
        place: Place,
        key: str,
        *,
        reader: str,
        check_allowed: PermissionCheck,
        known_addresses: Collection[str] = (),
    ) -> None:
        self._outbox = outbox
        self._check_allowed = check_allowed
        self._claim = claim
        self._place = place
        self._key = key
        self._reader = reader
        self._cleaner = StreamCleaner(known_addresses=known_addresses)
        self._buffer = ""
        self._model_text = ""
        self._length = 0
        self._id = secrets.token_hex(4)
        self.ts = ""
        """The Slack id of the message; empty before it is started."""
        self._is_broken = False
        self._closing = asyncio.Event()
        self._never_wait = asyncio.Event()  # always set: a stream is an extra and waits for no turn
        self._never_wait.set()
        self._pump: asyncio.Task[None] | None = None

    async def write(self, text: str) -> None:
        """Take the next piece of the model's text."""
        self._model_text += text
        self._buffer += self._cleaner.feed(text)
        if self._pump is None and not self._is_broken:
            self._pump = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Send the gathered text at intervals, until the stream is closed or broken."""
        try:
            while not await self._wait_for_close(FLUSH_SECONDS):
                if self._buffer:
                    await self._flush()
        except (SlackRefused, NoReply, JobGone, StoreError, OutdatedCall) as error:
            log.info("job %s: the answer is not streamed: %s", self._place.job_id, error)
            self._is_broken = True
        except Exception:
            log.exception("job %s: streaming broke; the answer is posted whole", self._place.job_id)
            self._is_broken = True

    async def _wait_for_close(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        return self._closing.is_set()

    async def _flush(self) -> None:
        piece, self._buffer = self._buffer, ""
        self._length += len(piece)
        if self._length > MAX_STREAM_CHARACTERS:
            raise SlackRefused("msg_too_long", "the answer goes out in parts")
        if self.ts:
            await self._append(piece)
        else:
            await self._start(piece)

    async def _start(self, piece: str) -> None:
        """Start the stream with a piece of the answer. Raises SlackRefused if the answer's stream was started before.

        Raises the errors of `WebCalls.make` too, JobGone, and StoreError.
        """
        record = self._key + STREAM_SUFFIX
        if not (await self._outbox.record_intent(self._claim, record, sender=self._id)).is_first:
            raise SlackRefused("already_begun", "an earlier owner, or an earlier try, began this answer")
        since = time.time()

        async def start() -> AsyncSlackResponse:
            await self._outbox.confirm_claim(self._claim, record, since)
            return await self._outbox.client.chat_startStream(
                channel=self._place.channel,
                thread_ts=self._place.thread_ts,
                markdown_text=piece,
                recipient_team_id=self._place.team,
                recipient_user_id=self._reader,
            )

        try:
            data = await self._outbox.calls.make(
                "chat.startStream", start, priority="stream", cancel_event=self._never_wait
            )
        except (SlackRefused, OutdatedCall):
            await self._outbox.mark_sent(self._claim, record, NOT_STARTED_MARK)
            raise
        self.ts = str(data["ts"])
        try:
            await self._outbox.record_draft(self._claim, record, self.ts)
        except JobGone:  # another owner may have ended the request and found no stream to delete
            await self._outbox.delete_message(self._place, self.ts, check_allowed=None)
            raise

    async def _append(self, piece: str) -> None:
        """Append a piece to the stream. If there is no turn for it now, it is sent with a later piece."""
        try:
            await self._outbox.calls.make(
                "chat.appendStream",
                lambda: self._outbox.client.chat_appendStream(
                    channel=self._place.channel, ts=self.ts, markdown_text=piece
                ),
                priority="stream",
                check_allowed=self._check_allowed,
                cancel_event=self._never_wait,
            )
        except OutdatedCall:
            self._buffer = piece + self._buffer
            self._length -= len(piece)

    async def finish(
        self, answer: str, parts: Sequence[Outgoing], closing: Sequence[dict[str, Any]], *, status: str = ""
    ) -> SentMessage | None:
        """End the stream with the rest of the answer and the `closing` blocks. None: the answer must be posted instead.

        `answer` is the whole text. It must be posted if streaming failed, if it does not begin with the streamed text
        (the model's reply was cut off or started again), or if it is too long for one message (`parts`). `status`
        becomes the status of the thread's session; "" leaves it as it is. Raises JobGone if the job is no longer ours.
        """
        await self.stop_sending()
        if not self.ts and (self._is_broken or len(parts) > 1 or not await self._try_reserve_stream()):
            return None
        streamed_text = self._model_text.strip()
        goes_on = answer.strip().startswith(streamed_text)
        rest = (
            self._buffer
            + self._cleaner.feed(answer.strip()[len(streamed_text) :] if goes_on else "")
            + self._cleaner.finish()
        )
        if not goes_on or self._is_broken or self._length + len(rest) > MAX_STREAM_CHARACTERS or len(parts) > 1:
            return None
        try:
            if not self.ts:
                await self._start(rest)
                rest = ""
            await self._outbox.record_intent(self._claim, self._key)
            await self._stop(rest, closing, status)
        except OutdatedCall:
            return None
        except SlackRefused as error:
            log.info("job %s: the stream could not be closed: %s", self._place.job_id, error)
            return None
        except NoReply:
            if not self.ts or not await self._has_ended():
                return None
        return await self._outbox.mark_sent(self._claim, self._key, self.ts)

    async def _try_reserve_stream(self) -> bool:
        """Reserve the stream's last call if other messages wait there. Returns False if none do, or no turn is free."""
        budget, channel = self._outbox.calls.budget, self._place.channel
        return budget.has_waiting_calls("chat.postMessage", channel) and await budget.try_reserve_turn(
            "chat.stopStream"
        )

    async def _stop(self, rest: str, closing: Sequence[dict[str, Any]], status: str) -> None:
        await self._outbox.calls.make(
            "chat.stopStream",
            lambda: self._outbox.client.chat_stopStream(
                channel=self._place.channel,
                ts=self.ts,
                markdown_text=rest or None,
                blocks=list(closing),
                metadata=make_metadata(self._place, self._key),
                session_status=status or None,
            ),
            check_allowed=self._check_allowed,
        )

    async def _has_ended(self) -> bool:
        """Return True if the stream was ended although the reply was lost; False also if that is unknown."""
        try:
            return bool(await self._outbox.find_message(self._place, self._key))
        except OutcomeUnknown:
            return False

    async def stop_sending(self) -> None:
        """Stop sending, after waiting for the piece that is being sent."""
        self._closing.set()
        if self._pump is not None:
            await asyncio.gather(self._pump, return_exceptions=True)

    def abandon(self) -> None:
        """Stop sending, without waiting. The message is left to `Outbox.clear_stream`."""
        self._is_broken = True
        self._closing.set()
