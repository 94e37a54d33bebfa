"""Applies corrections of a request under way, and edits of its own message.

Before there is a plan, the request is planned again. After that the planner may change the subtasks that have not
started (see `replan`). Specialists of running attempts read the correction before their next turn, and a result that
was made without it is sent back. Once all subtasks have ended, a correction becomes a request of its own.
"""

from __future__ import annotations

import dataclasses

from handoff.contracts import Note
from handoff.engine import replan
from handoff.state.job_state import CORRECTIONS_HEADING, SETTLED, RequestState, replace
from handoff.state.state_values import Correction, ReplanTrigger

MOST = 5
"""The most corrections of one request. A further one becomes a request of its own."""
SAID = "Said by the requester since"
CORRECTED = "corrected by the requester"
NEW_WORDING = "The request was edited. It now reads:"
NEW_TABLE = "This is the table {name} now, in place of the one that was attached:"
CHANGED_CORRECTION = "A correction of the request was edited. The request now reads:"
TAKEN_BACK = "A correction of the request was taken back. The request now reads:"
DELETED = "(This correction was deleted.)"


def is_open(ask: RequestState) -> bool:
    """Return True while the work on a request can still change: its subtasks have not all ended."""
    return not ask.run.is_concluded and (ask.run.plan is None or ask.run.state != "synthesizing")


def may_correct(ask: RequestState) -> bool:
    """Return True if a correction of this request can still be applied."""
    return is_open(ask) and ask.corrections < MOST


def add_correction(ask: RequestState, message: str, words: str, at: float) -> tuple[RequestState, int, int]:
    """Add a correction to a request.

    `message` is the id of the correcting message: an edit or deletion of the message changes the correction.

    Returns:
        The request, the number of running subtasks that are told, and the number that wait for the planner's revision.
    """
    ask = replace(ask, correction_messages=(*ask.correction_messages, Correction(message, words)))
    return _apply_correction(ask, message, words, at)


def apply_edit(before: RequestState, ask: RequestState, name: str, at: float) -> tuple[RequestState, int, int]:
    """Apply an edit of a request's own message. Returns the same values as `add_correction`.

    `before` and `ask` are the request before and after the edit, and `name` is a unique name for the edit.
    """
    tables = (one for one in ask.request.attachments if one not in before.request.attachments)
    changed = (f"\n\n{NEW_TABLE.format(name=one.name)}\n{one.text.strip()}" for one in tables)
    return _apply_correction(ask, name, f"{NEW_WORDING} {ask.text}{''.join(changed)}", at)


def find_correction(ask: RequestState, message: str) -> Correction | None:
    """Return the correction that a message with that id makes to a request; None if it makes none."""
    return next((one for one in ask.correction_messages if one.message == message), None)


def reword_correction(
    ask: RequestState, old: Correction, new: Correction, name: str, at: float
) -> tuple[RequestState, int, int]:
    """Apply an edit of a correction's message. Returns the same values as `add_correction`.

    `name` is a unique name for the edit.
    """
    return _apply_correction(ask := replace_correction(ask, old, new), name, f"{CHANGED_CORRECTION} {ask.text}", at)


def take_back_correction(ask: RequestState, old: Correction, name: str, at: float) -> tuple[RequestState, int, int]:
    """Take back a correction whose message was deleted. Returns the same values as `add_correction`.

    `name` is a unique name for the deletion.
    """
    return _apply_correction(ask := replace_correction(ask, old, None), name, f"{TAKEN_BACK} {ask.text}", at)


def replace_correction(ask: RequestState, old: Correction, new: Correction | None) -> RequestState:
    """Replace a correction by a new wording, or remove it (None), everywhere in the request's state."""
    text = new.text if new is not None else DELETED

    def reads_now(words: str) -> str:
        return (
            text
            if words == old.text
            else words.replace(f"{CORRECTIONS_HEADING} {old.text}", f"{CORRECTIONS_HEADING} {text}")
        )

    for work in ask.list_all_subtasks(""):
        notes = tuple(
            note.model_copy(update={"text": reads_now(note.text)}) if note.source == SAID else note
            for note in work.answers
        )
        if notes != work.answers:
            ask = ask.with_work(replace(ask.work[work.subtask.id], answers=notes))
    messages = (new if one.message == old.message else one for one in ask.correction_messages)
    return replace(
        ask,
        correction_messages=tuple(one for one in messages if one is not None),
        changes=tuple(map(reads_now, ask.changes)),
        decisions=tuple(
            dataclasses.replace(one, why=reads_now(one.why)) if one.what == CORRECTED else one for one in ask.decisions
        ),
        replans=tuple(dataclasses.replace(one, words=reads_now(one.words)) for one in ask.replans),
    )


def _apply_correction(ask: RequestState, name: str, words: str, at: float) -> tuple[RequestState, int, int]:
    ask = replace(ask, changes=(*ask.changes, words))
    ask = ask.with_decision(at, "", CORRECTED, words)
    if ask.run.plan is None:
        return ask, 0, 0
    note, told = Note(source=SAID, text=words), 0
    for work in ask.list_all_subtasks(""):
        if work.state not in SETTLED:  # a subtask that waits for the planner is told as well
            crew = work.run is not None
            now = replace(ask.work[work.subtask.id], answers=(*work.answers, note))
            ask, told = ask.with_work(now), told + (work.state == "in_progress" and not crew)
    waits = 0
    for within in replan.list_followed_plans(ask):
        if free := len(replan.list_not_started(ask, within)):
            trigger = ReplanTrigger(f"{name}{within}", words[: replan.LONGEST], "correction", within)
            ask, waits = replan.add_trigger(ask, trigger), waits + free
    return ask, told, waits
