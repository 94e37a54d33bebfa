"""The refiner: one model call that rewrites the brief of a failed attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.supervisor.prompts import closed_object, json_object, make_role_call
from bot.supervisor.roles import RoleCase
from handoff.effects import RefineBrief
from handoff.engine.nested import build_run_brief
from handoff.events import BriefRefined
from handoff.state.job_state import PlanRun, RequestState
from handoff.text.context_budget import Pack, Piece, beginnings, pack
from handoff.text.headings import demote_headings
from specialists.model import ModelError

MAX_TOKENS = 4096
LONGEST = 6_000
"""Characters at most of a new brief; a longer one is rejected."""
HEADING = "# Brief to rewrite"

SCHEMA = closed_object({"intent": {"type": "string"}})


async def perform(effect: RefineBrief, case: RoleCase) -> BriefRefined:
    """Have the model rewrite the brief of a subtask.

    If it returns no usable brief, the event has a `fault`, and the subtask takes the next step of the ladder.
    """
    ask, model, now = case.ask, case.model, case.now
    shown = build_brief(effect, ask, case.run)
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}
    of["pack"] = shown.packed
    call = make_role_call(
        "refiner",
        shown.text,
        terms=case.run.terms,
        max_tokens=MAX_TOKENS,
        deadline=case.run.terms.subtask_seconds,
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


def build_brief(effect: RefineBrief, ask: RequestState, run: PlanRun) -> Pack:
    """Build the refiner's brief: the old brief, its criterion, the specialist, the request and goal, and the error."""
    work = ask.work[effect.subtask]
    member = run.members.get(work.specialist)
    parts = [f"Brief: {work.brief_text}"]
    if work.subtask.done_when:
        parts.append(f"Criterion: {work.subtask.done_when}")
    parts.append(f"For: {work.specialist}" + (f" ({member.description})" if member else ""))
    error = Piece("the error", beginnings(f"Error: {demote_headings(effect.error)}"))
    return pack_part_brief("refiner", ask, run, HEADING, parts, [error])


LONGEST_REQUEST = 2_000
"""Characters at most of the request in a brief on one subtask: the subtask has a brief of its own."""


def pack_part_brief(
    role: str, ask: RequestState, run: PlanRun, heading: str, about: Sequence[str], pieces: Sequence[Piece]
) -> Pack:
    """Build a brief on one subtask of `run` for the role `role`.

    The first piece has `heading`, the lines `about` the subtask, the request and the goal; it is never left out. Of
    `pieces` as much follows as fits.
    """
    whole = [f"The request it is a part of: {' '.join(build_run_brief(ask, run).split())[:LONGEST_REQUEST]}"]
    if run.plan is not None:
        whole.append(f"The plan: {run.plan.goal}")
    head = Piece("the brief, the request and the plan", ("\n".join([heading, *map(demote_headings, about), *whole]),))
    return pack([head, *pieces], run.terms.get_context_tokens(role))
