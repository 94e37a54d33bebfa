"""Clicks of people who sign in to a server: the link goes to them alone, and what they paste is recorded nowhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.approvals.actions import refusal
from bot.features.approvals.service import DecisionOutcome, DecisionRefused
from bot.features.approvals.view import AboutApproval, window_about
from bot.features.sign_in.service import SignInDesk, SignInFault, SignInLink
from bot.features.sign_in.view import ADDRESS_ACTION, ADDRESS_BLOCK, PAGE, PASTE, PASTED, link_message, paste_window
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, field_error
from bot.slack.send import web_calls
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, tell, tell_directly
from bot.slack.views.approval import SIGN_IN, ApprovalRef
from bot.slack.views.carried import carry, read_carried
from bot.store.interface import StoreError
from handoff.contracts import Place

log = logging.getLogger(__name__)

LONGEST_WAIT = 2.0
"""Seconds that a window waits for the server to take what was pasted: Slack waits for three. Later words are told."""
SENT = "I sent you the link in a direct message, with what to do."
SLOW = "The server is slow. The thread goes on once it has accepted your sign-in."
IN_ALREADY = "Somebody else has signed in there meanwhile, so the thread goes on."


class SignInClicks:
    """The listeners of sign-ins."""

    def __init__(self, sign_ins: SignInDesk, background: Background) -> None:
        self._sign_ins, self._background = sign_ins, background

    def register(self, router: Router) -> None:
        """Listen to the buttons and the window."""
        router.on_click(SIGN_IN, self.on_sign_in)
        router.on_click(PAGE, self.on_page)
        router.on_click(PASTE, self.on_paste, fault=notices.NO_WINDOW)
        router.on_window(PASTED, self.on_pasted)

    async def on_sign_in(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Send who clicked the link. The server is asked for it, which takes longer than a click may."""
        spot = read_carried(click.value, ApprovalRef)
        if spot is None or spot.job != click.place.job_id:
            return notices.OLD_BUTTON
        self._background.start(self._begin_sign_in(client, click, spot), "begin a sign-in")
        return None

    async def _begin_sign_in(self, client: AsyncWebClient, click: Click, spot: ApprovalRef) -> None:
        place, user = click.place, click.user
        try:
            begun = await self._sign_ins.begin(place, spot, user, dedupe=click.dedupe)
        except StoreError:
            begun = SignInFault(notices.NOT_RECORDED)
        if isinstance(begun, SignInLink):
            about = carry(AboutApproval(place, spot))
            message = link_message(begun.server, begun.host, begun.link, self._sign_ins.lands, about)
            try:
                await tell_directly(client, user, message)
            except (web_calls.SlackRefused, web_calls.NoReply) as error:
                log.warning("a link was not sent in a direct message, but in the thread: %s", error)
                await tell(client, place, user, message)
                return
        await tell(
            client,
            place,
            user,
            make_note(SENT if isinstance(begun, SignInLink) else _explain_failure(begun) or IN_ALREADY),
        )

    async def on_page(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Let the link lead to the page: there is nothing to do."""
        del click, client
        return None

    async def on_paste(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window for the address."""
        if window_about(click.value) is None:
            return notices.OLD_BUTTON
        opened = await open_window(client, click.trigger, paste_window(click.value, self._sign_ins.lands))
        return None if opened else notices.NO_WINDOW

    async def on_pasted(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Take the address; what is wrong with it is said in the window, or later to the person alone."""
        about = window_about(sent.metadata)
        if about is None:
            return None
        work = asyncio.create_task(self._finish(about, sent))
        await asyncio.wait({work}, timeout=LONGEST_WAIT)
        if not work.done():
            self._background.start(self._tell_later(client, about.place, sent.user, work), "end a sign-in")
            return None
        said = work.result()
        if isinstance(said, SignInFault):
            return field_error(ADDRESS_BLOCK, said.words[:150])
        if words := _explain_failure(said):  # who decided, and when: a window would not show it as people read it
            self._background.start(tell(client, about.place, sent.user, make_note(words)), "answer a window")
        return None

    async def _finish(self, about: AboutApproval, sent: ViewSubmission) -> SignInFault | DecisionOutcome:
        pasted = sent.read_text(ADDRESS_BLOCK, ADDRESS_ACTION)
        try:
            return await self._sign_ins.finish(about.place, about.spot, sent.user, pasted, dedupe=sent.dedupe)
        except StoreError:
            return SignInFault(notices.NOT_RECORDED)

    async def _tell_later(
        self, client: AsyncWebClient, place: Place, user: str, work: asyncio.Task[SignInFault | DecisionOutcome]
    ) -> None:
        await tell(client, place, user, make_note(SLOW))
        if words := _explain_failure(await work):
            await tell(client, place, user, make_note(words))


def _explain_failure(said: SignInFault | DecisionOutcome | SignInLink) -> str:
    """Say why nothing came of it; empty if something did."""
    if isinstance(said, SignInFault):
        return said.words
    return refusal(said) if isinstance(said, DecisionRefused) else ""
