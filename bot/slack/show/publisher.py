"""Publishes the artifacts of specialists, once each: files in the thread, and canvases with a link to them.

The id of an uploaded file or canvas is recorded before anybody can see it. A new owner of the job continues with that
id, so that it cannot pick another file of the same name.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.outbox import TRY_PAUSE_SECONDS, Outbox, SentMessage
from bot.slack.send.web_calls import NoReply, SlackRefused
from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.outgoing import Outgoing
from bot.store.values import Claim
from handoff.contracts import Artifact, Place

log = logging.getLogger(__name__)

ALT_TEXT_LIMIT = 1000
"""Maximum number of characters of a picture's alternative text, which screen readers read out."""


class ArtifactPublisher:
    """Publishes artifacts in threads, and records them in the outbox."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._client = outbox.client
        self._calls = outbox.calls

    async def publish_file(self, claim: Claim, place: Place, key: str, artifact: Artifact, data: bytes) -> SentMessage:
        """Upload a file and share it in the thread, once. `SentMessage.ts` is the file's id. Raises JobGone."""
        intent = await self._outbox.record_intent(claim, key)
        if intent.ts:
            return SentMessage(intent.ts, is_adopted=True)
        try:
            if intent.draft_ts and not intent.is_first:
                elapsed_seconds = await self._outbox.wait_for_earlier_calls(intent)
                file_id = await self._share_uploaded_file(claim, place, key, artifact, intent.draft_ts, elapsed_seconds)
            else:
                file_id = ""  # the file cannot be in the thread: its id is recorded before it is shared
            if not file_id:
                file_id = await self._upload(artifact, data)
                await self._outbox.record_draft(claim, key, file_id)
                await self._share_file(claim, place, key, artifact, file_id, time.time())
        except (SlackRefused, NoReply, OutcomeUnknown) as error:
            return SentMessage("", f"{artifact.name}: {error}")
        return await self._outbox.mark_sent(claim, key, file_id)

    async def _share_uploaded_file(
        self, claim: Claim, place: Place, key: str, artifact: Artifact, file_id: str, elapsed_seconds: float
    ) -> str:
        """Share the file that an earlier owner uploaded, unless the thread shows it already.

        Returns its id, or "" if it must be uploaded again.
        """
        if await self._outbox.lookup.find_file(place, file_id, elapsed_seconds=elapsed_seconds):
            log.info("job %s: %s was there already", place.job_id, key, extra={"event": "reconciled"})
            return file_id
        try:
            # 0.0: the claim is confirmed before the call.
            await self._share_file(claim, place, key, artifact, file_id, 0.0)
        except SlackRefused as error:
            log.info("job %s: %s is uploaded again: %s", place.job_id, key, error)
            return ""
        return file_id

    async def _upload(self, artifact: Artifact, data: bytes) -> str:
        """Upload a file, which nobody can see yet: the first two of Slack's three steps. Returns the file's id."""
        answer = await self._calls.make(
            "files.getUploadURLExternal",
            lambda: self._client.files_getUploadURLExternal(
                filename=to_plain_line(artifact.name),
                length=len(data),
                alt_txt=to_plain_line(artifact.about, ALT_TEXT_LIMIT) or None,
            ),
            priority="file",
            may_repeat=True,
        )
        await self._calls.make(
            "upload", lambda: self._upload_bytes(str(answer["upload_url"]), data), priority="file", may_repeat=True
        )
        return str(answer["file_id"])

    async def _upload_bytes(self, url: str, data: bytes) -> Any:
        session = self._client.session
        if session is None:
            raise RuntimeError("the client was made without a session")
        async with session.post(url, data=data) as response:
            response.raise_for_status()
        return _UploadReply()

    async def _share_file(
        self, claim: Claim, place: Place, key: str, artifact: Artifact, file_id: str, confirmed_at: float
    ) -> None:
        """Share an uploaded file in the thread: Slack's third step. After a lost reply, the thread is searched for it.

        Raises SlackRefused, OutcomeUnknown and JobGone.
        """
        for pause in TRY_PAUSE_SECONDS:
            await asyncio.sleep(pause)
            try:
                await self._complete_upload(claim, place, key, artifact, file_id, confirmed_at)
            except NoReply as lost:
                log.warning("job %s: %s; looking for %s", place.job_id, lost, key)
                if not await self._outbox.lookup.find_file(place, file_id):
                    continue
            return
        raise SlackRefused("no_answer", f"the file was not seen in the thread after {len(TRY_PAUSE_SECONDS)} tries")

    async def _complete_upload(
        self, claim: Claim, place: Place, key: str, artifact: Artifact, file_id: str, confirmed_at: float
    ) -> None:
        async def complete() -> AsyncSlackResponse:
            await self._outbox.confirm_claim(claim, key, confirmed_at)
            return await self._client.files_completeUploadExternal(
                files=[{"id": file_id, "title": to_plain_line(artifact.about or artifact.name)}],
                channel_id=place.channel,
                thread_ts=place.thread_ts,
            )

        await self._calls.make("files.completeUploadExternal", complete, priority="file")

    async def publish_canvas(
        self, claim: Claim, place: Place, key: str, artifact: Artifact, markdown: str
    ) -> SentMessage:
        """Make a canvas of cleaned Markdown, and post a link to it, once. `SentMessage.ts` is the id of that post.

        Nobody can see a canvas before its link is posted. Raises JobGone.
        """
        since = time.time()
        intent = await self._outbox.record_intent(claim, key)
        if intent.ts:
            return SentMessage(intent.ts, is_adopted=True)
        direct = place.channel.startswith("D")
        canvas = intent.draft_ts
        try:
            post_ts = "" if intent.is_first else await self._outbox.find_earlier_post(place, key, intent)
            if not canvas and not post_ts:
                canvas = await self._make_canvas(artifact, markdown)
                await self._outbox.record_draft(claim, key, canvas)
            if not post_ts:
                if not direct:
                    await self._grant_read(canvas, channel_ids=[place.channel])
                post_ts = await self._post_link(claim, place, key, artifact, canvas, since if intent.is_first else 0.0)
        except (SlackRefused, NoReply, OutcomeUnknown) as error:
            return SentMessage("", f"{artifact.name}: {error}")
        # In a direct message, access is granted to its people, which Slack allows only after the link was sent to them.
        if direct and canvas and (fault := await self._share_canvas(place, canvas)):
            return SentMessage("", f"{artifact.name}: its canvas is there, but cannot be opened: {fault}")
        return await self._outbox.mark_sent(claim, key, post_ts)

    async def _make_canvas(self, artifact: Artifact, markdown: str) -> str:
        answer = await self._calls.make(
            "canvases.create",
            lambda: self._client.canvases_create(
                title=to_plain_line(artifact.about or artifact.name),
                document_content={"type": "markdown", "markdown": markdown},
            ),
            priority="file",
        )
        return str(answer["canvas_id"])

    async def _post_link(
        self, claim: Claim, place: Place, key: str, artifact: Artifact, canvas: str, confirmed_at: float
    ) -> str:
        canvas_info = await self._calls.make(
            "files.info", lambda: self._client.files_info(file=canvas), may_repeat=True
        )
        link = str(canvas_info["file"]["permalink"])
        title = clean_mrkdwn(artifact.about or artifact.name).replace("|", "/")
        return await self._outbox.post_with_retries(
            claim, place, key, Outgoing(f"Canvas: <{link}|{title}>", ()), confirmed_at=confirmed_at
        )

    async def _share_canvas(self, place: Place, canvas: str) -> str:
        """Grant access to a canvas to those who wrote in the thread. Returns a fault, or "" if it worked."""
        try:
            thread = await self._outbox.lookup.read_thread(place)
            people = {str(message["user"]) for message in thread if message.get("user")}
            await self._grant_read(canvas, user_ids=sorted(people - {self._outbox.lookup.bot_user_id}))
        except (SlackRefused, NoReply) as error:
            return str(error)
        return ""

    async def _grant_read(self, canvas: str, **recipients: list[str]) -> None:
        await self._calls.make(
            "canvases.access.set",
            lambda: self._client.canvases_access_set(canvas_id=canvas, access_level="read", **recipients),
            priority="file",
            may_repeat=True,
        )


@dataclass(frozen=True, slots=True)
class _UploadReply:
    """Stands for Slack's reply to an upload, whose address is outside the Web API and returns no JSON."""

    data: None = None
