"""Clicks of people who sign in to a server: the link goes to them alone, and what they paste is recorded nowhere."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.approvals.actions import refusal
from bot.features.approvals.service import Refused, Verdict
from bot.features.approvals.view import window_about, window_metadata
from bot.features.sign_in.service import Begun, SignInDesk, Wrong
from bot.features.sign_in.view import ADDRESS_ACTION, ADDRESS_BLOCK, PAGE, PASTE, PASTED, link_message, paste_window
from bot.slack.receive.payloads import Malformed, parse_click, parse_window
from bot.slack.send import web_calls
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import answer_click, note, open_window, tell, tell_directly
from bot.slack.views.approval import SIGN_IN, Spot, spot_of
from bot.store.interface import StoreError
from handoff.contracts import Place
from specialists.mcp.server_sign_in import LANDS

log = logging.getLogger(__name__)

LONGEST_WAIT = 2.0
"""Seconds that a window waits for the server to take what was pasted: Slack waits for three. Later words are told."""
SENT = "I sent you the link in a direct message, with what to do."
SLOW = "The server takes its time. The thread goes on once it has taken your sign-in."
IN_ALREADY = "Somebody has signed in there meanwhile, so the thread goes on."


class SignInClicks:
    """The listeners of sign-ins."""

    def __init__(self, sign_ins: SignInDesk, background: Background) -> None:
        self._sign_ins, self._background = sign_ins, background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(SIGN_IN)(self.on_sign_in)
        app.action(PAGE)(self.on_page)
        app.action(PASTE)(self.on_paste)
        app.view(PASTED)(self.on_pasted)

    async def on_sign_in(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Send who clicked the link. The server is asked for it, which takes longer than a click may."""
        await ack()
        click = parse_click(body, action)
        if isinstance(click, Malformed):
            log.warning("a click without %s was left alone", click.reason)
            return
        spot = spot_of(click.value)
        if spot is None or spot.job != click.place.job_id:
            self._background.start(answer_click(client, click, notices.OLD_BUTTON), "answer a click")
            return
        self._background.start(self._begin(client, click.place, spot, click.user, click.dedupe), "begin a sign-in")

    async def _begin(
        self, client: AsyncWebClient, place: Place, spot: Spot, user: str, dedupe: tuple[str, ...]
    ) -> None:
        try:
            begun = await self._sign_ins.begin(place, spot, user, dedupe=dedupe)
        except StoreError:
            begun = Wrong(notices.NOT_RECORDED)
        if isinstance(begun, Begun):
            message = link_message(begun.server, begun.host, begun.link, LANDS, window_metadata(place, spot))
            try:
                await tell_directly(client, user, message)
            except (web_calls.Refused, web_calls.NoReply) as error:
                log.warning("a link was not sent in a direct message, but in the thread: %s", error)
                await tell(client, place, user, message)
                return
        await tell(client, place, user, note(SENT if isinstance(begun, Begun) else _words(begun) or IN_ALREADY))

    async def on_page(self, ack: AsyncAck) -> None:
        """Let the link lead to the page: there is nothing to do."""
        await ack()

    async def on_paste(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Open the window for the address."""
        click = parse_click(body, action)
        if not isinstance(click, Malformed):
            if window_about(click.value) is None:
                self._tell(client, click.place, click.user, notices.OLD_BUTTON)
            elif not await open_window(client, str(body.get("trigger_id")), paste_window(click.value, LANDS)):
                self._tell(client, click.place, click.user, notices.NO_WINDOW)
        await ack()

    async def on_pasted(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Take the address; what is wrong with it is said in the window, or later to the person alone."""
        sent = parse_window(body)
        about = window_about(sent.metadata) if not isinstance(sent, Malformed) else None
        if isinstance(sent, Malformed) or about is None:
            await ack()
            return
        place, spot = about
        pasted = sent.typed(ADDRESS_BLOCK, ADDRESS_ACTION)
        work = asyncio.create_task(self._finish(place, spot, sent.user, pasted, (f"view:{sent.id}:{sent.hash}",)))
        await asyncio.wait({work}, timeout=LONGEST_WAIT)
        if not work.done():
            self._background.start(self._tell_later(client, place, sent.user, work), "end a sign-in")
            await ack()
            return
        said = work.result()
        if isinstance(said, Wrong):
            await ack(response_action="errors", errors={ADDRESS_BLOCK: said.words[:150]})
            return
        if words := _words(said):  # who decided, and when: a window would not show it as people read it
            self._tell(client, place, sent.user, words)
        await ack()

    async def _finish(
        self, place: Place, spot: Spot, user: str, pasted: str, dedupe: tuple[str, ...]
    ) -> Wrong | Verdict:
        try:
            return await self._sign_ins.finish(place, spot, user, pasted, dedupe=dedupe)
        except StoreError:
            return Wrong(notices.NOT_RECORDED)

    async def _tell_later(
        self, client: AsyncWebClient, place: Place, user: str, work: asyncio.Task[Wrong | Verdict]
    ) -> None:
        await tell(client, place, user, note(SLOW))
        if words := _words(await work):
            await tell(client, place, user, note(words))

    def _tell(self, client: AsyncWebClient, place: Place, user: str, text: str) -> None:
        self._background.start(tell(client, place, user, note(text)), "answer a click")


def _words(said: Wrong | Verdict | Begun) -> str:
    """Say why nothing came of it; empty if something did."""
    if isinstance(said, Wrong):
        return said.words
    return refusal(said) if isinstance(said, Refused) else ""
