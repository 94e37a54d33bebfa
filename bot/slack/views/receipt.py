"""Renders the line that says what the bot did with a message in the thread, if a reaction would not say enough.

A line that asks something is posted in the thread; all other lines are shown only to the author.
"""

from __future__ import annotations

from bot.slack.text.cleaning import clean, mention
from bot.slack.views.outgoing import Outgoing, section
from bot.slack.views.question import asker, mention_answerers
from handoff.engine import thread_messages
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import HeardMessage

_BRIEF = 300
NOT_APPLIED = (
    "I cannot apply that: this is a rehearsal without a language model, and the work under way keeps to your first "
    "words. Press Stop and ask again with the new ones."
)
USE_THE_BUTTONS = "A reply decides nothing here: please use the buttons on the approval card."


def receipt(job: Job, one: HeardMessage, *, by_rules: bool = False) -> Outgoing | None:
    """Render the line that says what the bot did with a message; None if the reaction says enough.

    `by_rules`: rules stand in for a model, as in a rehearsal, so that a change cannot be applied to work under way.
    """
    if one.outcome == "explained":
        ask = job.current
        return None if ask is None or one.question not in ask.open_questions else explain_question(ask, one.question)
    if one.outcome == "which":
        return _render_choice_of_question(job, one)
    words = {
        "applied": NOT_APPLIED if is_beyond_rules(one, by_rules=by_rules) else _describe_change(one),
        "dropped": "Got it. I'll go on without that message.",
        "replaced": "Changed. I'll use the new words when it is this request's turn.",
        "queued": "Noted. I'll start on this once the request before it is done.",
        "too_late": "That request is answered already, so its answer stays. Say here what should be different, and "
        "I'll do it.",
        "unsorted": "I saw your message, but the model did not answer, so I don't know yet what it is for. I'll look "
        "again in a moment. If it is for me, mention me in it.",
        "unclear": "I did nothing about your message: the model did not answer, so I don't know what it is for. If "
        "it is for me, say it again and mention me.",
    }.get(one.outcome)
    return None if words is None else _render_line(words)


def is_beyond_rules(one: HeardMessage, *, by_rules: bool) -> bool:
    """Return True for a change of work under way that cannot be applied, as no model works on it."""
    return by_rules and one.outcome == "applied" and bool(one.told or one.waiting)


def is_question(line: Outgoing) -> bool:
    """Return True for a line that asks something, which anybody in the thread may answer."""
    return line.priority == "question"


def _render_choice_of_question(job: Job, one: HeardMessage) -> Outgoing | None:
    """Ask which of several questions a message answers; None if they are closed by now."""
    ask = job.current
    asked = (
        [(asker(ask, name), question) for name, question in thread_messages.list_questions_for(job, one)]
        if ask is not None
        else []
    )
    if not asked:
        return None
    lines = [f"{mention(one.message.user)} Your reply could answer more than one question, so I have not used it:"]
    lines += [f"• *{clean(title, limit=150)}*: {clean(question.message, limit=300)}" for title, question in asked]
    first = clean(asked[0][0], limit=150)
    lines.append(f"Press a button of the right one, or begin your reply with its name: “{first}: …”.")
    text = "\n".join(lines)
    return Outgoing(text=text, blocks=(section(text),), priority="question")


def _describe_change(one: HeardMessage) -> str:
    """Return a line that says what a correction, or an edit of a message (its receipt has a ~), changes."""
    what = "Got your edit." if "~" in one.receipt else "Got it."
    told = "the part in progress" if one.told == 1 else f"the {one.told} parts in progress"
    waiting = "the one that has not begun" if one.waiting == 1 else f"the {one.waiting} that have not begun"
    if one.told and one.waiting:
        return f"{what} I'm applying it to {told} and planning {waiting} again."
    if one.told:
        return f"{what} I'm applying it to {told}."
    return f"{what} I'm planning {waiting} again." if one.waiting else f"{what} I'll plan with that."


def explain_question(ask: RequestState, subtask: str) -> Outgoing:
    """Render an open question again, with why it is asked and the possible answers."""
    asked = ask.open_questions[subtask]
    if asked.approval is not None:
        return _render_line(USE_THE_BUTTONS)
    who, title = mention_answerers(asked.whom), clean(asker(ask, subtask), limit=150)
    lines = [f"{who} I am asking because I cannot go on without it:"]
    if subtask:
        task = " ".join(ask.work[subtask].brief_text.split())
        short = task if len(task) <= _BRIEF else task[: _BRIEF - 1] + "…"
        lines = [f"{who} *{title}* waits for your answer. Its task is: {clean(short, limit=_BRIEF + 50)}"]
    if asked.doubt is not None:
        lines.append(f"I cannot tell if this was carried out: {clean(asked.doubt.reason, limit=300)}")
    lines.append(f"*The question:* {clean(asked.message, limit=1500)}")
    options = [clean(option, limit=200) for option in asked.options if option.strip()]
    if options:
        lines.append("*You can answer:* " + " · ".join(options) + " — or in your own words.")
    else:
        lines.append("Answer in your own words; “you decide” is an answer, too.")
    text = "\n".join(lines)
    return Outgoing(text=text, blocks=(section(text),), priority="question")


def _render_line(words: str) -> Outgoing:
    return Outgoing(text=words, blocks=(section(words),))
