"""What code decides by itself: no model is asked, so the figures are the same on every model."""

from __future__ import annotations

from bot.evaluation.cases import FiguresCase
from bot.evaluation.counted_model import CountedModel
from bot.evaluation.outcome import Outcome
from bot.evaluation.staged_job import CaseBench
from handoff.contracts import Result
from handoff.evidence.binding import ReadDocument, bind_result


async def figures_product(case: FiguresCase, _bench: CaseBench, _model: CountedModel) -> Outcome:
    """Bind a result's figures as it is done when results are handed in."""
    known = [ReadDocument("a tool", text, is_material=False) for text in case.known]
    remarks = bind_result(Result(summary=case.result, content=case.result), known).faults
    said = "; ".join(remarks)
    if not case.wrong:
        measures = {"right results doubted": bool(remarks)}
        return Outcome(not remarks, said, f"it is right: {said}" if remarks else "", measures)
    named = all(any(figure in remark for remark in remarks) for figure in case.wrong)
    measures = {"wrong results found": bool(remarks), "each wrong figure named": named}
    return Outcome(bool(remarks), said, "" if remarks else f"not found: {', '.join(case.wrong)}", measures)
