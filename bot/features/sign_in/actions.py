"""Handles clicks for sign-ins. Only the person who clicked gets the link; the pasted address is not stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.approvals.actions import render_refusal
from bot.features.approvals.service import DecisionOutcome, DecisionRefused
from bot.features.approvals.view import ApprovalWindowData, decode_window_data
from bot.features.sign_in.service import SignInFault, SignInLink, SignInService
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, make_field_error
from bot.slack.send import web_calls
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, send_direct_message, show_ephemeral_message
from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.approval import SIGN_IN, ApprovalRef
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import Block, Outgoing, make_actions, make_button, make_context, make_section
from bot.store.values import StoreError
from handoff.contracts import Place
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL

log = logging.getLogger(__name__)

WINDOW_WAIT_SECONDS = 2.0
"""Seconds that a window waits for the server to accept the pasted address, as Slack waits three. After that, the person
gets the outcome in an ephemeral message."""
LINK_SENT_TEXT = "I sent you the link in a direct message, with what to do."
SERVER_SLOW_TEXT = "The server is slow. The thread goes on once it has accepted your sign-in."
ALREADY_SIGNED_IN_TEXT = "Somebody else has signed in there meanwhile, so the thread goes on."


class SignInClicks:
    """The listeners for sign-ins."""

    def __init__(self, sign_ins: SignInService, background: BackgroundTasks) -> None:
        self._sign_ins, self._background = sign_ins, background

    def register(self, router: Router) -> None:
        """Register the listeners for the buttons and the window."""
        router.on_click(SIGN_IN, self.on_sign_in)
        router.on_click(LINK_BUTTON, self.on_link)
        router.on_click(PASTE_BUTTON, self.on_paste_button, fault=notices.WINDOW_FAILED)
        router.on_window(PASTE_WINDOW, self.on_paste_window)

    async def on_sign_in(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Send the link to the person who clicked, in the background: the server may be slower than Slack allows."""
        ref = decode_data(click.value, ApprovalRef)
        if ref is None or ref.job != click.place.job_id:
            return notices.OLD_BUTTON
        self._background.start(self._send_link(client, click, ref), "begin a sign-in")
        return None

    async def _send_link(self, client: AsyncWebClient, click: Click, ref: ApprovalRef) -> None:
        place, user = click.place, click.user
        try:
            outcome = await self._sign_ins.start_sign_in(place, ref, user, dedupe=click.dedupe_keys)
        except StoreError:
            outcome = SignInFault(notices.NOT_RECORDED)
        if isinstance(outcome, SignInLink):
            about = encode_data(ApprovalWindowData(place, ref))
            message = render_link_message(outcome.server, outcome.host, outcome.link, self._sign_ins.landing_url, about)
            try:
                await send_direct_message(client, user, message)
            except (web_calls.SlackRefused, web_calls.NoReply) as error:
                log.warning("a link was not sent in a direct message, but in the thread: %s", error)
                await show_ephemeral_message(client, place, user, message)
                return
        await show_ephemeral_message(
            client,
            place,
            user,
            make_note(
                LINK_SENT_TEXT
                if isinstance(outcome, SignInLink)
                else _explain_failure(outcome) or ALREADY_SIGNED_IN_TEXT
            ),
        )

    async def on_link(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Do nothing: the button's link opens the page."""
        del click, client
        return None

    async def on_paste_button(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window in which the person pastes the address."""
        if decode_window_data(click.value) is None:
            return notices.OLD_BUTTON
        is_open = await open_window(
            client, click.trigger_id, render_paste_window(click.value, self._sign_ins.landing_url)
        )
        return None if is_open else notices.WINDOW_FAILED

    async def on_paste_window(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Finish the sign-in with the pasted address. Shows a fault in the window, or privately if it is late."""
        window_data = decode_window_data(submission.metadata)
        if window_data is None:
            return None
        work = asyncio.create_task(self._finish_sign_in(window_data, submission))
        await asyncio.wait({work}, timeout=WINDOW_WAIT_SECONDS)
        if not work.done():
            self._background.start(
                self._report_slow_sign_in(client, window_data.place, submission.user, work), "end a sign-in"
            )
            return None
        outcome = work.result()
        if isinstance(outcome, SignInFault):
            return make_field_error(ADDRESS_BLOCK, outcome.message[:150])
        if words := _explain_failure(outcome):  # names and times, which a window cannot render
            self._background.start(
                show_ephemeral_message(client, window_data.place, submission.user, make_note(words)), "answer a window"
            )
        return None

    async def _finish_sign_in(
        self, window_data: ApprovalWindowData, submission: ViewSubmission
    ) -> SignInFault | DecisionOutcome:
        address = submission.read_text(ADDRESS_BLOCK, ADDRESS_ACTION)
        try:
            return await self._sign_ins.finish_sign_in(
                window_data.place, window_data.spot, submission.user, address, dedupe=submission.dedupe_keys
            )
        except StoreError:
            return SignInFault(notices.NOT_RECORDED)

    async def _report_slow_sign_in(
        self, client: AsyncWebClient, place: Place, user: str, finish_task: asyncio.Task[SignInFault | DecisionOutcome]
    ) -> None:
        await show_ephemeral_message(client, place, user, make_note(SERVER_SLOW_TEXT))
        if words := _explain_failure(await finish_task):
            await show_ephemeral_message(client, place, user, make_note(words))


def _explain_failure(outcome: SignInFault | DecisionOutcome | SignInLink) -> str:
    """Return why a sign-in failed or does not count, or "" if it counts."""
    if isinstance(outcome, SignInFault):
        return outcome.message
    return render_refusal(outcome) if isinstance(outcome, DecisionRefused) else ""


LINK_BUTTON, PASTE_BUTTON = "sign_in:page", "sign_in:paste"
"""The action_ids of the buttons. `LINK_BUTTON` only opens the page, but Slack sends a click for it as well."""
PASTE_WINDOW = "sign_in_pasted"
"""The callback_id of the window."""
ADDRESS_BLOCK, ADDRESS_ACTION = "address", "text"
_LONGEST_ADDRESS = 3_000


def render_link_message(server: str, host: str, link: str, landing_url: str, metadata: str) -> Outgoing:
    """Render the message with the link, and the steps from there to the end of the sign-in.

    `landing_url` is how the address begins on which the browser lands; `metadata` is the data for the paste window.
    """
    page = urlsplit(link).hostname or ""
    server_label = f"{clean_mrkdwn(server, limit=80)} ({clean_mrkdwn(host, limit=200)})"
    first = f"1. Open the sign-in page, which is at {clean_mrkdwn(page, limit=200)}, and sign in there.\n"
    by_itself = (
        f"2. Your browser then shows a page of mine, at {clean_mrkdwn(urlsplit(landing_url).netloc, limit=200)}. "
        "Close it: the "
        "thread goes on. If that page does not load, copy its address and give it to me with “Paste the address”."
    )
    by_hand = (
        f"2. Your browser ends at an address that begins with `{landing_url}` and says that it cannot be reached. "
        "That is "
        "expected.\n"
        "3. Copy that whole address, and give it to me with “Paste the address”."
    )
    open_button = {**make_button("Open the sign-in page", LINK_BUTTON, "page", style="primary"), "url": link}
    footnote = (
        "The link is for you alone, and good for 10 minutes: for a new one press “Sign in” in the thread again. "
        "Do not show the address to anybody else."
    )
    blocks = (
        make_section(f":lock: Sign in to {server_label}"),
        make_section(first + (by_hand if landing_url == LOCAL_RETURN_URL else by_itself)),
        make_actions([open_button, make_button("Paste the address", PASTE_BUTTON, metadata)]),
        make_context(footnote),
    )
    return Outgoing(text=f"Sign in to {clean_mrkdwn(server, limit=80)}", blocks=blocks)


def render_paste_window(metadata: str, landing_url: str) -> Block:
    """Build the window for the address. Slack returns `metadata` with the submission."""
    field: Block = {
        "type": "input",
        "block_id": ADDRESS_BLOCK,
        "label": _make_text("The address on which your browser ended"),
        "hint": _make_text(f"It begins with {landing_url}. It works once, and is not stored."),
        "element": {"type": "plain_text_input", "action_id": ADDRESS_ACTION, "max_length": _LONGEST_ADDRESS},
    }
    return {
        "type": "modal",
        "callback_id": PASTE_WINDOW,
        "private_metadata": metadata,
        "title": _make_text("Sign in"),
        "submit": _make_text("Sign in"),
        "close": _make_text("Cancel"),
        "blocks": [field],
    }


def _make_text(words: str) -> Block:
    return {"type": "plain_text", "text": to_plain_line(words, 150)}
