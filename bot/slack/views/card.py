"""Renders the plan card: one message per request, which is edited in place, with a row for each subtask."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.answerers import render_text_with_answerers
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
from bot.slack.views.thread_coverage import describe_thread_coverage, list_thread_faults, list_thread_file_faults
from bot.slack.views.try_again import render_try_line
from handoff.approval_values import Approval
from handoff.engine.answer import list_answer_gaps
from handoff.engine.crew_runs import find_enclosing_plan
from handoff.engine.replan import find_due_trigger, is_awaiting_revision
from handoff.engine.returned_results import MAX_FAULTY_RESULTS
from handoff.planning.adhoc import find_made_specialist
from handoff.state.job_state import SETTLED_STATES, Job, RequestState, SubtaskState
from handoff.state.state_values import Question, RecoveryStep
from handoff.summaries import summary

MAX_LINE_CHARACTERS = 500
REPLANNING_WORDS = "a second look at the plan"
"""In the row of a subtask that waits for the planner to revise the plan: what it waits for."""


def list_change_reasons(subtask: SubtaskState) -> list[str]:
    """Return why the plan changed a subtask; [] if it did not, or for a skipped subtask, whose row has its reason."""
    return [subtask.change_note] if subtask.change_note and subtask.state != "skipped" else []


def render_changes_line(request: RequestState) -> str:
    """Return all changes of the plan as one line of plain text; "" if there are none."""
    changes = [
        f"{to_plain_line(subtask.spec.title, 60)} ({subtask.change_note.rstrip('.')})"
        for subtask in request.subtasks.values()
        if subtask.change_note
    ]
    return to_plain_line("Plan changed: " + "; ".join(changes), MAX_LINE_CHARACTERS) if changes else ""


def _list_unneeded_subtasks(request: RequestState) -> list[SubtaskState]:
    """List the subtasks that an ended request did not need. They get no rows, which would look unfinished."""
    works = summary.list_card_rows(request) if _is_over(request) else ()
    return [subtask for subtask in works if subtask.is_dropped and not subtask.failures]


MAX_ROWS = 40
MAX_BYTES = 9_500
"""Maximum size of the card's blocks as JSON. Slack refuses a message with cards at about 10.6 KB."""
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
"""How a new attempt differs from the one before, by the recovery step."""


def render_plan_card(job: Job, request: RequestState, now: float, *, with_stop: bool = True) -> Outgoing:
    """Render the card at the time `now` (seconds since the epoch).

    `with_stop` adds a Stop button while the request is under way. None is needed if Slack shows its own.
    """
    title = render_card_title(request, now, is_quarantined=job.quarantine is not None)
    if request.run.plan is None and request.run.answer is not None:  # there was nothing to plan
        return Outgoing(text=clean_mrkdwn(title), blocks=(make_context(clean_mrkdwn(title)),), priority="card")
    unneeded_ids = {subtask.spec.id for subtask in _list_unneeded_subtasks(request)}
    subtasks = [subtask for subtask in summary.list_card_rows(request) if subtask.spec.id not in unneeded_ids]
    rows = (
        [_render_row(request, subtask, now) for subtask in subtasks]
        if request.run.plan
        else _list_rows_before_plan(request)
    )
    # With one row, the card's title leaves out the goal: the row and the request above the card say it.
    head = (
        title
        if len(rows) > 1
        else to_plain_line(_describe_phase(request, now, is_quarantined=job.quarantine is not None), 140)
    )
    blocks: list[Block] = []
    for row_limit in (MAX_ROWS, 30, 20, 12, 6):
        plan = {"type": "plan", "title": head, "tasks": _fold_rows(rows, row_limit)}
        blocks = [
            plan,
            *render_try_line(request),
            *_render_change_blocks(request),
            *_render_footer(job, request, with_stop=with_stop),
        ]
        if len(json.dumps(blocks, ensure_ascii=False).encode()) <= MAX_BYTES:
            break
    return Outgoing(text=clean_mrkdwn(title), blocks=tuple(blocks), priority="card")


def render_card_title(request: RequestState, now: float, *, is_quarantined: bool = False) -> str:
    """Return the phase and goal of a request as one line of plain text. `is_quarantined`: its job is quarantined."""
    plan = request.run.plan or (request.earlier_try.run.plan if request.earlier_try is not None else None)
    goal = plan.goal if plan else "" if request.is_withdrawn else request.text
    phase = _describe_phase(request, now, is_quarantined=is_quarantined)
    return to_plain_line(f"{phase}: {goal}" if goal.strip() else phase, 140)


def _describe_phase(request: RequestState, now: float, *, is_quarantined: bool) -> str:
    took = format_duration((request.run.concluded_at or request.ended_at or now) - request.spec.at)
    phase = (
        "Planning again…"
        if request.run.rejections
        else "Planning…"
        if request.earlier_try is None
        else "Taking it up again…"
    )
    if _is_over(request):
        phase = f"{_describe_end(request)} {took}"
    elif is_quarantined:
        phase = "Set aside"
    elif request.state == "synthesizing":
        phase = "Writing the answer"
    elif request.state == "input_required":
        questions = request.open_questions.values()
        awaited_names = {
            _name_approval_kind(one.approval) if one.approval is not None else "an answer" for one in questions
        }
        phase = f"Waiting for {awaited_names.pop() if len(awaited_names) == 1 else 'an answer'}"
    elif find_due_trigger(request) is not None:
        phase = "Taking a second look at the plan"
    elif request.run.plan is not None:
        phase = _describe_progress(request)
    elif not request.is_gathered and request.spec.look_back == "thread":
        phase = "Reading the thread"
    elif not request.is_gathered and request.spec.look_back != "files":  # of files alone, there may turn out to be none
        phase = "Fetching the files" if request.spec.attachments else "Looking at what it names"
    return phase


def _describe_end(request: RequestState) -> str:
    """Return how the request ended, in words to be followed by its duration."""
    if request.cancelled_by:
        return "Stopped after"
    if request.run.failure is not None:
        return "Failed after"
    end_word = "Replied" if request.run.plan is None else "Done"
    return f"{end_word} in part in" if list_answer_gaps(request, request.run) else f"{end_word} in"


def _describe_progress(request: RequestState) -> str:
    """Return in words how much of the plan is done."""
    subtasks = [subtask for subtask in request.list_subtasks("") if not subtask.is_dropped]
    if len(subtasks) == 1:  # a crew may work on the whole request: count its own subtasks
        subtasks = [
            subtask for subtask in request.list_subtasks(subtasks[0].spec.id) if not subtask.is_dropped
        ] or subtasks
    done_count = sum(_choose_row_status(request, subtask) == "complete" for subtask in subtasks)
    phase = f"Working, {done_count} of {len(subtasks)} done" if len(subtasks) > 1 else "Working"
    return f"{phase}, plan changed" if any(subtask.change_note for subtask in request.subtasks.values()) else phase


def _list_rows_before_plan(request: RequestState) -> list[Block]:
    over = _is_over(request)
    rows = [*_iterate_file_rows(request), *_iterate_thread_rows(request)]
    status: RowStatus = "in_progress" if request.is_gathered or not rows else "pending"
    if over:
        status = "pending" if request.cancelled_by else "error"
    details = "the first plan had faults" if request.run.rejections else ""
    whom = None if over else summary.list_awaited_people(request)
    title = "Make a plan" if request.earlier_try is None else "Take it up again"
    rows.append(_make_row("plan", title, status, details, whom))
    return rows


def _iterate_file_rows(request: RequestState) -> Iterable[Block]:
    count = len(request.spec.attachments)
    if not count:
        return
    faults = [
        fault
        for fault in request.file_faults
        if fault not in {*list_thread_faults(request), *list_thread_file_faults(request)}
    ]
    status: RowStatus = "pending" if _is_over(request) else "in_progress"
    if request.is_gathered:
        status = "error" if faults else "complete"
    files = "the attached file" if count == 1 else f"{count} attached files"
    yield _make_row("files", f"Fetch {files}", status, " ".join(faults))


def _iterate_thread_rows(request: RequestState) -> Iterable[Block]:
    """Yield the row about reading the thread or the channels, unless there was nothing to read."""
    words, faults = describe_thread_coverage(request), list_thread_faults(request)
    channels = [one.name for one in request.materials if one.is_channel_history]
    title = f"Read {clean_mrkdwn(', '.join(channels))}" if channels else "Read the thread"
    if not request.is_gathered and request.spec.look_back == "thread":
        yield _make_row("thread", "Read the thread", "pending" if _is_over(request) else "in_progress", "")
    elif words or faults:
        yield _make_row("thread", title, "error" if faults else "complete", words or " ".join(faults))


def _render_row(request: RequestState, subtask: SubtaskState, now: float) -> Block:
    details = " · ".join((*_iterate_row_details(request, subtask, now), *list_change_reasons(subtask)))
    question = subtask.question if subtask.state == "input_required" and not _is_over(request) else None
    if question is not None and question.approval is not None:
        row = _make_row(
            subtask.spec.id, summary.render_title(request, subtask), _choose_row_status(request, subtask), ""
        )
        return {**row, "details": _render_approval_wait(to_plain_line(details, 100), question)}
    asks = subtask.state == "input_required" and not _is_over(request)
    whom = summary.list_awaited_people(request, subtask.spec.id) if asks else None
    return _make_row(
        subtask.spec.id, summary.render_title(request, subtask), _choose_row_status(request, subtask), details, whom
    )


def _render_approval_wait(details: str, question: Question) -> Block:
    approval = question.approval
    quorum = approval.terms.quorum if approval is not None else 1
    so_far = f" ({len(question.votes)} of {quorum} so far)" if quorum > 1 else ""
    approval_name = _name_approval_kind(approval) if approval is not None else "approval"
    return render_people_line(f"{details} · Waiting for {approval_name} by ", question.whom, so_far)


def _name_approval_kind(approval: Approval) -> str:
    return "a sign-in" if approval.kind == "sign_in" else "approval"


def _choose_row_status(request: RequestState, subtask: SubtaskState) -> RowStatus:
    if subtask.state == "complete":
        return "complete" if not list_result_gaps(request, subtask) else "pending" if has_content(subtask) else "error"
    if subtask.state in {"error", "skipped"}:
        return "pending" if subtask.is_dropped and not subtask.failures else "error"
    return "pending" if subtask.state == "pending" or _is_over(request) else "in_progress"


def has_content(subtask: SubtaskState) -> bool:
    """Return True if the subtask has a result that people can use, at least in part."""
    result = subtask.result
    if result is None:
        return False
    only_said = bool(result.summary.strip()) and not result.gaps
    return bool(result.content.strip() or result.artifacts or result.findings or only_said)


def list_result_gaps(request: RequestState, subtask: SubtaskState) -> tuple[str, ...]:
    """Return the gaps of an ended subtask's result or, for a plan's only subtask, of the answer."""
    if not has_content(subtask):
        return subtask.result.gaps if subtask.result is not None and subtask.result.gaps else ("it brought nothing",)
    alone = [one.spec.id for one in request.list_subtasks("") if not one.is_dropped] == [subtask.spec.id]
    return (
        list_answer_gaps(request, request.run) if alone else subtask.result.gaps if subtask.result is not None else ()
    )


def _is_over(request: RequestState) -> bool:
    return request.run.failure is not None or request.run.answer is not None


def _iterate_row_details(request: RequestState, subtask: SubtaskState, now: float) -> Iterable[str]:
    yield describe_worker(request, subtask)
    if parts := summary.describe_crew_progress(request, subtask):
        yield parts
    open_ended = not _is_over(request)
    if subtask.state == "in_progress" and open_ended:
        yield from _describe_attempt(subtask)
        yield from [words] if (words := describe_minimum_duration(now - (subtask.started_at or now))) else []
    elif subtask.state == "input_required" and open_ended:
        return  # the end of the row names the people that it waits for
    elif subtask.state == "pending" and open_ended:
        yield from _describe_dependencies(request, subtask)
    elif subtask.state == "complete":
        yield from ["kept"] if subtask.is_reused else [format_duration(subtask.duration)]
        if gaps := list_result_gaps(request, subtask):
            yield f"in part: {gaps[0]}" if has_content(subtask) else gaps[0]
    elif subtask.state == "skipped":
        yield subtask.reason if subtask.is_dropped else f"skipped, {subtask.reason}"
    elif subtask.state == "error":
        yield subtask.reason or "failed"
    else:
        yield "stopped" if subtask.state != "pending" else "not started"


def describe_worker(request: RequestState, subtask: SubtaskState) -> str:
    """Return the name of the specialist, with a note if it was made for this job."""
    made_specialist = find_made_specialist(find_enclosing_plan(request, subtask), subtask.specialist)
    return f"{subtask.specialist} (made for this job)" if made_specialist else subtask.specialist


def _describe_dependencies(request: RequestState, subtask: SubtaskState) -> Iterable[str]:
    waits = [
        request.subtasks[name].spec.title
        for name in subtask.spec.after
        if request.subtasks[name].state not in SETTLED_STATES
    ]
    if is_awaiting_revision(request, subtask):
        yield f"waits for {REPLANNING_WORDS}"
    elif waits:
        yield "waits for " + ", ".join(waits)
    elif subtask.refining_error:
        yield "its brief is being rewritten"
    elif subtask.rejected_candidate is not None or subtask.failures:
        yield _describe_retry(subtask)


def _describe_attempt(subtask: SubtaskState) -> Iterable[str]:
    if subtask.attempt > 1:
        yield _describe_retry(subtask)


def _describe_retry(subtask: SubtaskState) -> str:
    """Return in words the number of the attempt or correction round, and how it differs from the one before."""
    if subtask.rejected_candidate is not None:
        return f"fixing it, round {subtask.faulty_result_count + 1} of {MAX_FAULTY_RESULTS}"
    words = _RECOVERY_WORDS.get(subtask.recovery_steps[-1], "") if subtask.recovery_steps else ""
    return f"attempt {max(subtask.attempt, len(subtask.failures) + 1)}" + (f", {words}" if words else "")


def _make_row(
    task_id: str, title: str, status: RowStatus, details: str, awaited_people: tuple[str, ...] | None = None
) -> Block:
    """Make one row.

    `awaited_people` are the ids of the people and groups that it waits for: () for anybody in the thread, None for
    nobody.
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
    ranked_indexes = sorted(range(len(rows)), key=lambda index: (order.index(rows[index]["status"]), index))
    kept_indexes = sorted(ranked_indexes[: most_rows - 1])
    rest = [rows[index]["status"] for index in ranked_indexes[most_rows - 1 :]]
    counts = {"complete": "done", "pending": "not done", "in_progress": "under way", "error": "failed"}
    count_words = ", ".join(f"{rest.count(status)} {word}" for status, word in counts.items() if status in rest)
    status: RowStatus = "complete" if set(rest) == {"complete"} else "pending"
    return [
        *(rows[index] for index in kept_indexes),
        _make_row("folded", f"And {len(rest)} more: {count_words}", status, ""),
    ]


def _render_change_blocks(request: RequestState) -> list[Block]:
    unneeded_lines = [
        f"{to_plain_line(summary.render_title(request, one), 60)} ({one.reason})"
        for one in _list_unneeded_subtasks(request)
        if not one.change_note
    ]
    needless = to_plain_line("Not needed: " + "; ".join(unneeded_lines), MAX_LINE_CHARACTERS) if unneeded_lines else ""
    return [make_context(clean_mrkdwn(line)) for line in (render_changes_line(request), needless) if line]


def _render_footer(job: Job, request: RequestState, *, with_stop: bool) -> list[Block]:
    if request.cancelled_by:
        deletion_note = "Withdrawn: the request was deleted"
        return [
            make_context(
                deletion_note if request.is_withdrawn else f"Stopped by {render_mention(request.cancelled_by)}"
            )
        ]
    if _is_over(request) or not with_stop:
        return []
    value = json.dumps({"job": job.id, "request": request.id})
    return [make_actions([make_button("Stop", STOP_ACTION, value, style="danger")])]
