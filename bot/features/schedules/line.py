"""The line on top of a schedule's run, and the word to its owner when it does not run. Pure."""

from __future__ import annotations

from bot.features.schedules.rule_words import sentence, time_words, when_words
from bot.features.schedules.schedule import Schedule
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import Outgoing, context, section

SHOWN = 1_000
"""Characters of what is asked that the line shows; its thread has all of it."""


def run_line(one: Schedule, due: float, *, late: bool, asked_for: bool) -> Outgoing:
    """Make the line: when it runs, what is asked, and by whom; and if it comes late, for which time."""
    asks = clean(plain(one.asks, SHOWN))
    text = f"*{sentence(when_words(one))}*: {asks}, asked by {mention(one.owner)}"
    small = ""
    if asked_for:
        small = "Run now, beside its times."
    elif late:
        small = f"Meant for {time_words(due, one.zone)}: I was not running then."
    return Outgoing(text=text, blocks=(section(text), *((context(small),) if small else ())))


def did_not_run(one: Schedule, why: str, *, paused: bool) -> Outgoing:
    """Tell the owner that a schedule did not run, and what to do."""
    asks, when = clean(plain(one.asks, 200)), when_words(one)
    if paused:
        end = f"I have paused it. `/leadhand schedule resume {one.id}` lets it go on, `remove {one.id}` ends it."
    else:
        end = "It runs again at its next time. `/leadhand schedule` shows it."
    text = f"Your schedule “{asks}” ({when}) in <#{one.channel}> did not run: {clean(why)}. {end}"
    return Outgoing(text=text, blocks=(section(text),))
