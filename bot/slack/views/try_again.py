"""Renders retries of a request: the buttons below its end, and the line on the card that says which try it is."""

from __future__ import annotations

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.button_data import AboutRequest, encode_data
from bot.slack.views.outgoing import Block, make_actions, make_button, make_context
from bot.slack.views.waiting import join_as_list
from handoff.engine.retry import list_incomplete_subtasks
from handoff.engine.subtask import has_only_scope_failures
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import render_title
from handoff.text.counts import format_dollars

TRY_AGAIN, GO_ON = "try_again", "go_on"
"""The action_ids of the buttons."""
SUBTASKS_NAMED = 4
_TITLE_LENGTH = 60
_ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth")


def render_retry_buttons(job: Job, ask: RequestState) -> list[Block]:
    """Make the retry buttons below a request that ended without an answer or with gaps; [] if there is no retry."""
    if ask.refusal or ask.withdrawn:
        return []
    value = encode_data(AboutRequest(job.id, ask.id))
    if ask.cancelled_by:
        anew = [make_button("Restart the open parts", TRY_AGAIN, value)] if list_incomplete_subtasks(ask) else []
        return [make_actions([make_button("Continue", GO_ON, value), *anew])]
    if has_only_scope_failures(ask.work.values()):
        return []
    if ask.run.answer is None:
        return [make_actions([make_button("Try again", TRY_AGAIN, value)])]
    return (
        [make_actions([make_button("Try what is missing again", TRY_AGAIN, value)])]
        if list_incomplete_subtasks(ask)
        else []
    )


def render_try_name(ask: RequestState) -> str:
    """Return the name of the current try, such as “Second try”."""
    number = len(ask.earlier_tries)
    return f"{_ORDINALS[number]} try" if number < len(_ORDINALS) else f"Try {number + 1}"


def render_try_line(ask: RequestState) -> list[Block]:
    """Render the card's line about a retry: its number, its requester, which parts run again and how many are kept.

    Returns [] for a first try.
    """
    if ask.again is None or ask.before is None:
        return []
    who = "" if ask.request.user == ask.before.request.user else f", asked for by {render_mention(ask.request.user)}"
    line = f"{render_try_name(ask)}{who}"
    if ask.run.plan is not None:
        works = [work for work in ask.list_all_subtasks("") if work.run is None or work.kept]
        kept = [work for work in works if work.kept and work.result is not None]
        again = [work for work in works if not work.kept]
        named = [
            f"“{clean_mrkdwn(to_plain_line(render_title(ask, work), _TITLE_LENGTH))}”"
            for work in again[:SUBTASKS_NAMED]
        ]
        more = [f"{len(again) - SUBTASKS_NAMED} more"] if len(again) > SUBTASKS_NAMED else []
        does = "goes on with" if ask.again.mode == "continue" else "runs again"
        line += f": {does} {join_as_list([*named, *more], 'and')}" if again else ": writes the answer again"
        line += f", keeps {len(kept)} of {len(works)} parts" if kept else ""
    return [make_context(line)]


def describe_earlier_cost(ask: RequestState) -> str:
    """Return what the earlier tries of a request cost, in words that follow its own cost; "" if unknown or nothing."""
    costs = [one.usage.cost for one in ask.earlier_tries if one.usage.cost]
    if not costs:
        return ""
    return f"on top of {format_dollars(sum(costs))} before"
