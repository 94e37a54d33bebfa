"""Applies corrections of a request under way, and edits of its own message.

Before there is a plan, the request is planned again. After that the planner may change the subtasks that have not
started. Specialists of running attempts read the correction before their next turn, and a result that was made without
the correction is sent back. Once all subtasks have ended, a correction becomes a request of its own.
"""

from __future__ import annotations

import dataclasses

from handoff.contracts import Note
from handoff.engine import replan
from handoff.state.job_state import CORRECTIONS_HEADING, SETTLED_STATES, RequestState, replace
from handoff.state.state_values import Correction, ReplanTrigger

MAX_CORRECTIONS = 5
"""The most corrections of one request. A further one becomes a request of its own."""
CORRECTION_SOURCE = "Said by the requester since"
CORRECTED_DECISION = "corrected by the requester"
NEW_WORDING_HEADING = "The request was edited. It now reads:"
NEW_TABLE_HEADING = "This is the table {name} now, in place of the one that was attached:"
EDITED_CORRECTION_HEADING = "A correction of the request was edited. The request now reads:"
WITHDRAWN_CORRECTION_HEADING = "A correction of the request was taken back. The request now reads:"
DELETED_CORRECTION_TEXT = "(This correction was deleted.)"


def is_still_changeable(request: RequestState) -> bool:
    """Return True while the work on a request can still change: it has no plan, or a subtask that has not ended."""
    return not request.run.is_concluded and (request.run.plan is None or request.run.state != "synthesizing")


def is_correctable(request: RequestState) -> bool:
    """Return True if one more correction can be applied: the request can change, and has fewer than the maximum."""
    return is_still_changeable(request) and request.correction_count < MAX_CORRECTIONS


def add_correction(request: RequestState, message: str, words: str, at: float) -> tuple[RequestState, int, int]:
    """Add a correction to a request.

    `message` is the id of the correcting message: an edit or deletion of the message changes the correction.

    Returns:
        The request, the number of running subtasks that are told, and the number that wait for the planner's revision.
    """
    request = replace(request, correction_messages=(*request.correction_messages, Correction(message, words)))
    return _apply_correction(request, message, words, at)


def apply_edited_request(
    before: RequestState, request: RequestState, edit_id: str, at: float
) -> tuple[RequestState, int, int]:
    """Apply an edit of a request's own message. Returns the same values as `add_correction`.

    `before` and `request` are the request before and after the edit, and `edit_id` is a unique name for the edit.
    """
    tables = (one for one in request.spec.attachments if one not in before.spec.attachments)
    table_texts = (f"\n\n{NEW_TABLE_HEADING.format(name=one.name)}\n{one.text.strip()}" for one in tables)
    return _apply_correction(request, edit_id, f"{NEW_WORDING_HEADING} {request.text}{''.join(table_texts)}", at)


def find_correction(request: RequestState, message: str) -> Correction | None:
    """Return the correction that a message with that id makes to a request; None if it makes none."""
    return next((one for one in request.correction_messages if one.message == message), None)


def reword_correction(
    request: RequestState, old: Correction, new: Correction, edit_id: str, at: float
) -> tuple[RequestState, int, int]:
    """Apply an edit of a correction's message. Returns the same values as `add_correction`.

    `edit_id` is a unique name for the edit.
    """
    return _apply_correction(
        request := replace_correction(request, old, new), edit_id, f"{EDITED_CORRECTION_HEADING} {request.text}", at
    )


def withdraw_correction(
    request: RequestState, old: Correction, deletion_id: str, at: float
) -> tuple[RequestState, int, int]:
    """Take back a correction whose message was deleted. Returns the same values as `add_correction`.

    `deletion_id` is a unique name for the deletion.
    """
    return _apply_correction(
        request := replace_correction(request, old, None),
        deletion_id,
        f"{WITHDRAWN_CORRECTION_HEADING} {request.text}",
        at,
    )


def replace_correction(request: RequestState, old: Correction, new: Correction | None) -> RequestState:
    """Replace a correction by a new wording, or remove it (None), everywhere in the request's state."""
    text = new.text if new is not None else DELETED_CORRECTION_TEXT

    def replace_wording(words: str) -> str:
        return (
            text
            if words == old.text
            else words.replace(f"{CORRECTIONS_HEADING} {old.text}", f"{CORRECTIONS_HEADING} {text}")
        )

    for subtask in request.list_all_subtasks(""):
        notes = tuple(
            note.model_copy(update={"text": replace_wording(note.text)}) if note.source == CORRECTION_SOURCE else note
            for note in subtask.answer_notes
        )
        if notes != subtask.answer_notes:
            request = request.with_subtask(replace(request.subtasks[subtask.spec.id], answer_notes=notes))
    messages = (new if one.message == old.message else one for one in request.correction_messages)
    return replace(
        request,
        correction_messages=tuple(one for one in messages if one is not None),
        correction_texts=tuple(map(replace_wording, request.correction_texts)),
        decisions=tuple(
            dataclasses.replace(one, why=replace_wording(one.why)) if one.what == CORRECTED_DECISION else one
            for one in request.decisions
        ),
        replan_triggers=tuple(
            dataclasses.replace(one, words=replace_wording(one.words)) for one in request.replan_triggers
        ),
    )


def _apply_correction(request: RequestState, change_id: str, words: str, at: float) -> tuple[RequestState, int, int]:
    request = replace(request, correction_texts=(*request.correction_texts, words))
    request = request.with_decision(at, "", CORRECTED_DECISION, words)
    if request.run.plan is None:
        return request, 0, 0
    note, told_count = Note(source=CORRECTION_SOURCE, text=words), 0
    for subtask in request.list_all_subtasks(""):
        if subtask.state not in SETTLED_STATES:  # a subtask that waits for the planner is told as well
            crew = subtask.run is not None
            now = replace(request.subtasks[subtask.spec.id], answer_notes=(*subtask.answer_notes, note))
            request, told_count = request.with_subtask(now), told_count + (subtask.state == "in_progress" and not crew)
    waiting_count = 0
    for within in replan.list_active_plan_ids(request):
        if free := len(replan.list_unstarted_subtasks(request, within)):
            trigger = ReplanTrigger(f"{change_id}{within}", words[: replan.MAX_TRIGGER_LENGTH], "correction", within)
            request, waiting_count = replan.add_trigger(request, trigger), waiting_count + free
    return request, told_count, waiting_count
