"""Merges the findings of several results into one list: each finding once, the most severe first. Pure.

Two findings are the same if their place, their figures and most of their words agree. Findings of several results about
the same lines of a file are joined. Unsure cases stay separate: to read a finding twice costs less than to miss it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from handoff.answering.code_places import find_code_place
from handoff.contracts import Finding, Result, Severity
from handoff.text.headings import demote_headings
from handoff.text.text_words import extract_words

MIN_SHARED_WORD_SHARE = 0.6
"""The share of the shorter finding's words that two findings of one place and equal figures must have in common."""
MIN_COMMON_WORDS = 3
"""The words that two findings about neighbouring lines must have in common to be joined."""
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_PLAN_PLACE = "plan"
"""The `where` of findings about the plan, which are for the supervisor."""
_FIGURE = re.compile(r"\d(?:[\d.,'\u00a0\u202f]*\d)?")


@dataclass(frozen=True, slots=True)
class MergedFinding:
    """A finding merged from equal findings of one or more results."""

    finding: Finding
    """The most severe one, with the differing messages, sources and suggestions of all, and the highest confidence."""
    result_titles: tuple[str, ...]
    """The titles of the results that have the finding."""
    link: str = ""
    """The web address of the line that the finding is about; empty: none."""

    @property
    def markdown(self) -> str:
        """The finding with all its fields on one line of Markdown."""
        one = self.finding
        about = [f"suggestion: {one.suggestion}"] if one.suggestion else []
        about += [f"source: {one.source}"] if one.source else []
        about += [f"sure: {one.confidence}", f"by: {', '.join(self.result_titles)}"]
        place = normalize_place(one)
        at = f", [{place}]({self.link})" if self.link else f", {place}" if place else ""
        return f"- {one.severity}{at}: {' '.join(one.message.split())} ({'; '.join(about)})"


def is_graded(finding: Finding) -> bool:
    """Return True if a finding has a severity above `info`, a place or a suggestion, so that it belongs in a list."""
    return finding.severity != "info" or bool(finding.suggestion.strip() or normalize_place(finding))


def normalize_place(finding: Finding) -> str:
    """Return the place of a finding on one line; empty if it has none, or is about the plan."""
    where = " ".join(finding.where.split())
    return "" if where.casefold() == _PLAN_PLACE else where


def list_origins(finding: Finding) -> list[str]:
    """Return the place and the source of a finding, each once, without empty ones."""
    return list(dict.fromkeys(filter(None, (normalize_place(finding), finding.source))))


def list_confidences(result: Result) -> tuple[int, ...]:
    """Return the confidences of a result and its findings. An answer may state them, but derive no figure from them."""
    return (result.confidence, *(one.confidence for one in result.findings))


def rank_by_severity(finding: Finding) -> tuple[int, int]:
    """Return the key that sorts findings by severity, the most severe first, then by confidence, the surest first."""
    return -_SEVERITIES.index(finding.severity), -finding.confidence


def merge_graded_findings(results: Mapping[str, Result], titles: Mapping[str, str]) -> tuple[MergedFinding, ...]:
    """Return the graded findings of `results`, each once, the most severe first. Both arguments are by subtask id."""
    groups: list[list[tuple[str, Finding]]] = []
    for name, result in results.items():
        for one in result.findings:
            if not is_graded(one):
                continue
            title = titles.get(name, name)
            group = next((each for each in groups if any(_belong_together(one, title, *other) for other in each)), None)
            if group is None:
                groups.append([(title, one)])
            else:
                group.append((title, one))
    merged_findings = [_merge_group(group) for group in groups]
    return tuple(sorted(merged_findings, key=lambda each: rank_by_severity(each.finding)))


def _belong_together(finding: Finding, title: str, other_title: str, other: Finding) -> bool:
    """Return True if two findings are to be joined: they are the same, or two results found them at the same lines.

    `title` is the title of the result of `finding`, and `other_title` that of `other`. Two findings of one result about
    the same line stay separate. Joining keeps the words of both.
    """
    if are_same_finding(finding, other):
        return True
    place, other_place = find_code_place(finding.where), find_code_place(other.where)
    if title == other_title or place is None or other_place is None or not place.is_near(other_place):
        return False
    return (
        place.overlaps(other_place)
        or len(extract_words(finding.message) & extract_words(other.message)) >= MIN_COMMON_WORDS
    )


def are_same_finding(finding: Finding, other: Finding) -> bool:
    """Return True if two findings have the same place and figures, and share `MIN_SHARED_WORD_SHARE` of their words."""
    if _normalize_words(normalize_place(finding)) != _normalize_words(normalize_place(other)) or _extract_digits(
        finding.message
    ) != _extract_digits(other.message):
        return False
    mine, theirs = extract_words(finding.message), extract_words(other.message)
    return mine == theirs or len(mine & theirs) >= max(2.0, MIN_SHARED_WORD_SHARE * min(len(mine), len(theirs)))


def format_findings(findings: Iterable[MergedFinding]) -> list[str]:
    """Return one line for each finding, for the prompt of a model."""
    return [demote_headings(each.markdown) for each in findings]


def _merge_group(group: list[tuple[str, Finding]]) -> MergedFinding:
    first = min((one for _, one in group), key=rank_by_severity)
    rest = (one.message for _, one in group if extract_words(one.message) - extract_words(first.message))
    update = {
        "message": _join_distinct((first.message, *rest), " / "),  # other words may mean something else
        "confidence": max(one.confidence for _, one in group),
        "source": _join_distinct(one.source for _, one in group),
        "suggestion": _join_distinct(one.suggestion for _, one in group),
    }
    return MergedFinding(first.model_copy(update=update), tuple(dict.fromkeys(title for title, _ in group)))


def _join_distinct(texts: Iterable[str], separator: str = "; ") -> str:
    """Join the texts that are not blank. Texts that differ only in case, spaces or punctuation count once."""
    each = {_normalize_words(text): " ".join(text.split()) for text in texts if text.strip()}
    return separator.join(each.values())


def _normalize_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _extract_digits(text: str) -> frozenset[str]:
    return frozenset(re.sub(r"\D", "", figure) for figure in _FIGURE.findall(text))
