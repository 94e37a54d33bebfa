"""Renders the reply to a person who stopped a job."""

from __future__ import annotations

from collections.abc import Sequence

from bot.features.job_controls.service import CancelVerdict, StopOutcome
from bot.slack.show import notices
from bot.slack.text.cleaning import mention
from bot.slack.views.waiting import join_in_row


def stop_words(stop: StopOutcome) -> str:
    """Render the reply to a person who stopped a job."""
    if stop.verdict == "cancelling" and stop.others:
        goes_on = f"What {_mention_people(stop.others, 'and')} asked for goes on: only they or an admin can stop it."
        return f"Stopping what you asked for. A report of what was done follows in the thread. {goes_on}"
    if stop.verdict == "not_yours":
        if not stop.others:
            return "Only the person who asked for it, or an admin, can stop it."
        return f"Only {_mention_people(stop.others, 'or')}, who asked for this, or an admin can stop it."
    words: dict[CancelVerdict, str] = {
        "cancelling": notices.STOPPING,
        "noted": notices.STOP_NOTED,
        "nothing": notices.NOTHING_TO_STOP,
        "unknown": notices.UNKNOWN,
        "forgotten": notices.IS_FORGOTTEN,
    }
    return words[stop.verdict]


def _mention_people(people: Sequence[str], word: str) -> str:
    return join_in_row([mention(one) for one in people], word)
