"""Renders a question of a specialist or the planner to people, with buttons for the likely answers, and its outcome."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import (
    Outgoing,
    actions,
    button,
    context,
    render_moment,
    section,
)
from bot.slack.views.try_again import name_try
from bot.slack.views.waiting import ANYBODY, name_answerers
from handoff.briefs.addresses import known_addresses
from handoff.conversation.working_time import describe_span
from handoff.engine.questions import expiry_time
from handoff.engine.retry import DO_AGAIN
from handoff.engine.writes import OPTIONS
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import PLEASE_CHECK, Question, QuestionAnswer, UnknownWrite
from handoff.summaries.summary import title_of

ANSWER = "answer:"
"""The start of the action_id of an answer's button; the number of the option follows."""
MAX_BUTTONS = 5
PLANNING = "Planning"
_SHORT = 40
_MESSAGE_LIMIT = 2400


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """The data of an answer's button. `number` counts the subtask's questions from 1, `option` the answers from 0."""

    job: str
    request: str
    subtask: str
    number: int
    option: int


def question(job: Job, ask: RequestState, subtask: str) -> Outgoing:
    """Render the open question of a subtask; an empty id is the planner's. Raises KeyError if it has none."""
    asked = ask.open_questions[subtask]
    who = name_answerers(asked.whom)
    head = mention_answerers(asked.whom)
    if asked.doubt is not None:
        return _render_doubt(job, ask, subtask, asked.doubt)
    places = [place for place, option in enumerate(asked.options) if option.strip()][:MAX_BUTTONS]
    options = [asked.options[place].strip() for place in places]
    known = known_addresses(job, ask)
    message = clean(asked.message, known=known, limit=_MESSAGE_LIMIT)
    title = clean(asker(ask, subtask), limit=150)
    blocks = [section(f"{head} *{title}* needs an answer:\n{message}" if subtask else f"{head} {message}")]
    if any(len(option) > _SHORT for option in options):
        lines = [f"*{number}.* {clean(option, known=known, limit=500)}" for number, option in enumerate(options, 1)]
        blocks.append(section("\n".join(lines)))
        labels = [str(number) for number in range(1, len(options) + 1)]
    else:
        labels = options
    if options:
        blocks.append(
            actions(
                [
                    button(label, f"{ANSWER}{index}", _option_value(job, ask, subtask, place))
                    for index, (label, place) in enumerate(zip(labels, places, strict=True))
                ]
            )
        )
    blocks.append(context(_explain_answering(asked, who)))
    text = f"{head} {clean(asked.message, limit=1000)}"
    return Outgoing(text=text, blocks=tuple(blocks), priority="question")


def _explain_answering(asked: Question, who: str) -> str:
    if asked.second_try:
        kept = f" Unless you choose “{DO_AGAIN}”, none of it is done again." if asked.done else ""
        return f"Waits for {who}: choose one.{kept}"
    own_words = (
        "choose one, or reply in this thread in your own words" if any(asked.options) else "reply in this thread"
    )
    return f"Waits for {who}: {own_words}."


def mention_answerers(whom: Sequence[str]) -> str:
    """Return the mentions of those who may answer, for the beginning of a message."""
    return name_answerers(whom) if whom else f"{ANYBODY[0].upper()}{ANYBODY[1:]}:"


def reminder(job: Job, ask: RequestState, subtask: str, number: int) -> Outgoing:
    """Render a reminder of an open question; reminders are counted from 1. Raises KeyError if there is no question."""
    asked = ask.open_questions[subtask]
    to = asked.reminders[number - 1].to
    message = clean(asked.message, known=known_addresses(job, ask), limit=300)
    late = [one for one in to if one not in _first_addressees(asked)]
    may = " You may answer it, too." if late and not asked.is_exclusive else ""
    closes = expiry_time(asked)
    until = f" It is closed {render_moment(closes)}; {_describe_default(asked)}" if closes is not None else ""
    what = "an approval still waits for a decision" if asked.approval else "a question still waits for an answer"
    who = name_answerers(to)
    text = f"{who[0].upper()}{who[1:]}: {what}: {message}{may}{until}"
    return Outgoing(text=text, blocks=(section(text),), priority="question")


def _first_addressees(asked: Question) -> set[str]:
    """Return the ids of those who were asked first, before a reminder went to others."""
    return set(asked.reminders[0].to if asked.reminders else asked.whom)


def _describe_default(asked: Question) -> str:
    if asked.approval is not None:
        return "then it is not done."
    if asked.assumption:
        return f"then I assume: {clean(plain(asked.assumption, 200))}"
    return "then I go on without an answer."


def asker(ask: RequestState, subtask: str) -> str:
    """Return the name of the one who asks: the title of a subtask. An empty id gives "Planning", or a retry's name."""
    return title_of(ask, ask.work[subtask]) if subtask else PLANNING if ask.before is None else name_try(ask)


def _render_doubt(job: Job, ask: RequestState, subtask: str, doubt: UnknownWrite) -> Outgoing:
    """Render the question whether a write was carried out: what it is, why that is unknown, what each answer does."""
    who, title = mention_answerers(ask.open_questions[subtask].whom), clean(asker(ask, subtask), limit=150)
    what, reason = clean(doubt.what, limit=400), clean(plain(doubt.reason, 300).rstrip("."))
    blocks = [
        section(
            f":warning: {who} *{title}* needs you to check something. Was this carried out?\n>{what}\n"
            f"I cannot tell: {reason}. I will not do it again unless you say that it did not happen."
        ),
        actions(
            [
                button(option, f"{ANSWER}{index}", _option_value(job, ask, subtask, index))
                for index, option in enumerate(OPTIONS)
            ]
        ),
        context("Choose one. Any other reply goes to the specialist word for word, and I do not do it again."),
    ]
    return Outgoing(text=f"{who} Please check: was this carried out? {what}", blocks=tuple(blocks), priority="question")


def _option_value(job: Job, ask: RequestState, subtask: str, option: int) -> str:
    number = ask.open_questions[subtask].number
    return encode_data(AnswerChoice(job.id, ask.id, subtask, number, option))


def question_answered(title: str, answer: QuestionAnswer, known: Collection[str] = ()) -> Outgoing:
    """Render an answered question, without buttons, and with who answered what, and when.

    Addresses that are `known` become links. An answer without a user means that nobody answered in time.
    """
    title = clean(title, limit=150)
    asked = section(f"*{title}* asked:\n{clean(answer.question.message, known=known, limit=_MESSAGE_LIMIT)}")
    decided = decision(answer) if answer.user else describe_no_answer(answer)
    return Outgoing(text=decided, blocks=(asked, context(decided)), priority="question")


def question_dropped(title: str, asked_last: Question, known: Collection[str] = ()) -> Outgoing:
    """Render a question whose request was stopped, without buttons, and with a note that no answer is needed."""
    message = clean(asked_last.message, known=known, limit=_MESSAGE_LIMIT)
    asked = section(f"*{clean(title, limit=150)}* asked:\n{message}")
    closed = "No answer is needed any more: the request was stopped."
    if asked_last.doubt is not None:
        closed = f"The request was stopped before anybody answered. This is {PLEASE_CHECK}."
    return Outgoing(text=closed, blocks=(asked, context(closed)), priority="question")


def decision(answer: QuestionAnswer) -> str:
    """Return who answered what, and when, in mrkdwn."""
    words = clean(plain(answer.text, 300))
    return f":white_check_mark: {mention(answer.user)} answered “{words}” {render_moment(answer.at)}"


def describe_no_answer(answer: QuestionAnswer) -> str:
    """Return the line which says that nobody answered in time, and what the bot did instead."""
    taken = f"I assumed: “{clean(plain(answer.text, 300))}”" if answer.text else "I went on without an answer"
    span = describe_span(answer.question.asking.expire_after)
    return f":hourglass: Nobody answered within {span}; {taken} {render_moment(answer.at)}"
