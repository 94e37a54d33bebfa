"""Clicks on the card of an approval, and its windows. Whoever comes too late, or may not, is told so, alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.approvals.service import ApprovalDesk, Decision, Found, Refused, Verdict
from bot.features.approvals.view import (
    DENIED,
    EDITED,
    REASON_ACTION,
    REASON_BLOCK,
    REASON_LIMIT,
    arguments_window,
    deny_window,
    edit_window,
    window_about,
    window_metadata,
)
from bot.slack.receive.payloads import Click, Malformed, Window, parse_click, parse_window
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, answer_click, note, open_window, soon, tell
from bot.slack.text.cleaning import mention
from bot.slack.views.approval import ALIKE, APART, APPROVE, DENY, EDIT, SHOW, Spot, people, spot_of
from bot.slack.views.argument_blocks import FIELD, read_fields
from bot.slack.views.outgoing import moment
from handoff.approval_values import ApprovalChoice
from handoff.contracts import Place
from handoff.state.state_values import Ruling

log = logging.getLogger(__name__)

_CHOICES: Mapping[str, ApprovalChoice] = {APPROVE: "approve", ALIKE: "approve_alike", APART: "apart"}


class ApprovalClicks:
    """The listeners of approvals."""

    def __init__(self, approvals: ApprovalDesk, background: Background) -> None:
        self._approvals = approvals
        self._background = background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        for action in _CHOICES:
            app.action(action)(self.on_decision)
        for action in (EDIT, DENY, SHOW):
            app.action(action)(self.on_window)
        app.view(EDITED)(self.on_edited)
        app.view(DENIED)(self.on_denied)

    async def on_decision(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Take a click that decides at once: to approve, to approve similar calls too, to decide one by one."""
        found = self._about(body, action, client)
        if found is not None:
            click, spot = found
            try:
                async with soon():
                    choice = _CHOICES[str(action["action_id"])]
                    verdict = await self._approvals.decide(
                        click.place, spot, click.user, Decision(choice), dedupe=click.dedupe
                    )
                if isinstance(verdict, Refused):
                    self._answer(client, click, refusal(verdict))
            except Unrecorded:
                self._answer(client, click, notices.NOT_RECORDED)
        await ack()

    async def on_window(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Open the window to edit, to deny, or with all of the arguments."""
        about = self._about(body, action, client)
        if about is not None:
            click, spot = about
            kind = str(action["action_id"])
            text = ""
            try:
                async with soon():
                    found = await self._approvals.look(click.place, spot, click.user, decides=kind != SHOW)
            except Unrecorded:
                text = notices.NOT_READ
            else:
                if isinstance(found, Refused):
                    text = refusal(found)
                else:
                    window = _window(kind, found, window_metadata(click.place, spot))
                    opened = await open_window(client, str(body.get("trigger_id")), window)
                    text = "" if opened else notices.NO_WINDOW
            if text:
                self._answer(client, click, text)
        await ack()

    async def on_edited(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Take edited arguments; what does not fit the tool is said beside its field."""
        about = _sent(body)
        if about is None:
            await ack()
            return
        sent, place, spot = about
        given, user = _values(sent), sent.user
        try:
            async with soon():
                found = await self._approvals.look(place, spot, user, decides=True)
                verdict: Verdict
                if isinstance(found, Refused):
                    verdict = found
                else:
                    verdict = await self._edited(place, spot, user, given, found, dedupe=_dedupe(sent))
        except Unrecorded:
            await _errors(ack, given, "", notices.NOT_RECORDED)
            return
        if isinstance(verdict, Refused) and verdict.why == "wrong":
            await _errors(ack, given, verdict.field, verdict.words)
            return
        if isinstance(verdict, Refused):
            self._tell(client, place, user, refusal(verdict))
        await ack()

    async def _edited(
        self, place: Place, spot: Spot, user: str, given: Mapping[str, str], found: Found, *, dedupe: tuple[str, ...]
    ) -> Verdict:
        try:
            arguments = read_fields(given, found.approval.arguments, found.schema)
        except ValueError as error:
            name, words = error.args
            return Refused("wrong", field=name, words=words)
        return await self._approvals.decide(place, spot, user, Decision("edit", arguments), dedupe=dedupe)

    async def on_denied(self, ack: AsyncAck, body: dict[str, Any], client: AsyncWebClient) -> None:
        """Take a denial with its reason."""
        about = _sent(body)
        if about is None:
            await ack()
            return
        sent, place, spot = about
        reason, user = sent.typed(REASON_BLOCK, REASON_ACTION)[:REASON_LIMIT], sent.user
        try:
            async with soon():
                decision = Decision("deny", reason=reason)
                verdict = await self._approvals.decide(place, spot, user, decision, dedupe=_dedupe(sent))
        except Unrecorded:
            await ack(response_action="errors", errors={REASON_BLOCK: notices.NOT_RECORDED})
            return
        if isinstance(verdict, Refused):
            self._tell(client, place, user, refusal(verdict))
        await ack()

    def _about(self, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient) -> tuple[Click, Spot] | None:
        click = parse_click(body, action)
        if isinstance(click, Malformed):
            log.warning("a click without %s was left alone", click.reason)
            return None
        spot = spot_of(click.value)
        if spot is None or spot.job != click.place.job_id:
            self._answer(client, click, notices.OLD_BUTTON)
            return None
        return click, spot

    def _answer(self, client: AsyncWebClient, click: Click, text: str) -> None:
        self._background.start(answer_click(client, click, text), "answer a click")

    def _tell(self, client: AsyncWebClient, place: Place, user: str, text: str) -> None:
        self._background.start(tell(client, place, user, note(text)), "answer a click")


def refusal(refused: Refused) -> str:
    """Say to a person why the decision does not count, and what holds instead."""
    if refused.ruling is not None:
        return _ended(refused.ruling)
    may = people(refused.whom) if refused.whom else "others"
    return {
        "unknown": notices.UNKNOWN,
        "late": notices.STALE,
        "over": "The work on this ended before anybody decided, so it was not done. Your click changed nothing.",
        "apart": "Somebody chose to decide on these one by one, so your click changed nothing: see the cards below.",
        "changed": "The arguments have changed since that card was drawn, so your click changed nothing. "
        "The latest card of this thread shows them as they are.",
        "not_yours": f"Your click changed nothing: only {may} may decide.",
        "own": "Your click changed nothing: you made the request, and who makes one may not approve what is done for "
        f"it. That is for {may} to decide.",
        "again": "You have approved this already. It takes more people, so it waits for the others.",
        "no_tool": "That tool is no longer there, so its arguments cannot be edited. Deny it, or approve it as it is.",
        "no_server": "That server is no longer among the tools here, so nobody can sign in to it. Deny it.",
        "wrong": refused.words,
    }[refused.why]


def _ended(ruling: Ruling) -> str:
    when = moment(ruling.at)
    if ruling.outcome == "expired":
        return f"This expired {when}: nobody had decided by then, so it was not done. Your click changed nothing."
    who = " and ".join(mention(user) for user in dict.fromkeys(ruling.users))
    did = {"approved": "approved it", "edited": "edited and approved it", "denied": "denied it"}[ruling.outcome]
    return f"{who} {did} {when}, before your click. Your click changed nothing."


def _window(kind: str, found: Found, metadata: str) -> dict[str, Any]:
    if kind == EDIT:
        return edit_window(found.approval, found.schema, metadata)
    return deny_window(found.approval, metadata) if kind == DENY else arguments_window(found.approval)


def _sent(body: Mapping[str, Any]) -> tuple[Window, Place, Spot] | None:
    """Read a window that was sent, and the approval that it is about. None if it is none of ours."""
    sent = parse_window(body)
    about = window_about(sent.metadata) if isinstance(sent, Window) else None
    if about is None or not isinstance(sent, Window):
        log.warning("a window without its approval was left alone")
        return None
    return sent, *about


def _dedupe(sent: Window) -> tuple[str, ...]:
    """Name what a window hands in. The same window may be sent again with other values after a fault."""
    return (f"view:{sent.id}:{sent.hash}",)


def _values(sent: Window) -> dict[str, str]:
    """Return what stands in the fields, by argument."""
    found: dict[str, str] = {}
    for block, elements in sent.values.items():
        for element in elements.values() if block.startswith(FIELD) and isinstance(elements, Mapping) else ():
            option = element.get("selected_option") or {}
            found[block.removeprefix(FIELD)] = str(element.get("value") or option.get("value") or "")
    return found


async def _errors(ack: AsyncAck, given: Mapping[str, str], name: str, words: str) -> None:
    """Say what is wrong beside a field, or beside the first if it is about none of them."""
    beside = name if name in given else next(iter(given), "")
    await ack(response_action="errors", errors={f"{FIELD}{beside}": words[:150]})
