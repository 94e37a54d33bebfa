"""Stop: pressed on Slack's own button, or said in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import Stopped
from bot.slack.receive.subcommand import Given, Reply
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import note
from bot.slack.views.outgoing import Outgoing

if TYPE_CHECKING:
    from bot.slack.receive.service import Service


async def stop_here(given: Given) -> Reply:
    """Stop the job of the thread that it was said in."""
    if given.said is None:
        return "no_command"
    stopped = Stopped(given.said.place, given.user)
    words = await stop(given.service, stopped, given.client, given.background, spoken=True)
    return words or "told"


async def stop(
    service: Service, stopped: Stopped, client: AsyncWebClient, background: Background, *, spoken: bool = False
) -> Outgoing | None:
    """Stop the job of a thread. Returns what its person is told: who pressed a button sees most of it anyway."""
    place = stopped.place
    came = await service.cancel(place.team, None, place, user=stopped.user)
    if came.verdict in {"nothing", "unknown"}:
        background.start(_idle(client, stopped), "end a session")
        return note(notices.NOTHING_TO_STOP)
    if spoken or came.others or came.verdict != "cancelling":
        return note(notices.stop_words(came))
    return None


async def _idle(client: AsyncWebClient, stopped: Stopped) -> None:
    """Slack shows the session as busy until it is told otherwise."""
    await client.agents_sessions_setStatus(
        channel_id=stopped.place.channel, thread_ts=stopped.place.thread_ts, status="active"
    )
