"""Renders the reply to a person who stopped a job."""

from __future__ import annotations

from collections.abc import Sequence

from bot.features.job_controls.service import CancelVerdict, StopOutcome
from bot.slack.show import notices
from bot.slack.text.cleaning import render_mention
from bot.slack.views.answerers import join_as_list


def describe_stop(outcome: StopOutcome) -> str:
    """Render the reply to a person who stopped a job."""
    if outcome.verdict == "cancelling" and outcome.others:
        goes_on = f"What {_mention_people(outcome.others, 'and')} asked for goes on: only they or an admin can stop it."
        return f"Stopping what you asked for. A report of what was done follows in the thread. {goes_on}"
    if outcome.verdict == "not_yours":
        if not outcome.others:
            return "Only the person who asked for it, or an admin, can stop it."
        return f"Only {_mention_people(outcome.others, 'or')}, who asked for this, or an admin can stop it."
    words: dict[CancelVerdict, str] = {
        "cancelling": notices.STOPPING,
        "noted": notices.STOP_NOTED,
        "nothing": notices.NOTHING_TO_STOP,
        "unknown": notices.UNKNOWN_JOB,
        "forgotten": notices.JOB_FORGOTTEN,
    }
    return words[outcome.verdict]


def _mention_people(people: Sequence[str], word: str) -> str:
    return join_as_list([render_mention(one) for one in people], word)
