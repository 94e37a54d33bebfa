"""Second tries, as people see them: the buttons below an end, the line on the card, and why nothing is tried."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import Block, actions, button, context
from bot.slack.views.waiting import in_row
from handoff.dollars import in_dollars
from handoff.engine.second_try import lacking
from handoff.state import Ask, Job
from handoff.summary import title_of

if TYPE_CHECKING:
    from bot.slack.receive.second_tries import Tried, Untried, UntriedWhy

TRY_AGAIN, GO_ON = "try_again", "go_on"
"""The action_ids of the buttons."""
NAMED = 4
_TITLE = 60
_ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth")


def try_again(job: Job, ask: Ask) -> list[Block]:
    """Make the buttons below an end that is none, or lacks something; none where there is nothing to run again."""
    if ask.refusal or ask.withdrawn:
        return []
    value = json.dumps({"job": job.id, "request": ask.id})
    if ask.cancelled_by:
        anew = [button("Start the open parts anew", TRY_AGAIN, value)] if lacking(ask) else []
        return [actions([button("Continue", GO_ON, value), *anew])]
    if ask.run.answer is None:
        return [actions([button("Try again", TRY_AGAIN, value)])]
    return [actions([button("Try what is missing again", TRY_AGAIN, value)])] if lacking(ask) else []


def ordinal(ask: Ask) -> str:
    """Name which try it is: “Second try”."""
    number = len(ask.tries)
    return f"{_ORDINALS[number]} try" if number < len(_ORDINALS) else f"Try {number + 1}"


def try_line(ask: Ask) -> list[Block]:
    """Say on the card which try it is, whose, and what is kept and run again of the one before; nothing for a first."""
    if ask.again is None or ask.before is None:
        return []
    who = "" if ask.request.user == ask.before.request.user else f", asked for by {mention(ask.request.user)}"
    line = f"{ordinal(ask)}{who}"
    if ask.run.plan is not None:
        works = [work for work in ask.all_inside("") if work.run is None or work.kept]
        kept = [work for work in works if work.kept and work.result is not None]
        again = [work for work in works if not work.kept]
        named = [f"“{clean(plain(title_of(ask, work), _TITLE))}”" for work in again[:NAMED]]
        more = [f"{len(again) - NAMED} more"] if len(again) > NAMED else []
        does = "goes on with" if ask.again.mode == "continue" else "runs again"
        line += f": {does} {in_row([*named, *more], 'and')}" if again else ": writes the answer anew"
        line += f", keeps {len(kept)} of {len(works)} parts" if kept else ""
    return [context(line)]


def spent_before(ask: Ask) -> str:
    """Say what the tries before it cost, which is on top of its own cost; empty if that is not known, or nothing."""
    costs = [one.usage.cost for one in ask.tries if one.usage.cost]
    if not costs:
        return ""
    return f"on top of {in_dollars(sum(costs))} before"


def begun_words(tried: Tried) -> str:
    """Say to who gave a command what is tried again, and where it is to be seen."""
    place = tried.place
    where = f"in its thread in <#{place.channel}>"
    if not tried.steps:
        return f"I take it up again, {where}."
    named = in_row([f"“{clean(plain(one, _TITLE))}”" for one in tried.steps[:NAMED]], "and")
    more = f" and {len(tried.steps) - NAMED} more" if len(tried.steps) > NAMED else ""
    return f"I run {named}{more} again, {where}."


def later_words(when: str, text: str) -> str:
    """Say how to have something done at another time where that cannot be arranged here."""
    return f"To have it done {clean(plain(when, 60))}, make a schedule with these words: “{clean(plain(text, 300))}”"


_UNTRIED: Mapping[UntriedWhy, str] = {
    "unknown": "I know of nothing in this thread that I could try again: finished jobs are forgotten after a while. "
    "Say it in the thread of the request, or mention me with the request itself.",
    "forgotten": "That is forgotten: somebody had its record erased. Mention me with the request itself.",
    "unreadable": "The record of that job is damaged, so I cannot take it up. Mention me with the request itself.",
    "newer": "A newer release of me works on that job, so I cannot take it up here. Try again in a minute.",
    "quarantined": "That job is set aside: nothing is tried again in it until an admin releases it.",
    "nothing": "There is nothing here to try again yet. Mention me with a request.",
    "going_on": "That is still under way: I can try it again once it has ended, or is stopped.",
    "done": "Nothing of it failed. “retry from STEP” runs a step and what builds on it again, “again” all of it; to "
    "have it done differently, say how.",
}


def untried_words(untried: Untried) -> str:
    """Say why nothing is tried again, and what to do instead."""
    people = in_row([mention(one) for one in untried.users], "or")
    if untried.why == "under_way":
        return f"{people or 'Somebody'} has that tried again already: it shows in the thread."
    if untried.why == "not_yours":
        return f"Only {people}, who asked for it, or an admin can have it tried again."
    if untried.why == "no_step" and untried.steps:
        lines = "\n".join(f"• {clean(plain(one, 120))}" for one in untried.steps)
        return (
            f"I do not know which step you mean. The nearest:\n{lines}\nSay “retry from” and its number, id or title."
        )
    if untried.why == "no_step":
        return "There are no steps to choose from: nothing was planned. “again” does all of it anew."
    return _UNTRIED[untried.why]
