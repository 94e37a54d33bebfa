"""Adds to an answer what it must not leave out: grave findings, results of parts, and refuted sentences. Pure.

An answer states a finding if it has most of its words and all of its figures. It covers a part, the result of a
subtask, if it has words that neither the request nor another part has. An answer in another language than its results
has no such words of any part; then no part is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from handoff.answering.findings import MergedFinding
from handoff.answering.fixed_words import Phrase, render_phrase
from handoff.answering.result_text import render_finding, states_message
from handoff.contracts import Evidence, Severity
from handoff.events import AnswerVerified
from handoff.text.text_words import extract_words

GRAVE_SEVERITIES: Mapping[Severity, Phrase] = {"critical": "critical", "high": "high"}
"""The severities that no answer may leave out, the most severe first, each with the phrase that counts them."""
MIN_OWN_WORDS = 2
"""The least number of a part's own words that an answer must have to cover that part."""
WORDS_PER_CHANCE_MATCH = 20
"""A part counts as omitted if the answer has at most one in this many of its own words, which may be chance."""


def add_omissions(text: str, findings: Sequence[MergedFinding], parts: Mapping[str, str], request: str) -> str:
    """Append to an answer the number of grave findings, and the grave findings and parts that it leaves out.

    Args:
        text: The answer.
        findings: The findings of all results.
        parts: The contents of the results that no other result builds on, by title.
        request: The text of the request, for the language of the phrases.
    """
    grave = [each for each in findings if each.finding.severity in GRAVE_SEVERITIES]
    counts = {one: sum(each.finding.severity == one for each in grave) for one in GRAVE_SEVERITIES}
    count = ", ".join(
        render_phrase(GRAVE_SEVERITIES[one], request, n=number) for one, number in counts.items() if number
    )
    omitted_lines = [render_finding(each.finding) for each in grave if not states_message(text, each.finding.message)]
    omitted_lines += [
        f"- **{title}:** {shorten_part(part)}" for title, part in find_omitted_parts(text, parts, request).items()
    ]
    added_parts = [render_phrase("grave", request, counts=count)] if count else []
    added_parts += ["\n".join([render_phrase("omitted", request), *omitted_lines])] if omitted_lines else []
    return "\n\n".join([text.rstrip(), *added_parts]) if added_parts else text


def find_omitted_parts(text: str, parts: Mapping[str, str], request: str) -> dict[str, str]:
    """Return the parts that an answer does not cover at all, by title.

    If the answer covers no part, return none, since it may be in another language.
    """
    answer_words, request_words = extract_words(text), extract_words(request)
    own = {
        title: extract_words(part)
        - request_words
        - frozenset().union(*(extract_words(other) for name, other in parts.items() if name != title))
        for title, part in parts.items()
    }
    covered_counts = {title: len(mine & answer_words) for title, mine in own.items()}
    if not any(count >= MIN_OWN_WORDS for count in covered_counts.values()):
        return {}
    omitted_titles = [
        one
        for one, count in covered_counts.items()
        if len(own[one]) >= MIN_OWN_WORDS and count <= len(own[one]) // WORDS_PER_CHANCE_MATCH
    ]
    return {title: parts[title] for title in omitted_titles}


MAX_PART_LENGTH = 400
"""The most characters of a part that are added to an answer."""


def shorten_part(part: str) -> str:
    """Return the beginning of a part on one line, at most `MAX_PART_LENGTH` characters."""
    flat = " ".join(part.split())
    return flat if len(flat) <= MAX_PART_LENGTH else f"{flat[: MAX_PART_LENGTH - 1].rstrip()}…"


def add_refutations(answer: str, verification: AnswerVerified | None, request: str) -> str:
    """Append to an answer its refuted sentences, and the contradictions of sources that it does not quote in full."""
    if verification is None:
        return answer
    refuted_lines = [f"- “{one.sentence}” ↔ {cite_evidence(one.evidence)}" for one in verification.refuted]
    contradictions = [
        f"- {cite_evidence(each.one)} ↔ {cite_evidence(each.other)}"
        for each in verification.contradictions
        if not (each.one.quotation in answer and each.other.quotation in answer)
    ]
    parts = [
        *_render_section("refuted", refuted_lines, request),
        *_render_section("contradict", contradictions, request),
    ]
    return "\n\n".join([answer.rstrip(), *parts]) if parts else answer


def cite_evidence(evidence: Evidence) -> str:
    """Render a quotation with its source and place as one line of Markdown."""
    where = ", ".join(filter(None, (evidence.source, evidence.place)))
    return f"“{' '.join(evidence.quotation.split())}”" + (f" ({where})" if where else "")


def _render_section(heading: Phrase, lines: Sequence[str], request: str) -> Iterable[str]:
    if lines:
        yield "\n".join([f"**{render_phrase(heading, request)}**", *lines])
