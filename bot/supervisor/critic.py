"""The critic: one model call that reads an answer against the request and the results, before people see it."""

from __future__ import annotations

import re
from typing import Any

from bot.supervisor.json_replies import closed, json_object
from bot.supervisor.prompts import call_of
from bot.supervisor.roles import Case
from bot.supervisor.synthesizer import describe as material
from handoff.context_budget import Pack
from handoff.effects import ReviewAnswer
from handoff.events import AnswerReviewed
from handoff.headings import demote_headings
from handoff.state import Ask, Run
from specialists.turns.model import ModelError

MAX_TOKENS = 4096
MOST = 5
FAULT = 300
"""Characters of a fault that are kept."""

_QUOTED = re.compile('["\u201c\u201e]([^"\u201c\u201d\u201e]+)["\u201c\u201d]')
_FIGURE = re.compile(r"\d+(?:[.,]\d+)+|\d{2,}")
SCHEMA = closed({"reason": {"type": "string"}, "faults": {"type": "array", "items": {"type": "string"}}})


async def perform(effect: ReviewAnswer, case: Case) -> AnswerReviewed:
    """Ask the critic for faults in the draft. If it cannot say, the draft is the answer, and the trace says why."""
    ask, run, model, now = case.ask, case.run, case.model, case.now
    if effect.late:
        return AnswerReviewed(
            at=now(), request=ask.id, within=effect.within, doubt="the time ran out before the critic had read it"
        )
    shown = describe(ask, run)
    call = call_of(
        "critic",
        shown.text,
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        answer_schema=SCHEMA,
    )
    of: dict[str, Any] = {"request": ask.id, "within": effect.within, "pack": shown.packed}
    try:
        turn = await model.reply(call)
    except ModelError as error:
        doubt = f"the critic could not be asked: {error}"
        return AnswerReviewed(at=now(), **of, doubt=doubt, usage=error.usage)
    faults = json_object(turn.text).get("faults")
    if not isinstance(faults, list):
        return AnswerReviewed(at=now(), **of, doubt="the critic gave no verdict", usage=turn.usage)
    said = [" ".join(each.split())[:FAULT] for each in faults if isinstance(each, str) and each.strip()][:MOST]
    founded = tuple(fault for fault in said if is_founded(fault, shown.text))
    made_up = "; ".join(fault for fault in said if fault not in founded)
    doubt = f"not taken, as nobody wrote what it quotes: {made_up}" if made_up else ""
    return AnswerReviewed(at=now(), **of, faults=founded, doubt=doubt, usage=turn.usage)


def is_founded(fault: str, shown: str) -> bool:
    """Return True if all quotations in a fault, and all figures of two digits or more, stand in `shown`.

    A fault with an invented quotation would bring the critic's own mistake into the answer: the draft is better then.
    """
    flat = _flat(shown)
    if any(_flat(quote) not in flat for quote in _QUOTED.findall(fault)):
        return False
    figures = set(_FIGURE.findall(flat))
    return all(figure in figures for figure in _FIGURE.findall(_flat(fault)))


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[*_`]", "", text).split()).casefold().strip(" .,;:…")


def describe(ask: Ask, run: Run) -> Pack:
    """Build the critic's brief: what the synthesizer saw, and the draft that it wrote."""
    return material(ask, run, role="critic", below=f"\n\n# Answer to review\n{demote_headings(run.draft or '')}")
