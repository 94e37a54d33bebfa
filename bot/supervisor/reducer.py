"""The reducer: one model call that condenses one part of the material that is too long for the synthesizer."""

from __future__ import annotations

from bot.supervisor.prompts import make_role_call
from bot.supervisor.roles import RoleInputs
from handoff.answering.reducing import ReductionCall, make_notes_from_reply, render_part, truncate_notes
from handoff.effects import ReduceMaterial
from handoff.engine.answer import find_reduction_stage
from handoff.engine.nested import build_run_brief
from handoff.events import MaterialReduced
from handoff.state.job_state import PlanRun, RequestState
from handoff.text.context_budget import PackedTexts, Piece, pack_pieces
from specialists.model import ModelError

MIN_TOKENS = 4096
WORDS_PER_TOKEN = 0.6


async def perform(effect: ReduceMaterial, case: RoleInputs) -> MaterialReduced:
    """Condense one part of the material into notes.

    If the model returns nothing usable, the notes are the beginning of the part, labelled as such.
    """
    ask, run, model, now = case.ask, case.run, case.model, case.now
    part = find_part(ask, run, effect)
    request = build_run_brief(ask, run)
    shown = build_brief(ask, run, part)
    call = make_role_call(
        "reducer",
        shown.text,
        terms=run.terms,
        max_tokens=max(MIN_TOKENS, part.limit * 2),
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        notes, left_out = truncate_notes(request, part)
        usage = error.usage
    else:
        usable = turn.text.strip() and turn.stop != "refused"
        notes, left_out = make_notes_from_reply(request, part, turn.text) if usable else truncate_notes(request, part)
        usage = turn.usage
    of = {
        "request": ask.id,
        "within": effect.within,
        "round": effect.round,
        "part": effect.part,
        "pack": shown.size,
        "usage": usage,
    }
    return MaterialReduced.model_validate({"at": now(), **of, "notes": notes, "left_out": left_out})


def find_part(ask: RequestState, run: PlanRun, effect: ReduceMaterial) -> ReductionCall:
    """Return the part of the material that the effect names. Raises KeyError if it is no longer to be condensed."""
    for part in find_reduction_stage(ask, run).parts:
        if (part.round, part.part) == (effect.round, effect.part):
            return part
    raise KeyError((effect.round, effect.part))


def build_brief(ask: RequestState, run: PlanRun, part: ReductionCall) -> PackedTexts:
    """Build the reducer's brief: the request, the goal, the length limit of its notes, and its part of the material."""
    goal = run.plan.goal if run.plan else ""
    most = int(part.limit * WORDS_PER_TOKEN)
    head = [
        "# Request",
        build_run_brief(ask, run).strip(),
        "",
        "# Goal",
        goal,
        "",
        "# Length",
        f"At most {most} words.",
        "",
    ]
    pieces = [Piece("the request", ("\n".join([*head, "# Material"]),)), Piece("the material", (render_part(part),))]
    return pack_pieces(pieces, run.terms.get_context_tokens("reducer"))
