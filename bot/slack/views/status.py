"""Renders the answers to `/leadhand status` and `/leadhand trace`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.answer_message import list_usage_words
from bot.slack.views.approval import render_deciders
from bot.slack.views.card import describe_worker, has_content, list_result_gaps, render_card_title
from bot.slack.views.channel_setting_words import describe_terms
from bot.slack.views.estimate import describe_estimates, describe_subtask_cost
from bot.slack.views.job_lines import STATE_WORDS, JobLine, describe_waiting, render_job_line
from bot.slack.views.outgoing import (
    Block,
    Outgoing,
    format_duration,
    make_context,
    make_header,
    make_section,
    make_sections,
)
from bot.slack.views.paging import ListPage, render_page_buttons
from bot.tracing.steps import TraceStep
from handoff import events as ev
from handoff.contracts import PackedSize, ToolCall
from handoff.engine.answer import list_answer_gaps
from handoff.state.job_state import Job, RequestState, SubtaskState, SubtaskStatus
from handoff.state.state_values import EngineDecision
from handoff.summaries.summary import list_awaited_people, list_card_rows, render_title
from handoff.text.counts import format_count
from handoff.text.invisible_characters import remove_invisible

MAX_TIMELINE_LINES = 60
MAX_BUDGET_LINES = 20
MAX_SUBTASK_ROWS = 20
_SUBTASK_WORDS: dict[SubtaskStatus, str] = {
    "pending": "not started",
    "in_progress": "under way",
    "input_required": "waiting",
    "complete": "done",
    "error": "failed",
    "skipped": "skipped",
}


def render_job_list(
    page: ListPage[JobLine],
    reader: str,
    pause_reason: str = "",
    budget_lines: Sequence[str] = (),
    *,
    word: str = "status",
    rest: str = "",
) -> Outgoing:
    """Render a page of the list of jobs for a command, of which `word` is the first word and `rest` the others.

    `reader` is the id of the person who reads it. If `rest` is `all`, the list has everybody's jobs. `pause_reason`
    says why no job can start now; "" if jobs can start. `budget_lines` say what is left of budgets.
    """
    ahead = (
        (make_section(f":warning: Jobs wait at the moment. {clean_mrkdwn(pause_reason, limit=500)}"),)
        if pause_reason
        else ()
    )
    everybody = rest == "all"
    if not page.rows:
        text = "You have no jobs yet. Mention me in a channel, or write to me here, and say what you need."
        if rest:
            text = "No job is under way." if everybody else f"You have no jobs that are {rest}."
        return Outgoing(text=text, blocks=(*ahead, make_section(text), *_render_budgets_left(budget_lines)))
    job_sections = [make_section(render_job_line(line, reader, show_requester=everybody)) for line in page.rows]
    note = "`/leadhand status JOB` tells more of one; a link to its thread does for JOB."
    title = "Jobs under way" if everybody else "Your jobs"
    blocks = (
        make_header(title),
        *ahead,
        *job_sections,
        *render_page_buttons(page, word, rest),
        *_render_budgets_left(budget_lines),
        make_context(note),
    )
    return Outgoing(text=f"{title}: {page.total_rows}", blocks=blocks)


def _render_budgets_left(budget_lines: Sequence[str]) -> list[Block]:
    return (
        [
            make_section(
                "\n".join(f"• {clean_mrkdwn(to_plain_line(line, 200))}" for line in budget_lines[:MAX_BUDGET_LINES])
            )
        ]
        if budget_lines
        else []
    )


def render_job_status(job: Job, now: float, reader: str, budget_lines: Sequence[str] = ()) -> Outgoing:
    """Render one job in detail: its latest requests, and the subtasks of the last one.

    `reader` is the id of the person who reads it. `budget_lines` are lines on what is left of budgets.
    """
    blocks = [make_header(f"Job {job.id}")]
    for request in job.requests[-5:]:
        mark, _ = STATE_WORDS[
            "in part" if request.run.answer is not None and list_answer_gaps(request, request.run) else request.state
        ]
        whom = list_awaited_people(request) if request.state == "input_required" else None
        waits = f" · {describe_waiting(whom, reader)}" if whom is not None else ""
        title = f"{mark} *{clean_mrkdwn(render_card_title(request, now), limit=300)}*"
        crew = f" of the crew {clean_mrkdwn(to_plain_line(request.spec.crew, 75))}" if request.spec.crew else ""
        blocks.append(make_section(f"{title}\nasked by {render_mention(request.spec.user)}{crew}{waits}"))
    if job.quarantine is not None:
        step, reason = clean_mrkdwn(job.quarantine.step, limit=200), clean_mrkdwn(job.quarantine.reason, limit=500)
        blocks.append(make_section(f":warning: *Set aside* at: {step}\n{reason}"))
    request = job.latest_request
    blocks += make_sections(_iterate_subtask_lines(request, now, reader))
    blocks += _render_budgets_left(budget_lines)
    if words := list_usage_words(request.usage):
        blocks.append(make_context(" · ".join(words)))
    return Outgoing(text=clean_mrkdwn(render_card_title(request, now), limit=500), blocks=tuple(blocks))


def _iterate_subtask_lines(request: RequestState, now: float, reader: str) -> Iterable[str]:
    for subtask in list_card_rows(request)[:MAX_SUBTASK_ROWS]:
        why = f" · {clean_mrkdwn(subtask.reason, limit=100)}" if subtask.reason else ""
        cost = f" · {words}" if subtask.estimate is not None and (words := describe_subtask_cost(subtask)) else ""
        state = _describe_subtask(request, subtask, now, reader)
        yield (
            f"• {clean_mrkdwn(to_plain_line(render_title(request, subtask), 110))} · "
            f"{describe_worker(request, subtask)} · "
            f"{state}{cost}{why}"
        )


def _describe_subtask(request: RequestState, subtask: SubtaskState, now: float, reader: str) -> str:
    """Return the state of a subtask in words, with how long it took or has taken so far."""
    has_ended = request.run.answer is not None or request.run.failure is not None
    words = _SUBTASK_WORDS[subtask.state]
    if subtask.state == "input_required" and not has_ended:
        approval = subtask.question.approval if subtask.question is not None else None
        words = describe_waiting(list_awaited_people(request, subtask.spec.id) or (), reader)
        if approval is not None and subtask.question is not None:
            words = f"waiting for approval by {render_deciders(subtask.question.whom)}"
    elif subtask.state in {"in_progress", "input_required"} and has_ended:
        words = "stopped"
    elif subtask.state == "skipped" and subtask.is_dropped:
        words = "not needed"
    elif subtask.state == "complete" and list_result_gaps(request, subtask):
        words = "done in part" if has_content(subtask) else "brought nothing"
    if subtask.started_at is None:
        return words
    if subtask.ended_at is not None:
        return f"{words} · {format_duration(subtask.duration)}"
    return (
        f"{words} · "
        f"{format_duration((request.run.concluded_at or now) - subtask.started_at)}{'' if has_ended else ' so far'}"
    )


def render_timeline(job: str, steps: Sequence[TraceStep]) -> str:
    """Render a job's events and decisions as plain text, one a line, without model turns; a long middle is left out."""
    lines: list[str] = []
    first: float | None = None
    calls: dict[tuple[str, str], ToolCall] = {}
    for step in steps:
        try:
            event = ev.load_event(step.entry.payload)
        except ValueError:
            lines.append(f"{'?':>9}  an entry that this version cannot read")
            continue
        first = event.at if first is None else first
        if isinstance(event, ev.TurnTaken):
            calls |= {(event.subtask, call.id): call for call in event.turn.calls}
        words, most = _describe_event(event), 160
        if isinstance(event, ev.ToolReturned):
            words, most = _describe_tool(event, calls.get((event.subtask, event.reply.call_id))), 600
        if words:
            lines.append(f"{event.at - first:+8.1f}s  {to_plain_line(words, most)}{_describe_token_budget(event)}")
        lines.extend(f"{'':>9}  → {to_plain_line(_describe_decision(one), 260)}" for one in step.decisions)
    if len(lines) > MAX_TIMELINE_LINES:
        half = MAX_TIMELINE_LINES // 2
        lines = [*lines[:half], f"{'':>9}  … {len(lines) - MAX_TIMELINE_LINES} lines left out …", *lines[-half:]]
    return remove_invisible("\n".join([f"Job {job}, {format_count(len(steps), 'event')}", *lines]))


def _describe_tool(event: ev.ToolReturned, call: ToolCall | None) -> str:
    """Return a line which says whether a tool returned or failed, with its SQL query if it has one."""
    words = f"{event.subtask}: {call.name if call else 'a tool'} {'failed' if event.reply.failed else 'returned'}"
    query = " ".join(str(call.arguments.get("sql") or "").split()) if call else ""
    return f"{words}: {query}" if query else words


def _describe_decision(decision: EngineDecision) -> str:
    return (
        f"{decision.subtask}: {decision.what}: {decision.why}"
        if decision.subtask
        else f"{decision.what}: {decision.why}"
    )


def render_trace(job: str, timeline_text: str, delivery_note: str, budget_lines: Sequence[str] = ()) -> Outgoing:
    """Render the trace of a job from its `render_timeline`.

    `delivery_note` says where the whole trace was sent. `budget_lines` are lines on what is left of budgets.
    """
    lines, shown_text = timeline_text.replace("`", "'").split("\n"), ""
    for line in lines:
        escaped_line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        if len(shown_text) + len(escaped_line) > 2800:
            shown_text += "…\n"
            break
        shown_text += escaped_line + "\n"
    return Outgoing(
        text=f"Trace of {job}",
        blocks=(make_section(f"```{shown_text}```"), *_render_budgets_left(budget_lines), make_context(delivery_note)),
    )


def _describe_plan(event: ev.PlanProposed) -> str:
    expected = describe_estimates(event.estimates)
    words = f"plan of {format_count(len(event.plan.subtasks), 'subtask')}{f', {expected}' if expected else ''}"
    for reason in event.reasons:
        words += f"; {reason}"
    for part in event.plan.missing:
        words += f"; nobody can {part}"
    return f"{_render_nesting_prefix(event.within)}{words}: {event.plan.goal}"


def _render_nesting_prefix(within: str) -> str:
    """Return the prefix of a line that names the enclosing subtask of an event; "" for the request's own plan."""
    return f"{within}: " if within else ""


_MESSAGE_ID = re.compile(r"\d{9,}\.\d+")
"""The beginning of the name of a correction: the id of a message."""


def _describe_revision(event: ev.PlanRevised) -> str:
    about = "the correction" if _MESSAGE_ID.match(event.subtask) else event.subtask
    if event.plan is None:
        return f"{about}: plan kept: {' '.join(event.faults)}"
    change_text = ", ".join(f"{change.subtask} {change.kind}" for change in event.changes)
    expected = describe_estimates(event.estimates)
    return f"{about}: plan changed: {change_text}" + (f"; {expected}" if expected else "")


def _describe_answer(event: ev.AnswerWritten) -> str:
    words = (
        f"{_render_nesting_prefix(event.within)}{'draft' if event.draft else 'answer'} written, {len(event.text)} "
        "characters"
    )
    words += f"; chose {event.chosen}: {event.why}" if event.chosen else ""
    return words + (f"; figures of no source: {', '.join(event.unsupported)}" if event.unsupported else "")


_POST_WORDS = {
    "card": "the plan card",
    "card_end": "the last state of the plan card",
    "question": "a question",
    "reminder": "a reminder of a question",
    "file": "a file",
    "answer": "the outcome",
}


def _describe_post(event: ev.Posted) -> str:
    kind = event.key.removeprefix(event.request + ":").partition(":")[0]
    what = _POST_WORDS.get(kind, kind)
    return f"posted {what}" if event.ts else f"could not post {what}: {event.fault}"


def _describe_token_budget(event: ev.Event) -> str:
    """Return how many tokens of its budget a model was given, in words; "" if the event has no such figures."""
    pack = getattr(event, "pack", None)
    return f" (given {pack.tokens:,} of {pack.budget:,} tokens)" if isinstance(pack, PackedSize) and pack.tokens else ""


_CHOICE_WORDS: dict[str, str] = {
    "approve": "approved",
    "approve_alike": "approved, and the like for this job,",
    "edit": "edited and approved",
    "deny": "denied",
}


def _describe_approval_choice(event: ev.ApprovalDecided) -> str:
    """Return what a person chose for an approval, in words, with the reason if there is one."""
    what = f": {event.what}" if event.what else ""
    return f"{event.subtask}: {_CHOICE_WORDS[event.decision]} by {event.user}{what}" + (
        f": {event.reason}" if event.reason else ""
    )


def _describe_event(event: ev.Event) -> str:  # noqa: C901, PLR0911, PLR0912, PLR0915  one line for each kind of event
    match event:
        case ev.RequestAdded():
            whom = f" of the crew {event.request.crew}" if event.request.crew else ""
            refusal_note = " (refused)" if event.refusal else ""
            return f"asked by {event.request.user}{whom}: {event.request.text}{refusal_note}"
        case ev.MessageHeard():
            return f"{event.message.user} wrote to others" if event.others else f"heard {event.message.user}"
        case ev.MessageSorted():
            who = "the dispatcher" if event.by == "model" else "the rules"
            return f"a message is taken as {event.aim} by {who}" + (f": {event.why}" if event.why else "")
        case ev.MessageAcknowledged():
            return ""
        case ev.RequestEdited():
            return f"request edited by {event.user}: {event.text}"
        case ev.RequestWithdrawn():
            return "request withdrawn: its message was deleted"
        case ev.MaterialGathered():
            files = sum(one.file is not None for one in event.materials)
            message_count = sum(len(one.outline) for one in event.materials if one.kind == "thread")
            messages = f"{format_count(message_count, 'message')} and " if message_count else ""
            return f"{messages}{format_count(files, 'file')} read" + "".join(f"; {fault}" for fault in event.faults)
        case ev.SettingKnown():
            return describe_terms(event.setting.here)
        case ev.PlannerAsked():
            return f"the planner asks: {event.question}"
        case ev.PlanProposed():
            return _describe_plan(event)
        case ev.PlanRejected():
            return f"{_render_nesting_prefix(event.within)}plan rejected: " + "; ".join(event.faults)
        case ev.PlanRevised():
            return _describe_revision(event)
        case ev.AttemptStarted():
            return f"{event.subtask}: {event.specialist} starts (attempt {event.attempt}, {event.model or event.tier})"
        case ev.ResultReturned():
            took = ", ".join(list_usage_words(event.result.usage))
            outcome_text = f"done, confidence {event.result.confidence}" + (f", {took}" if took else "")
            return f"{event.subtask}: {outcome_text}: {event.result.summary}"
        case ev.BriefRefined():
            return f"{event.subtask}: brief rewritten: {event.intent or event.fault}"
        case ev.DeadlineReached():
            return f"{event.subtask or 'the request'}: the time is up"
        case ev.WorkResumed():
            return f"taken up again, after nobody worked on it for {event.away:.0f} s"
        case ev.AttemptFailed():
            return f"{event.subtask}: attempt {event.attempt} failed ({event.kind}): {event.message}"
        case ev.Escalated():
            return f"{event.subtask}: escalated ({event.escalation.reason}): {event.escalation.message}"
        case ev.QuestionReminded():
            return f"{event.subtask or 'the planner'}: reminded {', '.join(event.to)} of its question"
        case ev.QuestionExpired():
            return f"{event.subtask or 'the planner'}: nobody answered its question in time"
        case ev.QuestionAnswered():
            return f"{event.subtask or 'the planner'}: answered by {event.user}: {event.text}"
        case ev.ApprovalAsked():
            where = f" to {event.approval.target}" if event.approval.target else ""
            return f"{event.subtask}: asks for approval: {event.approval.what}{where}"
        case ev.ApprovalDecided():
            return _describe_approval_choice(event)
        case ev.CancelRequested():
            return f"stop asked for by {event.user}"
        case ev.TakenOver():
            return f"taken over from an owner that was lost ({event.lost} in a row)"
        case ev.SetAside():
            return f"set aside at {event.step}: {event.reason}"
        case ev.Released():
            return f"released by {event.user}"
        case ev.ToolStarted():
            by = f" (approved by {', '.join(event.approved_by)})" if event.approved_by else ""
            return f"{event.subtask}: begins {event.what}{by}"
        case ev.ToolInDoubt():
            return f"{event.subtask}: not known whether it was done: {event.what} ({event.reason})"
        case ev.MaterialReduced():
            omission_note = f"; left out: {'; '.join(event.left_out)}" if event.left_out else ""
            return (
                f"{_render_nesting_prefix(event.within)}material condensed, round {event.round}, part "
                f"{event.part}{omission_note}"
            )
        case ev.AnswerVerified():
            return f"answer verified: {'; '.join(_iterate_verifier_words(event)) or 'nothing refuted'}"
        case ev.AnswerWritten():
            return _describe_answer(event)
        case ev.RequestFailed():
            return f"failed at {event.step}: {event.reason}"
        case ev.Posted():
            return _describe_post(event)
        case ev.ThreadOpened():
            return "the thread of this run was opened" if event.ts else f"no thread was opened: {event.why}"
        case ev.FeedbackGiven():
            if event.withdrawn:
                return f"{event.user} took the thumb back"
            verdict = f"{event.user} found the answer {'good' if event.good else 'bad'}"
            return f"{verdict}: {event.reason}" if event.reason else verdict
        case ev.TurnTaken() | ev.ToolReturned():
            return ""  # there are many turns, and their tools tell more: see `_describe_tool`
        case _:
            return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", event.type).lower()


def _iterate_verifier_words(event: ev.AnswerVerified) -> Iterable[str]:
    yield from (f"“{one.sentence}” contradicts {one.evidence.source}" for one in event.refuted)
    yield from (f"“{one}” stands in nothing that was read" for one in event.unfound)
    yield from (f"“{one}” of the request is not answered" for one in event.unanswered)
    yield from (f"“{one.one.quotation}” contradicts “{one.other.quotation}”" for one in event.contradictions)
    if event.doubt:
        yield event.doubt
