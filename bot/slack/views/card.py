"""The plan card: one message per request, edited in place, with a row for each subtask."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.estimate import work_words
from bot.slack.views.outgoing import Block, Outgoing, actions, button, context, rich_text, seconds
from bot.slack.views.plan_changes import LOOKING, changes_line, row_words
from handoff import summary_rows as shown_levels
from handoff.engine.nested import plan_of
from handoff.engine.policy import MAX_ROUNDS
from handoff.engine.replan import current, holds
from handoff.planning.adhoc import made_as
from handoff.state import Ask, Job, Rung, SubtaskState, Work

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
_RUNGS: dict[Rung, str] = {
    "refine": "with a clearer brief",
    "stronger": "with a stronger model",
    "fallback": "someone else steps in",
    "ask": "with your answer",
    "replan": "planned anew",
}
"""Why a subtask is tried again, where it is more than the same."""


def plan_card(job: Job, ask: Ask, now: float) -> Outgoing:
    """The card as it stands at `now` (seconds since the epoch)."""
    title = card_title(ask, now, aside=job.aside is not None)
    rows = [_row(ask, work, now) for work in shown_levels.rows(ask)] if ask.plan else _rows_before_a_plan(ask)
    blocks: list[Block] = []
    for shown in (MAX_ROWS, 30, 20, 12, 6):
        plan = {"type": "plan", "title": title, "tasks": _folded(rows, shown)}
        blocks = [plan, *_changes(ask), *_below(job, ask)]
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
    elif current(ask) is not None:
        phase = "Taking a second look at the plan"
    elif ask.plan is not None:
        phase = _progress(ask)
    elif not ask.fetched:
        phase = "Reading the files"
    return plain(f"{phase}: {goal}" if goal.strip() else phase, 140)


def _progress(ask: Ask) -> str:
    """How much of the plan is done, as it stands by now."""
    works = [work for work in ask.own if not work.dropped]
    done = sum(work.state == "complete" for work in works)
    phase = f"Working, {done} of {len(works)} done" if len(works) > 1 else "Working"
    return f"{phase}, plan changed" if any(work.changed for work in ask.work.values()) else phase


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
    status = "complete" if work.dropped and not work.failures else _STATUS[work.state]
    if ask.cancelled_by and status == "in_progress":
        status = "error"
    details = " · ".join((*_details(ask, work, now), *row_words(work)))
    return _task(work.subtask.id, shown_levels.title_of(ask, work), status, details)


def _details(ask: Ask, work: Work, now: float) -> Iterable[str]:
    yield who(ask, work)
    if parts := shown_levels.parts_words(ask, work):
        yield parts
    open_ended = ask.failure is None and ask.answer is None
    if work.state == "in_progress" and open_ended:
        yield from _under_way(work)
        yield seconds(now - (work.started or now))
        yield from _costs(work)
    elif work.state == "input_required" and open_ended:
        yield "waiting for an answer"
    elif work.state == "pending" and open_ended:
        yield from _waits(ask, work)
        yield from _costs(work)
    elif work.state == "complete":
        yield seconds(work.duration)
        yield from _costs(work)
    elif work.state == "skipped":
        yield work.reason if work.dropped else f"skipped, {work.reason}"
    elif work.state == "error":
        yield work.reason or "failed"
    else:
        yield "stopped" if work.state != "pending" else "not started"


def who(ask: Ask, work: Work) -> str:
    """Who works on it; one that the crew does not have is told apart."""
    made = made_as(plan_of(ask, work.within), work.specialist)
    return f"{work.specialist} (made for this job)" if made else work.specialist


def _waits(ask: Ask, work: Work) -> Iterable[str]:
    waits = [ask.work[name].subtask.title for name in work.subtask.after if ask.work[name].state != "complete"]
    if holds(ask, work):
        yield f"waits for {LOOKING}"
    elif waits:
        yield "waits for " + ", ".join(waits)
    elif work.refining:
        yield "its brief is being rewritten"
    elif work.wanting is not None or work.failures:
        yield _again(work)


def _under_way(work: Work) -> Iterable[str]:
    if work.look is not None:
        yield "the result is being checked"
    elif work.attempt > 1:
        yield _again(work)


def _again(work: Work) -> str:
    """Why it is at it again, in plain words."""
    if work.wanting is not None:
        return f"mending it, round {work.rounds + 1} of {MAX_ROUNDS}"
    words = _RUNGS.get(work.rungs[-1], "") if work.rungs else ""
    return f"attempt {max(work.attempt, len(work.failures) + 1)}" + (f", {words}" if words else "")


def _costs(work: Work) -> Iterable[str]:
    """What it is likely to take, or took; a plan made by an older release says nothing of it."""
    words = work_words(work) if work.estimate is not None else ""
    return [words] if words else []


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


def _changes(ask: Ask) -> list[Block]:
    line = changes_line(ask)
    return [context(clean(line))] if line else []


def _below(job: Job, ask: Ask) -> list[Block]:
    if ask.cancelled_by:
        return [context(f"Stopped by {mention(ask.cancelled_by)}")]
    if ask.answer is not None or ask.failure is not None:
        return []
    value = json.dumps({"job": job.id, "request": ask.id})
    return [actions([button("Stop", STOP, value)])]
