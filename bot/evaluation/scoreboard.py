"""Summarises records in a table: the share of right replies of each side with its interval, usage, and p values."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from math import comb, sqrt
from statistics import median

from bot.evaluation.harness import NAIVE_SIDE, PRODUCT_SIDE, CaseRecord
from handoff.contracts import Contract

HEADINGS = ("set", "n", "right", "share", "95 %", "errors", "tokens in/out", "dollars", "p50 s", "p")


class ScoreLine(Contract):
    """A line of the table.

    `right` counts the right replies, or with a `measure` (of `CaseOutcome.measures`) its answers with yes. `low` and
    `high` are the 95 % interval of `share`. Tokens and dollars are means per case, `seconds` is the median. `p` is
    the probability of such a difference if product and baseline are equally good, on the cases that both have.
    """

    set: str
    side: str
    measure: str = ""
    n: int
    right: int
    share: float
    low: float
    high: float
    errors: int = 0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    cost: float | None = None
    seconds: float = 0.0
    p: float | None = None


def make_score_lines(records: Iterable[CaseRecord]) -> tuple[ScoreLine, ...]:
    """Return the table of these records: for each set the lines of product and baseline, then the measures of both."""
    by_set: dict[str, dict[str, list[CaseRecord]]] = {}
    for record in records:
        by_set.setdefault(record.set, {}).setdefault(record.side, []).append(record)
    lines: list[ScoreLine] = []
    for name, sides in by_set.items():
        present_sides = [(side, sides[side]) for side in (PRODUCT_SIDE, NAIVE_SIDE) if side in sides]
        p = (
            compute_mcnemar_p(*count_discordant_cases(*(side_records for _, side_records in present_sides)))
            if len(present_sides) == 2
            else None
        )
        lines += [
            _make_line(name, side, side_records, p=p if side == NAIVE_SIDE else None)
            for side, side_records in present_sides
        ]
        lines += [
            line for side, side_records in present_sides for line in _make_measure_lines(name, side, side_records)
        ]
    return tuple(lines)


def count_discordant_cases(first: Sequence[CaseRecord], second: Sequence[CaseRecord]) -> tuple[int, int]:
    """Return a pair: how many of the common cases only the first got right, and how many only the second."""
    other = {record.id: record.right for record in second}
    pairs = [(record.right, other[record.id]) for record in first if record.id in other]
    return sum(one and not two for one, two in pairs), sum(two and not one for one, two in pairs)


def _make_line(name: str, side: str, records: Sequence[CaseRecord], *, p: float | None) -> ScoreLine:
    n, right = len(records), sum(record.right for record in records)
    low, high = compute_wilson_interval(right, n)
    costs = [record.cost for record in records if record.cost is not None]
    return ScoreLine(
        set=name,
        side=side,
        n=n,
        right=right,
        share=right / n,
        low=low,
        high=high,
        errors=sum(bool(record.error) for record in records),
        tokens_in=sum(record.tokens_in for record in records) / n,
        tokens_out=sum(record.tokens_out for record in records) / n,
        cost=sum(costs) / n if costs else None,
        seconds=median(record.seconds for record in records),
        p=p,
    )


def _make_measure_lines(name: str, side: str, records: Sequence[CaseRecord]) -> list[ScoreLine]:
    answers_by_measure: dict[str, list[bool]] = {}
    for record in records:
        for measure, answer in record.measures.items():
            answers_by_measure.setdefault(measure, []).append(answer)
    lines = []
    for measure, answers in answers_by_measure.items():
        n, yes = len(answers), sum(answers)
        low, high = compute_wilson_interval(yes, n)
        lines.append(ScoreLine(set=name, side=side, measure=measure, n=n, right=yes, share=yes / n, low=low, high=high))
    return lines


# ---------------------------------------------------------------- for people


def render_table(table: Iterable[ScoreLine]) -> str:
    """Render the table as text with aligned columns."""
    rows = [HEADINGS, *(_render_row(line) for line in table)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    return "\n".join(_pad_row(row, widths) for row in rows)


def _render_row(line: ScoreLine) -> tuple[str, ...]:
    count_cells = (
        str(line.n),
        str(line.right),
        _format_percent(line.share),
        f"{_format_percent(line.low)} to {_format_percent(line.high)}",
    )
    if line.measure:
        return (f"    {line.side}: {line.measure}", *count_cells, "", "", "", "", "")
    first = line.set if line.side == PRODUCT_SIDE else f"  {line.side} prompt"
    tokens = f"{line.tokens_in:,.0f}/{line.tokens_out:,.0f}"
    dollars = "-" if line.cost is None else f"{line.cost:.4f}"
    p = "" if line.p is None else f"{line.p:.3f}"
    return (first, *count_cells, str(line.errors), tokens, dollars, f"{line.seconds:.1f}", p)


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _pad_row(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


Z95 = 1.959964
"""The half-width of a 95 % interval, in standard deviations."""


def compute_wilson_interval(right: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Return the Wilson score interval (low, high) of the share `right` of `n`; (0, 1) if `n` is 0."""
    if not n:
        return 0.0, 1.0
    share, wide = right / n, 1 + z * z / n
    middle = (share + z * z / 2 / n) / wide
    half = z * sqrt(share * (1 - share) / n + z * z / 4 / n / n) / wide
    return max(0.0, middle - half), min(1.0, middle + half)


def compute_mcnemar_p(only_first: int, only_second: int) -> float:
    """Return the two-sided p of McNemar's exact test on the cases that only one version got right; 1 for no cases."""
    n = only_first + only_second
    if not n:
        return 1.0
    tail: int = sum(comb(n, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2.0 * tail / float(2**n))


def compute_paired_bootstrap(
    first: Sequence[float], second: Sequence[float], *, draws: int = 10_000, seed: int = 0
) -> tuple[float, float, float]:
    """Return (mean, low, high) of the paired differences `second` less `first`, with a 95 % bootstrap interval.

    Raises ValueError if the two differ in length or are empty.
    """
    differences = [after - before for before, after in zip(first, second, strict=True)]
    if not differences:
        raise ValueError("a bootstrap needs at least one pair")
    chance, n = random.Random(seed), len(differences)  # noqa: S311 - seeded resampling, no secret
    means = sorted(sum(chance.choices(differences, k=n)) / n for _ in range(draws))
    return sum(differences) / n, means[int(0.025 * draws)], means[int(0.975 * draws) - 1]
