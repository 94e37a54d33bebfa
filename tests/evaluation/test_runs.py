"""A whole run: its table, its file, a run that is gone on with, and two runs compared."""

from pathlib import Path
from typing import Any

import pytest

from bot.evaluation import comparison, run_file, scoreboard
from bot.evaluation.harness import NAIVE, PRODUCT, Choice, Record, run_sets
from bot.evaluation.run_file import RunFile, RunFileError
from tests.evaluation.eval_kit import bench_of, model_of, one_set
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest


def record(case: int, side: str = PRODUCT, *, right: bool, **more: Any) -> Record:
    given = {"set": "routing", "side": side, "id": f"c{case}", "right": right, "tokens_in": 100, "tokens_out": 10}
    return Record.model_validate({**given, **more})


def run_of(*records: Record) -> RunFile:
    run = RunFile(leadhand="0", model="m", tiers={}, crew="general")
    return run.with_records(records, complete=True)


def test_the_table_adds_up_both_sides_and_says_if_they_differ_beyond_chance() -> None:
    records = [record(n, right=n < 8, seconds=n, cost=0.01, measures={"clean": n < 4}) for n in range(10)]
    records += [record(n, NAIVE, right=n < 1, error="slow" if n == 9 else "") for n in range(10)]
    product, naive, clean = scoreboard.lines(records)
    assert (product.n, product.right, product.share, product.errors) == (10, 8, 0.8, 0)
    assert (round(product.low, 2), round(product.high, 2)) == (0.49, 0.94)
    assert (product.tokens_in, product.tokens_out, product.seconds) == (100, 10, 4.5)
    assert product.cost == pytest.approx(0.01)
    assert (naive.right, naive.errors, naive.cost, product.p) == (1, 1, None, None)
    assert naive.p == pytest.approx(2 / 2**7)  # seven that only the product got right
    assert (clean.measure, clean.side, clean.n, clean.right) == ("clean", PRODUCT, 10, 4)
    lines = scoreboard.in_words((product, naive, clean)).splitlines()
    assert " ".join(lines[1].split()) == "routing 10 8 80 % 49 % to 94 % 0 100/10 0.0100 4.5"
    assert " ".join(lines[2].split()) == "naive prompt 10 1 10 % 2 % to 40 % 1 100/10 - 0.0 0.016"
    assert " ".join(lines[3].split()) == "product: clean 10 4 40 % 17 % to 69 %"


def test_only_cases_that_both_sides_did_are_compared() -> None:
    first, second = [record(n, right=True) for n in range(5)], [record(n, NAIVE, right=n > 1) for n in range(1, 9)]
    assert scoreboard.discordant(first, second) == (1, 0)


def test_a_comparison_names_what_changed_and_calls_it_chance_where_it_may_be() -> None:
    before = run_of(*(record(n, right=n < 2) for n in range(12)), record(99, right=True))
    better = run_of(*(record(n, right=n != 0, tokens_in=200) for n in range(12)))
    said = comparison.compare(before, better)
    assert "routing product: 2 of 12 right before, 11 after; better (p 0.012)" in said
    assert "  now right: c2, c3, c4, c5, c6, c7, c8, c9, c10, c11" in said
    assert "  now wrong: c0" in said
    assert "  tokens a case: +100.0 (95 %: +100.0 to +100.0)" in said
    assert "seconds" not in said
    same = run_of(*(record(n, right=n < 5) for n in range(12)))
    assert "no change beyond chance (p 0.250)" in comparison.compare(before, same)
    assert "worse" in comparison.compare(better, before)


@pytest.mark.parametrize(("seconds", "told"), [(0.002, False), (0.5, True)])
def test_a_change_that_would_be_written_as_zero_is_not_told(seconds: float, told: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    before = run_of(*(record(n, right=True, seconds=1) for n in range(5)))
    after = run_of(*(record(n, right=True, seconds=1 + seconds) for n in range(5)))
    assert ("seconds a case" in comparison.compare(before, after)) is told


def test_runs_without_a_set_in_common_say_so() -> None:
    other = run_of(record(1, right=True, set="judge"))
    said = comparison.compare(run_of(record(1, right=True)), other)
    assert "In one of the two only: routing product, judge product." in said
    assert "no set in common" in said


def test_a_run_is_read_as_it_was_written_and_nothing_else_is(tmp_path: Path) -> None:
    run = run_of(record(1, right=True, measures={"clean": True}))
    run_file.write(tmp_path / "a.json", run)
    assert run_file.read(tmp_path / "a.json") == run
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    (tmp_path / "b.json").write_text('{"records": 3}')
    with pytest.raises(RunFileError, match=r"b\.json is no run: it takes what `leadhand eval --json` wrote"):
        run_file.read(tmp_path / "b.json")
    with pytest.raises(RunFileError, match="cannot be read"):
        run_file.read(tmp_path / "c.json")


CASES = [{"input": f"message {n}", "expect": "writer", "tags": ["en" if n % 2 else "de"]} for n in range(1, 21)]


async def play(choice: Choice, done: tuple[Record, ...] = ()) -> list[Record]:
    records: list[Record] = []

    def keep(one: Record, _finished: int, _of: int) -> None:
        records.append(one)

    def answer(_: WireRequest) -> Reply:
        return Reply("writer")

    async with model_of(answer) as (model, _):
        await run_sets([one_set("routing", *CASES)], bench_of(model), model, choice, done=done, on_record=keep)
    return records


async def test_a_sample_is_the_same_for_a_seed_and_both_sides_have_the_same_cases() -> None:
    one, same, other = [await play(Choice(limit=5, seed=seed, parallel=3)) for seed in (1, 1, 2)]
    assert sorted(record.key for record in one) == sorted(record.key for record in same)
    assert {record.id for record in one} != {record.id for record in other}
    sides = [{record.id for record in one if record.side == side} for side in (PRODUCT, NAIVE)]
    assert sides[0] == sides[1]
    assert len(sides[0]) == 5


async def test_tags_choose_cases_and_the_plain_prompts_can_be_left_out() -> None:
    found = await play(Choice(tags=frozenset({"de"}), naive=False))
    assert len(found) == 10
    assert {record.side for record in found} == {PRODUCT}


async def test_a_run_goes_on_where_it_was_and_plays_failed_calls_again() -> None:
    whole = await play(Choice(limit=3))
    failed = whole[1].model_copy(update={"error": "timeout"})
    rest = await play(Choice(limit=3), done=(whole[0], failed, *whole[2:5]))
    assert [record.key for record in rest] == [whole[1].key, whole[5].key]
