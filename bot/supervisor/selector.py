"""The selector, for the strategy `select`: one model call that chooses one of several results on the same question.

The answer is the chosen result, word for word, with the reason for the choice.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.supervisor.prompts import make_object_schema, make_role_call, parse_json_object
from bot.supervisor.roles import RoleInputs
from bot.supervisor.synthesizer import build_brief, render_faults
from handoff.answering.fixed_words import render_phrase
from handoff.contracts import PackedSize, Usage
from handoff.effects import SelectAnswer
from handoff.engine.answer import collect_rivals, compute_call_seconds, needs_draft, render_subtask_result
from handoff.events import AnswerWritten
from handoff.state.job_state import PlanRun, RequestState, SubtaskState
from specialists.model import ModelError

MAX_TOKENS = 4096
MAX_REASON_CHARS = 400


async def perform(effect: SelectAnswer, case: RoleInputs) -> AnswerWritten:
    """Choose the best of the rival results. If there is only one, no model is called."""
    request, run, model, now = case.request, case.run, case.model, case.now
    rivals = collect_rivals(request, run)
    usage, size = Usage(), PackedSize()
    if len(rivals) == 1:
        chosen_id, why = next(iter(rivals)), "the only result on the question that came back"
    else:
        packed_brief = build_brief(request, run, role="selector", appendix=render_faults(run, effect.faults))
        size = packed_brief.size
        call = make_role_call(
            "selector",
            packed_brief.text,
            terms=run.terms,
            max_tokens=MAX_TOKENS,
            deadline=compute_call_seconds(run, now()),
            answer_schema=make_object_schema(
                {"reason": {"type": "string"}, "chosen": {"type": "string", "enum": list(rivals)}}
            ),
            is_last=True,
        )
        try:
            turn = await model.reply(call)
        except ModelError as error:
            chosen_id, why = _find_most_confident(rivals), f"the surest of the results; nobody could choose ({error})"
            usage = error.usage
        else:
            chosen_id, why = parse_choice(turn.text, rivals)
            usage = turn.usage
    text = render_choice(request, run, chosen_id, why)
    return AnswerWritten(
        at=now(),
        request=request.id,
        within=effect.within,
        text=text,
        draft=needs_draft(request, run, now()),
        chosen=chosen_id,
        why=why,
        pack=size,
        usage=usage,
    )


def parse_choice(text: str, candidates: Mapping[str, SubtaskState]) -> tuple[str, str]:
    """Parse a reply into (name, reason) of the chosen result: the most confident one if the reply names none."""
    fields = parse_json_object(text)
    chosen_id = str(fields.get("chosen", "")).strip().strip("[]")
    reason = " ".join(str(fields.get("reason") or "").split())[:MAX_REASON_CHARS]
    if chosen_id in candidates:
        return chosen_id, reason or "no reason was given"
    return _find_most_confident(candidates), "the surest of the results; the choice could not be read"


def render_choice(request: RequestState, run: PlanRun, chosen_id: str, reason: str) -> str:
    """Render the answer: the chosen result word for word, and below it the names of the others and the reason."""
    rivals = collect_rivals(request, run)
    text = render_subtask_result(request, run, rivals[chosen_id])
    others = ", ".join(
        f"“{subtask.spec.title}” ({subtask.specialist})" for name, subtask in rivals.items() if name != chosen_id
    )
    if not others:
        return text
    chosen_label = f"“{rivals[chosen_id].spec.title}” ({rivals[chosen_id].specialist})"
    reason_line = render_phrase("chosen", request.text, picked=chosen_label, others=others, why=reason.rstrip("."))
    return f"{text}\n\n_{reason_line}._"


def _find_most_confident(candidates: Mapping[str, SubtaskState]) -> str:
    return max(candidates, key=lambda name: result.confidence if (result := candidates[name].result) else 0)
