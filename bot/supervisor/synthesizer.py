"""The synthesizer: one model call that writes the answer from the specialists' results.

The answer is streamed unless the critic reads it first: what people have seen cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from bot.supervisor.prompts import call_of
from bot.supervisor.roles import Case
from handoff.answering import disputes
from handoff.answering.material import line, whole
from handoff.answering.reducing import Stage
from handoff.context_budget import Pack, Piece, pack
from handoff.contracts import Severity, Usage
from handoff.effects import WriteAnswer
from handoff.engine.answer import beyond, contents, gaps, is_draft, seconds_for_call, stage, told
from handoff.engine.nested import asked
from handoff.events import AnswerWritten
from handoff.headings import demote_headings
from handoff.state import Ask, Run, Work
from specialists.turns.model import ModelError

DEADLINE = 180.0
MAX_TOKENS = 8192
LEFT_OUT = 12
"""Lines on what was left out that the model is told; the trace has all of them."""
GRAVEST = 8
"""Findings of a result that stay if there is no room for all."""
LINE = 300
"""Characters of each of those findings."""
_GRAVITY: tuple[Severity, ...] = get_args(Severity)


async def perform(effect: WriteAnswer, case: Case) -> AnswerWritten:
    """Write the answer. If the model cannot, the results themselves are the answer, and it says so."""
    ask, run, model, now, on_text = case.ask, case.run, case.model, case.now, case.on_text
    described = describe(ask, run, below=repair(run, effect.faults))
    call = call_of(
        "synthesizer",
        described.text,
        terms=run.terms,
        max_tokens=MAX_TOKENS,
        deadline=seconds_for_call(run, now(), DEADLINE),
        on_text=on_text,
        last=True,
    )
    streamed, usage = "", Usage()
    try:
        turn = await model.reply(call)
    except ModelError as error:
        text = instead(ask, run, f"The parts could not be put together ({error}); here they are as they came.")
        usage = error.usage
    else:
        text, usage = turn.text.strip(), turn.usage
        if turn.stop == "refused" or not text:
            text = instead(ask, run, "The model declined to put the parts together; here they are as they came.")
        elif turn.stop == "max_tokens":
            text, streamed = text + "\n\n_(cut off at the length limit)_", turn.text.strip()
        else:
            streamed = text
    text = disputes.with_contradictions(text, told(ask, run))
    if streamed and on_text is not None and text != streamed:
        await on_text(text.removeprefix(streamed))
    return AnswerWritten(
        at=now(),
        request=ask.id,
        within=effect.within,
        text=text,
        draft=is_draft(run, now()),
        unjudged=beyond(ask, run),
        pack=described.packed,
        usage=usage,
    )


def instead(ask: Ask, run: Run, preface: str) -> str:
    """Return the answer without a model: the draft if there is one, otherwise the results as they are."""
    return run.draft if run.draft is not None else plainly(ask, run, preface)


def describe(ask: Ask, run: Run, *, role: str = "synthesizer", ids: bool = False, below: str = "") -> Pack:
    """Build the synthesizer's brief: the request, the plan's goal and strategy, results, contradictions and gaps.

    `ids`: show the id of each result, so that one can be picked. `below` is more text for the role; it always stays,
    as do the request, the plan, the contradictions and the gaps. `role` is the role that reads the brief.
    """
    plan = run.plan
    if plan is None:
        raise ValueError("an answer cannot be written before there is a plan")
    head = ["# Request", demote_headings(asked(ask, run)), "", "# Plan", f"{plan.goal} (strategy: {plan.strategy})"]
    head += ["", "# Results"]
    at, lost = stage(ask, run), contents(ask, run)[1]
    results = _condensed(ask, run, at) if at.rounds else _whole(ask, run, ids=ids)
    rest = _rest(ask, run, at)
    always = [Piece("the request", ("\n".join(head),)), Piece("the rest", ("\n".join(rest),)), Piece("below", (below,))]
    packed = pack([*always, *results], run.terms.room_of(role))
    text = "\n".join([*head, *(f"{each}\n" for each in packed.texts[len(always) :]), *rest]).strip() + below
    left_out = [*at.left_out, *(f"{ask.work[name].subtask.title}: {n} repeated passages" for name, n in lost.items())]
    size = packed.packed
    return Pack((text,), size.model_copy(update={"left_out": (*left_out, *size.left_out)}))


def _rest(ask: Ask, run: Run, at: Stage) -> list[str]:
    """Return what the answer must tell besides the results."""
    rest: list[str] = []
    if conflicts := told(ask, run):
        rest += ["# Contradictions", "Show each with both sides, their sources and how sure the judgement is."]
        rest += [*(f"- {demote_headings(disputes.line(conflict))}" for conflict in conflicts), ""]
    if lacks := gaps(ask, run):
        rest += ["# Gaps", *(f"- {demote_headings(gap)}" for gap in lacks), ""]
    if left_out := (*at.left_out, *run.left_out)[:LEFT_OUT]:
        rest += ["# Left out for length", *(f"- {each}" for each in left_out), ""]
    if run.plan is not None and run.plan.instruction:
        rest += ["# Instruction", run.plan.instruction]
    return rest


def repair(run: Run, faults: Sequence[str]) -> str:
    """Return what the synthesizer is told of a draft with faults; empty the first time."""
    if not faults:
        return ""
    lines = [f"- {fault}" for fault in faults]
    heading = "# Write it again with these mended, where the results bear them out"
    return "\n\n" + "\n".join(["# Your last answer", demote_headings(run.draft or ""), "", heading, *lines])


def _whole(ask: Ask, run: Run, *, ids: bool) -> list[Piece]:
    texts, _ = contents(ask, run)
    pieces = []
    for name, content in texts.items():
        work = ask.work[name]
        if work.result is None:
            continue
        forms = ["\n".join(_result(work, content, ids=ids))]
        if len(work.result.summary) < len(content):
            forms.append("\n".join(_result(work, f"{work.result.summary}\n(shortened: only its summary)", ids=ids)))
        pieces.append(Piece(work.subtask.title, tuple(forms), weight=work.result.confidence))
    return pieces


def _condensed(ask: Ask, run: Run, at: Stage) -> list[Piece]:
    """Return the condensed notes in place of the results, with findings, and sources and files below them."""
    pieces = [
        Piece(
            note.source, (f"## {note.source}\n{demote_headings(note.text)}", f"## {note.source}\n(left out for length)")
        )
        for note in at.notes
    ]
    pieces += [piece for work in ask.inside(run.within) if (piece := _findings(work)) is not None]
    below = [small for work in ask.inside(run.within) for small in _small_print(work)]
    return [*pieces, Piece("sources and files", ("\n".join(dict.fromkeys(below)),))] if below else pieces


def _findings(work: Work) -> Piece | None:
    """Return the findings of a result, which are never condensed.

    If room is short, all but the gravest go before any notes.
    """
    if work.result is None or not work.result.findings:
        return None
    gravest = sorted(work.result.findings, key=lambda one: (-_GRAVITY.index(one.severity), -one.confidence))
    heading = f"## Findings: {work.subtask.title}"
    told = [demote_headings(line(one)) for one in gravest]
    whole_list = "\n".join([heading, *told])
    few = "\n".join([heading, *(each[:LINE] for each in told[:GRAVEST]), "(and more)"])
    forms = (whole_list, few) if len(few) < len(whole_list) else (whole_list,)
    return Piece(f"the findings of {work.subtask.title}", forms, weight=-1)


def _result(work: Work, content: str, *, ids: bool) -> list[str]:
    result = work.result
    confidence = result.confidence if result else 0
    named = f"[{work.subtask.id}] " if ids else ""
    lines = [f"## {named}{work.subtask.title} ({work.specialist}, confidence {confidence})", demote_headings(content)]
    for small in _small_print(work):
        lines += ["", small]
    return lines


def _small_print(work: Work) -> list[str]:
    result = work.result
    if result is None:
        return []
    lines = []
    if sources := list(dict.fromkeys(finding.source for finding in result.findings if finding.source)):
        lines.append(demote_headings("Sources: " + "; ".join(sources)))
    if result.artifacts:
        lines.append("Files: " + ", ".join(artifact.name for artifact in result.artifacts))
    return lines


def plainly(ask: Ask, run: Run, preface: str) -> str:
    """Return the results one after the other, without a model."""
    results = [(work.subtask.title, work.result) for work in ask.inside(run.within) if work.result is not None]
    return "\n\n".join([preface, *(f"## {title}\n{whole(result)}" for title, result in results)])
