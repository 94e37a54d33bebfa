"""Asks for the reason of a thumb down: one optional line, for its person alone. Pure."""

from __future__ import annotations

from bot.slack.views.outgoing import Block, Outgoing, actions, button, section

SEND_WHY, WHY_TEXT = "feedback_why", "feedback_why_text"
"""The action_ids of the button, and of the line itself."""
LONGEST_WHY = 300
_BLOCK = "why"
ASK = "Thank you, that is recorded. A line on why helps whoever looks into it. You can leave it out."
KEPT = "Thank you, the reason is kept with the answer."
NOTHING = "Write what was wrong first. You can also leave it out: the thumb is recorded either way."


def ask_why(request: str) -> Outgoing:
    """Make the message that asks, for the request of that id."""
    field: Block = {
        "type": "plain_text_input",
        "action_id": WHY_TEXT,
        "max_length": LONGEST_WHY,
        "placeholder": {"type": "plain_text", "text": "The total leaves out March"},
        "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
    }
    line: Block = {
        "type": "input",
        "block_id": f"{_BLOCK}|{request}"[:255],
        "dispatch_action": True,
        "optional": True,
        "label": {"type": "plain_text", "text": "What was wrong?"},
        "element": field,
    }
    send = actions([button("Send", SEND_WHY, request)])
    return Outgoing(text=ASK, blocks=(section(ASK), line, send))


def read_reason_fields(values: object) -> tuple[str, str]:
    """Read the request and the line from the values of the message's fields; both empty if they are none of ours."""
    for name, fields in values.items() if isinstance(values, dict) else ():
        kind, _, request = str(name).partition("|")
        typed = fields.get(WHY_TEXT) if isinstance(fields, dict) and kind == _BLOCK else None
        if isinstance(typed, dict) and request:
            return request, " ".join(str(typed.get("value") or "").split())[:LONGEST_WHY]
    return "", ""
