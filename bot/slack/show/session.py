"""The thread's status as Slack shows it: at work, waiting for a person, or done."""

from __future__ import annotations

import logging
from typing import Literal

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.send.web_calls import Allowed, Gone, NoReply, Refused, WebCalls
from bot.slack.text.cleaning import plain
from bot.store.interface import StoreError
from handoff.contracts import Place
from handoff.state import RequestState

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
) -> None:
    """Show the status, unless it is not `allowed` any more: then it is left out.

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
