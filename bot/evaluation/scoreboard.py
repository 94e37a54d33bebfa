"""Adds records up to a table: how often each side was right, with its interval, and what it took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from bot.evaluation.harness import NAIVE, PRODUCT, CaseRecord
from bot.evaluation.significance import mcnemar, wilson
from handoff.contracts import Contract

HEADINGS = ("set", "n", "right", "share", "95 %", "errors", "tokens in/out", "dollars", "p50 s", "p")


class ScoreLine(Contract):
    """A line of the table. `measure`: another question to the replies of that side; empty: whether they were right.

    Tokens, dollars and seconds are of one case: means, and the median of the seconds. `p` is that of product and
    baseline doing equally well on the cases that both did.
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


def lines(records: Iterable[CaseRecord]) -> tuple[ScoreLine, ...]:
    """Return the table of these records: for each set the product, the baseline, and the measures of both."""
    by_set: dict[str, dict[str, list[CaseRecord]]] = {}
    for record in records:
        by_set.setdefault(record.set, {}).setdefault(record.side, []).append(record)
    made: list[ScoreLine] = []
    for name, sides in by_set.items():
        kept = [(side, sides[side]) for side in (PRODUCT, NAIVE) if side in sides]
        p = mcnemar(*discordant(*(listed for _, listed in kept))) if len(kept) == 2 else None
        made += [_make_line(name, side, listed, p=p if side == NAIVE else None) for side, listed in kept]
        made += [line for side, listed in kept for line in _make_measure_lines(name, side, listed)]
    return tuple(made)


def discordant(first: Sequence[CaseRecord], second: Sequence[CaseRecord]) -> tuple[int, int]:
    """Return how many cases only the first got right, and only the second, of those that both did."""
    other = {record.id: record.right for record in second}
    pairs = [(record.right, other[record.id]) for record in first if record.id in other]
    return sum(one and not two for one, two in pairs), sum(two and not one for one, two in pairs)


def _make_line(name: str, side: str, records: Sequence[CaseRecord], *, p: float | None) -> ScoreLine:
    n, right = len(records), sum(record.right for record in records)
    low, high = wilson(right, n)
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
    found: dict[str, list[bool]] = {}
    for record in records:
        for measure, held in record.measures.items():
            found.setdefault(measure, []).append(held)
    made = []
    for measure, answers in found.items():
        n, yes = len(answers), sum(answers)
        low, high = wilson(yes, n)
        made.append(ScoreLine(set=name, side=side, measure=measure, n=n, right=yes, share=yes / n, low=low, high=high))
    return made


# ---------------------------------------------------------------- for people


def render_table(table: Iterable[ScoreLine]) -> str:
    """Write the table for people."""
    rows = [HEADINGS, *(_render_row(line) for line in table)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    return "\n".join(_pad_row(row, widths) for row in rows)


def _render_row(line: ScoreLine) -> tuple[str, ...]:
    counted = (
        str(line.n),
        str(line.right),
        _format_percent(line.share),
        f"{_format_percent(line.low)} to {_format_percent(line.high)}",
    )
    if line.measure:
        return (f"    {line.side}: {line.measure}", *counted, "", "", "", "", "")
    first = line.set if line.side == PRODUCT else f"  {line.side} prompt"
    tokens = f"{line.tokens_in:,.0f}/{line.tokens_out:,.0f}"
    dollars = "-" if line.cost is None else f"{line.cost:.4f}"
    p = "" if line.p is None else f"{line.p:.3f}"
    return (first, *counted, str(line.errors), tokens, dollars, f"{line.seconds:.1f}", p)


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _pad_row(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()
