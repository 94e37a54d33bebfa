"""Applies what a requester says about a request that is under way: a correction, or an edit of the request itself.

Before there is a plan, it is planned anew. After that the planner looks at what has not started (see `replan`), and
what runs is told: its specialist reads the words before its next turn, and a result that was made without them is sent
back. Once all parts have ended it is too late: what people say then is a request of its own.
"""

from __future__ import annotations

from handoff.contracts import Note
from handoff.engine import replan
from handoff.state import SETTLED, Ask, replace
from handoff.state_values import ReplanTrigger

MOST = 5
"""Corrections of one request; what comes after is a request of its own."""
SAID = "Said by the requester since"
LATER = "Said since then, by the same person:"
NEW_WORDING = "The request was edited. It now reads:"


def is_open(ask: Ask) -> bool:
    """Return True while the work on a request can still change: not all of it has ended."""
    return not ask.run.concluded and (ask.run.plan is None or ask.run.state != "synthesizing")


def may_correct(ask: Ask) -> bool:
    """Return True if a correction of this request can still be applied."""
    return is_open(ask) and ask.corrections < MOST


def corrected(ask: Ask, name: str, words: str, at: float) -> tuple[Ask, int, int]:
    """Return the request with a correction in it, how many running parts are told, and how many wait for the planner.

    `name` names the correction. It becomes part of the request's text, as whoever works on it reads that.
    """
    text = f"{ask.request.text}\n\n{LATER} {words}"
    ask = replace(ask, wording=ask.wording or ask.request.text)
    ask = replace(ask, request=ask.request.model_copy(update={"text": text}))
    return _applied(ask, name, words, at)


def reworded(ask: Ask, name: str, text: str, at: float) -> tuple[Ask, int, int]:
    """Do the same for a request whose text was edited; `ask` has the new text already."""
    return _applied(ask, name, f"{NEW_WORDING} {text}", at)


def _applied(ask: Ask, name: str, words: str, at: float) -> tuple[Ask, int, int]:
    ask = replace(ask, correction_texts=(*ask.correction_texts, words))
    ask = ask.with_decision(at, "", "corrected by the requester", words)
    if ask.run.plan is None:
        return ask, 0, 0
    note, told = Note(source=SAID, text=words), 0
    for work in ask.all_inside(""):
        if work.attempt and work.state not in SETTLED:
            crew = work.run is not None
            now = replace(ask.work[work.subtask.id], answers=(*work.answers, note))
            ask, told = ask.with_work(now), told + (work.state == "in_progress" and not crew)
    waits = 0
    for within in replan.followed(ask):
        if free := len(replan.waiting(ask, within)):
            trigger = ReplanTrigger(f"{name}{within}", words[: replan.LONGEST], "correction", within)
            ask, waits = replan.with_trigger(ask, trigger), waits + free
    return ask, told, waits
