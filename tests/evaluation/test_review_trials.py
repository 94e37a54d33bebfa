"""What a lens finds is held against what was planted: at its line or two off, and sure enough to be shown."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bot.evaluation.cases import ReviewCase
from bot.evaluation.harness import Choice, Record, run_sets
from bot.evaluation.set_checks import check_sets
from bot.evaluation.set_files import LabelledSet, read_sets
from bot.evaluation.staged_job import Bench
from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Terms
from specialists.registry import CREWS, load_crew
from tests.evaluation.eval_kit import SAMPLES, model_of
from tests.evaluation.planted_faults import FOLDER, LENSES, files
from tests.own_tools import all_tools
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import result

REVIEW = CREWS / "review"


def test_the_cases_are_those_of_the_changes_and_fit_the_crew() -> None:
    assert {name: (FOLDER / name).read_text() for name in files()} == files()
    sets = read_sets(REVIEW, ["reviews"])
    check_sets(sets, load_crew(REVIEW, all_tools()), SAMPLES)
    cases = [case for one in sets for case in one.cases if isinstance(case, ReviewCase)]
    planted = Counter({lens: sum(len(one.expect) for one in cases if one.lens == lens) for lens in LENSES})
    assert planted.total() >= 30
    assert min(planted.values()) >= 6
    assert len({tag for one in cases for tag in one.tags} - set(LENSES)) == 3


def found(where: str, confidence: int = 90) -> dict[str, Any]:
    return {"message": "It is wrong.", "where": where, "severity": "high", "confidence": confidence}


@pytest.mark.parametrize(
    ("findings", "right", "measures"),
    [
        ([found("till/refunds.py:13")], True, (True, True, False)),
        ([found("till/refunds.py:15", 79)], False, (False, True, False)),
        ([found("till/refunds.py:14"), found("till/refunds.py:3")], True, (True, True, True)),
        ([found("till/other.py:14")], False, (False, False, True)),
        ([], False, (False, False, False)),
    ],
)
async def test_a_finding_counts_at_its_line_or_two_off(
    findings: list[dict[str, Any]], *, right: bool, measures: tuple[bool, bool, bool]
) -> None:
    case = next(one for one in read_sets(REVIEW, ["reviews"])[0].cases if one.id == "py-till-history")
    seen: list[str] = []

    def brain(request: WireRequest) -> Reply:
        if purpose_of(request) != "specialist:history":
            return Reply("Problem at till/refunds.py:14" if right else "Fine.")
        seen.append(first_text(request))
        return result("Looked.", 90, findings=findings)

    records: list[Record] = []
    async with model_of(brain) as (model, _):
        crew = load_crew(REVIEW, all_tools())
        terms = Terms(confidence=80)
        bench = Bench(crew, Planning(crew, model, TrackRecord(), terms), terms, (REVIEW / "evaluation",))
        one = LabelledSet("reviews", (case,), (REVIEW / "evaluation",))
        await run_sets([one], bench, model, Choice(), on_record=lambda record, *_: records.append(record))
    product, naive = (next(one for one in records if one.side == side) for side in ("product", "naive"))
    assert product.right is right
    assert tuple(product.measures.values()) == measures
    assert naive.right is right
    assert "14 +    order.paid -= cents" in seen[0]
    assert "Two tills refunded one order at once" in seen[0]
