"""Deletes from Slack the messages, files, canvases and direct messages that an erased job posted.

A bot's token can delete only the bot's own posts. Every step may be repeated.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.lookup import read_key
from bot.slack.send.outbox import NOT_STARTED_MARK, Outbox
from bot.slack.send.outside_sender import OUTSIDE_KEY_PREFIX
from bot.slack.send.web_calls import CALL_TIMEOUT_SECONDS, SlackRefused
from bot.store.values import Intent
from handoff.contracts import Place

DIRECT_SUFFIX = ":alone"
"""The end of the key of a message that went to one person's direct messages."""
_GONE_ERRORS = frozenset(
    {"message_not_found", "file_not_found", "file_deleted", "canvas_not_found", "thread_not_found"}
)
"""Slack's error codes for a message, file or canvas that no longer exists."""
LAST_CALL_SECONDS = CALL_TIMEOUT_SECONDS + 1.0
"""Seconds after its erasure until which a former owner of a job may still have a call under way."""
FORGOTTEN_TITLE = "Forgotten"
"""The title that replaces the words of a request in Slack's session."""


@dataclass(slots=True)
class DeletionReport:
    """The numbers of messages and files deleted in Slack. `faults` counts failed deletions by their reason."""

    messages: int = 0
    files: int = 0
    faults: Counter[str] = field(default_factory=Counter)


async def delete_posts(
    outbox: Outbox, place: Place, requesters: Mapping[str, str], intents: Mapping[str, Intent], forgotten_at: float
) -> DeletionReport:
    """Delete the posts of a job that was erased at the time `forgotten_at`, in seconds since the epoch.

    `requesters` maps the ids of the job's requests to the ids of the people who made them. `intents` are the entries of
    its outbox, by key. Raises NoReply if Slack does not answer: the caller should try again.
    """
    work = _PostDeletion(outbox, place, forgotten_at)
    await work.delete_thread_posts(requesters, intents)
    for key, intent in intents.items():
        if key.endswith(DIRECT_SUFFIX) and intent.ts:
            await work.delete_direct_message(requesters.get(key.partition(":")[0], ""), intent.ts)
    await work.clear_title()
    return work.report


class _PostDeletion:
    def __init__(self, outbox: Outbox, place: Place, forgotten_at: float) -> None:
        self.report = DeletionReport()
        self._outbox = outbox
        self._client, self._calls = outbox.client, outbox.calls
        self._place = place
        self._forgotten_at = forgotten_at

    async def delete_thread_posts(self, requesters: Mapping[str, str], intents: Mapping[str, Intent]) -> None:
        """Delete the job's files, and then its messages in the thread: deleting a message does not delete its files."""
        try:
            thread = await self._outbox.lookup.read_thread(self._place)
        except SlackRefused:  # the messages in the outbox are deleted all the same, or counted as faults
            thread = []
        ours = [one for one in thread if self._is_of_job(one, requesters)]
        known_intents = {
            key: one
            for key, one in intents.items()
            if not key.endswith(DIRECT_SUFFIX) and not key.startswith(OUTSIDE_KEY_PREFIX)
        }
        canvases = {
            one.draft_ts for one in known_intents.values() if _is_file_id(one.draft_ts) and not _is_file_id(one.ts)
        }
        shown_files = [file for one in ours for file in one.get("files") or ()]
        ids = {str(file.get("id")) for file in shown_files if file.get("mode") != "tombstone"}
        ids |= {ts for one in known_intents.values() for ts in (one.ts, one.draft_ts) if _is_file_id(ts)}
        for canvas in sorted(canvases):
            await self._delete("canvases.delete", partial(self._client.canvases_delete, canvas_id=canvas))
        for file in sorted(ids - canvases):
            await self._delete("files.delete", partial(self._client.files_delete, file=file))
        stamps = {str(one["ts"]) for one in ours}
        stamps |= {ts for one in known_intents.values() for ts in (one.ts, one.draft_ts) if ts and not _is_file_id(ts)}
        for ts in sorted(stamps - {NOT_STARTED_MARK}):
            await self._delete_message(self._place.channel, ts)

    def _is_of_job(self, message: Mapping[str, Any], requesters: Mapping[str, str]) -> bool:
        """Return True for a message of the bot's that has a key of the job, or is older than the job's erasure.

        A stream without a key may be a little younger: its owner may have started it just before it lost the job.
        """
        if message.get("user") != self._outbox.lookup.bot_user_id:
            return False
        key = read_key(dict(message))
        late = LAST_CALL_SECONDS if not key and message.get("streaming_state") else 0.0
        return key.partition(":")[0] in requesters or _parse_ts(str(message.get("ts", ""))) <= self._forgotten_at + late

    async def delete_direct_message(self, user: str, ts: str) -> None:
        """Delete a direct message about the job. Does nothing if `user` is empty."""
        if not user:
            return
        try:
            direct = await self._calls.make(
                "conversations.open",
                lambda: self._client.conversations_open(users=user),
                may_repeat=True,
                priority="card",
            )
        except SlackRefused as error:
            self.report.faults[str(error)] += 1
            return
        await self._delete_message(str(direct["channel"]["id"]), ts)

    async def clear_title(self) -> None:
        """Replace the title of Slack's session, which has words of the request. A refusal by Slack is ignored."""
        with contextlib.suppress(SlackRefused):
            await self._calls.make(
                "agents.sessions.setStatus",
                lambda: self._client.agents_sessions_setStatus(
                    channel_id=self._place.channel,
                    thread_ts=self._place.thread_ts,
                    status="closed",
                    title=FORGOTTEN_TITLE,
                ),
                may_repeat=True,
                priority="card",
            )

    async def _delete_message(self, channel: str, ts: str) -> None:
        await self._delete("chat.delete", lambda: self._client.chat_delete(channel=channel, ts=ts))

    async def _delete(self, method: str, send: Callable[[], Awaitable[AsyncSlackResponse]]) -> None:
        """Delete one message, file or canvas, and count it unless it was deleted before."""
        try:
            await self._calls.make(method, send, may_repeat=True, priority="card")
        except SlackRefused as error:
            if error.code not in _GONE_ERRORS:
                self.report.faults[str(error)] += 1
            return
        if method == "chat.delete":
            self.report.messages += 1
        else:
            self.report.files += 1


def _is_file_id(slack_id: str) -> bool:
    return slack_id.startswith("F")


def _parse_ts(ts: str) -> float:
    try:
        return float(ts)
    except ValueError:
        return 0.0
