"""The refiner: one model call that rewrites a brief from what the attempt at it failed at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.supervisor.json_replies import closed, json_object
from bot.supervisor.part import packed
from bot.supervisor.prompts import call_of
from handoff.context_budget import Pack, Piece, beginnings
from handoff.effects import RefineBrief
from handoff.events import BriefRefined
from handoff.headings import nested
from handoff.state import Ask
from specialists.turns.model import Model, ModelError

DEADLINE = 60.0
MAX_TOKENS = 4096
LONGEST = 6_000
"""Characters of a new brief; a longer one is not taken."""
HEADING = "# Brief to rewrite"

SCHEMA = closed({"intent": {"type": "string"}})


async def refine_brief(effect: RefineBrief, ask: Ask, *, model: Model, now: Callable[[], float]) -> BriefRefined:
    """The new brief. Where the model gives none, the event says so, and the ladder goes on."""
    shown = describe(effect, ask)
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}
    of["pack"] = shown.packed
    call = call_of(
        "refiner",
        shown.text,
        max_tokens=MAX_TOKENS,
        deadline=min(DEADLINE, ask.terms.subtask_seconds),
        answer_schema=SCHEMA,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        return BriefRefined(at=now(), **of, fault=f"the refiner could not be asked ({error})", usage=error.usage)
    given = json_object(turn.text)
    intent = given.get("intent")
    if not isinstance(intent, str) or not intent.strip() or len(intent) > LONGEST:
        return BriefRefined(at=now(), **of, fault="the refiner gave no usable brief", usage=turn.usage)
    return BriefRefined(at=now(), **of, intent=intent.strip(), usage=turn.usage)


def describe(effect: RefineBrief, ask: Ask) -> Pack:
    """What the refiner sees: the brief, its criterion, who it is for, the request and goal it serves, and the error."""
    work = ask.work[effect.subtask]
    member = ask.members.get(work.specialist)
    parts = [f"Brief: {work.brief or work.subtask.intent}"]
    if work.subtask.done_when:
        parts.append(f"Criterion: {work.subtask.done_when}")
    parts.append(f"For: {work.specialist}" + (f" ({member.description})" if member else ""))
    return packed(ask, work, HEADING, parts, [Piece("the error", beginnings(f"Error: {nested(effect.error)}"))])
