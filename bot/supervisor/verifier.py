"""The verifier: one model call that compares an answer, sentence by sentence, with the evidence.

A verdict counts only if it can be looked up: a quotation that refutes a sentence must stand in the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bot.supervisor.prompts import make_object_schema, make_role_call, parse_json_object
from bot.supervisor.roles import RoleInputs
from handoff.answering.result_text import render_result
from handoff.answering.written_figures import list_written_figures
from handoff.checking.figures import find_unsupported_figures
from handoff.contracts import Contradiction, Evidence, RefutedSentence, Result
from handoff.effects import VerifyAnswer
from handoff.engine.answer import collect_results, compute_call_seconds
from handoff.engine.crew_runs import build_run_brief
from handoff.events import AnswerVerified
from handoff.evidence.evidence_check import SourceDocument
from handoff.evidence.quotations import find_quotation
from handoff.evidence.statements import split_statements
from handoff.evidence.work_receipts import collect_receipts
from handoff.materials.outline import name_place
from handoff.materials.passages import make_excerpt
from handoff.state.job_state import PlanRun, RequestState
from handoff.text.context_budget import PackedTexts, Piece, fill_budget, make_beginnings
from handoff.text.headings import demote_headings
from specialists.model import ModelError

MAX_TOKENS = 4096
MAX_VERDICT_ENTRIES = 8
"""Most entries of each list in the verdict."""
MAX_LINE_CHARS = 600
"""Most characters of a quotation, or of an unanswered part of the request."""
MATERIAL_WEIGHT, TOOLS_WEIGHT, RESULTS_WEIGHT = 3, 2, 1
"""The weight of each kind of evidence: if room is short, a lower weight is shortened first."""

_TEXT_SCHEMA = {"type": "string"}
REPLY_SCHEMA = make_object_schema(
    {
        "sentences": {
            "type": "array",
            "items": make_object_schema(
                {
                    "number": {"type": "integer"},
                    "quotation": _TEXT_SCHEMA,
                    "verdict": {"type": "string", "enum": ["supported", "contradicted", "not_found"]},
                }
            ),
        },
        "unanswered": {"type": "array", "items": _TEXT_SCHEMA},
        "contradictions": {"type": "array", "items": make_object_schema({"one": _TEXT_SCHEMA, "other": _TEXT_SCHEMA})},
    }
)
"""The schema of the reply. Per sentence the quotation comes before the verdict, so that the verdict follows from it."""


async def perform(effect: VerifyAnswer, case: RoleInputs) -> AnswerVerified:
    """Verify a draft. If the model call fails, the event's `doubt` says why, and the draft is released unverified."""
    request, run, now = case.request, case.run, case.now
    base_fields: dict[str, Any] = {"request": request.id, "within": effect.within}
    if effect.is_late:
        return AnswerVerified(at=now(), **base_fields, doubt="the time ran out before the verifier had read it")
    sentences = split_statements(run.draft or "")
    if not sentences:
        return AnswerVerified(at=now(), **base_fields, doubt="the answer has no sentence to verify")
    evidence = collect_evidence(request, run, case.documents)
    packed_brief = build_brief(request, run, sentences, evidence)
    base_fields["pack"] = packed_brief.size
    call = make_role_call(
        "verifier",
        packed_brief.text,
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        deadline=compute_call_seconds(run, now()),
        answer_schema=REPLY_SCHEMA,
    )
    try:
        turn = await case.model.reply(call)
    except ModelError as error:
        doubt = f"the verifier could not be asked: {error}"
        return AnswerVerified(at=now(), **base_fields, doubt=doubt, usage=error.usage)
    result_figures = (one for result in collect_results(request, run).values() for one in result.unsupported)
    in_doubt = tuple(dict.fromkeys((*run.unsupported_figures, *result_figures)))
    verdict_fields = parse_verdicts(turn.text, build_run_brief(request, run), sentences, evidence, in_doubt)
    return AnswerVerified(at=now(), **base_fields, **verdict_fields, usage=turn.usage)


# ---------------------------------------------------------------- the brief


def collect_evidence(
    request: RequestState, run: PlanRun, materials: Sequence[SourceDocument]
) -> tuple[SourceDocument, ...]:
    """Return the texts that may support an answer: the material, the lines from tools, and the results.

    A single result is left out: it is the answer itself, and no evidence for it.
    """
    results = collect_results(request, run)
    documents = list(materials)
    for name, result in results.items():
        title = request.subtasks[name].spec.title
        if tool_lines := _render_tool_lines(result):
            documents.append(SourceDocument(f"what tools gave for “{title}”", tool_lines, is_material=False))
        if len(results) > 1:
            documents.append(
                SourceDocument(f"the result of “{title}”", render_result(result), is_material=False, is_brief=True)
            )
    return tuple(documents)


def _render_tool_lines(result: Result) -> str:
    """Return the kept lines from the tools of a result: lines of replies, quotations, filters."""
    quotations = (f"{one.source}: {one.quotation}" for each in result.findings for one in each.evidence if one.is_found)
    lines = [*result.evidence, *quotations, *(f"counted: {one}" for one in result.filters)]
    return "\n".join(dict.fromkeys(lines))


def build_brief(
    request: RequestState, run: PlanRun, sentences: Sequence[str], evidence: Sequence[SourceDocument]
) -> PackedTexts:
    """Build the verifier's brief: the request, the answer's sentences, the evidence, and material that nobody opened.

    If room is short, results are shortened first, then the lines from tools. A long material is cut to the passages
    that are about the answer.
    """
    numbered_sentences = "\n".join(
        f"[{number}] {demote_headings(one)}" for number, one in enumerate(sentences, start=1)
    )
    head = (
        f"# Request\n{demote_headings(build_run_brief(request, run))}\n\n# Answer\n{numbered_sentences}\n\n# Evidence"
    )
    pieces = [Piece("the request and the answer", (head,))]
    pieces += [_make_document_piece(one, "\n".join(sentences)) for one in evidence]
    if unopened_files := collect_receipts(request).unopened_files:
        pieces.append(
            Piece("not opened", ("\n".join(["\n# Not opened by anybody", *(f"- {one}" for one in unopened_files)]),))
        )
    room = run.terms.get_context_tokens("verifier")
    return fill_budget(pieces, room)


def _make_document_piece(document: SourceDocument, answer: str) -> Piece:
    weight = MATERIAL_WEIGHT if document.is_material else RESULTS_WEIGHT if document.is_brief else TOOLS_WEIGHT
    heading = f"\n## {document.name}\n"
    text = heading + demote_headings(document.text)

    def cut_to_passages(most: int) -> str:
        if not document.is_material:
            return heading + demote_headings(document.text[: max(0, most - len(heading))])
        return f"\n## Passages of {document.name}\n" + demote_headings(
            make_excerpt(document.text, document.outline, answer, most)
        )

    return Piece(document.name, (text, *make_beginnings(text)[-1:], ""), weight=weight, make_excerpt=cut_to_passages)


# ---------------------------------------------------------------- the reply


def parse_verdicts(
    text: str,
    request: str,
    sentences: Sequence[str],
    evidence: Sequence[SourceDocument],
    doubtful_figures: Sequence[str] = (),
) -> dict[str, Any]:
    """Parse the reply into fields of `AnswerVerified`. Objections that the evidence does not bear out go into `doubt`.

    `doubtful_figures` are the figures of the answer that no source is known to have.
    """
    reply_fields = parse_json_object(text)
    if not isinstance(reply_fields.get("sentences"), list):
        return {"doubt": "the verifier gave no verdict"}
    materials = [one for one in evidence if one.is_material]
    refuted_sentences: list[RefutedSentence] = []
    unfound_sentences: list[str] = []
    borne_out: list[str] = []
    rejected_sentences: list[str] = []
    for number, quotation, verdict in _iterate_verdicts(reply_fields["sentences"]):
        sentence = sentences[number - 1] if 0 < number <= len(sentences) else ""
        if not sentence:
            continue
        if verdict == "supported":
            if _look_up_quotation(quotation, materials) is not None:
                borne_out += _find_supported_figures(sentence, quotation, doubtful_figures)
        elif verdict == "not_found":
            is_in_evidence = any(one.find_quotation(sentence) is not None for one in evidence if not one.is_brief)
            (rejected_sentences if is_in_evidence else unfound_sentences).append(sentence)
        elif (counter_evidence := _look_up_quotation(quotation, evidence)) is None or find_quotation(
            sentence, quotation
        ) is not None:
            rejected_sentences.append(sentence)
        else:
            refuted_sentences.append(RefutedSentence(sentence=sentence, evidence=counter_evidence))
    contradictions = [
        one
        for one in (_make_contradiction(each, evidence) for each in _get_list(reply_fields, "contradictions"))
        if one
    ]
    unanswered_parts = [
        one
        for one in map(_clean_line, _get_list(reply_fields, "unanswered"))
        if find_quotation(request, one) is not None
    ]
    return {
        "refuted": tuple(refuted_sentences[:MAX_VERDICT_ENTRIES]),
        "unfound": tuple(dict.fromkeys(unfound_sentences))[:MAX_VERDICT_ENTRIES],
        "borne_out": tuple(dict.fromkeys(borne_out)),
        "unanswered": tuple(dict.fromkeys(filter(None, unanswered_parts)))[:MAX_VERDICT_ENTRIES],
        "contradictions": tuple(contradictions[:MAX_VERDICT_ENTRIES]),
        "doubt": f"not taken, as nothing that was read bears it out: {'; '.join(rejected_sentences)}"
        if rejected_sentences
        else "",
    }


def _iterate_verdicts(entries: Iterable[Any]) -> Iterable[tuple[int, str, str]]:
    for one in entries:
        if isinstance(one, dict) and isinstance(one.get("number"), int):
            yield one["number"], _clean_line(one.get("quotation")), str(one.get("verdict") or "").strip().lower()


def _get_list(reply: dict[str, Any], name: str) -> list[Any]:
    items = reply.get(name)
    return items if isinstance(items, list) else []


def _clean_line(text: Any) -> str:
    return " ".join(text.split())[:MAX_LINE_CHARS] if isinstance(text, str) else ""


def _look_up_quotation(quotation: str, evidence: Sequence[SourceDocument]) -> Evidence | None:
    """Return the quotation with its source and place; None if no evidence has it. Material is searched first."""
    for one in sorted(evidence, key=lambda each: not each.is_material) if quotation else ():
        at = one.find_quotation(quotation)
        if at is not None:
            where = name_place(one.text, one.outline, at) if one.is_material else ""
            return Evidence(quotation=quotation, source=one.name, place=where, is_found=True)
    return None


def _find_supported_figures(sentence: str, quotation: str, doubtful_figures: Iterable[str]) -> list[str]:
    """Return the figures of a sentence that are `doubtful_figures` and that the quotation states or implies."""
    figures = [one for one in doubtful_figures if one in sentence]
    return (
        [
            one
            for one in figures
            if one not in list_written_figures(sentence, find_unsupported_figures(sentence, [quotation]))
        ]
        if figures
        else []
    )


def _make_contradiction(entry: Any, evidence: Sequence[SourceDocument]) -> Contradiction | None:
    """Return two quotations that contradict each other; None unless both are found and differ."""
    if not isinstance(entry, dict):
        return None
    one, other = (_look_up_quotation(_clean_line(entry.get(name)), evidence) for name in ("one", "other"))
    if one is None or other is None or one.quotation.casefold() == other.quotation.casefold():
        return None
    return Contradiction(one=one, other=other)
