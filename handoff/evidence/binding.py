"""Binds a result to what was read for it: quotations with their places, and figures beside a place. Pure.

The model supplies words, code finds the place. What cannot be found goes back to the specialist once, with the reason;
after that the result is taken, and its statement is listed as not from the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import get_args

from handoff.answering.figure_names import list_written_figures
from handoff.checking.checks import quote_on_one_line, text_of
from handoff.checking.figures import find_misquoted_figure, find_unsupported_figures, workings_of
from handoff.checking.workings import EXAMPLE, remove_workings
from handoff.contracts import Evidence, Finding, Result, Section
from handoff.evidence.figure_cells import CellBinder
from handoff.evidence.grids import Grid, grid_of_reply, grid_of_text
from handoff.evidence.place_words import SENTENCE_END, Kind, find_named_places, spans_of
from handoff.evidence.quotations import (
    Quotation,
    SearchableText,
    find_named_file,
    find_quotation,
    quotations_in,
    speaker_fault,
)
from handoff.evidence.text_currencies import currency_faults
from handoff.evidence.typed_constants import typed_constants
from handoff.materials.outline import exact_place
from handoff.text.text_words import words

FEW_WORDS, FEW_SIGNS = 3, 12
"""A quotation of fewer words, or of fewer signs in a script without spaces, may be a mere name or term."""
SHORTEST_NAME = 4
"""Letters of the name of a file, without its ending, by which a text may name it."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_FIGURE = re.compile(
    r"(?<![.,])(?<![^\W\u3040-\u30ff\u3400-\u9fff])"
    r"(?:(?!(?:19|20)\d\d(?![\d.,]*\d))\d[\d.,]*\d|\d(?=[ \u00a0]?[%\u20ac$\u00a3\u00a5]))"
)
"""A figure of two digits or more, or of one with a sign behind it: others may be mere counts. Years are none."""


@dataclass(frozen=True)
class ReadDocument:
    """A text that was there to be read: a material, or the reply of a tool. It is taken apart at most once.

    `is_table`: it is the text of a table; `is_brief`: it is what the specialist was told. `code` is the SQL or code
    that brought a reply, `query` the SQL.
    """

    name: str
    text: str
    outline: tuple[Section, ...] = ()
    is_material: bool = True
    is_table: bool = False
    is_brief: bool = False
    query: str = ""
    code: str = ""

    def find(self, quotation: str) -> int | None:
        """Return the place of the first character of a quotation; None if the text does not have it."""
        return self._searchable_text.find(quotation)

    @cached_property
    def _searchable_text(self) -> SearchableText:
        return SearchableText(self.text)

    @cached_property
    def grid(self) -> Grid | None:
        """The rows of a reply to a query, or of a small table."""
        if self.is_table:
            return grid_of_text(self.name, self.text)
        return grid_of_reply(self.name, self.text, self.query) if self.query else None

    @cached_property
    def spans(self) -> dict[Kind, dict[int, tuple[int, int]]]:
        """Where its numbered sections, and its pages, begin and end."""
        kinds: tuple[Kind, ...] = get_args(Kind)
        return {kind: spans_of(kind, self.text, self.outline) for kind in kinds}

    @cached_property
    def figures(self) -> dict[Kind, dict[int, set[str]]]:
        """The figures of each section and page, without its own number."""
        return {
            kind: {
                n: set(_FIGURE.findall(self.text[slice(*span)].replace(str(n), " ", 1))) for n, span in there.items()
            }
            for kind, there in self.spans.items()
        }


@dataclass(frozen=True, slots=True)
class Binding:
    """A result with its evidence found, and the faults that its specialist can mend, in words for it."""

    result: Result
    faults: tuple[str, ...] = ()


def bind_result(result: Result, documents: Sequence[ReadDocument], said: Iterable[str] = ()) -> Binding:
    """Find the evidence of a result in what was read. Without any material there is nothing that it could quote.

    `said` is what people and earlier results said, the nearest first: figures of it are known, too. Where nothing was
    there to be read, a text may be `invented`: its figures are its own, unless one misquotes what was said.
    """
    materials = [one for one in documents if one.is_material and one.text]
    told, known = text_of(result), _list_known_texts(documents, said)
    figures = find_unsupported_figures(told, known)
    if result.invented and not any(one.text for one in documents if not one.is_brief):
        figures = tuple(one for one in figures if find_misquoted_figure(one.text, known))
    findings = tuple(_add_places(one, documents) for one in result.findings)
    result = _strip_workings(result.model_copy(update={"findings": findings}))
    text = "\n\n".join([result.content, *(f"{one.message} {one.where}" for one in result.findings)])
    faults: dict[str, str] = {}
    quotations = quotations_in(text) if materials else []
    for quotation in quotations:
        if fault := _fault_of(quotation, documents, materials):
            faults.setdefault(quotation.words, fault)
    for one in (each for finding in findings for each in finding.evidence):
        if materials and not one.is_found:
            faults.setdefault(one.quotation, _describe_missing_quotation(one.quotation, materials))
    for statement, fault in _misplaced_figures(text, quotations, materials):
        faults.setdefault(statement, fault)
    binder = _make_binder(documents)
    for statement, fault in chain(binder.faults(text), currency_faults(text, known, binder.cells_of)):
        faults.setdefault(statement, fault)
    unbound = tuple(faults)
    for figure in figures:
        faults.setdefault(figure.text, figure.fault or _describe_unsourced_figure(figure.text, known))
    names = list_written_figures(told, figures)
    given = {
        "unbound": unbound,
        "unsupported": names,
        "filters": binder.filters_of(text),
        "workings": workings_of(told, names),
    }
    return Binding(result.model_copy(update=given), tuple(faults.values()))


def _strip_workings(result: Result) -> Result:
    """Return a result without its workings, which are kept beside it."""
    findings = tuple(one.model_copy(update={"message": remove_workings(one.message)}) for one in result.findings)
    texts = {"content": remove_workings(result.content), "summary": remove_workings(result.summary)}
    return result.model_copy(update={**texts, "findings": findings})


def _make_binder(documents: Sequence[ReadDocument]) -> CellBinder:
    """Return what figures are bound to: the grids, and the texts that are none."""
    grids = tuple(one.grid for one in documents if one.grid is not None)
    return CellBinder(
        grids, tuple(one.text for one in documents if one.grid is None and not one.is_table) if grids else ()
    )


def _list_known_texts(documents: Sequence[ReadDocument], said: Iterable[str]) -> list[str]:
    """Return the texts whose figures are known: what people and earlier results said, and what was read.

    A reply to code with numbers that nobody gave is left out: it says again what the model has typed. So are the brief,
    which may quote what was wrong before, and tables that only tools have read.
    """
    people, tables = list(said), [one.text for one in documents if one.is_table]
    read: list[str] = []
    for one in documents:
        if not one.is_brief and not one.is_table and not typed_constants(one.code, chain(people, read, tables)):
            read.append(one.text)
    return [*read, *people]


def _describe_unsourced_figure(figure: str, known: Sequence[str]) -> str:
    """Say that nobody said a figure, and which one it may be a misquotation of."""
    if near := find_misquoted_figure(figure, known):
        return f"{quote_on_one_line(figure)} stands nowhere; what you read has {quote_on_one_line(near)}."
    return (
        f"{quote_on_one_line(figure)} is said by no tool, file or person, and follows from nothing that they say. "
        f"If you worked it out, write how behind it, as in {EXAMPLE}."
    )


def _add_places(finding: Finding, documents: Sequence[ReadDocument]) -> Finding:
    """Return a finding with the place of each of its quotations, as far as a text has it."""
    return finding.model_copy(update={"evidence": tuple(_locate_evidence(one, documents) for one in finding.evidence)})


def _locate_evidence(evidence: Evidence, documents: Sequence[ReadDocument]) -> Evidence:
    wanted = evidence.source.casefold()
    for one in sorted(documents, key=lambda each: each.name.casefold() != wanted):
        at = one.find(evidence.quotation)
        if at is not None:
            where = exact_place(one.text, one.outline, at) if one.is_material else ""
            return evidence.model_copy(update={"source": one.name, "place": where, "is_found": True})
    return evidence.model_copy(update={"place": "", "is_found": False})


def _fault_of(quotation: Quotation, documents: Sequence[ReadDocument], materials: Sequence[ReadDocument]) -> str:
    """Say what is wrong with a quotation; empty if nothing is, or if it may be of something that nobody gave."""
    if _is_short(quotation.words):
        return ""
    found = [(one, at) for one in documents if (at := one.find(quotation.words)) is not None]
    if found:
        there = [(one, at) for one, at in found if one.is_material]
        return _find_misplacement(quotation, there) or _describe_misattribution(
            quotation, [one for one, _ in there], materials
        )
    return _describe_missing_quotation(quotation.words, materials) if _is_attributed(quotation, materials) else ""


def _is_short(words_quoted: str) -> bool:
    if _UNSPACED.search(words_quoted):
        return len(words_quoted.strip()) < FEW_SIGNS
    return len(words_quoted.split()) < FEW_WORDS


def _is_attributed(quotation: Quotation, materials: Sequence[ReadDocument]) -> bool:
    """Return True if the line of a quotation says whose words it has: it names a material, or a place in one."""
    if find_named_places(quotation.line):
        return True
    line, there = quotation.line.casefold(), words(quotation.line)
    names = [(one.name.casefold(), (one.name.rpartition(".")[0] or one.name).casefold()) for one in materials]
    return any(
        name in line or (len(stem) >= SHORTEST_NAME and (stem in line or words(stem.replace("_", " ")) <= there))
        for name, stem in names
    )


def _describe_missing_quotation(words_quoted: str, materials: Sequence[ReadDocument]) -> str:
    names = ", ".join(one.name for one in materials[:5])
    quoted = quote_on_one_line(words_quoted)
    return f"{quoted} stands nowhere in {names}: quote it word for word, or say it without quotation marks."


def _find_misplacement(quotation: Quotation, found: Sequence[tuple[ReadDocument, int]]) -> str:
    """Say where a quotation stands if its line names another section or page of a text that has such numbers."""
    places = find_named_places(quotation.line)
    for kind, number in places:
        spans = [one.spans[kind] for one, _ in found]
        if not spans or not all(spans):
            continue
        starts = [at for _, at in found]
        own = {
            n for at, there in zip(starts, spans, strict=True) for n, (start, end) in there.items() if start <= at < end
        }
        named = {n for each, n in places if each == kind}
        if own and not own & named and not _stands_in(quotation.words, kind, number, [one for one, _ in found]):
            return f"{quote_on_one_line(quotation.words)} stands in {kind} {min(own)}, not in {kind} {number}."
    return ""


def _describe_misattribution(
    quotation: Quotation, found: Sequence[ReadDocument], materials: Sequence[ReadDocument]
) -> str:
    """Say which file or which speaker has a quotation, if a text says that another one has it."""
    named = find_named_file(quotation, (one.name for one in materials))
    if found and named and not any(one.name == named for one in found):
        return f"{quote_on_one_line(quotation.words)} stands in {found[0].name}, not in {named}."
    faults = [speaker_fault(quotation, one.text) for one in found]
    return f"{quote_on_one_line(quotation.words)} {faults[0]}." if faults and all(faults) else ""


def _stands_in(words_quoted: str, kind: Kind, number: int, documents: Sequence[ReadDocument]) -> bool:
    """Return True if a section holds a quotation that an earlier section holds as well."""
    parts = (one.text[slice(*one.spans[kind][number])] for one in documents if number in one.spans[kind])
    return any(find_quotation(part, words_quoted) is not None for part in parts)


def _misplaced_figures(
    text: str, quotations: Sequence[Quotation], materials: Sequence[ReadDocument]
) -> Iterator[tuple[str, str]]:
    """Yield sentences with a figure beside a section or page that does not have it, though another one does.

    Figures in quotations are those of the quotation.
    """
    for quotation in quotations:
        text = text[: quotation.start] + "\x00" * (quotation.end - quotation.start) + text[quotation.end :]
    for sentence in SENTENCE_END.split(text):
        named = find_named_places(sentence)
        if len(named) != 1:
            continue
        kind, number = named[0]
        there = [one.figures[kind] for one in materials if number in one.figures[kind]]
        for figure in (one for one in _FIGURE.findall(sentence) if one != str(number)):
            elsewhere = [n for each in there for n, figures in each.items() if figure in figures]
            if elsewhere and number not in elsewhere:
                yield sentence.replace("\x00", "").strip(), _wrong_place(figure, kind, number, elsewhere[0])
                break


def _wrong_place(figure: str, kind: Kind, number: int, own: int) -> str:
    return f"{figure} does not stand in {kind} {number}, but in {kind} {own}: look it up and mend what is wrong."
