"""What people are told of a second try: that it began, or why nothing is tried."""

from __future__ import annotations

from collections.abc import Mapping

from bot.features.retries.service import RetryRecorded, RetryRefusalReason, RetryRefused
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.waiting import join_in_row

NAMED = 4
_TITLE = 60


def describe_begun(tried: RetryRecorded) -> str:
    """Say to who gave a command what is tried again, and where it is to be seen."""
    place = tried.place
    where = f"in its thread in <#{place.channel}>"
    if not tried.steps:
        return f"I take it up again, {where}."
    named = join_in_row([f"“{clean(plain(one, _TITLE))}”" for one in tried.steps[:NAMED]], "and")
    more = f" and {len(tried.steps) - NAMED} more" if len(tried.steps) > NAMED else ""
    return f"I run {named}{more} again, {where}."


def later_words(when: str, text: str) -> str:
    """Say how to have something done at another time where that cannot be arranged here."""
    return f"To have it done {clean(plain(when, 60))}, make a schedule with these words: “{clean(plain(text, 300))}”"


_UNTRIED: Mapping[RetryRefusalReason, str] = {
    "unknown": "I found nothing in this thread to try again: finished jobs are forgotten after a while. Say it in "
    "the thread of the request, or mention me with the request itself.",
    "forgotten": "That is forgotten: somebody had its record erased. Mention me with the request itself.",
    "unreadable": "The record of that job is damaged, so I cannot take it up. Mention me with the request itself.",
    "newer": "A newer release of me works on that job, so I cannot take it up here. Try again in a minute.",
    "quarantined": "That job is set aside: nothing is tried again in it until an admin releases it.",
    "nothing": "There is nothing here to try again yet. Mention me with a request.",
    "going_on": "That is still under way: I can try it again once it has ended, or is stopped.",
    "done": "Nothing of it failed. “retry from STEP” runs a step and what builds on it again, “again” all of it; to "
    "have it done differently, say how.",
}


def untried_words(untried: RetryRefused) -> str:
    """Say why nothing is tried again, and what to do instead."""
    people = join_in_row([mention(one) for one in untried.users], "or")
    if untried.why == "under_way":
        return f"{people or 'Somebody'} is having that tried again already: see the thread."
    if untried.why == "not_yours":
        return f"Only {people}, who asked for it, or an admin can have it tried again."
    if untried.why == "no_step" and untried.steps:
        lines = "\n".join(f"• {clean(plain(one, 120))}" for one in untried.steps)
        return (
            f"I do not know which step you mean. The nearest:\n{lines}\nSay “retry from” and its number, id or title."
        )
    if untried.why == "no_step":
        return "There are no steps to choose from: nothing was planned. “again” does all of it from the start."
    return _UNTRIED[untried.why]
