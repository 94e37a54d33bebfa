"""Whole jobs: each kind of fault is marked in the thread, right answers are not, and the score tells them apart."""

from __future__ import annotations

import random
from pathlib import Path

from bot.command_line.whole_jobs import make_naive_trial, open_job_stage
from bot.evaluation.cases import ExpectedAnswer, JobCase, RequestCase
from bot.evaluation.harness import CaseChoice, CaseRecord, play_sets
from bot.evaluation.outcome import CaseTrial
from bot.evaluation.set_files import LabelledSet, read_sets
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Settings
from handoff.contracts import ToolCall
from specialists.registry import load_crew
from tests.evaluation.eval_kit import GENERAL, bench_of, model_of
from tests.own_tools import all_tools
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest

BY_COUNTRY = "SELECT country, round(sum(amount_eur), 2) AS total_eur FROM orders GROUP BY 1 ORDER BY 2 DESC"
WHOLE = read_sets(GENERAL, ["jobs"])[0]


def one_of_each() -> tuple[JobCase, ...]:
    """A case of each kind, in a language that is drawn anew each day of the week."""
    drawn = random.Random(7)
    kinds: dict[str, list[JobCase]] = {}
    for case in WHOLE.cases:
        assert isinstance(case, JobCase)
        kinds.setdefault(case.tags[1], []).append(case)
    return tuple(drawn.choice(cases) for cases in kinds.values())


async def collect_records(tmp_path: Path, *cases: JobCase) -> dict[str, CaseRecord]:
    records: list[CaseRecord] = []
    async with (
        open_job_stage(Settings(env={}, data=tmp_path), "chat (here)") as jobs,
        model_of(lambda _: None) as (model, _),
    ):
        given = [LabelledSet("jobs", cases, WHOLE.folders)]
        trials = {"jobs": CaseTrial(jobs.score_job)}
        bench = bench_of(model)
        await play_sets(
            given, bench, RehearsalModel(), CaseChoice(), on_record=lambda one, *_: records.append(one), trials=trials
        )
    return {one.id: one for one in records}


def test_there_are_enough_in_four_languages() -> None:
    assert len(WHOLE.cases) >= 120
    languages = [case.tags[0] for case in WHOLE.cases]
    assert all(languages.count(one) >= 25 for one in ("en", "de", "fr", "es"))
    right = sum(case.expect == "right" for case in WHOLE.cases if isinstance(case, JobCase))
    assert 40 <= right <= len(WHOLE.cases) - 40


async def test_each_kind_is_scored_as_people_would_see_it(tmp_path: Path) -> None:
    cases = one_of_each()
    records = await collect_records(tmp_path, *cases)
    assert {name: one.why for name, one in records.items() if not one.right} == {}
    assert all(not one.error and one.calls for one in records.values())


async def test_a_fault_that_nothing_marks_and_a_right_answer_that_something_marks_count(tmp_path: Path) -> None:
    base = next(case for case in WHOLE.cases if case.id == "en-figures-3")
    assert isinstance(base, JobCase)
    in_folder = tuple(f"samples/{name}" for name in base.files)  # only the last part of a path counts
    quiet = base.model_copy(update={"id": "quiet", "expect": "marked", "files": in_folder})
    loud = base.model_copy(update={"id": "loud", "say": "In all, 1,659.00 EUR were sold."})
    lost = base.model_copy(update={"id": "lost", "say": "In all, 1,569.00 EUR were sold.", "shows": ("Not there",)})
    records = await collect_records(tmp_path, quiet, loud, lost)
    assert {name: (one.right, one.why) for name, one in records.items()} == {
        "quiet": (False, "nothing warns of it"),
        "loud": (False, "not_from_files"),
        "lost": (False, "missing: Not there"),
    }


async def test_a_request_is_done_by_the_models_and_beside_it_by_one_plain_loop(tmp_path: Path) -> None:
    case = {"id": "r1", "input": "Look at the orders and tell me which country sold most", "files": ["orders.csv"]}
    right = RequestCase.model_validate({**case, "expect": {"figures": [931.8]}})
    wrong = right.model_copy(update={"id": "r2", "expect": ExpectedAnswer.model_validate({"figures": [379.4]})})
    query = ToolCall(id="1", name="query_table", arguments={"sql": BY_COUNTRY})
    said = {"content": "DE sold most, 931.80 EUR.", "summary": "DE", "confidence": 90}
    told: list[str] = []

    def brain(request: WireRequest) -> Reply:
        if purpose_of(request) == "other":
            told.append(request.messages[0].text)
            return Reply("It was DE, with 379.40.")
        if purpose_of(request) == "verifier":
            return Reply('{"sentences": []}')
        if not any(message.replies for message in request.messages):
            return Reply(calls=(query,), stop="tool_use")
        return Reply(calls=(ToolCall(id="2", name="return_result", arguments=said),), stop="tool_use")

    records: list[CaseRecord] = []
    first = load_crew(GENERAL, all_tools()).specialists["assistant"]
    async with open_job_stage(Settings(env={}, data=tmp_path), "chat (here)") as jobs, model_of(brain) as (model, _):
        trials = {"requests": CaseTrial(jobs.score_request, make_naive_trial(first))}
        given = [LabelledSet("requests", (right, wrong), WHOLE.folders)]
        await play_sets(
            given, bench_of(model), model, CaseChoice(), on_record=lambda one, *_: records.append(one), trials=trials
        )
    found = {(one.id, one.side): (one.right, one.measures, one.calls) for one in records}
    assert found == {
        ("r1", "product"): (True, {"right answers marked": False}, 3),
        ("r1", "naive"): (False, {"wrong answers unmarked": True}, 1),
        ("r2", "product"): (False, {"wrong answers unmarked": True}, 3),
        ("r2", "naive"): (True, {}, 1),
    }
    assert all("1001,2026-03-02,DE,paid,120.50" in text for text in told), "it has the text of the file"


async def test_a_request_that_is_asked_about_ends_there(tmp_path: Path) -> None:
    case = RequestCase.model_validate({"id": "r1", "input": "Draft the usual note", "expect": {"texts": ["Dear"]}})
    asks = ToolCall(id="1", name="escalate", arguments={"reason": "ambiguous_input", "message": "Which note?"})
    records: list[CaseRecord] = []
    first = load_crew(GENERAL, all_tools()).specialists["assistant"]
    async with (
        open_job_stage(Settings(env={}, data=tmp_path), "chat (here)") as jobs,
        model_of(lambda _: Reply(calls=(asks,), stop="tool_use")) as (model, _),
    ):
        given = [LabelledSet("requests", (case,), WHOLE.folders)]
        trials = {"requests": CaseTrial(jobs.score_request, make_naive_trial(first))}
        await play_sets(
            given, bench_of(model), model, CaseChoice(), on_record=lambda one, *_: records.append(one), trials=trials
        )
    assert [one.why for one in records if one.side == "product"] == ["no answer: it is input_required"]
