"""The strategy `select`: picks one of several results on one question. It goes out word for word, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bot.supervisor.json_replies import closed, json_object
from bot.supervisor.prompts import call_of
from bot.supervisor.synthesizer import describe, repair
from handoff.answering import disputes
from handoff.answering.material import whole
from handoff.contracts import Packed, Usage
from handoff.engine.answer import beyond, rivals, seconds_for, told
from handoff.events import AnswerWritten
from handoff.state import Ask, Work
from specialists.turns.model import Model, ModelError

DEADLINE = 90.0
MAX_TOKENS = 4096
REASON = 400


async def select_answer(
    ask: Ask, *, model: Model, now: Callable[[], float], faults: Sequence[str] = (), draft: bool = False
) -> AnswerWritten:
    """The best of the rival results. A single one needs no choice, and no model call; the losers stay in the log."""
    there = rivals(ask)
    usage, size = Usage(), Packed()
    if len(there) == 1:
        chosen, why = next(iter(there)), "the only result on the question that came back"
    else:
        described = describe(ask, ids=True, below=repair(ask, faults))
        size = described.packed
        call = call_of(
            "selector",
            described.text,
            max_tokens=MAX_TOKENS,
            deadline=seconds_for(ask, now(), DEADLINE),
            answer_schema=closed({"chosen": {"type": "string", "enum": list(there)}, "reason": {"type": "string"}}),
            last=True,
        )
        try:
            turn = await model.reply(call)
        except ModelError as error:
            chosen, why = _surest(there), f"the surest of the results; nobody could choose ({error})"
            usage = error.usage
        else:
            chosen, why = read(turn.text, there)
            usage = turn.usage
    text = disputes.with_contradictions(shown(there, chosen, why), told(ask))
    return AnswerWritten(
        at=now(),
        request=ask.id,
        text=text,
        draft=draft,
        chosen=chosen,
        why=why,
        unjudged=beyond(ask),
        pack=size,
        usage=usage,
    )


def read(text: str, there: Mapping[str, Work]) -> tuple[str, str]:
    """Which result a reply chose, and why; the surest one where it names none that there is."""
    said = json_object(text)
    chosen = str(said.get("chosen", "")).strip().strip("[]")
    reason = " ".join(str(said.get("reason") or "").split())[:REASON]
    if chosen in there:
        return chosen, reason or "no reason was given"
    return _surest(there), "the surest of the results; the choice could not be read"


def shown(there: Mapping[str, Work], chosen: str, why: str) -> str:
    """The chosen result word for word, and below it what it was chosen over."""
    result = there[chosen].result
    text = whole(result) if result else ""
    others = ", ".join(f"“{work.subtask.title}” ({work.specialist})" for name, work in there.items() if name != chosen)
    if not others:
        return text
    picked = f"“{there[chosen].subtask.title}” ({there[chosen].specialist})"
    return f"{text}\n\n_Chosen: {picked} over {others}: {why.rstrip('.')}._"


def _surest(there: Mapping[str, Work]) -> str:
    return max(there, key=lambda name: result.confidence if (result := there[name].result) else 0)
