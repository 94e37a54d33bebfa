"""Handles clicks of people who sign in to a server. Only they get the link; the address they paste is not stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.approvals.actions import refusal
from bot.features.approvals.service import DecisionOutcome, DecisionRefused
from bot.features.approvals.view import AboutApproval, read_window_data
from bot.features.sign_in.service import SignInDesk, SignInFault, SignInLink
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, field_error
from bot.slack.send import web_calls
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, tell, tell_directly
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.approval import SIGN_IN, ApprovalRef
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import Block, Outgoing, actions, button, context, section
from bot.store.values import StoreError
from handoff.contracts import Place
from specialists.tools.tool_sign_in import LANDS

log = logging.getLogger(__name__)

LONGEST_WAIT = 2.0
"""Seconds that a window waits for the server to accept the pasted address: Slack waits three. A later outcome is sent
to the person."""
SENT = "I sent you the link in a direct message, with what to do."
SLOW = "The server is slow. The thread goes on once it has accepted your sign-in."
IN_ALREADY = "Somebody else has signed in there meanwhile, so the thread goes on."


class SignInClicks:
    """The listeners for sign-ins."""

    def __init__(self, sign_ins: SignInDesk, background: Background) -> None:
        self._sign_ins, self._background = sign_ins, background

    def register(self, router: Router) -> None:
        """Register the listeners for the buttons and the window."""
        router.on_click(SIGN_IN, self.on_sign_in)
        router.on_click(PAGE, self.on_page)
        router.on_click(PASTE, self.on_paste_button, fault=notices.NO_WINDOW)
        router.on_window(PASTED, self.on_paste_window)

    async def on_sign_in(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Start to send the link to the person who clicked: to get it from the server takes longer than a click may."""
        spot = decode_data(click.value, ApprovalRef)
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
            about = encode_data(AboutApproval(place, spot))
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
        """Do nothing: the button's link opens the page."""
        del click, client
        return None

    async def on_paste_button(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window in which the person pastes the address."""
        if read_window_data(click.value) is None:
            return notices.OLD_BUTTON
        opened = await open_window(client, click.trigger, paste_window(click.value, self._sign_ins.lands))
        return None if opened else notices.NO_WINDOW

    async def on_paste_window(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Finish the sign-in with the pasted address. A fault is shown in the window, or sent privately if late."""
        about = read_window_data(sent.metadata)
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
        if words := _explain_failure(said):  # names and times, which a window cannot render
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
    """Return why a sign-in failed or does not count, or "" if it counts."""
    if isinstance(said, SignInFault):
        return said.words
    return refusal(said) if isinstance(said, DecisionRefused) else ""


PAGE, PASTE = "sign_in:page", "sign_in:paste"
"""The action_ids of the buttons. `PAGE` only opens the page, but Slack sends a click for it as well."""
PASTED = "sign_in_pasted"
"""The callback_id of the window."""
ADDRESS_BLOCK, ADDRESS_ACTION = "address", "text"
_LONGEST = 3_000


def link_message(server: str, host: str, link: str, begins: str, metadata: str) -> Outgoing:
    """Render the link. `begins` is the start of the address where the browser lands; `metadata` is for the window."""
    page = urlsplit(link).hostname or ""
    named = f"{clean(server, limit=80)} ({clean(host, limit=200)})"
    first = f"1. Open the sign-in page, which is at {clean(page, limit=200)}, and sign in there.\n"
    by_itself = (
        f"2. Your browser then shows a page of mine, at {clean(urlsplit(begins).netloc, limit=200)}. Close it: the "
        "thread goes on. If that page does not load, copy its address and give it to me with “Paste the address”."
    )
    by_hand = (
        f"2. Your browser ends at an address that begins with `{begins}` and says that it cannot be reached. That is "
        "expected.\n"
        "3. Copy that whole address, and give it to me with “Paste the address”."
    )
    leads = {**button("Open the sign-in page", PAGE, "page", style="primary"), "url": link}
    small = (
        "The link is for you alone, and good for 10 minutes: for a new one press “Sign in” in the thread again. "
        "Do not show the address to anybody else."
    )
    blocks = (
        section(f":lock: Sign in to {named}"),
        section(first + (by_hand if begins == LANDS else by_itself)),
        actions([leads, button("Paste the address", PASTE, metadata)]),
        context(small),
    )
    return Outgoing(text=f"Sign in to {clean(server, limit=80)}", blocks=blocks)


def paste_window(metadata: str, begins: str) -> Block:
    """Build the window for the address. Slack returns `metadata` with the submission."""
    field: Block = {
        "type": "input",
        "block_id": ADDRESS_BLOCK,
        "label": _text_object("The address on which your browser ended"),
        "hint": _text_object(f"It begins with {begins}. It works once, and is not stored."),
        "element": {"type": "plain_text_input", "action_id": ADDRESS_ACTION, "max_length": _LONGEST},
    }
    return {
        "type": "modal",
        "callback_id": PASTED,
        "private_metadata": metadata,
        "title": _text_object("Sign in"),
        "submit": _text_object("Sign in"),
        "close": _text_object("Cancel"),
        "blocks": [field],
    }


def _text_object(words: str) -> Block:
    return {"type": "plain_text", "text": plain(words, 150)}
