"""Applies corrections of a request under way, and edits of its own message.

Before there is a plan, the request is planned again. After that the planner may change the subtasks that have not
started (see `replan`). Specialists of running attempts read the correction before their next turn, and a result that
was made without it is sent back. Once all subtasks have ended, a correction becomes a request of its own.
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


def can_still_change(ask: RequestState) -> bool:
    """Return True while the work on a request can still change: its subtasks have not all ended."""
    return not ask.run.is_concluded and (ask.run.plan is None or ask.run.state != "synthesizing")


def may_correct(ask: RequestState) -> bool:
    """Return True if a correction of this request can still be applied."""
    return can_still_change(ask) and ask.correction_count < MAX_CORRECTIONS


def add_correction(ask: RequestState, message: str, words: str, at: float) -> tuple[RequestState, int, int]:
    """Add a correction to a request.

    `message` is the id of the correcting message: an edit or deletion of the message changes the correction.

    Returns:
        The request, the number of running subtasks that are told, and the number that wait for the planner's revision.
    """
    ask = replace(ask, correction_messages=(*ask.correction_messages, Correction(message, words)))
    return _apply_correction(ask, message, words, at)


def apply_edited_request(
    before: RequestState, ask: RequestState, edit_id: str, at: float
) -> tuple[RequestState, int, int]:
    """Apply an edit of a request's own message. Returns the same values as `add_correction`.

    `before` and `ask` are the request before and after the edit, and `edit_id` is a unique name for the edit.
    """
    tables = (one for one in ask.request.attachments if one not in before.request.attachments)
    changed = (f"\n\n{NEW_TABLE_HEADING.format(name=one.name)}\n{one.text.strip()}" for one in tables)
    return _apply_correction(ask, edit_id, f"{NEW_WORDING_HEADING} {ask.text}{''.join(changed)}", at)


def find_correction(ask: RequestState, message: str) -> Correction | None:
    """Return the correction that a message with that id makes to a request; None if it makes none."""
    return next((one for one in ask.correction_messages if one.message == message), None)


def reword_correction(
    ask: RequestState, old: Correction, new: Correction, edit_id: str, at: float
) -> tuple[RequestState, int, int]:
    """Apply an edit of a correction's message. Returns the same values as `add_correction`.

    `edit_id` is a unique name for the edit.
    """
    return _apply_correction(
        ask := replace_correction(ask, old, new), edit_id, f"{EDITED_CORRECTION_HEADING} {ask.text}", at
    )


def take_back_correction(
    ask: RequestState, old: Correction, deletion_id: str, at: float
) -> tuple[RequestState, int, int]:
    """Take back a correction whose message was deleted. Returns the same values as `add_correction`.

    `deletion_id` is a unique name for the deletion.
    """
    return _apply_correction(
        ask := replace_correction(ask, old, None), deletion_id, f"{WITHDRAWN_CORRECTION_HEADING} {ask.text}", at
    )


def replace_correction(ask: RequestState, old: Correction, new: Correction | None) -> RequestState:
    """Replace a correction by a new wording, or remove it (None), everywhere in the request's state."""
    text = new.text if new is not None else DELETED_CORRECTION_TEXT

    def replace_wording(words: str) -> str:
        return (
            text
            if words == old.text
            else words.replace(f"{CORRECTIONS_HEADING} {old.text}", f"{CORRECTIONS_HEADING} {text}")
        )

    for work in ask.list_all_subtasks(""):
        notes = tuple(
            note.model_copy(update={"text": replace_wording(note.text)}) if note.source == CORRECTION_SOURCE else note
            for note in work.answers
        )
        if notes != work.answers:
            ask = ask.with_subtask(replace(ask.work[work.subtask.id], answers=notes))
    messages = (new if one.message == old.message else one for one in ask.correction_messages)
    return replace(
        ask,
        correction_messages=tuple(one for one in messages if one is not None),
        changes=tuple(map(replace_wording, ask.changes)),
        decisions=tuple(
            dataclasses.replace(one, why=replace_wording(one.why)) if one.what == CORRECTED_DECISION else one
            for one in ask.decisions
        ),
        replans=tuple(dataclasses.replace(one, words=replace_wording(one.words)) for one in ask.replans),
    )


def _apply_correction(ask: RequestState, change_id: str, words: str, at: float) -> tuple[RequestState, int, int]:
    ask = replace(ask, changes=(*ask.changes, words))
    ask = ask.with_decision(at, "", CORRECTED_DECISION, words)
    if ask.run.plan is None:
        return ask, 0, 0
    note, told = Note(source=CORRECTION_SOURCE, text=words), 0
    for work in ask.list_all_subtasks(""):
        if work.state not in SETTLED_STATES:  # a subtask that waits for the planner is told as well
            crew = work.run is not None
            now = replace(ask.work[work.subtask.id], answers=(*work.answers, note))
            ask, told = ask.with_subtask(now), told + (work.state == "in_progress" and not crew)
    waits = 0
    for within in replan.list_followed_plans(ask):
        if free := len(replan.list_unstarted_subtasks(ask, within)):
            trigger = ReplanTrigger(f"{change_id}{within}", words[: replan.MAX_TRIGGER_LENGTH], "correction", within)
            ask, waits = replan.add_trigger(ask, trigger), waits + free
    return ask, told, waits
