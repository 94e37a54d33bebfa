"""Builds the windows of an approval: to see all arguments, to edit them, and to deny the call with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.text.cleaning import clean, plain
from bot.slack.views.approval import ApprovalRef
from bot.slack.views.argument_blocks import fields, is_editable, quote_text, whole_blocks
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Block, context, section
from handoff.approval_values import Approval
from handoff.contracts import Place

EDITED, DENIED = "approval_edited", "approval_denied"
"""The callback_ids of the windows."""
REASON_BLOCK, REASON_ACTION = "reason", "text"
REASON_LIMIT = 500


def arguments_window(asked: Approval) -> Block:
    """Build the window that shows all arguments, and all content that the call would send out."""
    blocks: list[Block] = []
    for n, one in enumerate(asked.calls, 1):
        if asked.parts:
            blocks.append(section(f"*{n}.*  *Tool:* {clean(one.tool, limit=100)}"))
        blocks += whole_blocks(one.arguments)
        if one.leaves:
            blocks += [section("*What would leave, word for word:*"), *whole_blocks({"text": one.leaves})]
    return {
        "type": "modal",
        "title": _plain_text_object("All of it"),
        "close": _plain_text_object("Close"),
        "blocks": blocks,
    }


def edit_window(asked: Approval, schema: Mapping[str, Any], metadata: str) -> Block:
    """Build the window with a field for each argument. Slack returns `metadata` with the submission."""
    inputs = fields(asked.arguments, schema)
    long = [name for name, value in asked.arguments.items() if not is_editable(value)]
    told = "It runs once, with exactly these values. The specialist is told what you changed."
    if asked.terms.quorum > 1:
        told = "Approvals so far no longer count: the others are asked again, with these values."
    notes = [f"Too long for a field, so it stays as it is: {clean(', '.join(long), limit=500)}."] if long else []
    head = [section(f"*Tool:* {clean(asked.tool, limit=100)}"), *([context(*notes)] if notes else [])]
    return _make_modal("Edit and approve", "Approve", EDITED, metadata, [*head, *inputs, context(told)])


def deny_window(asked: Approval, metadata: str) -> Block:
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
    return _make_modal("Deny", "Deny", DENIED, metadata, [quote_text(asked.what)[0], field])


@dataclass(frozen=True, slots=True)
class AboutApproval:
    """The metadata of an approval window: the thread, and the approval in it."""

    place: Place
    spot: ApprovalRef


def read_window_data(metadata: str) -> AboutApproval | None:
    """Parse the metadata of an approval window; None if it is not valid, or not from this job."""
    about = decode_data(metadata, AboutApproval)
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
    return {"type": "plain_text", "text": plain(words, 150)}
