"""Renders retries of a request: the buttons below its end, and the line on the card that says which try it is."""

from __future__ import annotations

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.answerers import join_as_list
from bot.slack.views.button_data import RequestRef, encode_data
from bot.slack.views.outgoing import Block, make_actions, make_button, make_context
from handoff.engine.retry import list_incomplete_subtasks
from handoff.engine.subtask import has_only_scope_failures
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import render_title
from handoff.text.counts import format_dollars

TRY_AGAIN_ACTION, GO_ON_ACTION = "try_again", "go_on"
"""The action_ids of the buttons."""
MAX_NAMED_SUBTASKS = 4
_MAX_TITLE_CHARS = 60
_ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth")


def render_retry_buttons(job: Job, request: RequestState) -> list[Block]:
    """Make the retry buttons below a request that ended without an answer or with gaps; [] if there is no retry."""
    if request.refusal or request.is_withdrawn:
        return []
    value = encode_data(RequestRef(job.id, request.id))
    if request.cancelled_by:
        restart_buttons = (
            [make_button("Restart the open parts", TRY_AGAIN_ACTION, value)]
            if list_incomplete_subtasks(request)
            else []
        )
        return [make_actions([make_button("Continue", GO_ON_ACTION, value), *restart_buttons])]
    if has_only_scope_failures(request.subtasks.values()):
        return []
    if request.run.answer is None:
        return [make_actions([make_button("Try again", TRY_AGAIN_ACTION, value)])]
    return (
        [make_actions([make_button("Try what is missing again", TRY_AGAIN_ACTION, value)])]
        if list_incomplete_subtasks(request)
        else []
    )


def render_try_name(request: RequestState) -> str:
    """Return the name of the current try, such as “Second try”."""
    number = len(request.earlier_tries)
    return f"{_ORDINALS[number]} try" if number < len(_ORDINALS) else f"Try {number + 1}"


def render_try_line(request: RequestState) -> list[Block]:
    """Render the card's line about a retry: its number, its requester, which parts run again and how many are kept.

    Returns [] for a first try.
    """
    if request.retry_ref is None or request.earlier_try is None:
        return []
    who = (
        ""
        if request.spec.user == request.earlier_try.spec.user
        else f", asked for by {render_mention(request.spec.user)}"
    )
    line = f"{render_try_name(request)}{who}"
    if request.run.plan is not None:
        subtasks = [subtask for subtask in request.list_all_subtasks("") if subtask.run is None or subtask.is_reused]
        kept_subtasks = [subtask for subtask in subtasks if subtask.is_reused and subtask.result is not None]
        repeated_subtasks = [subtask for subtask in subtasks if not subtask.is_reused]
        titles = [
            f"“{clean_mrkdwn(to_plain_line(render_title(request, subtask), _MAX_TITLE_CHARS))}”"
            for subtask in repeated_subtasks[:MAX_NAMED_SUBTASKS]
        ]
        more = (
            [f"{len(repeated_subtasks) - MAX_NAMED_SUBTASKS} more"]
            if len(repeated_subtasks) > MAX_NAMED_SUBTASKS
            else []
        )
        verb = "goes on with" if request.retry_ref.mode == "continue" else "runs again"
        line += (
            f": {verb} {join_as_list([*titles, *more], 'and')}" if repeated_subtasks else ": writes the answer again"
        )
        line += f", keeps {len(kept_subtasks)} of {len(subtasks)} parts" if kept_subtasks else ""
    return [make_context(line)]


def describe_earlier_cost(request: RequestState) -> str:
    """Return the cost of a request's earlier tries, as "on top of $0.12 before"; "" if it is 0 or unknown."""
    costs = [one.usage.cost for one in request.earlier_tries if one.usage.cost]
    if not costs:
        return ""
    return f"on top of {format_dollars(sum(costs))} before"
