"""Checks a result against what was read for it: its quotations with their places, and its figures. Pure.

The model supplies the words, and code finds their place. Statements that cannot be found are faults, for which the
result is sent back. If it is accepted all the same, they are listed as not from the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import get_args

from handoff.answering.written_figures import list_written_figures
from handoff.checking.figures import find_misquoted_figure, find_unsupported_figures, render_workings
from handoff.checking.result_checks import join_result_texts, quote_line
from handoff.checking.workings import WORKING_EXAMPLE, remove_workings
from handoff.contracts import Evidence, Finding, Result, Section
from handoff.evidence.figure_cells import CellBinder
from handoff.evidence.grids import Grid, parse_reply_grid, parse_text_grid
from handoff.evidence.hardcoded_numbers import find_hardcoded_numbers
from handoff.evidence.place_words import SENTENCE_END, PlaceKind, find_named_places, find_place_spans
from handoff.evidence.quotations import (
    Quotation,
    SearchableText,
    extract_quotations,
    find_named_file,
    find_quotation,
    find_speaker_fault,
)
from handoff.evidence.text_currencies import yield_currency_faults
from handoff.materials.outline import name_exact_place
from handoff.text.text_words import extract_words

MIN_QUOTED_WORDS, MIN_QUOTED_CHARACTERS = 3, 12
"""The least words of a quotation that is checked; in a script without spaces, characters. Shorter ones may be terms."""
MIN_FILE_STEM_LENGTH = 4
"""The least characters of a file's name without its ending that count as a mention of the file in a text."""
_UNSPACED_LETTER = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_FIGURE = re.compile(
    r"(?<![.,])(?<![^\W\u3040-\u30ff\u3400-\u9fff])"
    r"(?:(?!(?:19|20)\d\d(?![\d.,]*\d))\d[\d.,]*\d|\d(?=[ \u00a0]?[%\u20ac$\u00a3\u00a5]))"
)
"""A figure with at least two digits, or one digit before a per cent or currency sign. Years do not match."""


@dataclass(frozen=True)
class SourceDocument:
    """A text that the specialist could read: a material, the brief, or the reply of a tool."""

    name: str
    text: str
    outline: tuple[Section, ...] = ()
    is_material: bool = True
    """True if it is a material, False if it is a tool's reply, the brief or a result."""
    is_table: bool = False
    """True if it is the text of a table."""
    is_brief: bool = False
    """True if it is the brief or a result, whose figures are no evidence."""
    query: str = ""
    """The SQL query that returned a reply; empty: no query did."""
    code: str = ""
    """The SQL query or program that returned a reply; empty: none did."""

    def find_quotation(self, quotation: str) -> int | None:
        """Return the index of the first character of a quotation in the text; None if the text does not contain it."""
        return self._searchable_text.find_quotation(quotation)

    @cached_property
    def _searchable_text(self) -> SearchableText:
        return SearchableText(self.text)

    @cached_property
    def grid(self) -> Grid | None:
        """The rows of a reply to a query, or of a small table; None for any other text."""
        if self.is_table:
            return parse_text_grid(self.name, self.text)
        return parse_reply_grid(self.name, self.text, self.query) if self.query else None

    @cached_property
    def spans_by_place(self) -> dict[PlaceKind, dict[int, tuple[int, int]]]:
        """The spans (start, end) of the document's numbered sections and pages, by kind and number."""
        kinds: tuple[PlaceKind, ...] = get_args(PlaceKind)
        return {kind: find_place_spans(kind, self.text, self.outline) for kind in kinds}

    @cached_property
    def figures_by_place(self) -> dict[PlaceKind, dict[int, set[str]]]:
        """The figures in each section and page, by kind and number, without the number of the section itself."""
        return {
            kind: {
                n: set(_FIGURE.findall(self.text[slice(*span)].replace(str(n), " ", 1))) for n, span in there.items()
            }
            for kind, there in self.spans_by_place.items()
        }


@dataclass(frozen=True, slots=True)
class CheckedResult:
    """A checked result, with places for its evidence, and its faults, worded for the specialist."""

    result: Result
    faults: tuple[str, ...] = ()


def check_result(
    result: Result, documents: Sequence[SourceDocument], people_texts: Iterable[str] = ()
) -> CheckedResult:
    """Check a result against the documents that were read, and find the places of its evidence.

    Quotations are checked only if there is material that could be quoted. If nothing but the brief could be read, the
    figures of an `invented` result are checked only for misquotations.

    Args:
        result: The result.
        documents: The texts that the specialist could read.
        people_texts: The words of people and earlier results, the likeliest sources first. Their figures are known.
    """
    materials = [one for one in documents if one.is_material and one.text]
    result_text, known_texts = join_result_texts(result), _list_known_texts(documents, people_texts)
    figures = find_unsupported_figures(result_text, known_texts)
    if result.invented and not any(one.text for one in documents if not one.is_brief):
        figures = tuple(one for one in figures if find_misquoted_figure(one.text, known_texts))
    findings = tuple(_locate_finding_evidence(one, documents) for one in result.findings)
    result = _strip_workings(result.model_copy(update={"findings": findings}))
    text = "\n\n".join([result.content, *(f"{one.message} {one.where}" for one in result.findings)])
    faults: dict[str, str] = {}
    quotations = extract_quotations(text) if materials else []
    for quotation in quotations:
        if fault := _find_quotation_fault(quotation, documents, materials):
            faults.setdefault(quotation.words, fault)
    for one in (each for finding in findings for each in finding.evidence):
        if materials and not one.is_found:
            faults.setdefault(one.quotation, _describe_missing_quotation(one.quotation, materials))
    for statement, fault in _yield_misplaced_figures(text, quotations, materials):
        faults.setdefault(statement, fault)
    binder = _make_binder(documents)
    for statement, fault in chain(
        binder.yield_faults(text), yield_currency_faults(text, known_texts, binder.find_cells)
    ):
        faults.setdefault(statement, fault)
    unbound_statements = tuple(faults)
    for figure in figures:
        faults.setdefault(figure.text, figure.fault or _describe_unsourced_figure(figure.text, known_texts))
    names = list_written_figures(result_text, figures)
    checked_fields = {
        "unbound": unbound_statements,
        "unsupported": names,
        "filters": binder.list_filters(text),
        "workings": render_workings(result_text, names),
    }
    return CheckedResult(result.model_copy(update=checked_fields), tuple(faults.values()))


def _strip_workings(result: Result) -> Result:
    """Return a result without the workings in its content, summary and findings."""
    findings = tuple(one.model_copy(update={"message": remove_workings(one.message)}) for one in result.findings)
    texts = {"content": remove_workings(result.content), "summary": remove_workings(result.summary)}
    return result.model_copy(update={**texts, "findings": findings})


def _make_binder(documents: Sequence[SourceDocument]) -> CellBinder:
    """Return the binder for the grids of the documents, with the texts without a grid as other sources."""
    grids = tuple(one.grid for one in documents if one.grid is not None)
    return CellBinder(
        grids, tuple(one.text for one in documents if one.grid is None and not one.is_table) if grids else ()
    )


def _list_known_texts(documents: Sequence[SourceDocument], people_texts: Iterable[str]) -> list[str]:
    """Return the texts whose figures count as known: documents, and `people_texts` with earlier results.

    Replies to code with made-up numbers are left out, since they repeat what the model typed. So are the brief, which
    may quote earlier faults, and tables, which only tools read.
    """
    people, tables = list(people_texts), [one.text for one in documents if one.is_table]
    read_texts: list[str] = []
    for one in documents:
        if (
            not one.is_brief
            and not one.is_table
            and not find_hardcoded_numbers(one.code, chain(people, read_texts, tables))
        ):
            read_texts.append(one.text)
    return [*read_texts, *people]


def _describe_unsourced_figure(figure: str, known_texts: Sequence[str]) -> str:
    """Return the fault of an unsupported figure, with the known figure that it may misquote, if there is one."""
    if near := find_misquoted_figure(figure, known_texts):
        return f"{quote_line(figure)} stands nowhere; what you read has {quote_line(near)}."
    return (
        f"{quote_line(figure)} is said by no tool, file or person, and follows from nothing that they say. "
        f"If you worked it out, write how behind it, as in {WORKING_EXAMPLE}."
    )


def _locate_finding_evidence(finding: Finding, documents: Sequence[SourceDocument]) -> Finding:
    """Return a finding with the place of each quotation that a document contains; the others are marked not found."""
    return finding.model_copy(update={"evidence": tuple(_locate_evidence(one, documents) for one in finding.evidence)})


def _locate_evidence(evidence: Evidence, documents: Sequence[SourceDocument]) -> Evidence:
    source_name = evidence.source.casefold()
    for one in sorted(documents, key=lambda each: each.name.casefold() != source_name):
        at = one.find_quotation(evidence.quotation)
        if at is not None:
            where = name_exact_place(one.text, one.outline, at) if one.is_material else ""
            return evidence.model_copy(update={"source": one.name, "place": where, "is_found": True})
    return evidence.model_copy(update={"place": "", "is_found": False})


def _find_quotation_fault(
    quotation: Quotation, documents: Sequence[SourceDocument], materials: Sequence[SourceDocument]
) -> str:
    """Return the fault of a quotation; empty if it has none.

    A quotation that no document contains is a fault only if its line attributes it to a material.
    """
    if _is_short_quotation(quotation.words):
        return ""
    quotation_places = [(one, at) for one in documents if (at := one.find_quotation(quotation.words)) is not None]
    if quotation_places:
        in_materials = [(one, at) for one, at in quotation_places if one.is_material]
        return _find_misplacement_fault(quotation, in_materials) or _find_attribution_fault(
            quotation, [one for one, _ in in_materials], materials
        )
    return _describe_missing_quotation(quotation.words, materials) if _is_attributed(quotation, materials) else ""


def _is_short_quotation(words_quoted: str) -> bool:
    if _UNSPACED_LETTER.search(words_quoted):
        return len(words_quoted.strip()) < MIN_QUOTED_CHARACTERS
    return len(words_quoted.split()) < MIN_QUOTED_WORDS


def _is_attributed(quotation: Quotation, materials: Sequence[SourceDocument]) -> bool:
    """Return True if the line of a quotation names its source: a material, or a section or page."""
    if find_named_places(quotation.line):
        return True
    line, there = quotation.line.casefold(), extract_words(quotation.line)
    names = [(one.name.casefold(), (one.name.rpartition(".")[0] or one.name).casefold()) for one in materials]
    return any(
        name in line
        or (len(stem) >= MIN_FILE_STEM_LENGTH and (stem in line or extract_words(stem.replace("_", " ")) <= there))
        for name, stem in names
    )


def _describe_missing_quotation(words_quoted: str, materials: Sequence[SourceDocument]) -> str:
    names = ", ".join(one.name for one in materials[:5])
    quotation = quote_line(words_quoted)
    return f"{quotation} stands nowhere in {names}: quote it word for word, or say it without quotation marks."


def _find_misplacement_fault(quotation: Quotation, occurrences: Sequence[tuple[SourceDocument, int]]) -> str:
    """Return a fault if the line of a quotation names a section or page without that quotation; empty otherwise.

    `occurrences` are the documents with the quotation, each with its index there.
    """
    places = find_named_places(quotation.line)
    for kind, number in places:
        spans = [one.spans_by_place[kind] for one, _ in occurrences]
        if not spans or not all(spans):
            continue
        starts = [at for _, at in occurrences]
        own_numbers = {
            n for at, there in zip(starts, spans, strict=True) for n, (start, end) in there.items() if start <= at < end
        }
        named_numbers = {n for each, n in places if each == kind}
        if (
            own_numbers
            and not own_numbers & named_numbers
            and not _place_contains_quotation(quotation.words, kind, number, [one for one, _ in occurrences])
        ):
            return f"{quote_line(quotation.words)} stands in {kind} {min(own_numbers)}, not in {kind} {number}."
    return ""


def _find_attribution_fault(
    quotation: Quotation, holders: Sequence[SourceDocument], materials: Sequence[SourceDocument]
) -> str:
    """Return a fault if a quotation is attributed to a file or speaker that it is not from; empty otherwise.

    `holders` are the documents that contain the quotation.
    """
    named_file = find_named_file(quotation, (one.name for one in materials))
    if holders and named_file and not any(one.name == named_file for one in holders):
        return f"{quote_line(quotation.words)} stands in {holders[0].name}, not in {named_file}."
    faults = [find_speaker_fault(quotation, one.text) for one in holders]
    return f"{quote_line(quotation.words)} {faults[0]}." if faults and all(faults) else ""


def _place_contains_quotation(
    words_quoted: str, kind: PlaceKind, number: int, documents: Sequence[SourceDocument]
) -> bool:
    """Return True if the section or page with that number contains a quotation, in any of the documents.

    A quotation may occur in several sections, and `find_quotation` returns only its first index.
    """
    parts = (
        one.text[slice(*one.spans_by_place[kind][number])] for one in documents if number in one.spans_by_place[kind]
    )
    return any(find_quotation(part, words_quoted) is not None for part in parts)


def _yield_misplaced_figures(
    text: str, quotations: Sequence[Quotation], materials: Sequence[SourceDocument]
) -> Iterator[tuple[str, str]]:
    """Yield pairs (sentence, fault) for sentences that name one section or page for a figure that only another one has.

    Figures in quotations are ignored.
    """
    for quotation in quotations:
        text = text[: quotation.start] + "\x00" * (quotation.end - quotation.start) + text[quotation.end :]
    for sentence in SENTENCE_END.split(text):
        named_places = find_named_places(sentence)
        if len(named_places) != 1:
            continue
        kind, number = named_places[0]
        there = [one.figures_by_place[kind] for one in materials if number in one.figures_by_place[kind]]
        for figure in (one for one in _FIGURE.findall(sentence) if one != str(number)):
            numbers_with_figure = [n for each in there for n, figures in each.items() if figure in figures]
            if numbers_with_figure and number not in numbers_with_figure:
                yield (
                    sentence.replace("\x00", "").strip(),
                    _describe_wrong_place(figure, kind, number, numbers_with_figure[0]),
                )
                break


def _describe_wrong_place(figure: str, kind: PlaceKind, number: int, own_number: int) -> str:
    return f"{figure} does not stand in {kind} {number}, but in {kind} {own_number}: look it up and mend what is wrong."
