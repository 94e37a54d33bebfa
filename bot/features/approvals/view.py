"""Builds the windows of an approval: to see all arguments, to edit them, and to deny the call with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.approval import ApprovalRef
from bot.slack.views.argument_blocks import is_editable, make_fields, quote_text, render_whole_arguments
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Block, make_context, make_section
from handoff.approval_values import Approval
from handoff.contracts import Place

EDIT_WINDOW, DENY_WINDOW = "approval_edited", "approval_denied"
"""The callback_ids of the windows."""
REASON_BLOCK, REASON_ACTION = "reason", "text"
REASON_LIMIT = 500


def render_arguments_window(approval: Approval) -> Block:
    """Build the window that shows all arguments, and all content that the call would send out."""
    blocks: list[Block] = []
    for n, one in enumerate(approval.calls, 1):
        if approval.parts:
            blocks.append(make_section(f"*{n}.*  *Tool:* {clean_mrkdwn(one.tool, limit=100)}"))
        blocks += render_whole_arguments(one.arguments)
        if one.leaves:
            blocks += [
                make_section("*What would leave, word for word:*"),
                *render_whole_arguments({"text": one.leaves}),
            ]
    return {
        "type": "modal",
        "title": _plain_text_object("All of it"),
        "close": _plain_text_object("Close"),
        "blocks": blocks,
    }


def render_edit_window(approval: Approval, schema: Mapping[str, Any], metadata: str) -> Block:
    """Build the window with a field for each argument. Slack returns `metadata` with the submission."""
    inputs = make_fields(approval.arguments, schema)
    long = [name for name, value in approval.arguments.items() if not is_editable(value)]
    told = "It runs once, with exactly these values. The specialist is told what you changed."
    if approval.terms.quorum > 1:
        told = "Approvals so far no longer count: the others are asked again, with these values."
    notes = [f"Too long for a field, so it stays as it is: {clean_mrkdwn(', '.join(long), limit=500)}."] if long else []
    head = [
        make_section(f"*Tool:* {clean_mrkdwn(approval.tool, limit=100)}"),
        *([make_context(*notes)] if notes else []),
    ]
    return _make_modal("Edit and approve", "Approve", EDIT_WINDOW, metadata, [*head, *inputs, make_context(told)])


def render_deny_window(approval: Approval, metadata: str) -> Block:
    """Build the window that asks for the reason of a denial, which may be left empty."""
    field: Block = {
        "type": "input",
        "block_id": REASON_BLOCK,
        "optional": True,
        "label": _plain_text_object("Why not?"),
        "hint": _plain_text_object("The specialist reads it, and the thread shows it. You can leave it empty."),
        "element": {
            "type": "plain_text_input",
            "action_id": REASON_ACTION,
            "multiline": True,
            "max_length": REASON_LIMIT,
        },
    }
    return _make_modal("Deny", "Deny", DENY_WINDOW, metadata, [quote_text(approval.what)[0], field])


@dataclass(frozen=True, slots=True)
class ApprovalWindowData:
    """The metadata of an approval window: the thread, and the approval in it."""

    place: Place
    spot: ApprovalRef


def decode_window_data(metadata: str) -> ApprovalWindowData | None:
    """Parse the metadata of an approval window; None if it is not valid, or not from this job."""
    about = decode_data(metadata, ApprovalWindowData)
    return about if about is not None and about.spot.job == about.place.job_id else None


def _make_modal(title: str, submit: str, callback: str, metadata: str, blocks: list[Block]) -> Block:
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": metadata,
        "title": _plain_text_object(title),
        "submit": _plain_text_object(submit),
        "close": _plain_text_object("Cancel"),
        "blocks": blocks,
    }


def _plain_text_object(words: str) -> Block:
    return {"type": "plain_text", "text": to_plain_line(words, 150)}
