"""Renders questions of specialists and of the planner: with buttons for the answers, as reminders, and once closed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.answerers import ANYBODY_WORDS, render_answerers
from bot.slack.views.button_data import encode_data
from bot.slack.views.outgoing import (
    Outgoing,
    make_actions,
    make_button,
    make_context,
    make_section,
    render_moment,
)
from bot.slack.views.try_again import render_try_name
from handoff.briefs.addresses import list_known_addresses
from handoff.conversation.working_time import format_duration
from handoff.engine.questions import compute_expiry_time
from handoff.engine.retry import REPEAT_CALLS
from handoff.engine.unknown_writes import VERDICT_OPTIONS
from handoff.state.job_state import Job, RequestState
from handoff.state.state_values import UNKNOWN_WRITE_WORDS, Question, QuestionAnswer, UnknownWrite
from handoff.summaries.summary import render_title
from handoff.text.capitalization import capitalize_first

ANSWER_PREFIX = "answer:"
"""The start of the action_id of an answer's button; the number of the option follows."""
MAX_BUTTONS = 5
PLANNER_NAME = "Planning"
_SHORT_OPTION_CHARS = 40
_MESSAGE_CHAR_LIMIT = 2400


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """The data of an answer's button. `number` counts the subtask's questions from 1, `option` the answers from 0."""

    job: str
    request: str
    subtask: str
    number: int
    option: int


def render_question(job: Job, request: RequestState, subtask: str) -> Outgoing:
    """Render the open question of a subtask; an empty id is the planner's. Raises KeyError if it has none."""
    question = request.open_questions[subtask]
    who = render_answerers(question.whom)
    head = mention_answerers(question.whom)
    if question.doubt is not None:
        return _render_write_check(job, request, subtask, question.doubt)
    places = [place for place, option in enumerate(question.options) if option.strip()][:MAX_BUTTONS]
    options = [question.options[place].strip() for place in places]
    known_addresses = list_known_addresses(job, request)
    message = clean_mrkdwn(question.message, known_addresses=known_addresses, limit=_MESSAGE_CHAR_LIMIT)
    title = clean_mrkdwn(find_questioner_name(request, subtask), limit=150)
    blocks = [make_section(f"{head} *{title}* needs an answer:\n{message}" if subtask else f"{head} {message}")]
    if any(len(option) > _SHORT_OPTION_CHARS for option in options):
        lines = [
            f"*{number}.* {clean_mrkdwn(option, known_addresses=known_addresses, limit=500)}"
            for number, option in enumerate(options, 1)
        ]
        blocks.append(make_section("\n".join(lines)))
        labels = [str(number) for number in range(1, len(options) + 1)]
    else:
        labels = options
    if options:
        blocks.append(
            make_actions(
                [
                    make_button(label, f"{ANSWER_PREFIX}{index}", _encode_option(job, request, subtask, place))
                    for index, (label, place) in enumerate(zip(labels, places, strict=True))
                ]
            )
        )
    blocks.append(make_context(_explain_answering(question, who)))
    text = f"{head} {clean_mrkdwn(question.message, limit=1000)}"
    return Outgoing(text=text, blocks=tuple(blocks), priority="question")


def _explain_answering(question: Question, answerers: str) -> str:
    if question.is_retry_question:
        repeat_note = (
            f" Unless you choose “{REPEAT_CALLS}”, none of it is done again." if question.repeatable_writes else ""
        )
        return f"Waits for {answerers}: choose one.{repeat_note}"
    own_words = (
        "choose one, or reply in this thread in your own words" if any(question.options) else "reply in this thread"
    )
    return f"Waits for {answerers}: {own_words}."


def mention_answerers(answerers: Sequence[str]) -> str:
    """Return the mentions of those who may answer, for the beginning of a message."""
    return render_answerers(answerers) if answerers else f"{capitalize_first(ANYBODY_WORDS)}:"


def render_reminder(job: Job, request: RequestState, subtask: str, number: int) -> Outgoing:
    """Render a reminder of an open question; reminders are counted from 1. Raises KeyError if there is no question."""
    question = request.open_questions[subtask]
    to = question.reminders[number - 1].to
    message = clean_mrkdwn(question.message, known_addresses=list_known_addresses(job, request), limit=300)
    late = [one for one in to if one not in _list_first_addressees(question)]
    may = " You may answer it, too." if late and not question.is_exclusive else ""
    closes = compute_expiry_time(question)
    until = f" It is closed {render_moment(closes)}; {_describe_expiry_outcome(question)}" if closes is not None else ""
    what = "an approval still waits for a decision" if question.approval else "a question still waits for an answer"
    who = render_answerers(to)
    text = f"{capitalize_first(who)}: {what}: {message}{may}{until}"
    return Outgoing(text=text, blocks=(make_section(text),), priority="question")


def _list_first_addressees(question: Question) -> set[str]:
    """Return the ids of those who were asked first, before a reminder went to others."""
    return set(question.reminders[0].to if question.reminders else question.whom)


def _describe_expiry_outcome(question: Question) -> str:
    if question.approval is not None:
        return "then it is not done."
    if question.assumption:
        return f"then I assume: {clean_mrkdwn(to_plain_line(question.assumption, 200))}"
    return "then I go on without an answer."


def find_questioner_name(request: RequestState, subtask: str) -> str:
    """Return the name of the asking subtask: its title; for an empty id "Planning", or the name of the retry."""
    return (
        render_title(request, request.subtasks[subtask])
        if subtask
        else PLANNER_NAME
        if request.earlier_try is None
        else render_try_name(request)
    )


def _render_write_check(job: Job, request: RequestState, subtask: str, doubt: UnknownWrite) -> Outgoing:
    """Render the question whether a write was carried out: what it is, why that is unknown, what each answer does."""
    who, title = (
        mention_answerers(request.open_questions[subtask].whom),
        clean_mrkdwn(find_questioner_name(request, subtask), limit=150),
    )
    what, reason = clean_mrkdwn(doubt.what, limit=400), clean_mrkdwn(to_plain_line(doubt.reason, 300).rstrip("."))
    blocks = [
        make_section(
            f":warning: {who} *{title}* needs you to check something. Was this carried out?\n>{what}\n"
            f"I cannot tell: {reason}. I will not do it again unless you say that it did not happen."
        ),
        make_actions(
            [
                make_button(option, f"{ANSWER_PREFIX}{index}", _encode_option(job, request, subtask, index))
                for index, option in enumerate(VERDICT_OPTIONS)
            ]
        ),
        make_context("Choose one. Any other reply goes to the specialist word for word, and I do not do it again."),
    ]
    return Outgoing(text=f"{who} Please check: was this carried out? {what}", blocks=tuple(blocks), priority="question")


def _encode_option(job: Job, request: RequestState, subtask: str, option: int) -> str:
    number = request.open_questions[subtask].number
    return encode_data(AnswerChoice(job.id, request.id, subtask, number, option))


def render_answered_question(title: str, answer: QuestionAnswer, known_addresses: Collection[str] = ()) -> Outgoing:
    """Render an answered question, without buttons, and with who answered what, and when.

    Addresses that are `known_addresses` become links. An answer without a user means that nobody answered in time.
    """
    title = clean_mrkdwn(title, limit=150)
    message = clean_mrkdwn(answer.question.message, known_addresses=known_addresses, limit=_MESSAGE_CHAR_LIMIT)
    question_block = make_section(f"*{title}* asked:\n{message}")
    outcome_text = describe_answer(answer) if answer.user else describe_no_answer(answer)
    return Outgoing(text=outcome_text, blocks=(question_block, make_context(outcome_text)), priority="question")


def render_dropped_question(title: str, question: Question, known_addresses: Collection[str] = ()) -> Outgoing:
    """Render a question whose request was stopped, without buttons, and with a note that no answer is needed."""
    message = clean_mrkdwn(question.message, known_addresses=known_addresses, limit=_MESSAGE_CHAR_LIMIT)
    question_block = make_section(f"*{clean_mrkdwn(title, limit=150)}* asked:\n{message}")
    note = "No answer is needed any more: the request was stopped."
    if question.doubt is not None:
        note = f"The request was stopped before anybody answered. This is {UNKNOWN_WRITE_WORDS}."
    return Outgoing(text=note, blocks=(question_block, make_context(note)), priority="question")


def describe_answer(answer: QuestionAnswer) -> str:
    """Return the line (mrkdwn) which says who answered what, and when."""
    words = clean_mrkdwn(to_plain_line(answer.text, 300))
    return f":white_check_mark: {render_mention(answer.user)} answered “{words}” {render_moment(answer.at)}"


def describe_no_answer(answer: QuestionAnswer) -> str:
    """Return the line which says that nobody answered in time, and what the bot did instead."""
    fallback_text = (
        f"I assumed: “{clean_mrkdwn(to_plain_line(answer.text, 300))}”"
        if answer.text
        else "I went on without an answer"
    )
    span = format_duration(answer.question.asking_terms.expire_after)
    return f":hourglass: Nobody answered within {span}; {fallback_text} {render_moment(answer.at)}"
