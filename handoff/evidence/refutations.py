"""Adds to an answer the sentences that the verifier refuted, and the contradictions that it found. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from handoff.answering.fixed_words import Phrase, phrase
from handoff.contracts import Evidence
from handoff.events import AnswerVerified


def add_refutations(answer: str, found: AnswerVerified | None, request: str) -> str:
    """Return the answer with its refuted sentences, and with the contradictions of which it tells not both sides."""
    if found is None:
        return answer
    refuted = [f"- “{one.sentence}” ↔ {cite_evidence(one.evidence)}" for one in found.refuted]
    untold = [
        f"- {cite_evidence(each.one)} ↔ {cite_evidence(each.other)}"
        for each in found.contradictions
        if not (each.one.quotation in answer and each.other.quotation in answer)
    ]
    parts = [*_render_section("refuted", refuted, request), *_render_section("contradict", untold, request)]
    return "\n\n".join([answer.rstrip(), *parts]) if parts else answer


def cite_evidence(evidence: Evidence) -> str:
    """Return a quotation with its source and place, as one line of Markdown."""
    where = ", ".join(filter(None, (evidence.source, evidence.place)))
    return f"“{' '.join(evidence.quotation.split())}”" + (f" ({where})" if where else "")


def _render_section(heading: Phrase, lines: Sequence[str], request: str) -> Iterable[str]:
    if lines:
        yield "\n".join([f"**{phrase(heading, request)}**", *lines])
