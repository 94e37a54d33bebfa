"""The synthesizer: one model call that writes the answer from the specialists' results.

The answer is streamed up to the first line with a figure that no source has. A draft for the verifier is not streamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from bot.supervisor.prompts import make_role_call
from bot.supervisor.roles import OnText, RoleInputs
from handoff.answering.brief_echoes import render_result_tag, strip_brief_echoes
from handoff.answering.findings import format_findings, is_graded, rank_by_severity
from handoff.answering.fixed_words import render_phrase
from handoff.answering.reduction import ReductionStage
from handoff.answering.result_text import render_finding
from handoff.checking.figures import render_workings
from handoff.checking.workings import remove_workings
from handoff.effects import WriteAnswer
from handoff.engine.answer import (
    choose_strategy,
    collect_results,
    compute_call_seconds,
    find_reduction_stage,
    list_answer_gaps,
    list_graded_findings,
    needs_draft,
    render_contents,
    render_subtask_result,
)
from handoff.engine.answer_sources import find_invented_figures, find_unsourced_figures
from handoff.engine.crew_runs import build_run_brief
from handoff.events import AnswerWritten
from handoff.state.job_state import PlanRun, RequestState, SubtaskState
from handoff.text.context_budget import PackedTexts, Piece, pack_pieces
from handoff.text.headings import demote_headings
from specialists.model import ModelError

MAX_TOKENS = 8192
MAX_OMISSION_LINES = 12
"""Most lines about omissions in the brief; the trace has all of them."""
MAX_SHORTENED_FINDINGS = 8
"""Findings that stay in a list when it is shortened."""
MAX_FINDING_CHARS = 300
"""Most characters of each finding in a shortened list."""
CONDENSE_LINE = "(strategy: reduce; keep every figure that the conclusion needs)"
FINDINGS_HEADING = "# Findings, gravest first: keep the severity, place and suggestion of each"


async def perform(effect: WriteAnswer, case: RoleInputs) -> AnswerWritten:
    """Write the answer. If the model fails, the answer is the last draft, or the results under a line that says so."""
    request, run, now = case.request, case.run, case.now
    packed_brief = build_brief(request, run, appendix=render_faults(run, effect.faults))
    stream = None
    if case.on_text is not None:
        stream = AnswerStreamer(
            case.on_text, lambda text: not find_unsourced_figures(request, run, text, case.earlier_texts)
        )
    call = make_role_call(
        "synthesizer",
        packed_brief.text,
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        deadline=compute_call_seconds(run, now()),
        on_text=stream.write if stream is not None else None,
        is_last=True,
    )
    base_fields: dict[str, Any] = {"request": request.id, "within": effect.within, "pack": packed_brief.size}
    try:
        turn = await case.model.reply(call)
    except ModelError as error:
        text = render_without_model(request, run, f"{render_phrase('apart', request.text)} ({error})")
        return AnswerWritten(
            at=now(), **base_fields, text=text, draft=needs_draft(request, run, now()), usage=error.usage
        )
    base_fields["usage"] = turn.usage
    text = turn.text.strip()
    if turn.stop == "refused" or not text:
        text = render_without_model(request, run, render_phrase("apart", request.text))
        return AnswerWritten(at=now(), **base_fields, text=text, draft=needs_draft(request, run, now()))
    text = strip_brief_echoes(
        text,
        titles=_list_subtask_titles(request, run).values(),
        sections=_list_forbidden_sections(request, run),
        lists=_list_required_items(request, run),
    )
    if turn.stop == "max_tokens":
        text += f"\n\n_({render_phrase('cut_off', request.text)})_"
    unsupported_figures = find_unsourced_figures(request, run, text, case.earlier_texts)
    base_fields["workings"] = render_workings(text, unsupported_figures)
    base_fields["invented"] = (
        find_invented_figures(request, run, text, case.earlier_texts) if unsupported_figures else ()
    )
    text = remove_workings(text)
    if stream is not None and not unsupported_figures:
        await stream.finish(text)
    return AnswerWritten(
        at=now(), **base_fields, text=text, draft=needs_draft(request, run, now()), unsupported=unsupported_figures
    )


def _list_subtask_titles(request: RequestState, run: PlanRun) -> dict[str, str]:
    return {name: request.subtasks[name].spec.title for name in collect_results(request, run)}


def _list_forbidden_sections(request: RequestState, run: PlanRun) -> dict[str, str]:
    """Return the sections of the brief that must not appear in an answer, by heading."""
    plan = run.plan
    goal, instruction = (plan.goal, plan.instruction) if plan is not None else ("", "")
    return {"Request": demote_headings(build_run_brief(request, run)), "Plan": goal, "Instruction": instruction}


def _list_required_items(
    request: RequestState, run: PlanRun, omissions: Sequence[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the lists of the brief that the answer must mention, by heading: the gaps and the omissions."""
    return {
        "Gaps": tuple(demote_headings(gap) for gap in list_answer_gaps(request, run)),
        "Left out for length": (*omissions, *run.left_out_passages)[:MAX_OMISSION_LINES],
    }


def render_without_model(request: RequestState, run: PlanRun, preface: str) -> str:
    """Return the answer without a model: the draft if there is one, otherwise the results below `preface`."""
    return run.draft if run.draft is not None else render_results(request, run, preface)


def build_brief(request: RequestState, run: PlanRun, *, role: str = "synthesizer", appendix: str = "") -> PackedTexts:
    """Build the synthesizer's brief: the request, the plan's goal and strategy, results and gaps.

    `role` is the role that reads the brief. `appendix` is put at the end. Request, plan, gaps and `appendix` are never
    shortened. Raises ValueError if there is no plan yet.
    """
    plan = run.plan
    if plan is None:
        raise ValueError("an answer cannot be written before there is a plan")
    head = ["# Request", demote_headings(build_run_brief(request, run)), "", "# Plan", plan.goal]
    head += [CONDENSE_LINE] if choose_strategy(request, run) == "reduce" else []
    head += ["", "# Results"]
    stage, repeat_counts = find_reduction_stage(request, run), render_contents(request, run)[1]
    results = [
        *(_make_note_pieces(request, run, stage) if stage.rounds else _make_result_pieces(request, run)),
        *_make_graded_pieces(request, run),
    ]
    rest = _render_required_sections(request, run, stage)
    fixed_pieces = [
        Piece("the request", ("\n".join(head),)),
        Piece("the rest", ("\n".join(rest),)),
        Piece("below", (appendix,)),
    ]
    packed_texts = pack_pieces([*fixed_pieces, *results], run.terms.get_context_tokens(role))
    text = (
        "\n".join([*head, *(f"{each}\n" for each in packed_texts.texts[len(fixed_pieces) :]), *rest]).strip() + appendix
    )
    left_out = [
        *stage.left_out,
        *(f"{request.subtasks[name].spec.title}: {n} repeated passages" for name, n in repeat_counts.items()),
    ]
    size = packed_texts.size
    return PackedTexts((text,), size.model_copy(update={"left_out": (*left_out, *size.left_out)}))


def _render_required_sections(request: RequestState, run: PlanRun, stage: ReductionStage) -> list[str]:
    """Render the sections of the brief that are never shortened: gaps, omissions and the plan's instruction."""
    rest: list[str] = []
    for heading, items in _list_required_items(request, run, stage.left_out).items():
        rest += [f"# {heading}", *(f"- {each}" for each in items), ""] if items else []
    if run.plan is not None and run.plan.instruction:
        rest += ["# Instruction", run.plan.instruction]
    return rest


def render_faults(run: PlanRun, faults: Sequence[str]) -> str:
    """Render the last draft and its faults for the next try; empty without faults."""
    if not faults:
        return ""
    lines = [f"- {fault}" for fault in faults]
    heading = "# Write it again with these mended, where the results bear them out"
    return "\n\n" + "\n".join(["# Your last answer", demote_headings(run.draft or ""), "", heading, *lines])


def _make_result_pieces(request: RequestState, run: PlanRun) -> list[Piece]:
    texts, _ = render_contents(request, run)
    pieces = []
    for name, content in texts.items():
        subtask = request.subtasks[name]
        if subtask.result is None:
            continue
        forms = ["\n".join(_render_result(subtask, content))]
        if len(subtask.result.summary) < len(content):
            forms.append("\n".join(_render_result(subtask, f"{subtask.result.summary}\n(shortened: only its summary)")))
        pieces.append(Piece(subtask.spec.title, tuple(forms), weight=subtask.result.confidence))
    return pieces


def _make_note_pieces(request: RequestState, run: PlanRun, stage: ReductionStage) -> list[Piece]:
    """Return the pieces for a reduced material: the notes, the findings, then all sources and files."""
    pieces = [
        Piece(
            note.source, (f"## {note.source}\n{demote_headings(note.text)}", f"## {note.source}\n(left out for length)")
        )
        for note in stage.notes
    ]
    pieces += [
        piece for subtask in request.list_subtasks(run.within) if (piece := _make_ungraded_piece(subtask)) is not None
    ]
    source_lines = [small for subtask in request.list_subtasks(run.within) for small in _render_sources(subtask)]
    return [*pieces, Piece("sources and files", ("\n".join(dict.fromkeys(source_lines)),))] if source_lines else pieces


def _make_ungraded_piece(subtask: SubtaskState) -> Piece | None:
    """Return the findings of a result that `_make_graded_pieces` leaves out; None if there are none.

    They are not condensed. If room is short, the list is cut to its first findings before any note is shortened.
    """
    findings = [one for one in subtask.result.findings if not is_graded(one)] if subtask.result is not None else []
    if not findings:
        return None
    lines = [demote_headings(render_finding(one)) for one in sorted(findings, key=rank_by_severity)]
    return _make_list_piece(f"the findings of {subtask.spec.title}", f"## Findings: {subtask.spec.title}", lines)


def _make_graded_pieces(request: RequestState, run: PlanRun) -> list[Piece]:
    """Return one list of the graded findings of all results, the gravest first; empty for the strategy `select`."""
    findings = list_graded_findings(request, run) if choose_strategy(request, run) != "select" else ()
    return [_make_list_piece("the findings", FINDINGS_HEADING, format_findings(findings))] if findings else []


def _make_list_piece(name: str, heading: str, lines: list[str]) -> Piece:
    whole_list = "\n".join([heading, *lines])
    few = "\n".join([heading, *(each[:MAX_FINDING_CHARS] for each in lines[:MAX_SHORTENED_FINDINGS]), "(and more)"])
    forms = (whole_list, few) if len(few) < len(whole_list) else (whole_list,)
    return Piece(name, forms, weight=-1)


def _render_result(subtask: SubtaskState, content: str) -> list[str]:
    confidence = subtask.result.confidence if subtask.result is not None else 0
    lines = [f"## {subtask.spec.title}", render_result_tag(subtask.spec.id, confidence), demote_headings(content)]
    for small in _render_sources(subtask):
        lines += ["", small]
    return lines


def _render_sources(subtask: SubtaskState) -> list[str]:
    result = subtask.result
    if result is None:
        return []
    lines = []
    if sources := list(dict.fromkeys(finding.source for finding in result.findings if finding.source)):
        lines.append(demote_headings("Sources: " + "; ".join(sources)))
    if result.artifacts:
        lines.append("Files, in the thread already: " + ", ".join(artifact.name for artifact in result.artifacts))
    return lines


def render_results(request: RequestState, run: PlanRun, preface: str) -> str:
    """Render the results one after the other below `preface`."""
    subtasks = [subtask for subtask in request.list_subtasks(run.within) if subtask.result is not None]
    return "\n\n".join(
        [preface, *(f"## {subtask.spec.title}\n{render_subtask_result(request, run, subtask)}" for subtask in subtasks)]
    )


_NON_ANSWER_BEGINNINGS = ("{", "`")
"""The beginnings of a reply that is JSON or code in place of an answer."""
_WORD = re.compile(r"\s*\S+\s+")  # with spaces before the word, so that no text is lost
_FIGURE_OR_TAG = re.compile(r"(?<![A-Za-zÀ-ÿ])\d|<")
"""Matches in a word that may contain a figure or one of our tags."""


class AnswerStreamer:
    """Streams a model's text word by word. A line with figures is held back until `is_clean` accepts the whole line.

    After the first line that is not clean nothing more is streamed: the final answer replaces the streamed text.
    """

    def __init__(self, on_text: OnText, is_clean: Callable[[str], bool]) -> None:
        self._on_text = on_text
        self._is_clean = is_clean
        self._waiting_text = ""
        self._shown_line = ""
        """The part of the unfinished line that was shown."""
        self._is_stopped = False
        self._has_begun = False
        self.shown_text = ""

    async def write(self, piece: str) -> None:
        """Add the next piece of the model's text, and show what is ready."""
        self._waiting_text += piece
        if not self._has_begun:
            self._waiting_text = self._waiting_text.lstrip()
            self._has_begun = bool(self._waiting_text)
            self._is_stopped = self._waiting_text.startswith(_NON_ANSWER_BEGINNINGS)
        await self._show_ready_text()

    async def _show_ready_text(self) -> None:
        """Show all clean lines, and the words of the unfinished line before its first figure or tag."""
        while not self._is_stopped and "\n" in self._waiting_text:
            line, _, self._waiting_text = self._waiting_text.partition("\n")
            if _FIGURE_OR_TAG.search(line) and not self._is_clean(self._shown_line + line):
                self._is_stopped = True
                return
            await self._show_text(f"{remove_workings(line)}\n")
            self._shown_line = ""
        if self._is_stopped:
            return
        ready = ""
        for match in _WORD.finditer(self._waiting_text):
            if _FIGURE_OR_TAG.search(match[0]):
                break
            ready += match[0]
        if ready:
            self._waiting_text = self._waiting_text[len(ready) :]
            self._shown_line += ready
            await self._show_text(ready)

    async def _show_text(self, text: str) -> None:
        self.shown_text += text
        await self._on_text(text)

    async def finish(self, answer: str) -> None:
        """Show the rest of the final answer, if the shown text is its beginning."""
        if answer.startswith(self.shown_text) and answer != self.shown_text:
            await self._show_text(answer.removeprefix(self.shown_text))
