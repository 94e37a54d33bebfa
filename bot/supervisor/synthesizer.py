"""The synthesizer: one streamed model call that writes the answer from what the specialists handed back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bot.supervisor.prompts import prompt
from handoff.events import AnswerWritten
from handoff.job import Ask, Work
from specialists.dialogue import Message, Model, ModelCall, ModelError

DEADLINE = 180.0
MAX_TOKENS = 8192
WHOLE = 12_000
"""Characters of a result's content that the synthesizer is given; a longer one is cut, and it is told so."""


async def write_answer(
    ask: Ask, *, model: Model, on_text: Callable[[str], Awaitable[None]], now: Callable[[], float]
) -> AnswerWritten:
    """The answer. Where the model cannot give one, the results themselves are the answer, and say so."""
    call = ModelCall(
        purpose="synthesizer",
        system=prompt("synthesizer"),
        messages=(Message(role="user", text=describe(ask)),),
        tier="balanced",
        max_tokens=MAX_TOKENS,
        deadline=DEADLINE,
        on_text=on_text,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        text = plainly(ask, f"The parts could not be put together ({error}); here they are as they came.")
        return AnswerWritten(at=now(), request=ask.id, text=text, usage=error.usage)
    text = turn.text.strip()
    if turn.stop == "refused" or not text:
        text = plainly(ask, "The model declined to put the parts together; here they are as they came.")
    elif turn.stop == "max_tokens":
        text += "\n\n_(cut off at the length limit)_"
    return AnswerWritten(at=now(), request=ask.id, text=text, usage=turn.usage)


def describe(ask: Ask) -> str:
    """What the synthesizer sees: the request, the plan's goal and strategy, results and gaps."""
    plan = ask.plan
    if plan is None:
        raise ValueError("an answer cannot be written before there is a plan")
    parts = ["# Request", ask.request.text.strip(), "", "# Plan", f"{plan.goal} (strategy: {plan.strategy})"]
    parts += ["", "# Results"]
    for work in ask.work.values():
        if work.result is not None:
            parts += [*_result(work), ""]
    if ask.gaps:
        parts += ["# Gaps", *(f"- {gap}" for gap in ask.gaps), ""]
    if plan.instruction:
        parts += ["# Instruction", plan.instruction]
    return "\n".join(parts).strip()


def _result(work: Work) -> list[str]:
    result = work.result
    if result is None:
        return []
    content = result.content or result.summary
    if len(content) > WHOLE:
        content = content[:WHOLE] + f"\n(… {len(content) - WHOLE:,} characters more)"
    lines = [f"## {work.subtask.title} ({work.specialist}, confidence {result.confidence})", content]
    if sources := list(dict.fromkeys(finding.source for finding in result.findings if finding.source)):
        lines += ["", "Sources: " + "; ".join(sources)]
    if result.artifacts:
        lines += ["", "Files: " + ", ".join(artifact.name for artifact in result.artifacts)]
    return lines


def plainly(ask: Ask, preface: str) -> str:
    """The results one after the other, without a model."""
    results = [(work.subtask.title, work.result) for work in ask.work.values() if work.result is not None]
    return "\n\n".join([preface, *(f"## {title}\n{result.content or result.summary}" for title, result in results)])
