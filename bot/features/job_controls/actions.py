"""Stop: pressed on a card or on Slack's own button, or said in a thread."""

from __future__ import annotations

import logging
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.job_controls.service import JobControls
from bot.features.job_controls.view import stop_words
from bot.slack.receive.payloads import Malformed, Stopped, parse_click, parse_stop
from bot.slack.receive.subcommand import Given, Reply
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import OutageNotices, Unrecorded, answer_click, note, soon, tell
from bot.slack.views.card import STOP
from bot.slack.views.outgoing import Outgoing
from bot.store.interface import StoreError

log = logging.getLogger(__name__)


class Stopping:
    """The listener of both buttons."""

    def __init__(self, controls: JobControls, background: Background, outages: OutageNotices) -> None:
        self._controls, self._background, self._outages = controls, background, outages

    def register(self, app: AsyncApp) -> None:
        """Make the app listen to the button of the card."""
        app.action(STOP)(self.on_stop)

    async def on_stop(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Take a click on the Stop button of a card."""
        click = parse_click(body, action)
        if isinstance(click, Malformed):
            log.warning("a click without %s was left alone", click.reason)
        else:
            try:
                async with soon():
                    stop = await self._controls.cancel(click.place.team, None, click.place, user=click.user)
                text = stop_words(stop)
            except Unrecorded:
                text = notices.NOT_RECORDED
            self._background.start(answer_click(client, click, text), "answer a click")
        await ack()

    async def on_session_stopped(self, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Take a click on Slack's own Stop button."""
        stopped = parse_stop(body)
        if isinstance(stopped, Malformed):
            log.warning("a stop without %s was left alone", stopped.reason)
            return
        try:
            words = await stop(self._controls, stopped, client, self._background)
            if words is not None:
                self._background.start(tell(client, stopped.place, stopped.user, words), "answer a stop")
        except StoreError as error:
            ts = str(body.get("event_id", ""))
            self._outages.tell_not_recorded(client, stopped.place, stopped.user, ts, error)
            raise


async def stop_here(given: Given) -> Reply:
    """Stop the job of the thread that it was said in."""
    if given.said is None:
        return "no_command"
    stopped = Stopped(given.said.place, given.user)
    words = await stop(given.find(JobControls), stopped, given.client, given.background, spoken=True)
    return words or "told"


async def stop(
    controls: JobControls, stopped: Stopped, client: AsyncWebClient, background: Background, *, spoken: bool = False
) -> Outgoing | None:
    """Stop the job of a thread. Returns what its person is told: who pressed a button sees most of it anyway."""
    place = stopped.place
    came = await controls.cancel(place.team, None, place, user=stopped.user)
    if came.verdict in {"nothing", "unknown"}:
        background.start(_idle(client, stopped), "end a session")
        return note(notices.NOTHING_TO_STOP)
    if spoken or came.others or came.verdict != "cancelling":
        return note(stop_words(came))
    return None


async def _idle(client: AsyncWebClient, stopped: Stopped) -> None:
    """Slack shows the session as busy until it is told otherwise."""
    await client.agents_sessions_setStatus(
        channel_id=stopped.place.channel, thread_ts=stopped.place.thread_ts, status="active"
    )
