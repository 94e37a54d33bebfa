"""Handles clicks on approval cards, and their windows. A person whose decision does not count gets a private note."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.approvals.service import (
    ApprovalDecision,
    ApprovalService,
    ApprovalSubject,
    DecisionOutcome,
    DecisionRefused,
)
from bot.features.approvals.view import (
    DENY_WINDOW,
    EDIT_WINDOW,
    MAX_REASON_CHARS,
    REASON_ACTION,
    REASON_BLOCK,
    ApprovalWindowData,
    decode_window_data,
    render_arguments_window,
    render_deny_window,
    render_edit_window,
)
from bot.slack.receive.payloads import Click, ViewSubmission
from bot.slack.receive.router import ClickReply, Router, make_field_error
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import make_note, open_window, show_ephemeral_message
from bot.slack.text.cleaning import render_mention
from bot.slack.views.approval import (
    APPROVE,
    APPROVE_SIMILAR,
    DECIDE_SEPARATELY,
    DENY,
    EDIT,
    SHOW_ALL,
    ApprovalRef,
    render_deciders,
)
from bot.slack.views.argument_blocks import FIELD_PREFIX, read_fields
from bot.slack.views.button_data import decode_data, encode_data
from bot.slack.views.outgoing import render_moment
from handoff.approval_values import ApprovalChoice
from handoff.state.state_values import Ruling

log = logging.getLogger(__name__)

_CHOICE_BY_ACTION: Mapping[str, ApprovalChoice] = {
    APPROVE: "approve",
    APPROVE_SIMILAR: "approve_alike",
    DECIDE_SEPARATELY: "apart",
}


class ApprovalClicks:
    """The listeners for approval cards and their windows."""

    def __init__(self, approvals: ApprovalService, background: BackgroundTasks) -> None:
        self._approvals = approvals
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for the buttons of the cards, and for the windows."""
        for action in _CHOICE_BY_ACTION:
            router.on_click(action, self.on_decision)
        for action in (EDIT, DENY, SHOW_ALL):
            router.on_click(action, self.on_open_window, fault=notices.NOT_READ)
        router.on_window(EDIT_WINDOW, self.on_edit_submitted)
        router.on_window(DENY_WINDOW, self.on_deny_submitted)

    async def on_decision(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Record the decision of a click: approve, approve similar calls too, or decide one by one.

        Returns a private note if the decision does not count.
        """
        del client
        ref = _read_ref(click)
        if ref is None:
            return notices.OLD_BUTTON
        decision = ApprovalDecision(_CHOICE_BY_ACTION[click.action_id])
        verdict = await self._approvals.decide(click.place, ref, click.user, decision, dedupe=click.dedupe_keys)
        return render_refusal(verdict) if isinstance(verdict, DecisionRefused) else None

    async def on_open_window(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Open the window that a button asks for: to edit the arguments, to deny the call, or to see all arguments."""
        ref = _read_ref(click)
        if ref is None:
            return notices.OLD_BUTTON
        subject = await self._approvals.find_subject(
            click.place, ref, click.user, must_decide=click.action_id != SHOW_ALL
        )
        if isinstance(subject, DecisionRefused):
            return render_refusal(subject)
        window = _render_window(click.action_id, subject, encode_data(ApprovalWindowData(click.place, ref)))
        return None if await open_window(client, click.trigger_id, window) else notices.WINDOW_FAILED

    async def on_edit_submitted(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Record an approval with edited arguments. Returns a field error if the tool does not accept an argument."""
        window_data = _read_window_data(submission)
        if window_data is None:
            return None
        field_texts = _parse_field_texts(submission)
        subject = await self._approvals.find_subject(
            window_data.place, window_data.spot, submission.user, must_decide=True
        )
        verdict = (
            subject
            if isinstance(subject, DecisionRefused)
            else await self._decide_edit(window_data, submission, field_texts, subject)
        )
        if isinstance(verdict, DecisionRefused) and verdict.reason == "wrong":
            field_name = verdict.field if verdict.field in field_texts else next(iter(field_texts), "")
            return make_field_error(f"{FIELD_PREFIX}{field_name}", verdict.message[:150])
        if isinstance(verdict, DecisionRefused):
            self._tell_clicker(client, window_data, submission.user, render_refusal(verdict))
        return None

    async def _decide_edit(
        self,
        window_data: ApprovalWindowData,
        submission: ViewSubmission,
        texts: Mapping[str, str],
        subject: ApprovalSubject,
    ) -> DecisionOutcome:
        try:
            arguments = read_fields(texts, subject.approval.arguments, subject.schema)
        except ValueError as error:
            name, words = error.args
            return DecisionRefused("wrong", field=name, message=words)
        decision = ApprovalDecision("edit", arguments)
        return await self._approvals.decide(
            window_data.place, window_data.spot, submission.user, decision, dedupe=submission.dedupe_keys
        )

    async def on_deny_submitted(self, submission: ViewSubmission, client: AsyncWebClient) -> Mapping[str, Any] | None:
        """Record a denial with its reason. If it does not count, the person gets a private note."""
        window_data = _read_window_data(submission)
        if window_data is None:
            return None
        decision = ApprovalDecision("deny", reason=submission.read_text(REASON_BLOCK, REASON_ACTION)[:MAX_REASON_CHARS])
        verdict = await self._approvals.decide(
            window_data.place, window_data.spot, submission.user, decision, dedupe=submission.dedupe_keys
        )
        if isinstance(verdict, DecisionRefused):
            self._tell_clicker(client, window_data, submission.user, render_refusal(verdict))
        return None

    def _tell_clicker(self, client: AsyncWebClient, window_data: ApprovalWindowData, user: str, text: str) -> None:
        self._background.start(
            show_ephemeral_message(client, window_data.place, user, make_note(text)), "answer a click"
        )


def _read_ref(click: Click) -> ApprovalRef | None:
    """Return the approval that a button belongs to; None if the button is invalid, or is of another thread."""
    ref = decode_data(click.value, ApprovalRef)
    return ref if ref is not None and ref.job == click.place.job_id else None


def _read_window_data(submission: ViewSubmission) -> ApprovalWindowData | None:
    window_data = decode_window_data(submission.metadata)
    if window_data is None:
        log.warning("a window without its approval was left alone")
    return window_data


def render_refusal(outcome: DecisionRefused) -> str:
    """Return a text that tells the person why their decision does not count, and how the approval ended."""
    if outcome.ruling is not None:
        return _describe_ruling(outcome.ruling)
    deciders = render_deciders(outcome.deciders) if outcome.deciders else "others"
    return {
        "unknown": notices.UNKNOWN_JOB,
        "late": notices.CLOSED_QUESTION,
        "over": "The work on this ended before anybody decided, so it was not done. Your click changed nothing.",
        "apart": "Somebody chose to decide on these one by one, so your click changed nothing: see the cards below.",
        "changed": "The arguments have changed since that card was drawn, so your click changed nothing. "
        "The latest card of this thread shows them as they are.",
        "not_yours": f"Your click changed nothing: only {deciders} may decide.",
        "own": "Your click changed nothing: you made this request, and nobody approves what is done for "
        f"it. That is for {deciders} to decide.",
        "again": "You have approved this already. It takes more people, so it waits for the others.",
        "no_tool": "That tool is no longer there, so its arguments cannot be edited. Deny it, or approve it as it is.",
        "no_server": "That server is no longer among the tools here, so nobody can sign in to it. Deny it.",
        "wrong": outcome.message,
    }[outcome.reason]


def _describe_ruling(ruling: Ruling) -> str:
    when = render_moment(ruling.at)
    if ruling.outcome == "expired":
        return f"This expired {when}: nobody had decided by then, so it was not done. Your click changed nothing."
    who = " and ".join(render_mention(user) for user in dict.fromkeys(ruling.users))
    did = {"approved": "approved it", "edited": "edited and approved it", "denied": "denied it"}[ruling.outcome]
    return f"{who} {did} {when}, before your click. Your click changed nothing."


def _render_window(kind: str, subject: ApprovalSubject, metadata: str) -> dict[str, Any]:
    if kind == EDIT:
        return render_edit_window(subject.approval, subject.schema, metadata)
    return render_deny_window(subject.approval, metadata) if kind == DENY else render_arguments_window(subject.approval)


def _parse_field_texts(submission: ViewSubmission) -> dict[str, str]:
    """Return the typed or chosen text of each field in a window, by argument name."""
    field_texts: dict[str, str] = {}
    for block, elements in submission.values.items():
        for element in elements.values() if block.startswith(FIELD_PREFIX) and isinstance(elements, Mapping) else ():
            option = element.get("selected_option") or {}
            field_texts[block.removeprefix(FIELD_PREFIX)] = str(element.get("value") or option.get("value") or "")
    return field_texts
