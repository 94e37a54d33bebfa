"""The reducer: one model call that condenses one part of the material that is too long for the synthesizer."""

from __future__ import annotations

from bot.supervisor.prompts import make_role_call
from bot.supervisor.roles import RoleInputs
from handoff.answering.reduction import ReductionCall, make_notes_from_reply, render_part, truncate_notes
from handoff.effects import ReduceMaterial
from handoff.engine.answer import find_reduction_stage
from handoff.engine.crew_runs import build_run_brief
from handoff.events import MaterialReduced
from handoff.state.job_state import PlanRun, RequestState
from handoff.text.context_budget import PackedTexts, Piece, pack_pieces
from specialists.model import ModelError

MIN_REPLY_TOKENS = 4096
WORDS_PER_TOKEN = 0.6


async def perform(effect: ReduceMaterial, case: RoleInputs) -> MaterialReduced:
    """Condense one part of the material into notes.

    If the model returns nothing usable, the notes are the beginning of the part, labelled as such.
    """
    request, run, model, now = case.request, case.run, case.model, case.now
    part = find_part(request, run, effect)
    run_brief = build_run_brief(request, run)
    packed_brief = build_brief(request, run, part)
    call = make_role_call(
        "reducer",
        packed_brief.text,
        terms=run.terms,
        max_tokens=max(MIN_REPLY_TOKENS, part.max_note_tokens * 2),
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        notes, left_out = truncate_notes(run_brief, part)
        usage = error.usage
    else:
        is_usable = turn.text.strip() and turn.stop != "refused"
        notes, left_out = (
            make_notes_from_reply(run_brief, part, turn.text) if is_usable else truncate_notes(run_brief, part)
        )
        usage = turn.usage
    base_fields = {
        "request": request.id,
        "within": effect.within,
        "round": effect.round,
        "part": effect.part,
        "pack": packed_brief.size,
        "usage": usage,
    }
    return MaterialReduced.model_validate({"at": now(), **base_fields, "notes": notes, "left_out": left_out})


def find_part(request: RequestState, run: PlanRun, effect: ReduceMaterial) -> ReductionCall:
    """Return the part of the material that the effect names. Raises KeyError if it is no longer to be condensed."""
    for part in find_reduction_stage(request, run).parts:
        if (part.round, part.part) == (effect.round, effect.part):
            return part
    raise KeyError((effect.round, effect.part))


def build_brief(request: RequestState, run: PlanRun, part: ReductionCall) -> PackedTexts:
    """Build the reducer's brief: the request, the goal, the length limit of its notes, and its part of the material."""
    goal = run.plan.goal if run.plan else ""
    max_words = int(part.max_note_tokens * WORDS_PER_TOKEN)
    head = [
        "# Request",
        build_run_brief(request, run).strip(),
        "",
        "# Goal",
        goal,
        "",
        "# Length",
        f"At most {max_words} words.",
        "",
    ]
    pieces = [Piece("the request", ("\n".join([*head, "# Material"]),)), Piece("the material", (render_part(part),))]
    return pack_pieces(pieces, run.terms.get_context_tokens("reducer"))
