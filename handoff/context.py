"""Builds the handoff of a subtask from the state of the job: its brief, its context, its files."""

from __future__ import annotations

import re

from handoff.answering.material import whole
from handoff.checking.claims import words
from handoff.context_budget import Piece, beginnings, pack
from handoff.contracts import Artifact, Constraints, Handoff, Note, Packed
from handoff.engine.ladder import MAX_FAILURES, attempt_seconds
from handoff.engine.nested import around, writes_before
from handoff.state import Ask, Job, Work

BRIEF = 0.5
"""The share of a tier's context that a brief may take: the rest is for the work itself."""
FAILED = "An earlier attempt failed"
EARLIER = "Your earlier result"
NEEDED, BEFORE = 1_000, 2_000
"""Weights of what the brief is about (`NEEDED`) and of what was said before (`BEFORE`); a result weighs 0 to 100."""
LINE = 300
"""Characters that stay of a dependency's summary if nothing longer fits."""
_ON_THE_TEXT = re.compile(
    r"\b(?:proofread|review|edit|rewrite|translate|shorten|polish|in full|full text|word for word|earlier results)\b",
    re.IGNORECASE,
)
WHOLE_CONTENT = 3_000
"""Characters up to which a dependency's whole content is passed on; a longer one only if the brief is about it."""
WANTING_CONTENT = 6_000
"""Characters that are shown of an earlier result to the specialist that is to correct it."""


def handoff_for(job: Job, ask: Ask, work: Work) -> tuple[Handoff, Packed]:
    """Return the handoff of a subtask, and how much of its budget that takes. Its specialist is given nothing else."""
    intent = work.brief_text
    others = [ask.work[name] for name in work.subtask.after]
    fixed = [*work.answers, *_replaced_subtask(ask, work), *_lessons(work), *_sent_back(work), *_written(ask, work)]
    others += [other for other in _built_on_outside(ask, work) if other not in others]
    needed = [_is_about(intent, other) for other in others]
    pieces = [
        Piece("the task", (intent,)),
        *(_note_piece(note) for note in fixed),
        *(_dependency_piece(other, needed=each) for other, each in zip(others, needed, strict=True)),
    ]
    packed = pack(pieces, int(around(ask, work).terms.context.of(work.tier) * BRIEF))
    said, texts = packed.texts[1 : 1 + len(fixed)], packed.texts[1 + len(fixed) :]
    notes = [Note(source=other.subtask.title, text=text) for other, text in zip(others, texts, strict=True)]
    handoff = Handoff(
        to_agent=work.specialist,
        intent=intent,
        context=(*notes, *(Note(source=note.source, text=text) for note, text in zip(fixed, said, strict=True))),
        artifacts=_files(job, ask, work),
        constraints=_limits(ask, work),
    )
    kept_back = tuple(
        line for other, each in zip(others, needed, strict=True) if (line := _kept_back(other, needed=each))
    )
    size = packed.packed
    return handoff, size.model_copy(update={"left_out": (*kept_back, *size.left_out)})


def _note_piece(note: Note) -> Piece:
    """Make a piece of a note. Only what earlier attempts failed at or handed in may be shortened."""
    forms = beginnings(note.text) if note.source in {FAILED, EARLIER} else (note.text,)
    return Piece(note.source, forms, weight=BEFORE)


def _kept_back(other: Work, *, needed: bool) -> str:
    """Say that a dependency's content was kept back although there would be room for it; empty if it was not."""
    if needed or other.result is None or (content := len(whole(other.result))) <= WHOLE_CONTENT:
        return ""
    return f"{other.subtask.title}: its summary for {content:,} characters, which the brief does not need"


def _dependency_piece(other: Work, *, needed: bool) -> Piece:
    """Make a piece of a dependency: its whole content if that is short or the brief is about it, else its summary.

    If room is short, results that the brief is about are shortened last, and less sure results before surer ones.
    """
    title, result = other.subtask.title, other.result
    if result is None:
        text = f"(not available: {other.reason}. Work without it, and say what is missing.)"
        return Piece(title, (text,))
    text = whole(result)
    forms = [text] if needed or len(text) <= WHOLE_CONTENT else []
    forms += [form for form in (result.summary, result.summary[:LINE]) if not forms or len(form) < len(forms[-1])]
    return Piece(title, tuple(forms), weight=NEEDED * needed + result.confidence)


def _is_about(intent: str, other: Work) -> bool:
    """Return True if a brief needs the whole of a result: it names the subtask, or works on its text."""
    if _ON_THE_TEXT.search(intent) or re.search(rf"(?<!\w){re.escape(other.subtask.id)}(?!\w)", intent, re.IGNORECASE):
        return True
    titled = words(other.subtask.title)
    return len(titled & words(intent)) * 2 > len(titled)


def _replaced_subtask(ask: Ask, work: Work) -> list[Note]:
    """Return notes on the subtask that this one replaces: why that one failed, and what there was of its result."""
    replaced = ask.work.get(work.instead_of)
    if replaced is None or not replaced.failures:
        return []
    notes = [Note(source=f"{replaced.subtask.title}: tried before, and failed", text=replaced.failures[-1])]
    if replaced.best is not None:
        text = replaced.best.result.content[:WANTING_CONTENT]
        notes.append(Note(source=f"{replaced.subtask.title}: what there was of it, not accepted", text=text))
    return notes


def _lessons(work: Work) -> list[Note]:
    """Return a note on what the last attempt failed at, so that the next one can avoid it."""
    return [Note(source=FAILED, text=work.failures[-1])] if work.failures else []


def _limits(ask: Ask, work: Work) -> Constraints:
    """Return what is left to the subtask: seconds, and calls that may bring nothing."""
    return Constraints(
        tier=work.tier or "balanced",
        timeout=attempt_seconds(ask, work),
        failed_calls=max(1, MAX_FAILURES - work.failed_calls),
    )


def _sent_back(work: Work) -> list[Note]:
    """Return the last result that was sent back, and what is wrong with it, word for word."""
    if work.wanting is None:
        return []
    faults = "\n".join(f"- {fault}" for fault in work.wanting.faults)
    return [
        Note(source=EARLIER, text=work.wanting.result.content[:WANTING_CONTENT]),
        Note(source="What is wrong with it: mend exactly this and hand in the whole again", text=faults),
    ]


def _built_on_outside(ask: Ask, work: Work) -> list[Work]:
    """Return the subtasks that the enclosing subtasks build on: the brief was made from their results as well."""
    outer = ask.work.get(work.within)
    return [] if outer is None else [*(ask.work[name] for name in outer.subtask.after), *_built_on_outside(ask, outer)]


def _written(ask: Ask, work: Work) -> list[Note]:
    """Return a note on what earlier attempts wrote, or may have written: it must not be written again."""
    writes = writes_before(ask, work)
    if not writes:
        return []
    known = {True: "carried out", False: "may have been carried out"}
    lines = [f"- {known[one.known]}: {one.what}" for one in writes]
    return [Note(source="Already begun in an earlier attempt (do not do it again)", text="\n".join(lines))]


def _files(job: Job, ask: Ask, work: Work) -> tuple[Artifact, ...]:
    """Return the files that people attached in this thread so far, and those that the direct dependencies made."""
    files = {
        artifact.id: artifact
        for earlier in job.asks
        for artifact in earlier.artifacts
        if earlier.request.at <= ask.request.at
    }
    for other in (*(ask.work[name] for name in work.subtask.after), *_built_on_outside(ask, work)):
        result = other.result
        files.update({artifact.id: artifact for artifact in (result.artifacts if result else ())})
    return tuple(files.values())
