"""Adds to an answer what it may not leave out: grave findings, parts of its plan, and refuted sentences. Pure.

A finding is told if the answer has most of its words and all of its figures. A part is told if the answer has words of
it that no other part and nobody who asked has: so an answer in another language than its results shares none with any
part, and then nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from handoff.answering.findings import SharedFinding
from handoff.answering.fixed_words import Phrase, phrase
from handoff.answering.material import contains_message, render_finding
from handoff.contracts import Evidence, Severity
from handoff.events import AnswerVerified
from handoff.text.text_words import words

GRAVE: Mapping[Severity, Phrase] = {"critical": "critical", "high": "high"}
"""Severities that no answer may leave out, the gravest first, each with its phrase for a count."""
TOLD = 2
"""The least of a part's own words, which no other part has, that an answer must have to tell that part."""
BY_CHANCE = 20
"""For each so many words that a part alone has, an answer may have one of them by chance."""


def add_omissions(text: str, findings: Sequence[SharedFinding], parts: Mapping[str, str], request: str) -> str:
    """Return the answer with how many grave findings there are, and with the findings and parts that it leaves out.

    `parts` are the contents of the results that no other result builds on, by title.
    """
    grave = [each for each in findings if each.finding.severity in GRAVE]
    counts = {one: sum(each.finding.severity == one for each in grave) for one in GRAVE}
    count = ", ".join(phrase(GRAVE[one], request, n=number) for one, number in counts.items() if number)
    omitted = [render_finding(each.finding) for each in grave if not contains_message(text, each.finding.message)]
    omitted += [
        f"- **{title}:** {first_lines(part)}" for title, part in find_untold_parts(text, parts, request).items()
    ]
    added = [phrase("grave", request, counts=count)] if count else []
    added += ["\n".join([phrase("omitted", request), *omitted])] if omitted else []
    return "\n\n".join([text.rstrip(), *added]) if added else text


def find_untold_parts(text: str, parts: Mapping[str, str], request: str) -> dict[str, str]:
    """Return the parts of which an answer says nothing, though it says something of others."""
    there, asked = words(text), words(request)
    own = {
        title: words(part)
        - asked
        - frozenset().union(*(words(other) for name, other in parts.items() if name != title))
        for title, part in parts.items()
    }
    told = {title: len(mine & there) for title, mine in own.items()}
    if not any(count >= TOLD for count in told.values()):
        return {}
    untold = [one for one, count in told.items() if len(own[one]) >= TOLD and count <= len(own[one]) // BY_CHANCE]
    return {title: parts[title] for title in untold}


MOST = 400
"""Characters of a part that is added."""


def first_lines(part: str) -> str:
    """Return the beginning of a part on one line."""
    flat = " ".join(part.split())
    return flat if len(flat) <= MOST else f"{flat[: MOST - 1].rstrip()}…"


def add_refutations(answer: str, found: AnswerVerified | None, request: str) -> str:
    """Return the answer with its refuted sentences, and the contradictions of which it does not tell both sides."""
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
