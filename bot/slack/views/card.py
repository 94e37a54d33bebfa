"""Renders the plan card: one message per request, which is edited in place, with a row for each subtask."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.argument_blocks import render_people_line
from bot.slack.views.outgoing import (
    Block,
    Outgoing,
    describe_minimum_duration,
    format_duration,
    make_actions,
    make_button,
    make_context,
    make_rich_text,
)
from bot.slack.views.thread_read_note import describe_read, list_other_faults, list_thread_faults
from bot.slack.views.try_again import render_try_line
from bot.slack.views.waiting import render_text_with_answerers
from handoff.approval_values import Approval
from handoff.engine.answer import list_answer_gaps
from handoff.engine.nested import find_enclosing_plan
from handoff.engine.replan import find_due_trigger, is_awaiting_revision
from handoff.engine.returned_results import MAX_FAULTY_RESULTS
from handoff.planning.adhoc import find_made_specialist
from handoff.state.job_state import SETTLED_STATES, Job, RequestState, SubtaskState
from handoff.state.state_values import Question, RecoveryStep
from handoff.summaries import summary

MAX_LINE = 500
REPLANNING_WORDS = "a second look at the plan"
"""In a row: what the subtask waits for while the planner looks at the plan again."""


def list_row_changes(work: SubtaskState) -> list[str]:
    """Return what was changed in a row, and why; [] for a skipped subtask, which shows its reason already."""
    return [work.changed] if work.changed and work.state != "skipped" else []


def render_changes_line(ask: RequestState) -> str:
    """Return all changes of the plan as one line of plain text; "" if there are none."""
    changed = [
        f"{to_plain_line(work.subtask.title, 60)} ({work.changed.rstrip('.')})"
        for work in ask.work.values()
        if work.changed
    ]
    return to_plain_line("Plan changed: " + "; ".join(changed), MAX_LINE) if changed else ""


def _list_unneeded_subtasks(ask: RequestState) -> list[SubtaskState]:
    """List the subtasks that an ended request left out as not needed. They get no rows, which would look unfinished."""
    works = summary.list_card_rows(ask) if _is_over(ask) else ()
    return [work for work in works if work.dropped and not work.failures]


MAX_ROWS = 40
MAX_BYTES = 9_500
"""Slack refuses a message with cards at about 10.6 KB."""
STOP_ACTION = "stop"
"""The action_id of the card's Stop button."""

RowStatus = Literal["pending", "in_progress", "complete", "error"]
"""Slack's statuses of a row. There is none for a subtask that was stopped, not needed, or done in part: it is shown as
pending, an open circle, and its details say which."""
_RECOVERY_WORDS: dict[RecoveryStep, str] = {
    "refine": "with a clearer brief",
    "stronger": "with a stronger model",
    "fallback": "someone else steps in",
    "ask": "with your answer",
    "replan": "planned again",
}
"""Words for a new attempt that differs from the last one."""


def render_plan_card(job: Job, ask: RequestState, now: float, *, with_stop: bool = True) -> Outgoing:
    """Render the card at the time `now` (seconds since the epoch).

    `with_stop`: add a Stop button. The card needs none while Slack shows its own in the thread.
    """
    title = render_card_title(ask, now, quarantined=job.quarantine is not None)
    if ask.run.plan is None and ask.run.answer is not None:  # there was nothing to plan
        return Outgoing(text=clean_mrkdwn(title), blocks=(make_context(clean_mrkdwn(title)),), priority="card")
    left = {work.subtask.id for work in _list_unneeded_subtasks(ask)}
    works = [work for work in summary.list_card_rows(ask) if work.subtask.id not in left]
    rows = [_render_row(ask, work, now) for work in works] if ask.run.plan else _list_rows_before_plan(ask)
    # With one row, the card's title leaves out the goal: the row and the request above the card say it.
    head = (
        title
        if len(rows) > 1
        else to_plain_line(_describe_phase(ask, now, quarantined=job.quarantine is not None), 140)
    )
    blocks: list[Block] = []
    for shown in (MAX_ROWS, 30, 20, 12, 6):
        plan = {"type": "plan", "title": head, "tasks": _fold_rows(rows, shown)}
        blocks = [plan, *render_try_line(ask), *_render_changes(ask), *_render_footer(job, ask, with_stop=with_stop)]
        if len(json.dumps(blocks, ensure_ascii=False).encode()) <= MAX_BYTES:
            break
    return Outgoing(text=clean_mrkdwn(title), blocks=tuple(blocks), priority="card")


def render_card_title(ask: RequestState, now: float, *, quarantined: bool = False) -> str:
    """Return the phase and the goal of a request, as one line of plain text. `quarantined`: its job is quarantined."""
    plan = ask.run.plan or (ask.before.run.plan if ask.before is not None else None)
    goal = plan.goal if plan else "" if ask.withdrawn else ask.text
    phase = _describe_phase(ask, now, quarantined=quarantined)
    return to_plain_line(f"{phase}: {goal}" if goal.strip() else phase, 140)


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
    elif find_due_trigger(ask) is not None:
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
    return f"{done} in part in" if list_answer_gaps(ask, ask.run) else f"{done} in"


def _describe_progress(ask: RequestState) -> str:
    """Return in words how much of the plan is done."""
    works = [work for work in ask.list_subtasks("") if not work.dropped]
    if len(works) == 1:  # a crew may work on the whole request: count its own subtasks
        works = [work for work in ask.list_subtasks(works[0].subtask.id) if not work.dropped] or works
    done = sum(_choose_row_status(ask, work) == "complete" for work in works)
    phase = f"Working, {done} of {len(works)} done" if len(works) > 1 else "Working"
    return f"{phase}, plan changed" if any(work.changed for work in ask.work.values()) else phase


def _list_rows_before_plan(ask: RequestState) -> list[Block]:
    over = _is_over(ask)
    rows = [*_file_rows(ask), *_iterate_thread_rows(ask)]
    status: RowStatus = "in_progress" if ask.gathered or not rows else "pending"
    if over:
        status = "pending" if ask.cancelled_by else "error"
    details = "the first plan had faults" if ask.run.rejections else ""
    whom = None if over else summary.list_awaited_people(ask)
    title = "Make a plan" if ask.before is None else "Take it up again"
    rows.append(_make_row("plan", title, status, details, whom))
    return rows


def _file_rows(ask: RequestState) -> Iterable[Block]:
    count = len(ask.request.attachments)
    if not count:
        return
    faults = [fault for fault in ask.file_faults if fault not in {*list_thread_faults(ask), *list_other_faults(ask)}]
    status: RowStatus = "pending" if _is_over(ask) else "in_progress"
    if ask.gathered:
        status = "error" if faults else "complete"
    files = "the attached file" if count == 1 else f"{count} attached files"
    yield _make_row("files", f"Fetch {files}", status, " ".join(faults))


def _iterate_thread_rows(ask: RequestState) -> Iterable[Block]:
    """Yield the row about reading the thread or the channels, unless there was nothing to read."""
    words, faults = describe_read(ask), list_thread_faults(ask)
    channels = [one.name for one in ask.materials if one.is_channel_history]
    title = f"Read {clean_mrkdwn(', '.join(channels))}" if channels else "Read the thread"
    if not ask.gathered and ask.request.look_back == "thread":
        yield _make_row("thread", "Read the thread", "pending" if _is_over(ask) else "in_progress", "")
    elif words or faults:
        yield _make_row("thread", title, "error" if faults else "complete", words or " ".join(faults))


def _render_row(ask: RequestState, work: SubtaskState, now: float) -> Block:
    details = " · ".join((*_iterate_row_details(ask, work, now), *list_row_changes(work)))
    question = work.question if work.state == "input_required" and not _is_over(ask) else None
    if question is not None and question.approval is not None:
        row = _make_row(work.subtask.id, summary.render_title(ask, work), _choose_row_status(ask, work), "")
        return {**row, "details": _render_approval_wait(to_plain_line(details, 100), question)}
    asks = work.state == "input_required" and not _is_over(ask)
    whom = summary.list_awaited_people(ask, work.subtask.id) if asks else None
    return _make_row(work.subtask.id, summary.render_title(ask, work), _choose_row_status(ask, work), details, whom)


def _render_approval_wait(details: str, question: Question) -> Block:
    approval = question.approval
    needed = approval.terms.quorum if approval is not None else 1
    so_far = f" ({len(question.votes)} of {needed} so far)" if needed > 1 else ""
    wanted = _name_approval(approval) if approval is not None else "approval"
    return render_people_line(f"{details} · Waiting for {wanted} by ", question.whom, so_far)


def _name_approval(approval: Approval) -> str:
    return "a sign-in" if approval.kind == "sign_in" else "approval"


def _choose_row_status(ask: RequestState, work: SubtaskState) -> RowStatus:
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
    return list_answer_gaps(ask, ask.run) if alone else work.result.gaps if work.result is not None else ()


def _is_over(ask: RequestState) -> bool:
    return ask.run.failure is not None or ask.run.answer is not None


def _iterate_row_details(ask: RequestState, work: SubtaskState, now: float) -> Iterable[str]:
    yield describe_worker(ask, work)
    if parts := summary.describe_parts(ask, work):
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
    waits = [ask.work[name].subtask.title for name in work.subtask.after if ask.work[name].state not in SETTLED_STATES]
    if is_awaiting_revision(ask, work):
        yield f"waits for {REPLANNING_WORDS}"
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
        return f"fixing it, round {work.rounds + 1} of {MAX_FAULTY_RESULTS}"
    words = _RECOVERY_WORDS.get(work.rungs[-1], "") if work.rungs else ""
    return f"attempt {max(work.attempt, len(work.failures) + 1)}" + (f", {words}" if words else "")


def _make_row(
    task_id: str, title: str, status: RowStatus, details: str, awaited_people: tuple[str, ...] | None = None
) -> Block:
    """Make one row.

    `awaited_people` are the people and groups that it waits for; () is anybody in the thread, None nobody.
    """
    row: Block = {
        "type": "task_card",
        "task_id": to_plain_line(task_id, 100),
        "title": to_plain_line(title, 100),
        "status": status,
    }
    words = to_plain_line(details, 140)
    if awaited_people is not None:
        return {
            **row,
            "details": render_text_with_answerers(f"{words} · waits for " if words else "waits for ", awaited_people),
        }
    return {**row, "details": make_rich_text(words)} if words.strip() else row


def _fold_rows(rows: list[Block], most_rows: int) -> list[Block]:
    """Keep at most `most_rows` rows, those under way or in error first. The last row counts the others."""
    if len(rows) <= most_rows:
        return rows
    order: tuple[RowStatus, ...] = ("in_progress", "error", "pending", "complete")
    ranked = sorted(range(len(rows)), key=lambda index: (order.index(rows[index]["status"]), index))
    kept = sorted(ranked[: most_rows - 1])
    rest = [rows[index]["status"] for index in ranked[most_rows - 1 :]]
    counts = {"complete": "done", "pending": "not done", "in_progress": "under way", "error": "failed"}
    told = ", ".join(f"{rest.count(status)} {word}" for status, word in counts.items() if status in rest)
    status: RowStatus = "complete" if set(rest) == {"complete"} else "pending"
    return [*(rows[index] for index in kept), _make_row("folded", f"And {len(rest)} more: {told}", status, "")]


def _render_changes(ask: RequestState) -> list[Block]:
    left = [
        f"{to_plain_line(summary.render_title(ask, one), 60)} ({one.reason})"
        for one in _list_unneeded_subtasks(ask)
        if not one.changed
    ]
    needless = to_plain_line("Not needed: " + "; ".join(left), MAX_LINE) if left else ""
    return [make_context(clean_mrkdwn(line)) for line in (render_changes_line(ask), needless) if line]


def _render_footer(job: Job, ask: RequestState, *, with_stop: bool) -> list[Block]:
    if ask.cancelled_by:
        deleted = "Withdrawn: the request was deleted"
        return [make_context(deleted if ask.withdrawn else f"Stopped by {render_mention(ask.cancelled_by)}")]
    if _is_over(ask) or not with_stop:
        return []
    value = json.dumps({"job": job.id, "request": ask.id})
    return [make_actions([make_button("Stop", STOP_ACTION, value, style="danger")])]
