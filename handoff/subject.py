"""What a thread is about: the request whose words name it, which a later one takes over if it is about something else.

Pure, and roughly right in any language: a follow-up shares words with what came before, or is too short to name
anything.
"""

from __future__ import annotations

from handoff.spoken import ASKING
from handoff.state import Ask, Job
from handoff.text_words import words

ENOUGH = 4
"""Words of a request that can name a thread; "and in euros?" cannot."""
SHARED = 0.25
"""The part of its words that a request about something else may share with what the thread was about."""


def subject_of(job: Job) -> Ask | None:
    """Return the request that names the job's thread; None if all were withdrawn."""
    named: Ask | None = None
    about: frozenset[str] = frozenset()
    for ask in job.asks:
        if ask.withdrawn:
            continue
        said = words(ask.wording or ask.request.text) - ASKING
        if named is None or (len(said) >= ENOUGH and len(said & about) <= SHARED * len(said)):
            named, about = ask, _heard(ask)
        else:
            about |= _heard(ask)
    return named


def _heard(ask: Ask) -> frozenset[str]:
    """Return the words of a request and of what was answered: a follow-up may take up either."""
    plan = ask.run.plan.goal if ask.run.plan else ""
    return words(ask.wording or ask.request.text) | words(plan) | words(ask.run.answer or "")
