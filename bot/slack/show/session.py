"""The status of a thread's session as Slack shows it (at work, waiting for a person, done), with its Stop button."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.send.web_calls import Allowed, Gone, NoReply, Refused, WebCalls
from bot.slack.text.cleaning import plain
from bot.store.interface import JobKey, StoreError
from handoff.contracts import Place
from handoff.state import Ask, Job, RequestState

log = logging.getLogger(__name__)

SessionStatus = Literal["processing", "suspended", "active", "closed"]

STATUS: dict[RequestState, SessionStatus] = {
    "submitted": "processing",
    "working": "processing",
    "synthesizing": "processing",
    "input_required": "suspended",
    "completed": "active",
    "failed": "active",
    "cancelled": "active",
}
"""A finished request leaves the session active: the thread can be asked again."""


async def set_status(
    client: AsyncWebClient,
    calls: WebCalls,
    place: Place,
    status: SessionStatus,
    *,
    title: str,
    user: str,
    allowed: Allowed,
) -> bool:
    """Show the status, unless it is not `allowed` any more. Returns False if Slack does not show it.

    A workspace without agent sessions goes without: that is no fault of the job.
    """
    try:
        await calls.make(
            "agents.sessions.setStatus",
            lambda: client.agents_sessions_setStatus(
                channel_id=place.channel,
                thread_ts=place.thread_ts,
                status=status,
                title=plain(title, 200),
                initiator_user_id=user,
            ),
            priority="status",
            again=True,
            allowed=allowed,
        )
    except (Refused, NoReply, Gone, StoreError) as error:
        log.info("job %s: the session status was not set: %s", place.job_id, error)
        return False
    return True


def session_title(job: Job) -> str:
    """Return the title of a job's session: what its first request says now. Deleted words are said no more."""
    first = job.asks[0]
    return plain("A withdrawn request" if first.withdrawn else first.wording or first.request.text, 200)


async def rename(client: AsyncWebClient, calls: WebCalls, job: Job, *, allowed: Allowed) -> None:
    """Give a session the title that its first request has now: the first status alone sets one."""
    place, title = job.place, session_title(job)
    try:
        await calls.make(
            "agents.sessions.rename",
            lambda: client.agents_sessions_rename(channel_id=place.channel, thread_ts=place.thread_ts, title=title),
            priority="status",
            again=True,
            allowed=allowed,
        )
    except (Refused, NoReply, Gone, StoreError) as error:
        log.info("job %s: the session was not renamed: %s", job.id, error)


class Sessions:
    """The sessions of the jobs in hand. The calls of one job go out in order, and only the latest status counts."""

    def __init__(self, client: AsyncWebClient, calls: WebCalls, changed: Callable[[JobKey], None]) -> None:
        self._client = client
        self._calls = calls
        self._changed = changed
        self._wanted: dict[JobKey, tuple[Job, Ask, Allowed]] = {}
        self._not_shown: set[JobKey] = set()

    def show(self, key: JobKey, job: Job, ask: Ask, allowed: Allowed) -> Coroutine[Any, Any, None] | None:
        """Have Slack show the status of a request. Returns the work to be done, or None if it is under way."""
        busy = key in self._wanted
        self._wanted[key] = (job, ask, allowed)
        return None if busy else self._bring_up(key)

    def shows_stop(self, key: JobKey, ask: Ask) -> bool:
        """Return True if Slack shows its own Stop button: while a session is at work, in a workspace that has them."""
        return STATUS[ask.state] == "processing" and key not in self._not_shown

    def forget(self, key: JobKey) -> None:
        """Forget a job that is no longer in hand."""
        self._not_shown.discard(key)

    async def _bring_up(self, key: JobKey) -> None:
        done: tuple[Job, Ask, Allowed] | None = None
        try:
            while self._wanted[key] is not done:
                done = self._wanted[key]
                job, ask, allowed = done
                whose = {"title": ask.run.plan.goal if ask.run.plan else ask.request.text, "user": ask.request.user}
                status = STATUS[ask.state]
                shown = await set_status(self._client, self._calls, job.place, status, **whose, allowed=allowed)
                self._note(key, shown=shown)
        finally:
            del self._wanted[key]

    def _note(self, key: JobKey, *, shown: bool) -> None:
        if shown != (key not in self._not_shown):
            (self._not_shown.discard if shown else self._not_shown.add)(key)
            self._changed(key)
