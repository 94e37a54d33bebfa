"""Sets the status that Slack shows for a thread's session (at work, waiting for a person, done), and its title."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.send.published_limits import Priority
from bot.slack.send.web_calls import JobGone, NoReply, OutdatedCall, PermissionCheck, SlackRefused, WebCalls
from bot.slack.text.cleaning import to_plain_line
from bot.store.values import JobKey, StoreError
from handoff.contracts import Place
from handoff.state.job_state import Job, RequestState, RequestStatus
from handoff.summaries.thread_subject import find_subject_request

log = logging.getLogger(__name__)

SessionStatus = Literal["processing", "suspended", "active", "closed"]

STATUS_BY_STATE: dict[RequestStatus, SessionStatus] = {
    "submitted": "processing",
    "working": "processing",
    "synthesizing": "processing",
    "input_required": "suspended",
    "completed": "active",
    "failed": "active",
    "cancelled": "active",
}
"""The session's status, by the state of the request. A finished request leaves the session active for further ones."""


@dataclass(frozen=True, slots=True)
class SessionView:
    """The status of a session, the title that it gets when it is new, and the id of the person who began it."""

    status: SessionStatus
    title: str
    user: str


async def set_status(
    client: AsyncWebClient,
    calls: WebCalls,
    place: Place,
    find_newest_view: Callable[[], SessionView],
    *,
    check_allowed: PermissionCheck,
    priority: Priority = "settled",
    cancel_event: asyncio.Event | None = None,
) -> bool:
    """Set the status that `find_newest_view` returns when the call's turn comes. Returns False if Slack did not set it.

    A workspace without agent sessions refuses the call. Raises OutdatedCall if `cancel_event` is set before its turn.
    """

    async def send() -> AsyncSlackResponse:
        view = find_newest_view()
        return await client.agents_sessions_setStatus(
            channel_id=place.channel,
            thread_ts=place.thread_ts,
            status=view.status,
            title=to_plain_line(view.title, 200),
            initiator_user_id=view.user,
        )

    try:
        await calls.make(
            "agents.sessions.setStatus",
            send,
            priority=priority,
            may_repeat=True,
            check_allowed=check_allowed,
            cancel_event=cancel_event,
        )
    except (SlackRefused, NoReply, JobGone, StoreError) as error:
        log.info("job %s: the session status was not set: %s", place.job_id, error)
        return False
    return True


def render_session_title(job: Job) -> str:
    """Return the title of a session: the current words of the request that its job is about."""
    request = find_subject_request(job)
    return to_plain_line("A withdrawn request" if request is None else request.spec.text, 200)


def has_new_title(before: Job, after: Job) -> bool:
    """Return True if two states of a job give its session different titles. It is quick: each commit calls it."""
    if not before.requests or not any(
        _has_new_words(*request_pair) for request_pair in after.list_changed_requests(before)
    ):
        return False
    return render_session_title(before) != render_session_title(after)


def _has_new_words(request: RequestState, earlier: RequestState | None) -> bool:
    return earlier is None or (request.spec.text, request.is_withdrawn) != (earlier.spec.text, earlier.is_withdrawn)


async def rename_session(client: AsyncWebClient, calls: WebCalls, job: Job, *, check_allowed: PermissionCheck) -> None:
    """Give a session its current title, as `set_status` does not change the title of a session that has one."""
    place, title = job.place, render_session_title(job)
    try:
        await calls.make(
            "agents.sessions.rename",
            lambda: client.agents_sessions_rename(channel_id=place.channel, thread_ts=place.thread_ts, title=title),
            priority="status",
            may_repeat=True,
            check_allowed=check_allowed,
        )
    except (SlackRefused, NoReply, JobGone, StoreError) as error:
        log.info("job %s: the session was not renamed: %s", job.id, error)


class ThreadSessions:
    """Sets the sessions' statuses of this instance's jobs, one call after another for each job, with its latest status.

    A lasting status (waiting or done) replaces "at work" if that still waits for its turn. Its call gets a higher
    priority if the session shows "at work".
    """

    def __init__(self, client: AsyncWebClient, calls: WebCalls, on_stop_changed: Callable[[JobKey], None]) -> None:
        self._client = client
        self._calls = calls
        self._on_stop_changed = on_stop_changed
        self._latest: dict[JobKey, tuple[Job, RequestState, PermissionCheck]] = {}
        self._shown_statuses: dict[JobKey, SessionStatus] = {}
        """The status of each session, as this instance last set it."""
        self._cancel_events: dict[JobKey, asyncio.Event] = {}
        self._without_session: set[JobKey] = set()

    def make_status_update(
        self, key: JobKey, job: Job, request: RequestState, check_allowed: PermissionCheck
    ) -> Coroutine[Any, Any, None] | None:
        """Note the status of a request, and return the coroutine that sets it in Slack.

        Returns None if Slack shows the status already, or if a coroutine that was returned before will set it.
        """
        busy = key in self._latest
        if not busy and self._shown_statuses.get(key) == STATUS_BY_STATE[request.state]:
            return None
        self._latest[key] = (job, request, check_allowed)
        if busy and STATUS_BY_STATE[request.state] != "processing" and key in self._cancel_events:
            self._cancel_events[key].set()
        return None if busy else self._set_latest_status(key)

    def shows_stop(self, key: JobKey, request: RequestState) -> bool:
        """Return True if Slack shows its own Stop button: while it says "at work", in a workspace with sessions."""
        return STATUS_BY_STATE[request.state] == "processing" and key not in self._without_session

    def record_status(self, key: JobKey, status: SessionStatus) -> None:
        """Record that another call set the status of a session, and drop a waiting call that would set the same."""
        self._shown_statuses[key] = status
        if key in self._cancel_events and STATUS_BY_STATE[self._latest[key][1].state] == status:
            self._cancel_events[key].set()

    def shows_processing(self, key: JobKey) -> bool:
        """Return True if this instance set the session to "at work" last."""
        return self._shown_statuses.get(key) == "processing"

    def count_processing(self) -> int:
        """Count the sessions that say "at work": each of them will need another call."""
        return sum(status == "processing" for status in self._shown_statuses.values())

    def forget(self, key: JobKey) -> None:
        """Forget the session's status of a job that this instance has released."""
        self._without_session.discard(key)
        self._shown_statuses.pop(key, None)

    async def _set_latest_status(self, key: JobKey) -> None:
        sent_state: tuple[Job, RequestState, PermissionCheck] | None = None
        try:
            while self._latest[key] is not sent_state:
                sent_state = self._latest[key]
                with contextlib.suppress(OutdatedCall):
                    await self._set_session_status(key, *sent_state)
                    sent_state = (
                        self._latest[key]
                        if self._find_wanted_status(key) == self._shown_statuses.get(key)
                        else sent_state
                    )
        finally:
            del self._latest[key]

    async def _set_session_status(
        self, key: JobKey, job: Job, request: RequestState, check_allowed: PermissionCheck
    ) -> None:
        settles = STATUS_BY_STATE[request.state] != "processing" and self._shown_statuses.get(key) == "processing"
        sent_views: list[SessionView] = []

        def newest() -> SessionView:
            _, request, _ = self._latest[key]
            title = request.run.plan.goal if request.run.plan else request.text
            sent_views.append(SessionView(STATUS_BY_STATE[request.state], title, request.spec.user))
            return sent_views[-1]

        self._cancel_events[key] = asyncio.Event()
        try:
            is_shown = await set_status(
                *(self._client, self._calls, job.place, newest),
                check_allowed=check_allowed,
                priority="settled" if settles else "status",
                cancel_event=self._cancel_events[key],
            )
        finally:
            del self._cancel_events[key]
        if is_shown and sent_views:
            self._shown_statuses[key] = sent_views[-1].status
        self._record_support(key, is_shown=is_shown)

    def _find_wanted_status(self, key: JobKey) -> SessionStatus:
        return STATUS_BY_STATE[self._latest[key][1].state]

    def _record_support(self, key: JobKey, *, is_shown: bool) -> None:
        if is_shown != (key not in self._without_session):
            (self._without_session.discard if is_shown else self._without_session.add)(key)
            self._on_stop_changed(key)
