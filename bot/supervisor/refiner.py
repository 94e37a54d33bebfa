"""The refiner: one model call that rewrites the brief of a failed attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.supervisor.prompts import make_object_schema, make_role_call, parse_json_object
from bot.supervisor.roles import RoleInputs
from handoff.effects import RefineBrief
from handoff.engine.crew_runs import build_run_brief
from handoff.events import BriefRefined
from handoff.state.job_state import PlanRun, RequestState
from handoff.text.context_budget import PackedTexts, Piece, make_beginnings, pack_pieces
from handoff.text.headings import demote_headings
from specialists.model import ModelError

MAX_TOKENS = 4096
MAX_BRIEF_CHARS = 6_000
"""Most characters of a new brief; a longer one is rejected."""
BRIEF_HEADING = "# Brief to rewrite"

REPLY_SCHEMA = make_object_schema({"intent": {"type": "string"}})


async def perform(effect: RefineBrief, case: RoleInputs) -> BriefRefined:
    """Have the model rewrite the brief of a subtask.

    If it returns no usable brief, the event has a `fault`, and the subtask takes the next step of the ladder.
    """
    request, model, now = case.request, case.model, case.now
    packed_brief = build_brief(effect, request, case.run)
    base_fields: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}
    base_fields["pack"] = packed_brief.size
    call = make_role_call(
        "refiner",
        packed_brief.text,
        terms=case.run.terms,
        max_tokens=MAX_TOKENS,
        deadline=case.run.terms.subtask_seconds,
        answer_schema=REPLY_SCHEMA,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        return BriefRefined(
            at=now(), **base_fields, fault=f"the refiner could not be asked ({error})", usage=error.usage
        )
    reply_fields = parse_json_object(turn.text)
    intent = reply_fields.get("intent")
    if not isinstance(intent, str) or not intent.strip() or len(intent) > MAX_BRIEF_CHARS:
        return BriefRefined(at=now(), **base_fields, fault="the refiner gave no usable brief", usage=turn.usage)
    return BriefRefined(at=now(), **base_fields, intent=intent.strip(), usage=turn.usage)


def build_brief(effect: RefineBrief, request: RequestState, run: PlanRun) -> PackedTexts:
    """Build the refiner's brief: the old brief, its criterion, the specialist, the request and goal, and the error."""
    subtask = request.subtasks[effect.subtask]
    member = run.members.get(subtask.specialist)
    parts = [f"Brief: {subtask.brief_text}"]
    if subtask.spec.done_when:
        parts.append(f"Criterion: {subtask.spec.done_when}")
    parts.append(f"For: {subtask.specialist}" + (f" ({member.description})" if member else ""))
    error = Piece("the error", make_beginnings(f"Error: {demote_headings(effect.error)}"))
    return pack_subtask_brief("refiner", request, run, BRIEF_HEADING, parts, [error])


MAX_REQUEST_CHARS = 2_000
"""Most characters of the request in a brief on one subtask, which has a brief of its own."""


def pack_subtask_brief(
    role: str, request: RequestState, run: PlanRun, heading: str, subtask_lines: Sequence[str], pieces: Sequence[Piece]
) -> PackedTexts:
    """Build a brief on one subtask of `run` for the role `role`.

    The first piece has `heading`, `subtask_lines`, the request and the plan's goal, and is never left out. As much of
    `pieces` follows as fits.
    """
    whole = [f"The request it is a part of: {' '.join(build_run_brief(request, run).split())[:MAX_REQUEST_CHARS]}"]
    if run.plan is not None:
        whole.append(f"The plan: {run.plan.goal}")
    head = Piece(
        "the brief, the request and the plan", ("\n".join([heading, *map(demote_headings, subtask_lines), *whole]),)
    )
    return pack_pieces([head, *pieces], run.terms.get_context_tokens(role))
