"""Findings of several results as one list: the same finding once with all who found it, the gravest first. Pure.

Code takes findings for the same where place, figures and most words agree, and joins what several found at the same
lines of a file. What is said otherwise stays apart: a reader who sees one finding twice loses less than one who never
sees the second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from handoff.answering.code_places import place_in
from handoff.contracts import Finding, Result, Severity
from handoff.text.headings import demote_headings
from handoff.text.text_words import words

ALIKE = 0.6
"""The share of the shorter finding's words that two findings of one place and the same figures must share."""
SHARED = 3
"""Words that two findings of lines next to each other must share to be of one thing."""
_GRAVITY: tuple[Severity, ...] = get_args(Severity)
_PLAN = "plan"
"""The place of findings that only the supervisor needs to know."""
_FIGURE = re.compile(r"\d(?:[\d.,'\u00a0\u202f]*\d)?")


@dataclass(frozen=True, slots=True)
class SharedFinding:
    """A finding, and the titles of all results that have it. Its sources and suggestions are those of all of them.

    `link` is the address of the line that it is about; empty if that has none.
    """

    finding: Finding
    by: tuple[str, ...]
    link: str = ""

    @property
    def line(self) -> str:
        """The finding on one line of Markdown, with all that is known of it."""
        one = self.finding
        about = [f"suggestion: {one.suggestion}"] if one.suggestion else []
        about += [f"source: {one.source}"] if one.source else []
        about += [f"sure: {one.confidence}", f"by: {', '.join(self.by)}"]
        place = place_of(one)
        at = f", [{place}]({self.link})" if self.link else f", {place}" if place else ""
        return f"- {one.severity}{at}: {' '.join(one.message.split())} ({'; '.join(about)})"


def is_graded(finding: Finding) -> bool:
    """Return True if a finding has a severity, a place or a suggestion, which prose would lose."""
    return finding.severity != "info" or bool(finding.suggestion.strip() or place_of(finding))


def place_of(finding: Finding) -> str:
    """Return the place of a finding in the material; empty if it has none."""
    where = " ".join(finding.where.split())
    return "" if where.casefold() == _PLAN else where


def origins(finding: Finding) -> list[str]:
    """Return the place and the source of a finding, each once, as far as it has them."""
    return list(dict.fromkeys(filter(None, (place_of(finding), finding.source))))


def list_confidences(result: Result) -> tuple[int, ...]:
    """Return how sure a result and its findings are: an answer may say it, and nothing may be worked out from it."""
    return (result.confidence, *(one.confidence for one in result.findings))


def gravity_key(finding: Finding) -> tuple[int, int]:
    """Return the key by which findings are sorted, the gravest first, then the surest."""
    return -_GRAVITY.index(finding.severity), -finding.confidence


def merge_graded_findings(results: Mapping[str, Result], titles: Mapping[str, str]) -> tuple[SharedFinding, ...]:
    """Return the graded findings of results, each once, the gravest first. Both are by subtask."""
    groups: list[list[tuple[str, Finding]]] = []
    for name, result in results.items():
        for one in result.findings:
            if not is_graded(one):
                continue
            title = titles.get(name, name)
            group = next((each for each in groups if any(_belongs_to(one, title, *other) for other in each)), None)
            if group is None:
                groups.append([(title, one)])
            else:
                group.append((title, one))
    merged = [_merge_group(group) for group in groups]
    return tuple(sorted(merged, key=lambda each: gravity_key(each.finding)))


def _belongs_to(one: Finding, by: str, others: str, other: Finding) -> bool:
    """Return True if a finding goes with another: it is the same, or says of the same lines what somebody else found.

    All that is said stays, so of two things in one line none is lost. Two findings of one result in one line stay
    apart.
    """
    if is_same(one, other):
        return True
    mine, theirs = place_in(one.where), place_in(other.where)
    if by == others or mine is None or theirs is None or not mine.is_near(theirs):
        return False
    return mine.overlaps(theirs) or len(words(one.message) & words(other.message)) >= SHARED


def is_same(one: Finding, other: Finding) -> bool:
    """Return True if two findings are of one place, with the same figures and mostly the same words."""
    if _normalize_words(place_of(one)) != _normalize_words(place_of(other)) or _find_figures(
        one.message
    ) != _find_figures(other.message):
        return False
    mine, theirs = words(one.message), words(other.message)
    return mine == theirs or len(mine & theirs) >= max(2.0, ALIKE * min(len(mine), len(theirs)))


def format_findings(found: Iterable[SharedFinding]) -> list[str]:
    """Return the lines of findings for a model to read."""
    return [demote_headings(each.line) for each in found]


def _merge_group(group: list[tuple[str, Finding]]) -> SharedFinding:
    first = min((one for _, one in group), key=gravity_key)
    rest = (one.message for _, one in group if words(one.message) - words(first.message))
    update = {
        "message": _join_distinct((first.message, *rest), " / "),  # what is worded otherwise may mean something else
        "confidence": max(one.confidence for _, one in group),
        "source": _join_distinct(one.source for _, one in group),
        "suggestion": _join_distinct(one.suggestion for _, one in group),
    }
    return SharedFinding(first.model_copy(update=update), tuple(dict.fromkeys(title for title, _ in group)))


def _join_distinct(texts: Iterable[str], between: str = "; ") -> str:
    """Join what is there, each once, whatever its case and spaces."""
    each = {_normalize_words(text): " ".join(text.split()) for text in texts if text.strip()}
    return between.join(each.values())


def _normalize_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _find_figures(text: str) -> frozenset[str]:
    return frozenset(re.sub(r"\D", "", found) for found in _FIGURE.findall(text))
