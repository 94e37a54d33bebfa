"""Finds the unsupported figures of a text: no tool, file or person gave them, and they follow from no given figure.

A figure is supported if a known text has it, exactly or rounded, or if its working has only known numbers and gives the
figure. Without a working, it is supported if it follows from two known figures (a sum, difference, product, ratio,
share, change, or another unit), or is the total, mean or median of a list. Among many pairs, a short figure follows
from some by accident, so the more pairs are tried, the more digits a figure needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from handoff.checking.derived_figures import (
    DERIVATIONS,
    MAX_ACCIDENTAL_MATCHES,
    MAX_ACCIDENTAL_MISQUOTES,
    derive_value_families,
    follows_from_values,
    list_distinct_quantities,
)
from handoff.checking.known_figures import KnownFigures, find_sentence_span, read_text_figures
from handoff.checking.numerals import (
    MAX_SMALL_COUNT,
    YEARS,
    Numeral,
    blank_code,
    blank_dates,
    blank_labels,
    normalize_digits,
    parse_numerals,
)
from handoff.checking.workings import (
    WORKING_EXAMPLE,
    Working,
    blank_workings,
    equals_figure,
    find_workings,
    is_common_number,
    match_workings,
    yield_values,
)
from handoff.contracts import Result

MAX_SOURCE_LINES = 24
"""The most source lines that `find_source_lines` returns."""
MAX_REPLY_CHARACTERS = 40_000
"""The number of characters at the start of a reply that are searched."""

_UNIT_SIGNS = " $€£¥%"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in a text, from `start` to `end`. `fault` describes an error in its working; empty: no error."""

    text: str
    start: int
    end: int
    fault: str = ""


def find_unsupported_figures(text: str, known_texts: Iterable[str]) -> tuple[Figure, ...]:
    """Return the figures of a text that are not in the texts `known_texts` and do not follow from figures in them.

    `known_texts` starts with the likeliest texts. Later ones, such as a long thread, are read only if figures are
    missing.
    """
    blanked_text = blank_non_figures(text)
    figures = unsupported_figures = extract_figures(blanked_text)
    known_figures = KnownFigures(blanked_text)
    for texts in _batch_texts(known_texts) if figures else ():
        known_figures.add_texts(texts)
        unsupported_figures = [
            one for one in unsupported_figures if not _is_known_figure(one, known_figures, blanked_text)
        ]
        if not unsupported_figures:
            return ()
    faults = _check_workings(text, blanked_text, unsupported_figures, known_figures)
    unsupported_figures = [one for one in unsupported_figures if faults.get(one) != ""]
    standing = [one for one in figures if one not in unsupported_figures]
    while unsupported_figures:
        derived_figures = [
            one
            for one in unsupported_figures
            if one not in faults and _follows_from_known(one, known_figures, blanked_text, standing)
        ]
        if not derived_figures:
            break
        standing += derived_figures
        unsupported_figures = [one for one in unsupported_figures if one not in derived_figures]
    return tuple(
        Figure(text[one.start : one.end].strip(), one.start, one.end, faults.get(one, ""))
        for one in unsupported_figures
    )


def _check_workings(
    text: str, blanked_text: str, figures: Sequence[Numeral], known_figures: KnownFigures
) -> dict[Numeral, str]:
    """Return the faults of the workings of some figures, by figure; an empty text for a correct working.

    The figures of correct workings are added to `known_figures`, so that later workings may use them.
    """
    faults: dict[Numeral, str] = {}
    for figure, working in _index_workings(text).items():
        if figure in figures:
            faults[figure] = _check_working(working, figure, text, known_figures)
            if not faults[figure]:
                known_figures.add_texts([blanked_text[figure.start : figure.end]])
    return faults


def _index_workings(text: str) -> dict[Numeral, Working]:
    workings = find_workings(text)
    return match_workings(extract_figures(blank_non_figures(text)), workings, text) if workings else {}


def _check_working(working: Working, figure: Numeral, text: str, known_figures: KnownFigures) -> str:
    expression, figure_text = working.expression, text[figure.start : figure.end].strip()
    numbers = working.parse_numbers()
    for one in numbers:
        number = expression[one.start : one.end].strip()
        if not (
            known_figures.contains_exactly(one)
            or known_figures.contains_share(one)
            or (one.readings and is_common_number(one.readings[0][0]))
        ):
            return f"The working of “{figure_text}” has {number}, which stands nowhere in what you read."
    if equals_figure(working, figure):
        return ""
    value = next(yield_values(working), None)
    if value is None:
        return (
            f"The working of “{figure_text}” is no sum that can be done: {expression}. "
            f"Write it as in {WORKING_EXAMPLE}."
        )
    return f"The working of “{figure_text}” comes to {value:,.6g}: {expression}."


def render_workings(text: str, unsourced_figures: Iterable[str]) -> tuple[str, ...]:
    """Return the workings of a text, such as `424 = 1,569 - 1,145`, each once, without those of `unsourced_figures`."""
    unsourced_numbers = {one.strip(_UNIT_SIGNS) for one in unsourced_figures}
    workings_by_figure = _index_workings(text)
    working_pairs = (
        (text[one.start : one.end].strip(), working.expression) for one, working in workings_by_figure.items()
    )
    return tuple(
        dict.fromkeys(
            f"{figure} = {how}" for figure, how in working_pairs if figure.strip(_UNIT_SIGNS) not in unsourced_numbers
        )
    )


def _batch_texts(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in batches, each text once.

    A batch ends when it has as many characters as all batches before it together. So a caller that checks after each
    batch can stop early, and checks only a few times.
    """
    seen_texts: dict[str, None] = {}
    batch: list[str] = []
    read_size = size = 0
    for text in texts:
        if text in seen_texts:
            continue
        seen_texts[text] = None
        batch.append(text)
        size += len(text)
        if size >= read_size:
            yield batch
            batch, read_size, size = [], read_size + size, 0
    if batch:
        yield batch


def blank_non_figures(text: str) -> str:
    """Replace everything that only looks like a figure by spaces: workings, code, labels and dates.

    The positions of all other characters stay the same.
    """
    return blank_dates(blank_labels(blank_code(normalize_digits(blank_workings(text)))))


def extract_figures(blanked_text: str, *, include_small: bool = False) -> list[Numeral]:
    """Return the figures of a text from `blank_non_figures`; with `include_small`, small counts and years as well."""
    return [one for one in parse_numerals(blanked_text) if include_small or is_figure(one)]


def list_written_numbers(text: str) -> list[tuple[Numeral, str]]:
    """Return the figures of a text, including small counts, as pairs (number, text as written)."""
    blanked_text = blank_non_figures(text)
    return [(one, blanked_text[one.start : one.end]) for one in extract_figures(blanked_text, include_small=True)]


def is_figure(numeral: Numeral) -> bool:
    """Return True if a number counts as a figure: it is not a small count, a year, 0 or 100 %."""
    if numeral.integer is not None and (
        numeral.integer <= MAX_SMALL_COUNT or (numeral.integer in YEARS and not numeral.kind)
    ):
        return False
    return (
        bool(numeral.readings)
        and numeral.readings[0][0] != 0
        and not (numeral.kind == "%" and numeral.readings[0][0] == 100.0)
    )


def _is_known_figure(numeral: Numeral, known_figures: KnownFigures, blanked_text: str) -> bool:
    return known_figures.contains_figure(
        numeral, blanked_text[numeral.start : numeral.end]
    ) or known_figures.is_round_bound(numeral, blanked_text[max(0, numeral.start - 20) : numeral.start])


def _follows_from_known(
    numeral: Numeral, known_figures: KnownFigures, blanked_text: str, supported_figures: Sequence[Numeral]
) -> bool:
    """Return True if a figure follows from known figures, and probably not by accident.

    `supported_figures` are the figures of the same text that are supported already.
    """
    start, end = find_sentence_span(blanked_text, numeral.start, numeral.end)
    near = list_distinct_quantities(other for other in supported_figures if start <= other.start < end)
    around = list_distinct_quantities(supported_figures, known_figures.totals)
    groups = [
        near,
        *known_figures.list_groups(near),
        around,
        tuple(dict.fromkeys((*list_distinct_quantities(supported_figures), *known_figures.known_quantities)))[:100],
    ]
    ways = (
        known_figures.yield_list_totals(numeral),
        *(derive_value_families(numeral, groups, way) for way in DERIVATIONS),
    )
    chance = MAX_ACCIDENTAL_MISQUOTES if known_figures.may_misquote(numeral) else MAX_ACCIDENTAL_MATCHES
    return not known_figures.has_opposite_sign(numeral) and any(
        follows_from_values(numeral, way, chance) for way in ways
    )


def find_misquoted_figure(figure: str, known_texts: Iterable[str]) -> str:
    """Return the figure in `known_texts` that `figure` may misquote, as written there; empty if there is none.

    The likeliest kind counts: the same digits with other zeros or units, then two swapped digits, then one different
    digit. There must be exactly one figure of that kind.
    """
    figures_by_likeness: dict[int, set[str]] = {}
    for text in known_texts:
        for likeness, similar_figure in read_text_figures(text).find_similar_figures(figure):
            figures_by_likeness.setdefault(likeness, set()).add(similar_figure.strip())
    nearest = figures_by_likeness[min(figures_by_likeness)] if figures_by_likeness else set()
    return nearest.pop() if len(nearest) == 1 else ""


def yield_figure_lines(text: str, replies: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield for each figure of a text the lines of `replies` that contain it, or the figure that it may misquote."""
    for one in extract_figures(blank_non_figures(text)):
        figure_text = text[one.start : one.end]
        lines = [line for reply in replies for line in read_text_figures(reply).find_lines(one)]
        if not lines and (near := find_misquoted_figure(figure_text, replies)):
            lines = [line for reply in replies for line in read_text_figures(reply).find_line_with(near)]
        yield tuple(lines)


def find_source_lines(result: Result, replies: Sequence[str]) -> tuple[str, ...]:
    """Return for each figure of the result a line of a tool reply that contains it, each line once.

    Among several lines, the one with the most figures of the result is chosen. The verifier reads these lines beside
    the specialist's words.
    """
    text = "\n".join([result.content, *(finding.message for finding in result.findings)])
    figure_lines = list(yield_figure_lines(text, [reply[:MAX_REPLY_CHARACTERS] for reply in replies]))
    line_counts = Counter(line for lines in figure_lines for line in dict.fromkeys(lines))
    return tuple(dict.fromkeys(max(lines, key=line_counts.__getitem__) for lines in figure_lines if lines))[
        :MAX_SOURCE_LINES
    ]
