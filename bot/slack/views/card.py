"""Renders the plan card: one message per request, which is edited in place, with a row for each subtask."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.argument_blocks import people_line
from bot.slack.views.outgoing import (
    Block,
    Outgoing,
    actions,
    button,
    context,
    describe_minimum_duration,
    format_duration,
    rich_text,
)
from bot.slack.views.thread_read_note import describe_read, list_other_faults, thread_faults
from bot.slack.views.try_again import try_line
from bot.slack.views.waiting import render_waiting
from handoff.approval_values import Approval
from handoff.engine.answer import gaps
from handoff.engine.nested import find_enclosing_plan
from handoff.engine.replan import current_trigger, is_held_back
from handoff.engine.returned_results import MAX_ROUNDS
from handoff.planning.adhoc import find_made_specialist
from handoff.state.job_state import SETTLED, Job, RequestState, SubtaskState
from handoff.state.state_values import Question, RecoveryStep
from handoff.summaries import summary

MAX_LINE = 500
LOOKING = "a second look at the plan"
"""In a row: what the subtask waits for while the planner looks at the plan again."""


def row_words(work: SubtaskState) -> list[str]:
    """Return what was changed in a row, and why; [] for a skipped subtask, which shows its reason already."""
    return [work.changed] if work.changed and work.state != "skipped" else []


def changes_line(ask: RequestState) -> str:
    """Return all changes of the plan as one line of plain text; "" if there are none."""
    changed = [
        f"{plain(work.subtask.title, 60)} ({work.changed.rstrip('.')})" for work in ask.work.values() if work.changed
    ]
    return plain("Plan changed: " + "; ".join(changed), MAX_LINE) if changed else ""


def _list_needless(ask: RequestState) -> list[SubtaskState]:
    """List the subtasks that an ended request left out as not needed. They get no rows, which would look unfinished."""
    works = summary.rows(ask) if _is_over(ask) else ()
    return [work for work in works if work.dropped and not work.failures]


MAX_ROWS = 40
MAX_BYTES = 9_500
"""Slack refuses a message with cards at about 10.6 KB."""
STOP = "stop"
"""The action_id of the card's Stop button."""

RowStatus = Literal["pending", "in_progress", "complete", "error"]
"""Slack's statuses of a row. There is none for a subtask that was stopped, not needed, or done in part: it is shown as
pending, an open circle, and its details say which."""
_RUNGS: dict[RecoveryStep, str] = {
    "refine": "with a clearer brief",
    "stronger": "with a stronger model",
    "fallback": "someone else steps in",
    "ask": "with your answer",
    "replan": "planned again",
}
"""Words for a new attempt that differs from the last one."""


def plan_card(job: Job, ask: RequestState, now: float, *, stop: bool = True) -> Outgoing:
    """Render the card at the time `now` (seconds since the epoch).

    `stop`: add a Stop button. The card needs none while Slack shows its own in the thread.
    """
    title = card_title(ask, now, quarantined=job.quarantine is not None)
    if ask.run.plan is None and ask.run.answer is not None:  # there was nothing to plan
        return Outgoing(text=clean(title), blocks=(context(clean(title)),), priority="card")
    left = {work.subtask.id for work in _list_needless(ask)}
    works = [work for work in summary.rows(ask) if work.subtask.id not in left]
    rows = [_draw_row(ask, work, now) for work in works] if ask.run.plan else _rows_before_a_plan(ask)
    # With one row, the card's title leaves out the goal: the row and the request above the card say it.
    head = title if len(rows) > 1 else plain(_describe_phase(ask, now, quarantined=job.quarantine is not None), 140)
    blocks: list[Block] = []
    for shown in (MAX_ROWS, 30, 20, 12, 6):
        plan = {"type": "plan", "title": head, "tasks": _fold_rows(rows, shown)}
        blocks = [plan, *try_line(ask), *_change_blocks(ask), *_footer_blocks(job, ask, stop=stop)]
        if len(json.dumps(blocks, ensure_ascii=False).encode()) <= MAX_BYTES:
            break
    return Outgoing(text=clean(title), blocks=tuple(blocks), priority="card")


def card_title(ask: RequestState, now: float, *, quarantined: bool = False) -> str:
    """Return the phase and the goal of a request, as one line of plain text. `quarantined`: its job is quarantined."""
    plan = ask.run.plan or (ask.before.run.plan if ask.before is not None else None)
    goal = plan.goal if plan else "" if ask.withdrawn else ask.text
    phase = _describe_phase(ask, now, quarantined=quarantined)
    return plain(f"{phase}: {goal}" if goal.strip() else phase, 140)


def _describe_phase(ask: RequestState, now: float, *, quarantined: bool) -> str:
    took = format_duration((ask.run.written or ask.ended or now) - ask.request.at)
    phase = "Planning again…" if ask.run.rejections else "Planning…" if ask.before is None else "Taking it up again…"
    if _is_over(ask):
        phase = f"{_describe_end(ask)} {took}"
    elif quarantined:
        phase = "Set aside"
    elif ask.state == "synthesizing":
        phase = "Writing the answer"
    elif ask.state == "input_required":
        asked = ask.open_questions.values()
        wanted = {_name_approval(one.approval) if one.approval is not None else "an answer" for one in asked}
        phase = f"Waiting for {wanted.pop() if len(wanted) == 1 else 'an answer'}"
    elif current_trigger(ask) is not None:
        phase = "Taking a second look at the plan"
    elif ask.run.plan is not None:
        phase = _describe_progress(ask)
    elif not ask.gathered and ask.request.look_back == "thread":
        phase = "Reading the thread"
    elif not ask.gathered and ask.request.look_back != "files":  # of files alone, there may turn out to be none
        phase = "Fetching the files" if ask.request.attachments else "Looking at what it names"
    return phase


def _describe_end(ask: RequestState) -> str:
    """Return how the request ended, in words to be followed by its duration."""
    if ask.cancelled_by:
        return "Stopped after"
    if ask.run.failure is not None:
        return "Failed after"
    done = "Replied" if ask.run.plan is None else "Done"
    return f"{done} in part in" if gaps(ask, ask.run) else f"{done} in"


def _describe_progress(ask: RequestState) -> str:
    """Return in words how much of the plan is done."""
    works = [work for work in ask.list_subtasks("") if not work.dropped]
    if len(works) == 1:  # a crew may work on the whole request: count its own subtasks
        works = [work for work in ask.list_subtasks(works[0].subtask.id) if not work.dropped] or works
    done = sum(_row_status(ask, work) == "complete" for work in works)
    phase = f"Working, {done} of {len(works)} done" if len(works) > 1 else "Working"
    return f"{phase}, plan changed" if any(work.changed for work in ask.work.values()) else phase


def _rows_before_a_plan(ask: RequestState) -> list[Block]:
    over = _is_over(ask)
    rows = [*_file_rows(ask), *_thread_rows(ask)]
    status: RowStatus = "in_progress" if ask.gathered or not rows else "pending"
    if over:
        status = "pending" if ask.cancelled_by else "error"
    details = "the first plan had faults" if ask.run.rejections else ""
    whom = None if over else summary.list_awaited_people(ask)
    title = "Make a plan" if ask.before is None else "Take it up again"
    rows.append(_task_block("plan", title, status, details, whom))
    return rows


def _file_rows(ask: RequestState) -> Iterable[Block]:
    count = len(ask.request.attachments)
    if not count:
        return
    faults = [fault for fault in ask.file_faults if fault not in {*thread_faults(ask), *list_other_faults(ask)}]
    status: RowStatus = "pending" if _is_over(ask) else "in_progress"
    if ask.gathered:
        status = "error" if faults else "complete"
    files = "the attached file" if count == 1 else f"{count} attached files"
    yield _task_block("files", f"Fetch {files}", status, " ".join(faults))


def _thread_rows(ask: RequestState) -> Iterable[Block]:
    """Yield the row about reading the thread or the channels, unless there was nothing to read."""
    words, faults = describe_read(ask), thread_faults(ask)
    channels = [one.name for one in ask.materials if one.is_channel_talk]
    title = f"Read {clean(', '.join(channels))}" if channels else "Read the thread"
    if not ask.gathered and ask.request.look_back == "thread":
        yield _task_block("thread", "Read the thread", "pending" if _is_over(ask) else "in_progress", "")
    elif words or faults:
        yield _task_block("thread", title, "error" if faults else "complete", words or " ".join(faults))


def _draw_row(ask: RequestState, work: SubtaskState, now: float) -> Block:
    details = " · ".join((*_iterate_details(ask, work, now), *row_words(work)))
    question = work.question if work.state == "input_required" and not _is_over(ask) else None
    if question is not None and question.approval is not None:
        row = _task_block(work.subtask.id, summary.title_of(ask, work), _row_status(ask, work), "")
        return {**row, "details": _render_approval_wait(plain(details, 100), question)}
    asks = work.state == "input_required" and not _is_over(ask)
    whom = summary.list_awaited_people(ask, work.subtask.id) if asks else None
    return _task_block(work.subtask.id, summary.title_of(ask, work), _row_status(ask, work), details, whom)


def _render_approval_wait(details: str, question: Question) -> Block:
    approval = question.approval
    needed = approval.terms.quorum if approval is not None else 1
    so_far = f" ({len(question.votes)} of {needed} so far)" if needed > 1 else ""
    wanted = _name_approval(approval) if approval is not None else "approval"
    return people_line(f"{details} · Waiting for {wanted} by ", question.whom, so_far)


def _name_approval(approval: Approval) -> str:
    return "a sign-in" if approval.kind == "sign_in" else "approval"


def _row_status(ask: RequestState, work: SubtaskState) -> RowStatus:
    if work.state == "complete":
        return "complete" if not list_missing(ask, work) else "pending" if has_content(work) else "error"
    if work.state in {"error", "skipped"}:
        return "pending" if work.dropped and not work.failures else "error"
    return "pending" if work.state == "pending" or _is_over(ask) else "in_progress"


def has_content(work: SubtaskState) -> bool:
    """Return True if the subtask has a result that people can use, at least in part."""
    result = work.result
    if result is None:
        return False
    only_said = bool(result.summary.strip()) and not result.gaps
    return bool(result.content.strip() or result.artifacts or result.findings or only_said)


def list_missing(ask: RequestState, work: SubtaskState) -> tuple[str, ...]:
    """Return what the result of an ended subtask lacks. For a plan's only subtask, return the answer's gaps."""
    if not has_content(work):
        return work.result.gaps if work.result is not None and work.result.gaps else ("it brought nothing",)
    alone = [one.subtask.id for one in ask.list_subtasks("") if not one.dropped] == [work.subtask.id]
    return gaps(ask, ask.run) if alone else work.result.gaps if work.result is not None else ()


def _is_over(ask: RequestState) -> bool:
    return ask.run.failure is not None or ask.run.answer is not None


def _iterate_details(ask: RequestState, work: SubtaskState, now: float) -> Iterable[str]:
    yield describe_worker(ask, work)
    if parts := summary.parts_words(ask, work):
        yield parts
    open_ended = not _is_over(ask)
    if work.state == "in_progress" and open_ended:
        yield from _describe_attempt(work)
        yield from [words] if (words := describe_minimum_duration(now - (work.started or now))) else []
    elif work.state == "input_required" and open_ended:
        return  # the end of the row names the people that it waits for
    elif work.state == "pending" and open_ended:
        yield from _describe_waits(ask, work)
    elif work.state == "complete":
        yield from ["kept"] if work.kept else [format_duration(work.duration)]
        if missing := list_missing(ask, work):
            yield f"in part: {missing[0]}" if has_content(work) else missing[0]
    elif work.state == "skipped":
        yield work.reason if work.dropped else f"skipped, {work.reason}"
    elif work.state == "error":
        yield work.reason or "failed"
    else:
        yield "stopped" if work.state != "pending" else "not started"


def describe_worker(ask: RequestState, work: SubtaskState) -> str:
    """Return the name of the specialist, with a note if it was made for this job."""
    made = find_made_specialist(find_enclosing_plan(ask, work), work.specialist)
    return f"{work.specialist} (made for this job)" if made else work.specialist


def _describe_waits(ask: RequestState, work: SubtaskState) -> Iterable[str]:
    waits = [ask.work[name].subtask.title for name in work.subtask.after if ask.work[name].state not in SETTLED]
    if is_held_back(ask, work):
        yield f"waits for {LOOKING}"
    elif waits:
        yield "waits for " + ", ".join(waits)
    elif work.refining:
        yield "its brief is being rewritten"
    elif work.wanting is not None or work.failures:
        yield _describe_retry(work)


def _describe_attempt(work: SubtaskState) -> Iterable[str]:
    if work.attempt > 1:
        yield _describe_retry(work)


def _describe_retry(work: SubtaskState) -> str:
    """Return the number of the attempt or round, with how it differs from the one before."""
    if work.wanting is not None:
        return f"fixing it, round {work.rounds + 1} of {MAX_ROUNDS}"
    words = _RUNGS.get(work.rungs[-1], "") if work.rungs else ""
    return f"attempt {max(work.attempt, len(work.failures) + 1)}" + (f", {words}" if words else "")


def _task_block(
    task_id: str, title: str, status: RowStatus, details: str, whom: tuple[str, ...] | None = None
) -> Block:
    """Make one row. `whom` are the people and groups that it waits for; () is anybody in the thread, None nobody."""
    row: Block = {"type": "task_card", "task_id": plain(task_id, 100), "title": plain(title, 100), "status": status}
    words = plain(details, 140)
    if whom is not None:
        return {**row, "details": render_waiting(f"{words} · waits for " if words else "waits for ", whom)}
    return {**row, "details": rich_text(words)} if words.strip() else row


def _fold_rows(rows: list[Block], shown: int) -> list[Block]:
    """Keep at most `shown` rows, those under way or in error first. The last row counts the others."""
    if len(rows) <= shown:
        return rows
    order: tuple[RowStatus, ...] = ("in_progress", "error", "pending", "complete")
    ranked = sorted(range(len(rows)), key=lambda index: (order.index(rows[index]["status"]), index))
    kept = sorted(ranked[: shown - 1])
    rest = [rows[index]["status"] for index in ranked[shown - 1 :]]
    counts = {"complete": "done", "pending": "not done", "in_progress": "under way", "error": "failed"}
    told = ", ".join(f"{rest.count(status)} {word}" for status, word in counts.items() if status in rest)
    status: RowStatus = "complete" if set(rest) == {"complete"} else "pending"
    return [*(rows[index] for index in kept), _task_block("folded", f"And {len(rest)} more: {told}", status, "")]


def _change_blocks(ask: RequestState) -> list[Block]:
    left = [f"{plain(summary.title_of(ask, one), 60)} ({one.reason})" for one in _list_needless(ask) if not one.changed]
    needless = plain("Not needed: " + "; ".join(left), MAX_LINE) if left else ""
    return [context(clean(line)) for line in (changes_line(ask), needless) if line]


def _footer_blocks(job: Job, ask: RequestState, *, stop: bool) -> list[Block]:
    if ask.cancelled_by:
        deleted = "Withdrawn: the request was deleted"
        return [context(deleted if ask.withdrawn else f"Stopped by {mention(ask.cancelled_by)}")]
    if _is_over(ask) or not stop:
        return []
    value = json.dumps({"job": job.id, "request": ask.id})
    return [actions([button("Stop", STOP, value, style="danger")])]
