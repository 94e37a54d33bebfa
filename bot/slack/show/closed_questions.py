"""Renders questions that are closed, and redraws those that still show their buttons in the thread."""

from __future__ import annotations

import logging

from bot.slack.send.lookup import read_key
from bot.slack.send.outbox import Outbox
from bot.slack.send.web_calls import NoReply, PermissionCheck, SlackRefused
from bot.slack.views.approval import render_decided_approval, render_dropped_approval
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.question import find_questioner_name, render_answered_question, render_dropped_question
from handoff.briefs.addresses import list_known_addresses
from handoff.effects import make_question_key
from handoff.state.job_state import Job, RequestState

log = logging.getLogger(__name__)


def render_closed_question(job: Job, request: RequestState, subtask: str, number: int) -> Outgoing | None:
    """Render a question as closed; None if it is not closed.

    `number` counts the questions of the subtask from 1; an empty `subtask` is the planner.
    """
    whose = request.subtasks[subtask] if subtask else request
    title = find_questioner_name(request, subtask)
    decision = next((one for one in whose.question_answers if one.question.number == number), None)
    if decision is not None and decision.question.approval is not None:
        return render_decided_approval(title, decision)
    if decision is not None:
        return render_answered_question(title, decision, list_known_addresses(job, request))
    asked_last = whose.question
    if request.run.failure is not None and asked_last is not None and asked_last.number == number:
        if asked_last.approval is not None:
            return render_dropped_approval(title, asked_last)
        return render_dropped_question(title, asked_last, list_known_addresses(job, request))
    return None


def _count_questions(request: RequestState) -> dict[str, int]:
    """Count the questions so far, by the id of the subtask; those of the planner are under ""."""
    own = len(request.question_answers) + (request.question is not None)
    return {"": own} | {name: subtask.last_question_number for name, subtask in request.subtasks.items()}


async def redraw_closed_questions(outbox: Outbox, job: Job, *, check_allowed: PermissionCheck) -> None:
    """Redraw closed questions that still show buttons, because the job's last owner died before it redrew them.

    They are found in the thread by their keys: a question may have been answered before the log had the id of its
    message. Raises JobGone if `check_allowed` returns False.
    """
    closed_messages = {
        make_question_key(request.id, subtask, number): message
        for request in job.requests
        for subtask, count in _count_questions(request).items()
        for number in range(1, count + 1)
        if (message := render_closed_question(job, request, subtask, number)) is not None
    }
    if not closed_messages:
        return
    try:
        thread = await outbox.lookup.read_until(
            job.place, lambda posted_messages: closed_messages.keys() <= {read_key(one) for one in posted_messages}
        )
    except (SlackRefused, NoReply) as error:
        log.warning("job %s: closed questions may still have their buttons: %s", job.id, error)
        return
    for posted_message in thread:
        key = read_key(posted_message)
        is_closed_question = posted_message.get("user") == outbox.lookup.bot_user_id and key in closed_messages
        if is_closed_question and any(block.get("type") == "actions" for block in posted_message.get("blocks") or ()):
            await outbox.edit_message(
                job.place, str(posted_message["ts"]), closed_messages[key], check_allowed=check_allowed
            )
