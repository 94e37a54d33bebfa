"""The judge: one model call on a result that the free checks doubt, or whose subtask is critical."""

from __future__ import annotations

from typing import Any

from bot.supervisor.json_replies import closed, json_object
from bot.supervisor.part import packed
from bot.supervisor.prompts import call_of
from bot.supervisor.roles import Case
from handoff.context_budget import Pack, Piece, beginnings
from handoff.effects import JudgeResult
from handoff.events import ResultJudged
from handoff.headings import demote_headings
from handoff.state import Ask, Run, Work
from handoff.state_values import Candidate
from specialists.turns.model import ModelError

MAX_TOKENS = 4096
MAX_FAULTS = 5
HEADING = "# Result to judge"

_TEXT = {"type": "string"}
SCHEMA = closed(
    {
        "faults": {"type": "array", "items": closed({"problem": _TEXT, "quote": _TEXT})},
        "verdict": {"type": "string", "enum": ["accept", "revise"]},
    }
)
"""What the judge returns, each reason before what follows from it: models write in this order."""


async def perform(effect: JudgeResult, case: Case) -> ResultJudged:
    """Judge a result. Certain faults need no model. If the model call fails, the doubts stand."""
    ask, model, now = case.ask, case.model, case.now
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "attempt": effect.attempt}
    if effect.faults:
        return ResultJudged(at=now(), **of, verdict="revise", by="checks", faults=effect.faults)
    work = ask.work[effect.subtask]
    shown = describe(ask, case.run, work, work.look or Candidate(_result_of(work)))
    of["pack"] = shown.packed
    call = call_of(
        "judge",
        shown.text,
        terms=case.run.terms,
        max_tokens=MAX_TOKENS,
        deadline=case.run.terms.subtask_seconds,
        answer_schema=SCHEMA,
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        faults = (*effect.doubts, f"it could not be checked ({error})")
        return ResultJudged(at=now(), **of, verdict="best_effort", faults=faults, usage=error.usage)
    verdict, faults = read(turn.text, shown.text)
    if verdict is None:
        faults = (*effect.doubts, "it could not be checked (the judge gave no usable reply)")
        return ResultJudged(at=now(), **of, verdict="best_effort", faults=faults, usage=turn.usage)
    accepted = verdict == "accept"
    faults = () if accepted else faults or effect.doubts
    return ResultJudged(
        at=now(),
        **of,
        verdict="accepted" if accepted else "revise",
        faults=faults,
        usage=turn.usage,
    )


def describe(ask: Ask, run: Run, work: Work, candidate: Candidate) -> Pack:
    """Build the judge's brief: the subtask's brief and criterion, the doubts, the result, the request and the goal.

    If room is short, the tools' lines are left out first, then the findings, then the end of a long content.
    """
    result = candidate.result
    parts = [f"Brief: {work.brief_text}"]
    if work.subtask.done_when:
        parts.append(f"Criterion: {work.subtask.done_when}")
    parts += [f"Doubt {number}: {doubt}" for number, doubt in enumerate(candidate.doubts, start=1)]
    parts += [f"It says it lacks: {gap}" for gap in result.gaps]
    text = f"\n## Summary\n{demote_headings(result.summary)}\n\n## Content\n{demote_headings(result.content)}"
    pieces = [Piece("the result", beginnings(text), weight=2)]
    if result.findings:
        said = "\n".join(
            f"- {one.message} (source: {one.source or 'none'}; sure: {one.confidence})" for one in result.findings
        )
        pieces.append(Piece("its findings", (f"\n## Findings\n{demote_headings(said)}", ""), weight=1))
    if result.evidence:
        said = "\n".join(result.evidence)
        pieces.append(Piece("what its tools said", (f"\n## What its tools said\n{demote_headings(said)}", "")))
    return packed("judge", ask, run, HEADING, parts, pieces)


def read(text: str, shown: str) -> tuple[str | None, tuple[str, ...]]:
    """Read the verdict and the faults of a reply; (None, ()) if it is unreadable. Faults must quote from `shown`."""
    given = json_object(text)
    verdict = str(given.get("verdict", "")).strip().lower()
    if not verdict.startswith(("accept", "revise")):
        return None, ()
    listed = given.get("faults")
    faults = [_fault(one, _flat(shown)) for one in (listed if isinstance(listed, list) else [])]
    return ("accept" if verdict.startswith("accept") else "revise"), tuple(filter(None, faults))[:MAX_FAULTS]


def _fault(given: Any, shown: str) -> str:
    """Return one fault in words. Leave out a quotation that nobody wrote: it would mislead the specialist."""
    if not isinstance(given, dict):
        return str(given).strip()[:600] if isinstance(given, str) else ""
    quote, problem = (" ".join(str(given.get(name) or "").split())[:300] for name in ("quote", "problem"))
    quote = quote.strip('"\u201c\u201d') if _flat(quote) in shown else ""
    if not problem:
        return f"“{quote}” is wrong." if quote else ""
    return f"“{quote}”: {problem}" if quote else problem


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold().strip("\"'\u201c\u201d.\u2026 ")


def _result_of(work: Work) -> Any:
    if work.result is None:
        raise ValueError(f"{work.subtask.id} has no result to look at")
    return work.result
