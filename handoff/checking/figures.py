"""Finds the unsupported figures of a text: no tool, file or person gave them, and they follow from no given figure.

A figure is supported if a known text has it, exactly or rounded, or if its working has known numbers only and comes to
it. Without a working, it is supported if it follows from two known figures (a sum, difference, product, ratio, share,
change, or another unit), or is the total, mean or median of a list. Among many pairs a short figure follows from some
by accident, so the more pairs are tried, the more digits a figure needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from handoff.checking.derived_figures import (
    CHANCE,
    MISQUOTED,
    WAYS,
    derive_families,
    follows_from_values,
    list_distinct_quantities,
)
from handoff.checking.known_figures import KnownFigures, read_text_figures, sentence
from handoff.checking.numerals import (
    SMALL,
    YEARS,
    Numeral,
    blank_code,
    blank_dates,
    blank_labels,
    normalize_digits,
    numerals,
)
from handoff.checking.workings import (
    EXAMPLE,
    Working,
    blank_workings,
    equals_figure,
    find_workings,
    match_workings,
    needs_no_source,
    values_of,
)
from handoff.contracts import Result

MOST_LINES = 24
"""The most source lines that `find_source_lines` returns."""
READ = 40_000
"""The first characters of a reply that are searched."""

_BESIDE = " $€£¥%"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as a text writes it, from `start` to `end`. `fault` describes an error in its working; empty: none."""

    text: str
    start: int
    end: int
    fault: str = ""


def find_unsupported_figures(text: str, known: Iterable[str]) -> tuple[Figure, ...]:
    """Return the figures of a text that are not in the texts `known` and do not follow from figures in them.

    `known` starts with the likeliest texts. Later ones, such as a long thread, are read only if figures are missing.
    """
    shown = blank_non_figures(text)
    given = left = figures_of(shown)
    ground = KnownFigures(shown)
    for texts in _batch_texts(known) if given else ():
        ground.read(texts)
        left = [one for one in left if not _is_known_figure(one, ground, shown)]
        if not left:
            return ()
    faults = _faults_of_workings(text, shown, left, ground)
    left = [one for one in left if faults.get(one) != ""]
    standing = [one for one in given if one not in left]
    while left:
        found = [one for one in left if one not in faults and _follows_from_known(one, ground, shown, standing)]
        if not found:
            break
        standing += found
        left = [one for one in left if one not in found]
    return tuple(Figure(text[one.start : one.end].strip(), one.start, one.end, faults.get(one, "")) for one in left)


def _faults_of_workings(text: str, shown: str, figures: Sequence[Numeral], ground: KnownFigures) -> dict[Numeral, str]:
    """Return the faults of the workings of some figures, by figure; an empty text for a correct working.

    A working may use figures that earlier workings derive. `ground` is extended by them.
    """
    faults: dict[Numeral, str] = {}
    for figure, working in _workings_by_figure(text).items():
        if figure in figures:
            faults[figure] = _fault_of_working(working, figure, text, ground)
            if not faults[figure]:
                ground.read([shown[figure.start : figure.end]])
    return faults


def _workings_by_figure(text: str) -> dict[Numeral, Working]:
    workings = find_workings(text)
    return match_workings(figures_of(blank_non_figures(text)), workings, text) if workings else {}


def _fault_of_working(working: Working, figure: Numeral, text: str, ground: KnownFigures) -> str:
    expression, written = working.expression, text[figure.start : figure.end].strip()
    numbers = working.numbers()
    for one in numbers:
        number = expression[one.start : one.end].strip()
        if not (ground.has(one) or ground.has_share(one) or (one.readings and needs_no_source(one.readings[0][0]))):
            return f"The working of “{written}” has {number}, which stands nowhere in what you read."
    if equals_figure(working, figure):
        return ""
    value = next(values_of(working), None)
    if value is None:
        return f"The working of “{written}” is no sum that can be done: {expression}. Write it as in {EXAMPLE}."
    return f"The working of “{written}” comes to {value:,.6g}: {expression}."


def workings_of(text: str, without_source: Iterable[str]) -> tuple[str, ...]:
    """Return the workings of a text, such as `424 = 1,569 - 1,145`, without those of figures in `without_source`."""
    left = {one.strip(_BESIDE) for one in without_source}
    worked = _workings_by_figure(text)
    told = ((text[one.start : one.end].strip(), working.expression) for one, working in worked.items())
    return tuple(dict.fromkeys(f"{figure} = {how}" for figure, how in told if figure.strip(_BESIDE) not in left))


def _batch_texts(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in batches, each text once. Each batch but the last is at least as long as all earlier ones."""
    seen: dict[str, None] = {}
    batch: list[str] = []
    read = size = 0
    for text in texts:
        if text in seen:
            continue
        seen[text] = None
        batch.append(text)
        size += len(text)
        if size >= read:
            yield batch
            batch, read, size = [], read + size, 0
    if batch:
        yield batch


def blank_non_figures(text: str) -> str:
    """Replace everything that only looks like a figure by spaces: workings, code, labels and dates.

    The positions of all other characters stay the same.
    """
    return blank_dates(blank_labels(blank_code(normalize_digits(blank_workings(text)))))


def figures_of(shown: str, *, small: bool = False) -> list[Numeral]:
    """Return the figures of a text that `blank_non_figures` returned; with `small`, small counts and years as well."""
    return [one for one in numerals(shown) if small or is_figure(one)]


def list_figures(text: str) -> list[tuple[Numeral, str]]:
    """Return the figures of a text, including small counts, as pairs (number, text as written)."""
    shown = blank_non_figures(text)
    return [(one, shown[one.start : one.end]) for one in figures_of(shown, small=True)]


def is_figure(one: Numeral) -> bool:
    """Return True if a number counts as a figure: it is not a small count, a year, 0 or 100 %."""
    if one.whole is not None and (one.whole <= SMALL or (one.whole in YEARS and not one.kind)):
        return False
    return bool(one.readings) and one.readings[0][0] != 0 and not (one.kind == "%" and one.readings[0][0] == 100.0)


def _is_known_figure(one: Numeral, ground: KnownFigures, shown: str) -> bool:
    return ground.says(one, shown[one.start : one.end]) or ground.is_round_bound(
        one, shown[max(0, one.start - 20) : one.start]
    )


def _follows_from_known(one: Numeral, ground: KnownFigures, shown: str, standing: Sequence[Numeral]) -> bool:
    """Return True if a figure follows from known figures, and probably not by accident.

    `standing` are the figures of the same text that are supported already.
    """
    start, end = sentence(shown, one.start, one.end)
    near = list_distinct_quantities(other for other in standing if start <= other.start < end)
    around = list_distinct_quantities(standing, ground.totals)
    groups = [
        near,
        *ground.groups(near),
        around,
        tuple(dict.fromkeys((*list_distinct_quantities(standing), *ground.all_quantities)))[:100],
    ]
    ways = (ground.yield_list_totals(one), *(derive_families(one, groups, way) for way in WAYS))
    chance = MISQUOTED if ground.misquotes(one) else CHANCE
    return not ground.has_opposite_sign(one) and any(follows_from_values(one, way, chance) for way in ways)


def find_misquoted_figure(figure: str, known: Iterable[str]) -> str:
    """Return the figure in the texts `known` that `figure` may misquote, as written there; empty if there is none.

    It has the same digits with other zeros or units; otherwise two digits are swapped; otherwise one digit differs. In
    each case it must be the only such figure.
    """
    found: dict[int, set[str]] = {}
    for text in known:
        for likeness, written in read_text_figures(text).find_similar_figures(figure):
            found.setdefault(likeness, set()).add(written.strip())
    nearest = found[min(found)] if found else set()
    return nearest.pop() if len(nearest) == 1 else ""


def yield_figure_lines(text: str, replies: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield for each figure of a text the lines of `replies` that contain it, or the figure that it may misquote."""
    for one in figures_of(blank_non_figures(text)):
        written = text[one.start : one.end]
        lines = [line for reply in replies for line in read_text_figures(reply).lines_of(one)]
        if not lines and (near := find_misquoted_figure(written, replies)):
            lines = [line for reply in replies for line in read_text_figures(reply).lines_with(near)]
        yield tuple(lines)


def find_source_lines(result: Result, replies: Sequence[str]) -> tuple[str, ...]:
    """Return for each figure of the result a line of a tool reply that contains it, each line once.

    Among several lines, the one with the most figures of the result is chosen. The lines are for the verifier, which
    would otherwise see only the specialist's words.
    """
    text = "\n".join([result.content, *(finding.message for finding in result.findings)])
    found = list(yield_figure_lines(text, [reply[:READ] for reply in replies]))
    held = Counter(line for lines in found for line in dict.fromkeys(lines))
    return tuple(dict.fromkeys(max(lines, key=held.__getitem__) for lines in found if lines))[:MOST_LINES]
