"""Builds the handoff of a subtask from the state of the job: its brief, context and files.

It also renders the circumstances of a request: the local date and time, the requester and the channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from handoff.answering.findings import is_graded, rank_by_severity
from handoff.answering.result_text import render_finding, render_result
from handoff.answering.written_figures import remove_figures
from handoff.contracts import Artifact, Constraints, Handoff, Material, Note, PackedSize, RequestSetting, Section
from handoff.conversation.working_time import format_date
from handoff.engine.crew_runs import list_earlier_writes
from handoff.engine.ladder import MAX_FAILURES, compute_attempt_seconds
from handoff.materials.material_lists import AUTHOR_PREFIX, NeededMaterial, find_needed_material, make_result_material
from handoff.materials.outline import describe_columns, summarize_outline
from handoff.materials.passages import make_excerpt
from handoff.state.job_state import Job, RequestState, SubtaskState
from handoff.text.capitalization import capitalize_first
from handoff.text.context_budget import Piece, fill_budget, make_beginnings

BRIEF_SHARE = 0.5
"""The share of a tier's context that a brief may take. The rest is for the work itself."""
FAILURE_SOURCE = "An earlier attempt failed"
EARLIER_RESULT_SOURCE = "Your earlier result"
NOTE_WEIGHT = 3_000
"""The weight of the task, answers and notes when the brief is filled: higher than `RESULT_WEIGHT` plus a confidence."""
MAX_REQUEST_LINE_LENGTH = 160
"""The most characters of the line with the whole request in a specialist's brief."""
MAX_COLUMNS_LENGTH = 600
"""The most characters of a table's column names."""
MAX_REJECTED_LENGTH = 6_000
"""The most characters of an earlier result that the brief of its correction contains."""
MAX_NAME_LENGTH = 60
"""The most characters of a person's or channel's name in a prompt, since people choose these names."""
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def make_handoff(
    job: Job, request: RequestState, subtask: SubtaskState, now: float, texts: Mapping[str, str] = MappingProxyType({})
) -> tuple[Handoff, PackedSize]:
    """Return the handoff of a subtask, and its size. The specialist gets nothing else.

    Args:
        job: The job.
        request: The request.
        subtask: The subtask.
        now: The time at which the attempt begins. An attempt that has begun keeps its own time.
        texts: The texts of the material that `list_needed_texts` names, by digest.
    """
    intent = subtask.brief_text
    others = [other for name in subtask.spec.after if not (other := request.subtasks[name]).is_dropped]
    fixed_notes = [
        *request.answer_notes,
        *subtask.answer_notes,
        *_make_replacement_notes(request, subtask),
        *_make_failure_notes(subtask),
        *_make_rejection_notes(subtask),
        *_make_write_notes(request, subtask),
    ]
    others += [other for other in _list_outer_dependencies(request, subtask) if other not in others]
    needed_material = find_needed_material(job, request, subtask)
    material = [one for one in needed_material.brief_material if _belongs_in_brief(one, request, intent)]
    pieces = [
        Piece("the task", make_beginnings(intent) if _is_request(request, intent) else (intent,), weight=NOTE_WEIGHT),
        *(_make_note_piece(note) for note in fixed_notes),
        *(make_result_piece(other, intent) for other in others),
        *(make_material_piece(one, texts.get(one.text, ""), intent, place) for place, one in enumerate(material)),
    ]
    packed_texts = fill_budget(
        pieces, int(request.find_enclosing_run(subtask).terms.context.get_tokens(subtask.tier) * BRIEF_SHARE)
    )
    ends = (1, 1 + len(fixed_notes), 1 + len(fixed_notes) + len(others))
    note_texts, results, material_texts = (
        packed_texts.texts[1 : ends[1]],
        packed_texts.texts[ends[1] : ends[2]],
        packed_texts.texts[ends[2] :],
    )
    notes = [Note(source=other.spec.title, text=text) for other, text in zip(others, results, strict=True)]
    whole = [text == piece.forms[0] for piece, text in zip(pieces, packed_texts.texts, strict=True)]
    cut_short = (other for other, each in zip(others, whole[ends[1] :], strict=False) if not each)
    whole_by_name = dict(zip((one.name for one in material), whole[ends[2] :], strict=True))
    handoff = Handoff(
        to_agent=subtask.specialist,
        intent=packed_texts.texts[0],
        part_of=_shorten_request(request.text, intent),
        circumstances=render_circumstances(
            subtask.attempt_started if subtask.state == "in_progress" else now, request.setting
        ),
        context=(
            *notes,
            *(Note(source=note.source, text=text) for note, text in zip(fixed_notes, note_texts, strict=True)),
        ),
        given=tuple(_make_material_note(one, text) for one, text in zip(material, material_texts, strict=True)),
        given_whole=tuple(one for one in material if whole_by_name[one.name]),
        readable=(
            *_list_readable_material(needed_material, whole_by_name, is_whole_task=whole[0]),
            *filter(None, map(make_result_material, cut_short)),
        ),
        artifacts=_list_needed_files(job, request, subtask, needed_material),
        constraints=_make_constraints(request, subtask),
    )
    return handoff, packed_texts.size


def list_needed_texts(job: Job, request: RequestState, subtask: SubtaskState) -> tuple[str, ...]:
    """Return the digests of the texts that the handoff of a subtask contains, which the caller has to load."""
    brief_material = find_needed_material(job, request, subtask).brief_material
    return tuple(
        dict.fromkeys(one.text for one in brief_material if _belongs_in_brief(one, request, subtask.brief_text))
    )


def _belongs_in_brief(material: Material, request: RequestState, intent: str) -> bool:
    """Return True if the text of a material goes into the brief.

    Attached tables do not, since tools read them; nor does the request if the brief already contains it.
    """
    if not material.text or (material.is_table and not material.is_small_paste):
        return False
    return material.kind != "request" or " ".join(request.text.split()) not in " ".join(intent.split())


def _is_request(request: RequestState, intent: str) -> bool:
    return " ".join(request.text.split()) == " ".join(intent.split())


def _make_material_note(material: Material, text: str) -> Note:
    by = f"{AUTHOR_PREFIX}{_fit_name_on_line(material.author)})" if material.author else ""
    return Note(source=material.name + by, text=text)


def _list_readable_material(
    needed_material: NeededMaterial, given_whole: Mapping[str, bool], *, is_whole_task: bool
) -> list[Material]:
    """Return the material that tools can read part by part: everything that the brief does not contain in full.

    `given_whole` has the names of the material in the brief: True if it is there in full, False if in part. If the
    brief contains its whole task (`is_whole_task`), the request is listed only if it is in `given_whole`.
    """
    remaining_material = [
        one for one in needed_material.all_material if one.text and not given_whole.get(one.name, False)
    ]
    return [one for one in remaining_material if one.kind != "request" or one.name in given_whole or not is_whole_task]


def _shorten_request(request: str, intent: str) -> str:
    """Return the request in one line of at most `MAX_REQUEST_LINE_LENGTH` characters; empty if the brief is it."""
    line = " ".join(request.split())
    if line == " ".join(intent.split()):
        return ""
    return line if len(line) <= MAX_REQUEST_LINE_LENGTH else line[: MAX_REQUEST_LINE_LENGTH - 1] + "…"


def _make_note_piece(note: Note) -> Piece:
    """Return the piece of a note. Only notes about earlier failures and earlier results may be shortened."""
    forms = make_beginnings(note.text) if note.source in {FAILURE_SOURCE, EARLIER_RESULT_SOURCE} else (note.text,)
    return Piece(note.source, forms, weight=NOTE_WEIGHT)


def _make_replacement_notes(request: RequestState, subtask: SubtaskState) -> list[Note]:
    """Return notes on the subtask that `subtask` replaces: why it failed, and its best result that was not accepted."""
    replaced_subtask = request.subtasks.get(subtask.replaced_id)
    if replaced_subtask is None or not replaced_subtask.failures:
        return []
    notes = [
        Note(source=f"{replaced_subtask.spec.title}: tried before, and failed", text=replaced_subtask.failures[-1])
    ]
    if replaced_subtask.best_candidate is not None:
        text = replaced_subtask.best_candidate.result.content[:MAX_REJECTED_LENGTH]
        notes.append(Note(source=f"{replaced_subtask.spec.title}: what there was of it, not accepted", text=text))
    return notes


def _make_failure_notes(subtask: SubtaskState) -> list[Note]:
    """Return a note about the last failure of a subtask, so that the next attempt can avoid it; none without one."""
    return [Note(source=FAILURE_SOURCE, text=subtask.failures[-1])] if subtask.failures else []


def _make_constraints(request: RequestState, subtask: SubtaskState) -> Constraints:
    """Return the limits of an attempt: the seconds and failed calls that the subtask has left, and its context."""
    return Constraints(
        tier=subtask.tier or "balanced",
        timeout=compute_attempt_seconds(request, subtask),
        failed_calls=max(1, MAX_FAILURES - subtask.failed_call_count),
        context=request.find_enclosing_run(subtask).terms.context.get_tokens(subtask.tier),
    )


def _make_rejection_notes(subtask: SubtaskState) -> list[Note]:
    """Return notes with the last result that was sent back, and with its exact faults; none without such a result."""
    if subtask.rejected_candidate is None:
        return []
    faults = "\n".join(f"- {fault}" for fault in subtask.rejected_candidate.faults)
    return [
        Note(source=EARLIER_RESULT_SOURCE, text=subtask.rejected_candidate.result.content[:MAX_REJECTED_LENGTH]),
        Note(source="What is wrong with it: mend exactly this and hand in the whole again", text=faults),
    ]


def _list_outer_dependencies(request: RequestState, subtask: SubtaskState) -> list[SubtaskState]:
    """Return the subtasks that the enclosing subtasks build on. The crew's plan was made from their results as well."""
    outer = request.subtasks.get(subtask.within)
    return (
        []
        if outer is None
        else [*(request.subtasks[name] for name in outer.spec.after), *_list_outer_dependencies(request, outer)]
    )


def _make_write_notes(request: RequestState, subtask: SubtaskState) -> list[Note]:
    """Return a note about writing calls that earlier attempts made or may have made, so that they are not repeated."""
    writes = list_earlier_writes(request, subtask)
    if not writes:
        return []
    phrases = {True: "carried out", False: "may have been carried out"}
    lines = [f"- {phrases[one.is_confirmed]}: {one.what}" for one in writes]
    return [Note(source="Already begun in an earlier attempt (do not do it again)", text="\n".join(lines))]


def _list_needed_files(
    job: Job, request: RequestState, subtask: SubtaskState, needed_material: NeededMaterial
) -> tuple[Artifact, ...]:
    """Return the files that a subtask needs, oldest first, and those that its dependencies made."""
    intent = subtask.brief_text.casefold()
    brief_names = {one.name for one in needed_material.brief_material}
    mentioned_names = {
        one.name for one in needed_material.deferred_material if one.file is not None and one.name.casefold() in intent
    }
    there = {
        one.file.id: _make_described_file(one)
        for one in needed_material.all_material
        if one.file is not None and one.name in brief_names | mentioned_names
    }
    order = [one.file.id for earlier in job.requests if there for one in earlier.materials if one.file is not None]
    files = {name: there[name] for name in (*order, *there) if name in there}
    files |= {one.id: one for material in needed_material.brief_material for one in material.pictures}
    for other in (
        *(request.subtasks[name] for name in subtask.spec.after),
        *_list_outer_dependencies(request, subtask),
    ):
        result = other.result
        files.update({artifact.id: artifact for artifact in (result.artifacts if result else ())})
    return tuple(files.values())


def _make_described_file(material: Material) -> Artifact:
    """Return the file of a material with a description: a table's columns, notes on reading, or "cannot be read"."""
    file = material.file or Artifact(id="", name=material.name)
    table = describe_columns(material, MAX_COLUMNS_LENGTH) if material.is_table else ""
    about = "; ".join(filter(None, (file.about, table, *material.notes, material.fault and "cannot be read")))
    return file.model_copy(update={"name": material.name, "about": about})


def join_earlier_requests(job: Job, request: RequestState) -> str:
    """Return the texts and answers of the earlier requests of a thread, as one text."""
    texts = [text for one in job.list_earlier_requests(request) for text in (one.text, one.run.answer or "")]
    return "\n\n".join(dict.fromkeys(text for text in texts if text))


def join_subtask_sources(request: RequestState, subtask: SubtaskState) -> str:
    """Return all that people, the plan and dependencies tell a subtask, as one text: figures in it count as known.

    Faults of the subtask's own earlier results are left out, since they quote wrong figures.
    """
    texts = [request.text]
    inner: SubtaskState | None = subtask
    while inner is not None:
        others = [request.subtasks[name].result for name in inner.spec.after]
        texts += [inner.spec.intent, inner.spec.done_when, *(note.text for note in inner.answer_notes)]
        texts += [line for result in others if result for line in result.evidence]
        result_texts = (
            (result, text) for result in others if result for text in (result.summary, render_result(result))
        )
        texts += [remove_figures(text, result.unsupported) for result, text in result_texts]
        inner = request.subtasks.get(inner.within)
    return "\n\n".join(dict.fromkeys(text for text in texts if text))


def render_circumstances(at: float, setting: RequestSetting | None) -> str:
    """Render the local date and time, the requester and the channel as one line for prompts.

    Without the line, a model can only guess the date of "next Friday". `at` is seconds since the epoch. Without a
    `setting` the time is in UTC.
    """
    request_setting = setting or RequestSetting()
    local = datetime.fromtimestamp(at, UTC) + timedelta(seconds=request_setting.offset)
    day = f"{WEEKDAYS[local.weekday()]} {format_date(at, request_setting.offset)}"
    who, where = _fit_name_on_line(request_setting.requester), _fit_name_on_line(request_setting.channel)
    parts = (f"from {who}" if who else "", f"in {where}" if where else "")
    origin = " ".join(part for part in parts if part)
    return f"{day}, {local:%H:%M} {_fit_name_on_line(request_setting.zone) or 'UTC'}." + (
        f" {capitalize_first(origin)}." if origin else ""
    )


def _fit_name_on_line(text: str) -> str:
    return " ".join(text.split())[:MAX_NAME_LENGTH].strip()


RESULT_WEIGHT, MATERIAL_WEIGHT = 2_000, 1_000
"""The weights of pieces when the brief is filled: pieces with a lower weight are shortened first.

`RESULT_WEIGHT` is for results, and the confidence is added. `MATERIAL_WEIGHT` is for materials, and the index among the
needs is subtracted.
"""
SHORTEST_FORM_LENGTH = 300
"""The characters of a result's summary, and of an outline, that remain if nothing longer fits."""
MISSING_TEXT_NOTE = "(its text is no longer kept)"


def make_result_piece(dependency: SubtaskState, brief: str) -> Piece:
    """Return the piece of a dependency's result: the whole content, or the summary and the passages closest to `brief`.

    Results with a lower confidence are shortened first. Graded findings are listed with their confidence, so that the
    specialist can check those that are unsure.
    """
    title, result = dependency.spec.title, dependency.result
    if result is None:
        return Piece(
            title, (f"(not available: {dependency.reason}. Work without it, and say what is missing.)",), RESULT_WEIGHT
        )
    graded_lines = [
        f"{render_finding(one)} (sure: {one.confidence})"
        for one in sorted(result.findings, key=rank_by_severity)
        if is_graded(one)
    ]
    text, summary = "\n".join([render_result(result, skip_graded=True), *graded_lines]), result.summary
    forms = [text, *(form for form in (summary, summary[:SHORTEST_FORM_LENGTH]) if len(form) < len(text))]
    ordered_forms = tuple(dict.fromkeys(sorted(forms, key=len, reverse=True)))

    def render_part(limit: int) -> str:
        return f"{summary}\n\n{make_excerpt(text, (), brief, limit - len(summary) - 2)}" if limit > len(summary) else ""

    return Piece(title, ordered_forms, RESULT_WEIGHT + result.confidence, render_part)


def make_material_piece(material: Material, text: str, brief: str, need_index: int) -> Piece:
    """Return the piece of one material: the whole text, or the outline and the passages closest to `brief`.

    `need_index` is the index of the material among the needs: a later one is shortened first.
    """
    if not text:
        return Piece(material.name, (MISSING_TEXT_NOTE,), MATERIAL_WEIGHT)
    outline = summarize_outline(material, SHORTEST_FORM_LENGTH)
    least = f"({outline})" if outline else ""
    sections: tuple[Section, ...] = material.outline
    newest = material.kind == "thread"

    def render_part(limit: int) -> str:
        long = summarize_outline(material, max(SHORTEST_FORM_LENGTH, limit // 5))
        head = f"({long})\n" if long else ""
        return (
            head + make_excerpt(text, sections, brief, limit - len(head), prefer_newest=newest)
            if limit > len(head)
            else ""
        )

    forms = (text, least) if len(least) < len(text) else (text,)
    return Piece(material.name, forms, MATERIAL_WEIGHT - need_index, render_part)
