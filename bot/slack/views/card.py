"""The plan card: one message per request, edited in place, with a row for each subtask."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from bot.slack.text import clean, mention, plain
from bot.slack.views.outgoing import Block, Outgoing, actions, button, context, rich_text, seconds
from handoff.job import Ask, Job, SubtaskState, Work

MAX_ROWS = 40
MAX_BYTES = 9_500
"""Slack refuses a message with cards at about 10.6 KB."""
STOP = "stop"
"""The action_id of the card's Stop button."""

RowStatus = Literal["pending", "in_progress", "complete", "error"]
_STATUS: dict[SubtaskState, RowStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "input_required": "in_progress",
    "complete": "complete",
    "error": "error",
    "skipped": "error",
}


def plan_card(job: Job, ask: Ask, now: float) -> Outgoing:
    """The card as it stands at `now` (seconds since the epoch)."""
    title = card_title(ask, now, aside=job.aside is not None)
    rows = [_row(ask, work, now) for work in ask.work.values()] if ask.plan else _rows_before_a_plan(ask)
    blocks: list[Block] = []
    for shown in (MAX_ROWS, 30, 20, 12, 6):
        plan = {"type": "plan", "title": title, "tasks": _folded(rows, shown)}
        blocks = [plan, *_below(job, ask)]
        if len(json.dumps(blocks, ensure_ascii=False).encode()) <= MAX_BYTES:
            break
    return Outgoing(text=clean(title), blocks=tuple(blocks), priority="card")


def card_title(ask: Ask, now: float, *, aside: bool = False) -> str:
    """What the request is at, in one line of plain text. `aside`: its job is set aside."""
    goal = ask.plan.goal if ask.plan else ask.request.text
    took = seconds((ask.ended or ask.written or now) - ask.request.at)
    phase = "Planning again…" if ask.rejections else "Planning…"
    if ask.cancelled_by:
        phase = f"Stopped after {took}"
    elif ask.failure is not None:
        phase = f"Failed after {took}"
    elif ask.answer is not None:
        phase = f"Done in part in {took}" if ask.gaps else f"Done in {took}"
    elif aside:
        phase = "Set aside"
    elif ask.state == "synthesizing":
        phase = "Writing the answer"
    elif ask.state == "input_required":
        phase = "Waiting for an answer"
    elif ask.plan is not None:
        done = sum(work.state == "complete" for work in ask.work.values())
        phase = f"Working, {done} of {len(ask.work)} done" if len(ask.work) > 1 else "Working"
    elif not ask.fetched:
        phase = "Reading the files"
    return plain(f"{phase}: {goal}" if goal.strip() else phase, 140)


def _rows_before_a_plan(ask: Ask) -> list[Block]:
    over = ask.failure is not None or bool(ask.cancelled_by)
    rows = []
    if count := len(ask.request.attachments):
        files = "the attached file" if count == 1 else f"{count} attached files"
        status: RowStatus = "complete" if ask.fetched else "error" if over else "in_progress"
        rows.append(_task("files", f"Read {files}", status, " ".join(ask.file_faults)))
    status = "error" if over else "in_progress" if ask.fetched else "pending"
    rows.append(_task("plan", "Make a plan", status, "the first plan had faults" if ask.rejections else ""))
    return rows


def _row(ask: Ask, work: Work, now: float) -> Block:
    status = _STATUS[work.state]
    if ask.cancelled_by and status == "in_progress":
        status = "error"
    return _task(work.subtask.id, work.subtask.title, status, " · ".join(_details(ask, work, now)))


def _details(ask: Ask, work: Work, now: float) -> Iterable[str]:
    yield work.specialist
    open_ended = ask.failure is None and ask.answer is None
    if work.state == "in_progress" and open_ended:
        if work.attempt > 1:
            yield f"attempt {work.attempt}"
        yield seconds(now - (work.started or now))
    elif work.state == "input_required" and open_ended:
        yield "waiting for an answer"
    elif work.state == "pending" and open_ended:
        waits = [ask.work[name].subtask.title for name in work.subtask.after if ask.work[name].state != "complete"]
        if waits:
            yield "waits for " + ", ".join(waits)
        elif work.failures:
            yield "will try again"
    elif work.state == "complete":
        yield seconds(work.duration)
    elif work.state == "skipped":
        yield f"skipped, {work.reason}"
    elif work.state == "error":
        yield work.reason or "failed"
    else:
        yield "stopped" if work.state != "pending" else "not started"


def _task(task_id: str, title: str, status: RowStatus, details: str) -> Block:
    row: Block = {"type": "task_card", "task_id": plain(task_id, 100), "title": plain(title, 100), "status": status}
    return {**row, "details": rich_text(plain(details, 140))} if details.strip() else row


def _folded(rows: list[Block], shown: int) -> list[Block]:
    """At most `shown` rows: those under way or in error first to stay, the others told as a number."""
    if len(rows) <= shown:
        return rows
    order: tuple[RowStatus, ...] = ("in_progress", "error", "pending", "complete")
    ranked = sorted(range(len(rows)), key=lambda index: (order.index(rows[index]["status"]), index))
    kept = sorted(ranked[: shown - 1])
    rest = [rows[index]["status"] for index in ranked[shown - 1 :]]
    counts = {"complete": "done", "pending": "waiting", "in_progress": "under way", "error": "failed"}
    told = ", ".join(f"{rest.count(status)} {word}" for status, word in counts.items() if status in rest)
    status: RowStatus = "complete" if set(rest) == {"complete"} else "pending"
    return [*(rows[index] for index in kept), _task("folded", f"And {len(rest)} more: {told}", status, "")]


def _below(job: Job, ask: Ask) -> list[Block]:
    if ask.cancelled_by:
        return [context(f"Stopped by {mention(ask.cancelled_by)}")]
    if ask.answer is not None or ask.failure is not None:
        return []
    value = json.dumps({"job": job.id, "request": ask.id})
    return [actions([button("Stop", STOP, value)])]
