"""Renders the line that says what the bot did with a message in the thread, if a reaction would not say enough.

A line that asks something is posted in the thread; all other lines are shown only to the author.
"""

from __future__ import annotations

from bot.slack.text.cleaning import clean_mrkdwn, render_mention
from bot.slack.views.outgoing import Outgoing, make_section
from bot.slack.views.question import find_questioner_name, mention_answerers
from handoff.engine import thread_messages
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import HeardMessage

_MAX_TASK_CHARS = 300
NOT_APPLIED_TEXT = (
    "I cannot apply that: this is a rehearsal without a language model, and the work under way keeps to your first "
    "words. Press Stop and ask again with the new ones."
)
USE_BUTTONS_TEXT = "A reply decides nothing here: please use the buttons on the approval card."


def render_receipt(job: Job, message: HeardMessage, *, by_rules: bool = False) -> Outgoing | None:
    """Render the line that says what the bot did with a message; None if the reaction says enough.

    `by_rules`: rules stand in for a model, as in a rehearsal, so that a change cannot be applied to work under way.
    """
    if message.outcome == "explained":
        request = job.current_request
        return (
            None
            if request is None or message.question_subtask not in request.open_questions
            else explain_question(request, message.question_subtask)
        )
    if message.outcome == "which":
        return _render_question_choice(job, message)
    words = {
        "applied": NOT_APPLIED_TEXT
        if is_inapplicable_change(message, by_rules=by_rules)
        else _describe_change(message),
        "dropped": "Got it. I'll go on without that message.",
        "replaced": "Changed. I'll use the new words when it is this request's turn.",
        "queued": "Noted. I'll start on this once the request before it is done.",
        "too_late": "That request is answered already, so its answer stays. Say here what should be different, and "
        "I'll do it.",
        "unsorted": "I saw your message, but the model did not answer, so I don't know yet what it is for. I'll look "
        "again in a moment. If it is for me, mention me in it.",
        "unclear": "I did nothing about your message: the model did not answer, so I don't know what it is for. If "
        "it is for me, say it again and mention me.",
    }.get(message.outcome)
    return None if words is None else _render_line(words)


def is_inapplicable_change(message: HeardMessage, *, by_rules: bool) -> bool:
    """Return True for a change of work under way that cannot be applied, as no model works on it."""
    return by_rules and message.outcome == "applied" and bool(message.told_count or message.waiting_count)


def is_question(line: Outgoing) -> bool:
    """Return True for a line that asks something, which anybody in the thread may answer."""
    return line.priority == "question"


def _render_question_choice(job: Job, message: HeardMessage) -> Outgoing | None:
    """Ask which of several questions a message answers; None if they are closed by now."""
    request = job.current_request
    candidates = (
        [
            (find_questioner_name(request, name), question)
            for name, question in thread_messages.list_answerable_questions(job, message)
        ]
        if request is not None
        else []
    )
    if not candidates:
        return None
    lines = [
        f"{render_mention(message.message.user)} Your reply could answer more than one question, so I have not used it:"
    ]
    lines += [
        f"• *{clean_mrkdwn(title, limit=150)}*: {clean_mrkdwn(question.message, limit=300)}"
        for title, question in candidates
    ]
    first = clean_mrkdwn(candidates[0][0], limit=150)
    lines.append(f"Press a button of the right one, or begin your reply with its name: “{first}: …”.")
    text = "\n".join(lines)
    return Outgoing(text=text, blocks=(make_section(text),), priority="question")


def _describe_change(message: HeardMessage) -> str:
    """Return a line that says what a correction or an edit changes. The `receipt` of an edit contains a "~"."""
    what = "Got your edit." if "~" in message.receipt else "Got it."
    running_words = "the part in progress" if message.told_count == 1 else f"the {message.told_count} parts in progress"
    waiting_words = (
        "the one that has not begun"
        if message.waiting_count == 1
        else f"the {message.waiting_count} that have not begun"
    )
    if message.told_count and message.waiting_count:
        return f"{what} I'm applying it to {running_words} and planning {waiting_words} again."
    if message.told_count:
        return f"{what} I'm applying it to {running_words}."
    return f"{what} I'm planning {waiting_words} again." if message.waiting_count else f"{what} I'll plan with that."


def explain_question(request: RequestState, subtask: str) -> Outgoing:
    """Render an open question again, with why it is asked and the possible answers."""
    question = request.open_questions[subtask]
    if question.approval is not None:
        return _render_line(USE_BUTTONS_TEXT)
    who, title = mention_answerers(question.whom), clean_mrkdwn(find_questioner_name(request, subtask), limit=150)
    lines = [f"{who} I am asking because I cannot go on without it:"]
    if subtask:
        task = " ".join(request.subtasks[subtask].brief_text.split())
        short = task if len(task) <= _MAX_TASK_CHARS else task[: _MAX_TASK_CHARS - 1] + "…"
        lines = [
            f"{who} *{title}* waits for your answer. Its task is: {clean_mrkdwn(short, limit=_MAX_TASK_CHARS + 50)}"
        ]
    if question.doubt is not None:
        lines.append(f"I cannot tell if this was carried out: {clean_mrkdwn(question.doubt.reason, limit=300)}")
    lines.append(f"*The question:* {clean_mrkdwn(question.message, limit=1500)}")
    options = [clean_mrkdwn(option, limit=200) for option in question.options if option.strip()]
    if options:
        lines.append("*You can answer:* " + " · ".join(options) + " — or in your own words.")
    else:
        lines.append("Answer in your own words; “you decide” is an answer, too.")
    text = "\n".join(lines)
    return Outgoing(text=text, blocks=(make_section(text),), priority="question")


def _render_line(words: str) -> Outgoing:
    return Outgoing(text=words, blocks=(make_section(words),))
