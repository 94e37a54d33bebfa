"""A whole run: its table, its file, a run that is gone on with, two runs compared, and the statistics of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.evaluation import run_file, scoreboard
from bot.evaluation.answer_search import (
    contains_figure,
    contains_words,
    count_occurrences,
    find_leak,
    find_unmarked_figures,
)
from bot.evaluation.harness import NAIVE_SIDE, PRODUCT_SIDE, CaseChoice, CaseRecord, play_sets
from bot.evaluation.run_file import RunFile, RunFileError
from bot.evaluation.scoreboard import compute_mcnemar_p, compute_paired_bootstrap, compute_wilson_interval
from tests.evaluation.eval_kit import bench_of, model_of, one_set
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest


def record(case: int, side: str = PRODUCT_SIDE, *, right: bool, **more: Any) -> CaseRecord:
    given = {"set": "routing", "side": side, "id": f"c{case}", "right": right, "tokens_in": 100, "tokens_out": 10}
    return CaseRecord.model_validate({**given, **more})


def run_of(*records: CaseRecord) -> RunFile:
    run = RunFile(leadhand="0", model="m", tiers={}, crew="general")
    return run.with_records(records, complete=True)


def test_the_table_adds_up_both_sides_and_says_if_they_differ_beyond_chance() -> None:
    records = [record(n, right=n < 8, seconds=n, cost=0.01, measures={"clean": n < 4}) for n in range(10)]
    records += [record(n, NAIVE_SIDE, right=n < 1, error="slow" if n == 9 else "") for n in range(10)]
    product, naive, clean = scoreboard.make_score_lines(records)
    assert (product.n, product.right, product.share, product.errors) == (10, 8, 0.8, 0)
    assert (round(product.low, 2), round(product.high, 2)) == (0.49, 0.94)
    assert (product.tokens_in, product.tokens_out, product.seconds) == (100, 10, 4.5)
    assert product.cost == pytest.approx(0.01)
    assert (naive.right, naive.errors, naive.cost, product.p) == (1, 1, None, None)
    assert naive.p == pytest.approx(2 / 2**7)  # seven that only the product got right
    assert (clean.measure, clean.side, clean.n, clean.right) == ("clean", PRODUCT_SIDE, 10, 4)
    lines = scoreboard.render_table((product, naive, clean)).splitlines()
    assert " ".join(lines[1].split()) == "routing 10 8 80 % 49 % to 94 % 0 100/10 0.0100 4.5"
    assert " ".join(lines[2].split()) == "naive prompt 10 1 10 % 2 % to 40 % 1 100/10 - 0.0 0.016"
    assert " ".join(lines[3].split()) == "product: clean 10 4 40 % 17 % to 69 %"


def test_only_cases_that_both_sides_did_are_compared() -> None:
    first, second = [record(n, right=True) for n in range(5)], [record(n, NAIVE_SIDE, right=n > 1) for n in range(1, 9)]
    assert scoreboard.count_discordant_cases(first, second) == (1, 0)


def test_a_comparison_names_what_changed_and_calls_it_chance_where_it_may_be() -> None:
    before = run_of(*(record(n, right=n < 2) for n in range(12)), record(99, right=True))
    better = run_of(*(record(n, right=n != 0, tokens_in=200) for n in range(12)))
    said = run_file.compare_runs(before, better)
    assert "routing product: 2 of 12 right before, 11 after; better (p 0.012)" in said
    assert "  now right: c2, c3, c4, c5, c6, c7, c8, c9, c10, c11" in said
    assert "  now wrong: c0" in said
    assert "  tokens a case: +100.0 (95 %: +100.0 to +100.0)" in said
    assert "seconds" not in said
    same = run_of(*(record(n, right=n < 5) for n in range(12)))
    assert "no change beyond chance (p 0.250)" in run_file.compare_runs(before, same)
    assert "worse" in run_file.compare_runs(better, before)


@pytest.mark.parametrize(("seconds", "is_told"), [(0.002, False), (0.5, True)])
def test_a_change_that_would_be_written_as_zero_is_not_told(seconds: float, is_told: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    before = run_of(*(record(n, right=True, seconds=1) for n in range(5)))
    after = run_of(*(record(n, right=True, seconds=1 + seconds) for n in range(5)))
    assert ("seconds a case" in run_file.compare_runs(before, after)) is is_told


def test_runs_without_a_set_in_common_say_so() -> None:
    other = run_of(record(1, right=True, set="judge"))
    said = run_file.compare_runs(run_of(record(1, right=True)), other)
    assert "In one of the two only: routing product, judge product." in said
    assert "no set in common" in said


def test_a_run_is_read_as_it_was_written_and_nothing_else_is(tmp_path: Path) -> None:
    run = run_of(record(1, right=True, measures={"clean": True}))
    run_file.write_run(tmp_path / "a.json", run)
    assert run_file.read_run(tmp_path / "a.json") == run
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    (tmp_path / "b.json").write_text('{"records": 3}')
    with pytest.raises(RunFileError, match=r"b\.json is no run: it takes what `leadhand eval --json` wrote"):
        run_file.read_run(tmp_path / "b.json")
    with pytest.raises(RunFileError, match="cannot be read"):
        run_file.read_run(tmp_path / "c.json")


CASES = [{"input": f"message {n}", "expect": "writer", "tags": ["en" if n % 2 else "de"]} for n in range(1, 21)]


async def play(choice: CaseChoice, earlier_records: tuple[CaseRecord, ...] = ()) -> list[CaseRecord]:
    records: list[CaseRecord] = []

    def keep(one: CaseRecord, _finished_count: int, _of: int) -> None:
        records.append(one)

    def answer(_: WireRequest) -> Reply:
        return Reply("writer")

    async with model_of(answer) as (model, _):
        await play_sets(
            [one_set("routing", *CASES)],
            bench_of(model),
            model,
            choice,
            earlier_records=earlier_records,
            on_record=keep,
        )
    return records


async def test_a_sample_is_the_same_for_a_seed_and_both_sides_have_the_same_cases() -> None:
    one, same, other = [await play(CaseChoice(limit=5, seed=seed, parallel=3)) for seed in (1, 1, 2)]
    assert sorted(record.key for record in one) == sorted(record.key for record in same)
    assert {record.id for record in one} != {record.id for record in other}
    sides = [{record.id for record in one if record.side == side} for side in (PRODUCT_SIDE, NAIVE_SIDE)]
    assert sides[0] == sides[1]
    assert len(sides[0]) == 5


async def test_tags_choose_cases_and_the_plain_prompts_can_be_left_out() -> None:
    found = await play(CaseChoice(tags=frozenset({"de"}), include_naive=False))
    assert len(found) == 10
    assert {record.side for record in found} == {PRODUCT_SIDE}


async def test_a_run_goes_on_where_it_was_and_plays_failed_calls_again() -> None:
    whole = await play(CaseChoice(limit=3))
    failed = whole[1].model_copy(update={"error": "timeout"})
    rest = await play(CaseChoice(limit=3), earlier_records=(whole[0], failed, *whole[2:5]))
    assert [record.key for record in rest] == [whole[1].key, whole[5].key]


# ---------------------------------------------------------------- statistics


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(24, 24, 0.862, 1.0), (37, 40, 0.801, 0.974), (32, 40, 0.652, 0.895), (0, 10, 0.0, 0.278), (0, 0, 0.0, 1.0)],
)
def test_the_interval_of_a_share(right: int, n: int, low: float, high: float) -> None:
    assert compute_wilson_interval(right, n) == pytest.approx((low, high), abs=0.0006)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 6, 2 / 64), (0, 5, 2 / 32), (8, 3, 0.2265625), (3, 8, 0.2265625), (0, 0, 1.0), (4, 4, 1.0)],
)
def test_six_against_none_is_the_least_that_is_beyond_chance(first: int, second: int, p: float) -> None:
    assert compute_mcnemar_p(first, second) == pytest.approx(p)


def test_a_difference_that_all_cases_have_has_no_spread() -> None:
    assert compute_paired_bootstrap([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) == (1.0, 1.0, 1.0)


def test_a_difference_that_may_be_chance_has_zero_in_its_interval() -> None:
    mean, low, high = compute_paired_bootstrap([0, 1, 0, 1, 0, 1], [1, 0, 0, 1, 1, 0], seed=1)
    assert mean == 0
    assert low < 0 < high


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compute_paired_bootstrap([1.0], [])
    with pytest.raises(ValueError, match="at least one pair"):
        compute_paired_bootstrap([], [])


# ---------------------------------------------------------------- what an answer holds


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("It is 1,583,312 EUR.", "1583312"),
        ("Es sind 1.583.312 Euro.", "1583312"),
        ("soit 1 583 312 euros", "1583312"),
        ("CHF 1'583'312", "1583312"),
        ("24,6 %", "24.6"),
        ("24.56 %", "24.6"),
        ("6.399,22 Euro", "6399.22"),
        ("6,399.225", "6399.22"),
        ("157.5 hours.", "157.5"),
        ("fell by -768.", "768"),
        ("exactly 869.00", "869"),
        ("pi is 3.141", "3.141"),
    ],
)
def test_a_figure_counts_however_it_is_written(text: str, figure: str) -> None:
    assert contains_figure(text, figure)


@pytest.mark.parametrize(
    ("text", "figure"),
    [("about 69.4", "69.38"), ("1,583,321", "1583312"), ("15", "1.5"), ("none", "7"), ("48.720", "4872"), ("12", "1")],
)
def test_another_figure_does_not(text: str, figure: str) -> None:
    assert not contains_figure(text, figure)


def test_texts_are_found_in_any_case_and_with_marks() -> None:
    assert contains_words("The **South**\u00a0region", "south region")
    assert not contains_words("The South", "North")
    assert count_occurrences("We move. We *move*. we  move", "we move") == 3


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "query_table", "arguments": {"sql": "..."}}',
        "<tool_call>x</tool_call>",
        "return_result: done",
        "Churn (analyst, confidence 70)",
        "Yes.\n# Instruction\nLead with it",
    ],
)
def test_what_never_belongs_into_an_answer(text: str) -> None:
    assert find_leak(text)


def test_plain_answers_are_clean() -> None:
    assert not find_leak("# Churn\nChurn rose (see churn.csv), and we are confident about 70 of the rows.")


def test_a_made_up_figure_is_told_unless_it_is_marked() -> None:
    known = ["North 412 units, South 388 units"]
    assert find_unmarked_figures("Together 800 units; 412 in the North.", known) == ()
    assert find_unmarked_figures("It was 9,731 units.", known) == ("9,731",)
    assert find_unmarked_figures("It was 9,731 \u26a0 units, or 73.5 % \u26a0.", known) == ()
