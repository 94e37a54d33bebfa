"""The line that says what became of a message in the thread, where a reaction alone would not tell.

What asks something stands in the thread, as questions do; all else is for the author alone.
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
    """Say in one line what became of a message; None if its reaction says it all.

    `by_rules`: no model reads what was said, as in a rehearsal, so that work under way cannot take it in.
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
    """Return True for a change of work under way where no model could take it in."""
    return by_rules and one.outcome == "applied" and bool(one.told or one.waiting)


def is_question(line: Outgoing) -> bool:
    """Return True for a line that asks something, which all of the thread may answer."""
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
    """Say what a correction or an edit (whose receipt is named with a ~) changes."""
    what = "Got your edit." if "~" in one.receipt else "Got it."
    told = "the part in progress" if one.told == 1 else f"the {one.told} parts in progress"
    waiting = "the one that has not begun" if one.waiting == 1 else f"the {one.waiting} that have not begun"
    if one.told and one.waiting:
        return f"{what} I'm applying it to {told} and planning {waiting} again."
    if one.told:
        return f"{what} I'm applying it to {told}."
    return f"{what} I'm planning {waiting} again." if one.waiting else f"{what} I'll plan with that."


def explain_question(ask: RequestState, subtask: str) -> Outgoing:
    """Put an open question again: why it is asked, the question, and the answers there are."""
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
