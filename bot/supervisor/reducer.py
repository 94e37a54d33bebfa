"""The reducer: condenses one part of material that is too much for the synthesizer."""

from __future__ import annotations

from collections.abc import Callable

from bot.supervisor.prompts import call_of
from handoff.answering.reducing import Part, condensed, render, uncondensed
from handoff.context_budget import Pack, Piece, pack
from handoff.effects import ReduceMaterial
from handoff.events import MaterialReduced
from handoff.state import Ask
from specialists.turns.model import Model, ModelError

DEADLINE = 120.0
LEAST_TOKENS = 4096
WORDS_PER_TOKEN = 0.6


async def reduce_material(
    effect: ReduceMaterial, ask: Ask, *, model: Model, now: Callable[[], float]
) -> MaterialReduced:
    """The notes that stand for one part. Where the model gives none, the part's beginning does, and says so."""
    part, request = effect.material, ask.request.text
    shown = describe(ask, part)
    call = call_of(
        "reducer",
        shown.text,
        max_tokens=max(LEAST_TOKENS, part.limit * 2),
        deadline=DEADLINE,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        notes, left_out = uncondensed(request, part)
        usage = error.usage
    else:
        usable = turn.text.strip() and turn.stop != "refused"
        notes, left_out = condensed(request, part, turn.text) if usable else uncondensed(request, part)
        usage = turn.usage
    of = {"request": ask.id, "round": effect.round, "part": effect.part, "pack": shown.packed, "usage": usage}
    return MaterialReduced.model_validate({"at": now(), **of, "notes": notes, "left_out": left_out})


def describe(ask: Ask, part: Part) -> Pack:
    """What the reducer sees: the request, the goal, how long its notes may be, and its part of the material."""
    goal = ask.plan.goal if ask.plan else ""
    most = int(part.limit * WORDS_PER_TOKEN)
    head = ["# Request", ask.request.text.strip(), "", "# Goal", goal, "", "# Length", f"At most {most} words.", ""]
    pieces = [Piece("the request", ("\n".join([*head, "# Material"]),)), Piece("the material", (render(part),))]
    return pack(pieces, ask.terms.context.balanced)
