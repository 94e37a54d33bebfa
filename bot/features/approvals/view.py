"""Builds the windows of an approval: to see all arguments, to edit them, and to deny the call with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.approval import ApprovalRef
from bot.slack.views.argument_blocks import is_editable, make_fields, render_preformatted_text, render_whole_arguments
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Block, make_context, make_section
from handoff.approval_values import Approval
from handoff.contracts import Place

EDIT_WINDOW, DENY_WINDOW = "approval_edited", "approval_denied"
"""The callback_ids of the windows."""
REASON_BLOCK, REASON_ACTION = "reason", "text"
MAX_REASON_CHARS = 500


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
        "title": _make_plain_text("All of it"),
        "close": _make_plain_text("Close"),
        "blocks": blocks,
    }


def render_edit_window(approval: Approval, schema: Mapping[str, Any], metadata: str) -> Block:
    """Build the window with a field for each argument. Slack returns `metadata` with the submission."""
    inputs = make_fields(approval.arguments, schema)
    uneditable_names = [name for name, value in approval.arguments.items() if not is_editable(value)]
    small_print = "It runs once, with exactly these values. The specialist is told what you changed."
    if approval.terms.quorum > 1:
        small_print = "Approvals so far no longer count: the others are asked again, with these values."
    notes = (
        [f"Too long for a field, so it stays as it is: {clean_mrkdwn(', '.join(uneditable_names), limit=500)}."]
        if uneditable_names
        else []
    )
    head = [
        make_section(f"*Tool:* {clean_mrkdwn(approval.tool, limit=100)}"),
        *([make_context(*notes)] if notes else []),
    ]
    return _make_modal(
        "Edit and approve", "Approve", EDIT_WINDOW, metadata, [*head, *inputs, make_context(small_print)]
    )


def render_deny_window(approval: Approval, metadata: str) -> Block:
    """Build the window that asks for the reason of a denial, which may be left empty."""
    field: Block = {
        "type": "input",
        "block_id": REASON_BLOCK,
        "optional": True,
        "label": _make_plain_text("Why not?"),
        "hint": _make_plain_text("The specialist reads it, and the thread shows it. You can leave it empty."),
        "element": {
            "type": "plain_text_input",
            "action_id": REASON_ACTION,
            "multiline": True,
            "max_length": MAX_REASON_CHARS,
        },
    }
    return _make_modal("Deny", "Deny", DENY_WINDOW, metadata, [render_preformatted_text(approval.what)[0], field])


@dataclass(frozen=True, slots=True)
class ApprovalWindowData:
    """The metadata of an approval window: the thread, and the approval in it."""

    place: Place
    spot: ApprovalRef


def decode_window_data(metadata: str) -> ApprovalWindowData | None:
    """Decode the metadata of an approval window; None if it is invalid, or names an approval of another job."""
    window_data = decode_data(metadata, ApprovalWindowData)
    return window_data if window_data is not None and window_data.spot.job == window_data.place.job_id else None


def _make_modal(title: str, submit: str, callback: str, metadata: str, blocks: list[Block]) -> Block:
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": metadata,
        "title": _make_plain_text(title),
        "submit": _make_plain_text(submit),
        "close": _make_plain_text("Cancel"),
        "blocks": blocks,
    }


def _make_plain_text(words: str) -> Block:
    return {"type": "plain_text", "text": to_plain_line(words, 150)}
