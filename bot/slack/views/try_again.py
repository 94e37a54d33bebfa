"""Renders retries of a request: the buttons below its end, and the line on the card that says which try it is."""

from __future__ import annotations

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.button_data import AboutRequest, encode_data
from bot.slack.views.outgoing import Block, actions, button, context
from bot.slack.views.waiting import join_in_row
from handoff.engine.retry import list_incomplete
from handoff.engine.subtask import all_failures_out_of_scope
from handoff.state.job_state import Job, RequestState
from handoff.summaries.summary import title_of
from handoff.text.counts import format_dollars

TRY_AGAIN, GO_ON = "try_again", "go_on"
"""The action_ids of the buttons."""
NAMED = 4
_TITLE = 60
_ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth")


def render_retry_buttons(job: Job, ask: RequestState) -> list[Block]:
    """Make the retry buttons below a request that ended without an answer or with gaps; [] if there is no retry."""
    if ask.refusal or ask.withdrawn:
        return []
    value = encode_data(AboutRequest(job.id, ask.id))
    if ask.cancelled_by:
        anew = [button("Restart the open parts", TRY_AGAIN, value)] if list_incomplete(ask) else []
        return [actions([button("Continue", GO_ON, value), *anew])]
    if all_failures_out_of_scope(ask.work.values()):
        return []
    if ask.run.answer is None:
        return [actions([button("Try again", TRY_AGAIN, value)])]
    return [actions([button("Try what is missing again", TRY_AGAIN, value)])] if list_incomplete(ask) else []


def name_try(ask: RequestState) -> str:
    """Return the name of the current try, such as “Second try”."""
    number = len(ask.tries)
    return f"{_ORDINALS[number]} try" if number < len(_ORDINALS) else f"Try {number + 1}"


def try_line(ask: RequestState) -> list[Block]:
    """Render the card's line about a retry: its number, its requester, which parts run again and how many are kept.

    Returns [] for a first try.
    """
    if ask.again is None or ask.before is None:
        return []
    who = "" if ask.request.user == ask.before.request.user else f", asked for by {mention(ask.request.user)}"
    line = f"{name_try(ask)}{who}"
    if ask.run.plan is not None:
        works = [work for work in ask.list_all_subtasks("") if work.run is None or work.kept]
        kept = [work for work in works if work.kept and work.result is not None]
        again = [work for work in works if not work.kept]
        named = [f"“{clean(plain(title_of(ask, work), _TITLE))}”" for work in again[:NAMED]]
        more = [f"{len(again) - NAMED} more"] if len(again) > NAMED else []
        does = "goes on with" if ask.again.mode == "continue" else "runs again"
        line += f": {does} {join_in_row([*named, *more], 'and')}" if again else ": writes the answer again"
        line += f", keeps {len(kept)} of {len(works)} parts" if kept else ""
    return [context(line)]


def describe_earlier_cost(ask: RequestState) -> str:
    """Return what the earlier tries of a request cost, in words that follow its own cost; "" if unknown or nothing."""
    costs = [one.usage.cost for one in ask.tries if one.usage.cost]
    if not costs:
        return ""
    return f"on top of {format_dollars(sum(costs))} before"
