"""The selector, for the strategy `select`: one model call that chooses one of several results on the same question.

The answer is the chosen result, word for word, with the reason for the choice.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.supervisor.prompts import closed_object, json_object, make_role_call
from bot.supervisor.roles import RoleCase
from bot.supervisor.synthesizer import build_brief, render_faults
from handoff.answering.fixed_words import phrase
from handoff.contracts import PackedSize, Usage
from handoff.effects import SelectAnswer
from handoff.engine.answer import is_draft, rivals, seconds_for_call, text_of
from handoff.events import AnswerWritten
from handoff.state.job_state import PlanRun, RequestState, SubtaskState
from specialists.model import ModelError

MAX_TOKENS = 4096
REASON = 400


async def perform(effect: SelectAnswer, case: RoleCase) -> AnswerWritten:
    """Choose the best of the rival results. If there is only one, no model is called."""
    ask, run, model, now = case.ask, case.run, case.model, case.now
    there = rivals(ask, run)
    usage, size = Usage(), PackedSize()
    if len(there) == 1:
        chosen, why = next(iter(there)), "the only result on the question that came back"
    else:
        described = build_brief(ask, run, role="selector", below=render_faults(run, effect.faults))
        size = described.packed
        call = make_role_call(
            "selector",
            described.text,
            terms=run.terms,
            max_tokens=MAX_TOKENS,
            deadline=seconds_for_call(run, now()),
            answer_schema=closed_object(
                {"reason": {"type": "string"}, "chosen": {"type": "string", "enum": list(there)}}
            ),
            last=True,
        )
        try:
            turn = await model.reply(call)
        except ModelError as error:
            chosen, why = _most_confident(there), f"the surest of the results; nobody could choose ({error})"
            usage = error.usage
        else:
            chosen, why = read_choice(turn.text, there)
            usage = turn.usage
    text = render_choice(ask, run, chosen, why)
    return AnswerWritten(
        at=now(),
        request=ask.id,
        within=effect.within,
        text=text,
        draft=is_draft(ask, run, now()),
        chosen=chosen,
        why=why,
        pack=size,
        usage=usage,
    )


def read_choice(text: str, there: Mapping[str, SubtaskState]) -> tuple[str, str]:
    """Parse a reply into (name, reason) of the chosen result; that with the highest confidence if it names none."""
    said = json_object(text)
    chosen = str(said.get("chosen", "")).strip().strip("[]")
    reason = " ".join(str(said.get("reason") or "").split())[:REASON]
    if chosen in there:
        return chosen, reason or "no reason was given"
    return _most_confident(there), "the surest of the results; the choice could not be read"


def render_choice(ask: RequestState, run: PlanRun, chosen: str, why: str) -> str:
    """Render the answer: the chosen result word for word, and below it the names of the others and the reason `why`."""
    there = rivals(ask, run)
    text = text_of(ask, run, there[chosen])
    others = ", ".join(f"“{work.subtask.title}” ({work.specialist})" for name, work in there.items() if name != chosen)
    if not others:
        return text
    picked = f"“{there[chosen].subtask.title}” ({there[chosen].specialist})"
    said = phrase("chosen", ask.text, picked=picked, others=others, why=why.rstrip("."))
    return f"{text}\n\n_{said}._"


def _most_confident(there: Mapping[str, SubtaskState]) -> str:
    return max(there, key=lambda name: result.confidence if (result := there[name].result) else 0)
