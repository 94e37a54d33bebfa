"""Builds the handoff of a subtask from the state of the job: its brief, context and files, and whose words they are.

It also words the circumstances of a request: the date and time where its requester is, who asks, and where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from handoff.answering.figure_marks import without
from handoff.answering.material import whole
from handoff.context_budget import Piece, beginnings, pack
from handoff.contracts import Artifact, Constraints, Handoff, Note, Packed, Setting
from handoff.engine.ladder import MAX_FAILURES, attempt_seconds
from handoff.engine.nested import writes_before
from handoff.state import Ask, Job, Work
from handoff.text_words import words

BRIEF = 0.5
"""The share of a tier's context that a brief may take: the rest is for the work itself."""
FAILED = "An earlier attempt failed"
EARLIER = "Your earlier result"
NEEDED, BEFORE = 1_000, 2_000
"""Weights of what the brief is about (`NEEDED`) and of what was said before (`BEFORE`); a result weighs 0 to 100."""
REQUEST_LINE = 160
"""Characters of the request that a specialist is told its brief is a part of."""
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
LONGEST_NAME = 60
"""Characters of a name: people choose their names, and models read them."""
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def handoff_for(job: Job, ask: Ask, work: Work, now: float) -> tuple[Handoff, Packed]:
    """Return the handoff of a subtask, and how much of its budget that takes. Its specialist is given nothing else.

    `now` is when the attempt begins; one that has begun is told the time of its beginning.
    """
    intent = work.brief_text
    others = [ask.work[name] for name in work.subtask.after]
    fixed = [
        *ask.answers,
        *work.answers,
        *_replaced_subtask(ask, work),
        *_lessons(work),
        *_sent_back(work),
        *_written(ask, work),
    ]
    others += [other for other in _built_on_outside(ask, work) if other not in others]
    needed = [_is_about(intent, other) for other in others]
    pieces = [
        Piece("the task", (intent,)),
        *(_note_piece(note) for note in fixed),
        *(_dependency_piece(other, needed=each) for other, each in zip(others, needed, strict=True)),
    ]
    packed = pack(pieces, int(ask.run_around(work).terms.context.of(work.tier) * BRIEF))
    said, texts = packed.texts[1 : 1 + len(fixed)], packed.texts[1 + len(fixed) :]
    notes = [Note(source=other.subtask.title, text=text) for other, text in zip(others, texts, strict=True)]
    handoff = Handoff(
        to_agent=work.specialist,
        intent=intent,
        part_of=_part_of(ask.request.text, intent),
        circumstances=circumstances(work.attempt_started if work.state == "in_progress" else now, ask.setting),
        context=(*notes, *(Note(source=note.source, text=text) for note, text in zip(fixed, said, strict=True))),
        artifacts=_files(job, ask, work),
        constraints=_limits(ask, work),
    )
    kept_back = tuple(
        line for other, each in zip(others, needed, strict=True) if (line := _kept_back(other, needed=each))
    )
    size = packed.packed
    return handoff, size.model_copy(update={"left_out": (*kept_back, *size.left_out)})


def _part_of(request: str, intent: str) -> str:
    """Return the request on one line, so that a brief can be held against it; empty if it is the brief."""
    line = " ".join(request.split())
    if line == " ".join(intent.split()):
        return ""
    return line if len(line) <= REQUEST_LINE else line[: REQUEST_LINE - 1] + "…"


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
    """Return what the subtask has: the seconds and the failed calls that are left to it, and its tier's context."""
    return Constraints(
        tier=work.tier or "balanced",
        timeout=attempt_seconds(ask, work),
        failed_calls=max(1, MAX_FAILURES - work.failed_calls),
        context=ask.run_around(work).terms.context.of(work.tier),
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


def said_to(job: Job, ask: Ask, work: Work) -> str:
    """Return all that people, the plan and earlier results say to a subtask: figures in it need no other source.

    Complaints about its own earlier results are left out, and what they quote with them: being told that a figure is
    wrong makes it no righter.
    """
    before = [one for one in job.asks if one.request.at <= ask.request.at]
    texts = [text for one in before for text in (one.request.text, (one is not ask and one.run.answer) or "")]
    inner: Work | None = work
    while inner is not None:
        others = [ask.work[name].result for name in inner.subtask.after]
        texts += [inner.subtask.intent, inner.subtask.done_when, *(note.text for note in inner.answers)]
        texts += [line for result in others if result for line in result.evidence]
        given = ((result, text) for result in others if result for text in (result.summary, whole(result)))
        texts += [without(text, result.unsupported) for result, text in given]
        inner = ask.work.get(inner.within)
    return "\n\n".join(dict.fromkeys(text for text in texts if text))


@dataclass(frozen=True, slots=True)
class Provenance:
    """The sources of a brief.

    `words` are the texts that people wrote in the job. `has_derived_content` is True if the brief may also hold
    content that models or tools produced.
    """

    words: tuple[str, ...] = ()
    has_derived_content: bool = False


def provenance_of(job: Job, ask: Ask, work: Work) -> Provenance:
    """Say where the brief of a subtask comes from.

    People's words are the texts of this request and of the requests before it in the thread, without the names of
    attached files, and what people typed as answers to questions. A click on an answer that a model offered does not
    count as their words.

    The brief may hold derived content if the thread had an earlier request, the plan was revised, the brief was
    rewritten, the subtask is inside another one, builds on others, or has been attempted before.
    """
    asks = job.asks[: (job.place_of(ask.id) or 0) + 1]
    derived = work.subtask.after or work.brief or work.within or work.attempt > 1 or ask.revisions
    words = (*(_without_file_names(one) for one in asks), *_typed_answers(ask))
    return Provenance(words, has_derived_content=len(asks) > 1 or bool(derived))


def people_said(ask: Ask) -> tuple[str, ...]:
    """Return what people wrote in a request: its text without the names of files, and typed answers to questions."""
    return (_without_file_names(ask), *_typed_answers(ask))


def _without_file_names(ask: Ask) -> str:
    text = ask.request.text
    for file in ask.request.attachments:
        text = text.replace(file.name, " ")
    return text


def _typed_answers(ask: Ask) -> Iterator[str]:
    for said in (*ask.answered, *(one for work in ask.work.values() for one in work.answered)):
        if said.text not in said.question.options:
            yield said.text


def circumstances(at: float, setting: Setting | None) -> str:
    """Say when it is, who asks and where. `at` is seconds since the epoch; without a setting the time is in UTC.

    Models do not know the date. Without it "next Friday" and "latest" are guesses.
    """
    known = setting or Setting()
    local = datetime.fromtimestamp(at, UTC) + timedelta(seconds=known.offset)
    day = f"{DAYS[local.weekday()]} {local.day} {MONTHS[local.month - 1]} {local.year}"
    who, where = _one_line(known.requester), _one_line(known.channel)
    parts = (f"from {who}" if who else "", f"in {where}" if where else "")
    asked = " ".join(part for part in parts if part)
    return f"{day}, {local:%H:%M} {_one_line(known.zone) or 'UTC'}." + (
        f" {asked[0].upper()}{asked[1:]}." if asked else ""
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_NAME].strip()
