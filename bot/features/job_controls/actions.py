"""Stop: pressed on a card or on Slack's own button, or said in a thread."""

from __future__ import annotations

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.job_controls.service import JobControls
from bot.features.job_controls.view import stop_words
from bot.slack.receive.payloads import Click, StopPressed
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.subcommand import CommandContext, Reply
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import OutageNotices, make_note, tell
from bot.slack.views.card import STOP
from bot.slack.views.outgoing import Outgoing
from bot.store.interface import StoreError


class Stopping:
    """The listener of both buttons."""

    def __init__(self, controls: JobControls, background: Background, outages: OutageNotices) -> None:
        self._controls, self._background, self._outages = controls, background, outages

    def register(self, router: Router) -> None:
        """Listen to both."""
        router.on_click(STOP, self.on_stop)
        router.on_event(StopPressed, self.on_session_stopped)

    async def on_stop(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Take a click on the Stop button of a card."""
        del client
        return stop_words(await self._controls.cancel(click.place.team, None, click.place, user=click.user))

    async def on_session_stopped(self, stopped: StopPressed, client: AsyncWebClient) -> None:
        """Take a click on Slack's own Stop button."""
        try:
            words = await stop(self._controls, stopped, client, self._background)
            if words is not None:
                self._background.start(tell(client, stopped.place, stopped.user, words), "answer a stop")
        except StoreError as error:
            self._outages.tell_not_recorded(client, stopped.place, stopped.user, stopped.event, error)
            raise


async def stop_here(given: CommandContext) -> Reply:
    """Stop the job of the thread that it was said in."""
    if given.said is None:
        return "no_command"
    stopped = StopPressed(given.said.place, given.user)
    words = await stop(given.find(JobControls), stopped, given.client, given.background, spoken=True)
    return words or "told"


async def stop(
    controls: JobControls, stopped: StopPressed, client: AsyncWebClient, background: Background, *, spoken: bool = False
) -> Outgoing | None:
    """Stop the job of a thread. Returns what its person is told: who pressed a button sees most of it anyway."""
    place = stopped.place
    came = await controls.cancel(place.team, None, place, user=stopped.user)
    if came.verdict in {"nothing", "unknown"}:
        background.start(_tell_idle(client, stopped), "end a session")
        return make_note(notices.NOTHING_TO_STOP)
    if spoken or came.others or came.verdict != "cancelling":
        return make_note(stop_words(came))
    return None


async def _tell_idle(client: AsyncWebClient, stopped: StopPressed) -> None:
    """Slack shows the session as busy until it is told otherwise."""
    await client.agents_sessions_setStatus(
        channel_id=stopped.place.channel, thread_ts=stopped.place.thread_ts, status="active"
    )
