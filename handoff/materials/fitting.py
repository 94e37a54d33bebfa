"""Makes pieces of material for a brief: whole where they fit, else an outline and the best passages. Pure."""

from __future__ import annotations

from handoff.answering.findings import gravity_key, is_graded
from handoff.answering.material import render_finding, render_result
from handoff.contracts import Material, Section
from handoff.materials.outline import summarize_outline
from handoff.materials.passages import excerpt
from handoff.state.job_state import SubtaskState
from handoff.text.context_budget import Piece

RESULT, NEEDED = 2_000, 1_000
"""Weights: of a result that the subtask waits for, to which its confidence is added; of material, less its place."""
LINE = 300
"""Characters that stay of a result's summary, and of an outline, if nothing longer fits."""
GONE = "(its text is no longer kept)"


def make_result_piece(other: SubtaskState, wanted: str) -> Piece:
    """Make a piece of a result: its whole content, else its summary with the passages that the brief is about.

    If room is short, less sure results are shortened before surer ones. Findings with a severity or a place are listed
    with how sure they are, so that whoever builds on them can look again at those that are in doubt.
    """
    title, result = other.subtask.title, other.result
    if result is None:
        return Piece(title, (f"(not available: {other.reason}. Work without it, and say what is missing.)",), RESULT)
    graded = [
        f"{render_finding(one)} (sure: {one.confidence})"
        for one in sorted(result.findings, key=gravity_key)
        if is_graded(one)
    ]
    text, summary = "\n".join([render_result(result, listed=True), *graded]), result.summary
    forms = [text, *(form for form in (summary, summary[:LINE]) if len(form) < len(text))]
    ordered = tuple(dict.fromkeys(sorted(forms, key=len, reverse=True)))

    def part(most: int) -> str:
        return f"{summary}\n\n{excerpt(text, (), wanted, most - len(summary) - 2)}" if most > len(summary) else ""

    return Piece(title, ordered, RESULT + result.confidence, part)


def make_material_piece(material: Material, text: str, wanted: str, place: int) -> Piece:
    """Make a piece of a text: the whole, else its outline and the best passages. `place` counts needs from 0."""
    if not text:
        return Piece(material.name, (GONE,), NEEDED)
    outline = summarize_outline(material, LINE)
    least = f"({outline})" if outline else ""
    sections: tuple[Section, ...] = material.outline
    newest = material.kind == "thread"

    def part(most: int) -> str:
        long = summarize_outline(material, max(LINE, most // 5))
        head = f"({long})\n" if long else ""
        return head + excerpt(text, sections, wanted, most - len(head), newest=newest) if most > len(head) else ""

    forms = (text, least) if len(least) < len(text) else (text,)
    return Piece(material.name, forms, NEEDED - place, part)
