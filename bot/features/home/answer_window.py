"""Builds the window for an answer in a person's own words, and the App Home's button that opens it."""

from __future__ import annotations

import json

from bot.slack.views.outgoing import Block, make_button
from handoff.state.job_state import Job, RequestState

OWN_WORDS_BUTTON = "home_answer"
"""The action_id of the button."""
ANSWER_WINDOW = "home_answered"
"""The callback_id of the window."""
WORDS_BLOCK, WORDS_ACTION = "words", "text"


def render_words_button(job: Job, request: RequestState, subtask: str, number: int) -> Block:
    """Build the button for a question of a subtask, or of the planner if `subtask` is empty."""
    value = {"job": job.id, "request": request.id, "subtask": subtask, "number": number, "option": -1}
    return make_button("In your own words", OWN_WORDS_BUTTON, json.dumps(value))


def render_answer_window(metadata: str) -> Block:
    """Build the window. Slack returns `metadata` with the submission."""
    field = {"type": "plain_text_input", "action_id": WORDS_ACTION, "multiline": True, "max_length": 2000}
    label = {"type": "plain_text", "text": "Your answer"}
    return {
        "type": "modal",
        "callback_id": ANSWER_WINDOW,
        "private_metadata": metadata,
        "title": {"type": "plain_text", "text": "Answer"},
        "submit": {"type": "plain_text", "text": "Answer"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [{"type": "input", "block_id": WORDS_BLOCK, "label": label, "element": field}],
    }
