"""Sends each message of a job once: the intent is recorded before the call, Slack's id after it.

A message carries its key in Slack's message metadata. Where a call was left
in doubt, by a lost reply or by an owner that died, the thread is searched for
the key before anything is sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.budget import Budget
from bot.slack.client import CALL_SECONDS
from bot.slack.text import clean, clean_markdown
from bot.slack.views.outgoing import Outgoing
from bot.slack.web_calls import Doubt, Refused, WebCalls
from handoff.contracts import Artifact, Place
from handoff.store.interface import Claim, Intent, Store

log = logging.getLogger(__name__)

EVENT_TYPE = "leadhand_post"
LOOKS = (0.0, 1.0, 2.0, 4.0)
"""Seconds before each look for a message in doubt: Slack's history may lag behind its posts."""
SENDS = 3
TOO_MUCH = frozenset({"msg_too_long", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
"""Slack's words for blocks that it does not take; the text alone may still go through."""


class Gone(Exception):
    """The job is in another instance's hands: nothing more may be sent for it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Where a message is now: its Slack id, or (with an empty id) why it can never be there."""

    ts: str
    fault: str = ""


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
        budget: Budget,
        *,
        bot_user_id: str,
        looks: Sequence[float] = LOOKS,
    ) -> None:
        self.client = client
        self.calls = WebCalls(budget)
        self.store = store
        self.bot_user_id = bot_user_id
        self._looks = looks

    async def post(self, claim: Claim, place: Place, key: str, message: Outgoing) -> Sent:
        """Put a message into the thread, once. Raises Gone if the job is no longer ours."""
        intent = await self.begin(claim, key)
        if intent.ts:
            return Sent(intent.ts)
        if not intent.first and (found := await self.recover(claim, place, key, intent)):
            return Sent(found)
        try:
            ts = await self._send(place, key, message)
        except Refused as error:
            return Sent("", str(error))
        return await self.done(claim, key, ts)

    async def begin(self, claim: Claim, key: str) -> Intent:
        """Record that a message is about to be sent. Raises Gone."""
        intent = await self.store.outbox_begin(claim, key, f"{claim.owner}:{claim.epoch}:{key}")
        if intent is None:
            raise Gone(key)
        return intent

    async def done(self, claim: Claim, key: str, ts: str) -> Sent:
        """Record where the message is. Raises Gone."""
        if not await self.store.outbox_done(claim, key, ts):
            raise Gone(key)
        return Sent(ts)

    async def _send(self, place: Place, key: str, message: Outgoing) -> str:
        """Post, and after each doubt look before posting again. Raises Refused."""
        for _ in range(SENDS):
            try:
                return await self._post_once(place, key, message)
            except Doubt as doubt:
                log.warning("job %s: %s; looking for %s", place.job_id, doubt, key)
                if found := await self.find(place, key):
                    return found
            except Refused as error:
                if error.code not in TOO_MUCH or not message.blocks:
                    raise
                log.warning("job %s: %s; the text goes out alone", place.job_id, error)
                message = Outgoing(message.text, (), message.priority)
        raise Refused("no_answer", "the message was not seen in the thread after three tries")

    async def _post_once(self, place: Place, key: str, message: Outgoing) -> str:
        data = await self.calls.make(
            "chat.postMessage",
            lambda: self.client.chat_postMessage(
                channel=place.channel,
                thread_ts=place.thread_ts,
                text=message.text,
                blocks=list(message.blocks) or None,
                metadata=metadata(place, key),
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel=place.channel,
            priority=message.priority,
        )
        return str(data["ts"])

    async def update(self, place: Place, ts: str, message: Outgoing) -> bool:
        """Edit a message in place; drawing the same twice does no harm. False if Slack refuses for good."""
        try:
            await self.calls.make(
                "chat.update",
                lambda: self.client.chat_update(
                    channel=place.channel, ts=ts, text=message.text, blocks=list(message.blocks)
                ),
                channel=place.channel,
                priority=message.priority,
                again=True,
            )
        except (Refused, Doubt) as error:
            log.warning("job %s: the card was not edited: %s", place.job_id, error)
            return False
        return True

    async def recover(self, claim: Claim, place: Place, key: str, intent: Intent) -> str:
        """What became of a message that an earlier owner began: its id if it is there, else nothing is left of it."""
        age = await self.store.now() - intent.began
        await asyncio.sleep(max(0.0, CALL_SECONDS - age))
        if found := await self.find(place, key):
            await self.done(claim, key, found)
            return found
        for ts in await self._dangling(place, intent):
            await self.delete(place, ts)
        return ""

    async def find(self, place: Place, key: str) -> str:
        """The id of the message that carries this key, or nothing after a patient look."""
        for wait in self._looks:
            await asyncio.sleep(wait)
            for message in await self.thread(place):
                if message.get("user") != self.bot_user_id:
                    continue
                carried = message.get("metadata") or {}
                if carried.get("event_type") == EVENT_TYPE and carried.get("event_payload", {}).get("key") == key:
                    return str(message["ts"])
        return ""

    async def _dangling(self, place: Place, intent: Intent) -> list[str]:
        """Messages of ours that were begun and never finished: the recorded draft, and what bears no key."""
        drafts = [intent.draft_ts] if intent.draft_ts else []
        for message in await self.thread(place):
            unkeyed = not message.get("metadata") and not message.get("files")
            ours = message.get("user") == self.bot_user_id and float(message["ts"]) >= intent.began - 1
            if ours and unkeyed and message["ts"] not in drafts:
                drafts.append(str(message["ts"]))
        return drafts

    async def delete(self, place: Place, ts: str) -> None:
        """Take a half-written message out of the thread."""
        try:
            await self.calls.make(
                "chat.delete", lambda: self.client.chat_delete(channel=place.channel, ts=ts), again=True
            )
        except (Refused, Doubt) as error:
            log.warning("job %s: the unfinished message %s stays: %s", place.job_id, ts, error)

    async def thread(self, place: Place) -> list[dict[str, Any]]:
        """All messages of the thread, metadata included; empty where it cannot be read."""
        messages: list[dict[str, Any]] = []
        cursor = ""
        while True:
            try:
                data = await self._replies(place, cursor)
            except (Refused, Doubt) as error:
                log.warning("job %s: the thread cannot be read: %s", place.job_id, error)
                return messages
            messages += data.get("messages", [])
            cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return messages

    async def _replies(self, place: Place, cursor: str) -> dict[str, Any]:
        return await self.calls.make(
            "conversations.replies",
            lambda: self.client.conversations_replies(
                channel=place.channel, ts=place.thread_ts, include_all_metadata=True, limit=200, cursor=cursor or None
            ),
            again=True,
        )

    async def upload(self, claim: Claim, place: Place, key: str, artifact: Artifact, data: bytes) -> Sent:
        """Put a file into the thread, once. `Sent.ts` is the file's id. Raises Gone."""
        intent = await self.begin(claim, key)
        if intent.ts:
            return Sent(intent.ts)
        if not intent.first:
            same = await self._find_file(place, lambda file: file.get("name") == artifact.name, intent.began - 1)
            if same:
                return await self.done(claim, key, same)
        try:
            file_id = await self._upload(place, artifact, data)
        except (Refused, Doubt) as error:
            return Sent("", f"{artifact.name}: {error}")
        return await self.done(claim, key, file_id)

    async def _upload(self, place: Place, artifact: Artifact, data: bytes) -> str:
        """Slack's three steps. Only the last one shows the file: after a doubt the thread is looked at first."""
        begun = await self.calls.make(
            "files.getUploadURLExternal",
            lambda: self.client.files_getUploadURLExternal(
                filename=artifact.name, length=len(data), alt_txt=artifact.about or None
            ),
            priority="file",
            again=True,
        )
        await self.calls.make("upload", lambda: self._put(str(begun["upload_url"]), data), priority="file", again=True)
        file_id = str(begun["file_id"])
        for _ in range(SENDS):
            try:
                await self._show_file(place, artifact, file_id)
            except Doubt as doubt:
                log.warning("job %s: %s; looking for %s", place.job_id, doubt, artifact.name)
                if not await self._find_file(place, lambda file: file.get("id") == file_id):
                    continue
            return file_id
        raise Refused("no_answer", "the file was not seen in the thread after three tries")

    async def _show_file(self, place: Place, artifact: Artifact, file_id: str) -> None:
        await self.calls.make(
            "files.completeUploadExternal",
            lambda: self.client.files_completeUploadExternal(
                files=[{"id": file_id, "title": artifact.about or artifact.name}],
                channel_id=place.channel,
                thread_ts=place.thread_ts,
            ),
            priority="file",
        )

    async def _put(self, url: str, data: bytes) -> Any:
        session = self.client.session
        if session is None:
            raise RuntimeError("the client was made without a session")
        async with session.post(url, data=data) as response:
            response.raise_for_status()
        return _Uploaded()

    async def _find_file(self, place: Place, matches: Callable[[dict[str, Any]], bool], since: float = 0.0) -> str:
        """The id of a file of ours that matches and came into the thread since then, after a patient look."""
        for wait in self._looks:
            await asyncio.sleep(wait)
            for message in await self.thread(place):
                if message.get("user") != self.bot_user_id or float(message["ts"]) < since:
                    continue
                for file in message.get("files") or []:
                    if matches(file):
                        return str(file["id"])
        return ""

    async def canvas(self, claim: Claim, place: Place, key: str, artifact: Artifact, markdown: str) -> Sent:
        """Make a canvas of Markdown and post its link. A canvas whose link was never posted is seen by nobody."""
        intent = await self.begin(claim, key)
        if intent.ts:
            return Sent(intent.ts)
        if not intent.first and (found := await self.recover(claim, place, key, intent)):
            return Sent(found)
        direct = place.channel.startswith("D")
        try:
            made = await self.calls.make(
                "canvases.create",
                lambda: self.client.canvases_create(
                    title=artifact.about or artifact.name,
                    document_content={"type": "markdown", "markdown": clean_markdown(markdown)},
                ),
                priority="file",
            )
            canvas = str(made["canvas_id"])
            if not direct:
                await self._let_read(canvas, channel_ids=[place.channel])
            shown = await self.calls.make("files.info", lambda: self.client.files_info(file=canvas), again=True)
        except (Refused, Doubt) as error:
            return Sent("", f"{artifact.name}: {error}")
        link = str(shown["file"]["permalink"])
        title = clean(artifact.about or artifact.name).replace("|", "/")
        sent = await self.post(claim, place, key, Outgoing(f"Canvas: <{link}|{title}>", ()))
        if not direct or not sent.ts:
            return sent
        # In a direct message access goes to its people, and Slack takes that only once the link was sent to them.
        people = {str(message["user"]) for message in await self.thread(place) if message.get("user")}
        try:
            await self._let_read(canvas, user_ids=sorted(people - {self.bot_user_id}))
        except (Refused, Doubt) as error:
            return Sent("", f"{artifact.name}: its canvas is there, but cannot be opened: {error}")
        return sent

    async def _let_read(self, canvas: str, **whom: list[str]) -> None:
        await self.calls.make(
            "canvases.access.set",
            lambda: self.client.canvases_access_set(canvas_id=canvas, access_level="read", **whom),
            priority="file",
            again=True,
        )


@dataclass(frozen=True, slots=True)
class _Uploaded:
    """The answer of the upload address, which is no Web API method and has no JSON."""

    data: None = None


def metadata(place: Place, key: str) -> dict[str, Any]:
    """What lets us recognise a message of ours."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": key, "job": place.job_id}}
