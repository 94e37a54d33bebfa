"""Handles clicks on approval cards, and their windows. A person whose decision does not count gets a private note."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.approvals.service import (
    ApprovalDecision,
    ApprovalDesk,
    ApprovalSubject,
    DecisionOutcome,
    DecisionRefused,
)
from bot.features.approvals.view import (
    DENIED,
    EDITED,
    REASON_ACTION,
    REASON_BLOCK,
    REASON_LIMIT,
    AboutApproval,
    arguments_window,
    deny_window,
    edit_window,
    read_window_data,
)
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, field_error
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, tell
from bot.slack.text.cleaning import mention
from bot.slack.views.approval import ALIKE, APART, APPROVE, DENY, EDIT, SHOW, ApprovalRef, name_deciders
from bot.slack.views.argument_blocks import FIELD, read_fields
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import render_moment
from handoff.approval_values import ApprovalChoice
from handoff.state.state_values import Ruling

log = logging.getLogger(__name__)

_CHOICES: Mapping[str, ApprovalChoice] = {APPROVE: "approve", ALIKE: "approve_alike", APART: "apart"}


class ApprovalClicks:
    """The listeners for approval cards and their windows."""

    def __init__(self, approvals: ApprovalDesk, background: Background) -> None:
        self._approvals = approvals
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for the buttons of the cards, and for the windows."""
        for action in _CHOICES:
            router.on_click(action, self.on_decision)
        for action in (EDIT, DENY, SHOW):
            router.on_click(action, self.on_window, fault=notices.NOT_READ)
        router.on_window(EDITED, self.on_edited)
        router.on_window(DENIED, self.on_denied)

    async def on_decision(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Record the decision of a click: approve, approve similar calls too, or decide one by one."""
        del client
        spot = _read_spot(click)
        if spot is None:
            return notices.OLD_BUTTON
        decision = ApprovalDecision(_CHOICES[click.action])
        verdict = await self._approvals.decide(click.place, spot, click.user, decision, dedupe=click.dedupe)
        return refusal(verdict) if isinstance(verdict, DecisionRefused) else None

    async def on_window(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window for a click: to edit the arguments, to deny the call, or to see all arguments."""
        spot = _read_spot(click)
        if spot is None:
            return notices.OLD_BUTTON
        found = await self._approvals.find_subject(click.place, spot, click.user, decides=click.action != SHOW)
        if isinstance(found, DecisionRefused):
            return refusal(found)
        window = _draw_window(click.action, found, encode_data(AboutApproval(click.place, spot)))
        return None if await open_window(client, click.trigger, window) else notices.NO_WINDOW

    async def on_edited(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Record an approval with edited arguments. Returns a field error if the tool does not accept an argument."""
        about = _read_window_data(sent)
        if about is None:
            return None
        given = _read_values(sent)
        found = await self._approvals.find_subject(about.place, about.spot, sent.user, decides=True)
        verdict = found if isinstance(found, DecisionRefused) else await self._decide_edit(about, sent, given, found)
        if isinstance(verdict, DecisionRefused) and verdict.why == "wrong":
            beside = verdict.field if verdict.field in given else next(iter(given), "")
            return field_error(f"{FIELD}{beside}", verdict.words[:150])
        if isinstance(verdict, DecisionRefused):
            self._tell_clicker(client, about, sent.user, refusal(verdict))
        return None

    async def _decide_edit(
        self, about: AboutApproval, sent: ViewSubmission, given: Mapping[str, str], found: ApprovalSubject
    ) -> DecisionOutcome:
        try:
            arguments = read_fields(given, found.approval.arguments, found.schema)
        except ValueError as error:
            name, words = error.args
            return DecisionRefused("wrong", field=name, words=words)
        decision = ApprovalDecision("edit", arguments)
        return await self._approvals.decide(about.place, about.spot, sent.user, decision, dedupe=sent.dedupe)

    async def on_denied(self, sent: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Record a denial with its reason."""
        about = _read_window_data(sent)
        if about is None:
            return None
        decision = ApprovalDecision("deny", reason=sent.read_text(REASON_BLOCK, REASON_ACTION)[:REASON_LIMIT])
        verdict = await self._approvals.decide(about.place, about.spot, sent.user, decision, dedupe=sent.dedupe)
        if isinstance(verdict, DecisionRefused):
            self._tell_clicker(client, about, sent.user, refusal(verdict))
        return None

    def _tell_clicker(self, client: AsyncWebClient, about: AboutApproval, user: str, text: str) -> None:
        self._background.start(tell(client, about.place, user, make_note(text)), "answer a click")


def _read_spot(click: Click) -> ApprovalRef | None:
    """Return the approval that a button belongs to, or None if it is not one of this thread."""
    spot = decode_data(click.value, ApprovalRef)
    return spot if spot is not None and spot.job == click.place.job_id else None


def _read_window_data(sent: ViewSubmission) -> AboutApproval | None:
    about = read_window_data(sent.metadata)
    if about is None:
        log.warning("a window without its approval was left alone")
    return about


def refusal(refused: DecisionRefused) -> str:
    """Return a text for the person: why their decision does not count, and how the approval stands."""
    if refused.ruling is not None:
        return _describe_ruling(refused.ruling)
    may = name_deciders(refused.whom) if refused.whom else "others"
    return {
        "unknown": notices.UNKNOWN,
        "late": notices.STALE,
        "over": "The work on this ended before anybody decided, so it was not done. Your click changed nothing.",
        "apart": "Somebody chose to decide on these one by one, so your click changed nothing: see the cards below.",
        "changed": "The arguments have changed since that card was drawn, so your click changed nothing. "
        "The latest card of this thread shows them as they are.",
        "not_yours": f"Your click changed nothing: only {may} may decide.",
        "own": "Your click changed nothing: you made this request, and nobody approves what is done for "
        f"it. That is for {may} to decide.",
        "again": "You have approved this already. It takes more people, so it waits for the others.",
        "no_tool": "That tool is no longer there, so its arguments cannot be edited. Deny it, or approve it as it is.",
        "no_server": "That server is no longer among the tools here, so nobody can sign in to it. Deny it.",
        "wrong": refused.words,
    }[refused.why]


def _describe_ruling(ruling: Ruling) -> str:
    when = render_moment(ruling.at)
    if ruling.outcome == "expired":
        return f"This expired {when}: nobody had decided by then, so it was not done. Your click changed nothing."
    who = " and ".join(mention(user) for user in dict.fromkeys(ruling.users))
    did = {"approved": "approved it", "edited": "edited and approved it", "denied": "denied it"}[ruling.outcome]
    return f"{who} {did} {when}, before your click. Your click changed nothing."


def _draw_window(kind: str, found: ApprovalSubject, metadata: str) -> dict[str, Any]:
    if kind == EDIT:
        return edit_window(found.approval, found.schema, metadata)
    return deny_window(found.approval, metadata) if kind == DENY else arguments_window(found.approval)


def _read_values(sent: ViewSubmission) -> dict[str, str]:
    """Return the texts of the window's fields, by the name of the argument."""
    found: dict[str, str] = {}
    for block, elements in sent.values.items():
        for element in elements.values() if block.startswith(FIELD) and isinstance(elements, Mapping) else ():
            option = element.get("selected_option") or {}
            found[block.removeprefix(FIELD)] = str(element.get("value") or option.get("value") or "")
    return found
