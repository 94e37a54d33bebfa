"""Questions to people: their addressees, reminders and expiry.

The crew decides who answers a question; otherwise the asker, the specialist or planner, names people; otherwise it is
the requester. An asker may only name people whom the requester mentioned or who wrote in the thread, so that no web
page can choose them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from handoff import events as ev
from handoff.contracts import ANYONE, NO_QUIET_TIMES, REQUESTER, AskingTerms, Escalation, KnownPerson
from handoff.conversation import message_kinds
from handoff.conversation.working_time import add_working_seconds, format_span
from handoff.engine import approvals
from handoff.engine.subtask import end_subtask
from handoff.state.job_state import Job, RequestState, SubtaskState, replace
from handoff.state.state_values import Failure, Question, QuestionAnswer, Reminder
from handoff.text.member_ids import PERSON_ID

MAX_REMINDERS = 4
"""The most reminders of one question."""
GO_ON_WITHOUT = "Go on without it"
"""The option that leaves a subtask out."""
FIRST_OPTION = "first"
"""The value of `AskingTerms.assume` for the first option."""
MAX_ASKABLE = 40
_NAMED_USER = re.compile(rf"<?@?({PERSON_ID.pattern})\b")
_MENTIONED_USER = re.compile(rf"(?<!\w)@({PERSON_ID.pattern})\b")

# ---------------------------------------------------------------- the addressees of a question


def find_mentioned_people(text: str) -> tuple[str, ...]:
    """Return the Slack ids of the people whom a text mentions, each once."""
    return tuple(dict.fromkeys(_MENTIONED_USER.findall(text)))


def list_askable_people(job: Job, ask: RequestState) -> tuple[str, ...]:
    """Return the Slack ids that an asker may name beside the requester: people mentioned, and authors in the thread."""
    spoke = (*ask.speakers, *sorted(job.people))
    found = dict.fromkeys((*find_mentioned_people(ask.text), *spoke))
    return tuple(one for one in found if one != ask.request.user)[:MAX_ASKABLE]


def choose_answerers(
    ask: RequestState, rule: Sequence[str], named_people: Sequence[str], message: str
) -> tuple[str, ...]:
    """Return the ids of the people and user groups who may answer a question; empty: anybody in the thread.

    They are those of the crew's `rule` if it is not empty, otherwise the people that the asker `named_people`,
    otherwise the person that `message` addresses, otherwise the requester.
    """
    if rule:
        return () if ANYONE in rule else _resolve_requester(ask, rule)
    people = ask.setting.people if ask.setting is not None else ()
    found = [user for name in named_people if (user := _find_person(name, people))] or _find_addressed_people(
        message, people
    )
    return tuple(dict.fromkeys(found)) or (ask.request.user,)


def _resolve_requester(ask: RequestState, words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ask.request.user if word == REQUESTER else word for word in words))


def _find_person(name: str, people: Sequence[KnownPerson]) -> str:
    """Return the Slack id of the person with that name or id; empty if there is none, or more than one."""
    sought = " ".join(message_kinds.split_words(name))
    found = _NAMED_USER.match(name.strip())
    meant = {one.user for one in people if found is not None and found[1] == one.user}
    meant = meant or {one.user for one in people if sought and sought in _list_name_forms(one)}
    return meant.pop() if len(meant) == 1 else ""


def _list_name_forms(person: KnownPerson) -> set[str]:
    whole = {" ".join(message_kinds.split_words(name)) for name in person.names}
    return whole | {name.partition(" ")[0] for name in whole}


def _find_addressed_people(message: str, people: Sequence[KnownPerson]) -> list[str]:
    """Return the id of the person that a question addresses, as in “Ben, which year?”; empty if it is not certain."""
    if found := _NAMED_USER.match(message.strip()):
        return [one.user for one in people if one.user == found[1]]
    if not message_kinds.may_address_somebody(message):
        return []
    called = [one.user for one in people if message_kinds.is_addressed_to(message, one.names)]
    return called if len(called) == 1 else []


# ---------------------------------------------------------------- a new question


def make_subtask_question(
    ask: RequestState,
    work: SubtaskState,
    at: float,
    message: str,
    options: tuple[str, ...],
    *,
    named_people: tuple[str, ...] = (),
    assumption: str = "",
) -> Question:
    """Return a subtask's next question.

    `named_people` and `assumption` are as `whom` and `assumption` in `Escalation`.
    """
    member, asking = ask.find_member(work), ask.find_enclosing_run(work).terms.asking
    rule = member.asks if member is not None and member.asks else asking.whom
    return Question(
        work.last_question_number + 1,
        message,
        options,
        at,
        whom=choose_answerers(ask, rule, named_people, message),
        assumption=assumption.strip() or _resolve_assumption(asking, options),
        asking=asking,
    )


def make_escalation_question(ask: RequestState, work: SubtaskState, at: float, escalation: Escalation) -> Question:
    """Return the question of a specialist's escalation."""
    named, assumption = escalation.whom, escalation.assumption
    return make_subtask_question(
        ask, work, at, escalation.message, escalation.options, named_people=named, assumption=assumption
    )


def make_planner_question(ask: RequestState, event: ev.PlannerAsked) -> Question:
    """Return the question that the planner asks before it plans."""
    return Question(
        1,
        event.question,
        event.options,
        event.at,
        whom=choose_answerers(ask, event.asking.whom, event.whom, event.question),
        assumption=event.assumption.strip() or _resolve_assumption(event.asking, event.options),
        asking=event.asking,
    )


def _resolve_assumption(asking: AskingTerms, options: Sequence[str]) -> str:
    if asking.assume.casefold() == FIRST_OPTION:
        return next((option for option in options if option.strip()), "")
    return asking.assume


# ---------------------------------------------------------------- reminders and expiry


def find_next_reminder(ask: RequestState, question: Question) -> tuple[float, tuple[str, ...]] | None:
    """Return the time of the next reminder of a question and the ids that it goes to; None if there is none.

    The first reminder goes to those who were asked, the next ones to `AskingTerms.then` in order, then the requester.
    """
    asking = question.asking
    to = _choose_next_people(ask, question) if asking.remind_after and len(question.reminders) < MAX_REMINDERS else ()
    if not to:
        return None
    since = question.reminders[-1].at if question.reminders else question.asked
    quiet = ask.setting.here.quiet if ask.setting is not None else NO_QUIET_TIMES
    return add_working_seconds(since, asking.remind_after, asking, _find_first_offset(ask, to), quiet), to


def _choose_next_people(ask: RequestState, question: Question) -> tuple[str, ...]:
    if not question.reminders:
        return question.whom or (ask.request.user,)
    if question.is_exclusive:
        return ()
    told = {*question.whom, *(one for reminder in question.reminders for one in reminder.to)}
    line = _resolve_requester(ask, (*question.asking.then, REQUESTER))
    return tuple([one for one in line if one not in told][:1])


def _find_first_offset(ask: RequestState, addressees: Sequence[str]) -> int:
    """Return the UTC offset in seconds of the first person's time zone; of the requester's zone if it is unknown."""
    setting = ask.setting
    if setting is None:
        return 0
    return next((one.offset for one in setting.people if one.user == addressees[0]), setting.offset)


def compute_expiry_time(question: Question) -> float | None:
    """Return the time at which a question is closed unanswered; None: never, as for one about a call in doubt."""
    if not question.asking.expire_after or question.doubt is not None:
        return None
    return question.asked + question.asking.expire_after


def apply_reminder(ask: RequestState, event: ev.QuestionReminded) -> RequestState:
    """Record a reminder. The people that it goes to may answer from now on."""
    question = ask.open_questions.get(event.subtask)
    if question is None or question.number != event.number:
        return ask
    whom = question.whom
    if whom and not question.is_exclusive:
        whom = tuple(dict.fromkeys((*whom, *event.to)))
    reminders = (*question.reminders, Reminder(event.at, event.to))
    question = dataclasses.replace(question, whom=whom, reminders=reminders)
    if not event.subtask:
        return replace(ask, question=question)
    return ask.with_subtask(replace(ask.work[event.subtask], question=question))


def apply_expiry(ask: RequestState, event: ev.QuestionExpired) -> RequestState:
    """Close a question that nobody answered, and continue with its assumption.

    Without an assumption, its subtask ends with its best result, or the request fails if the planner asked. An approval
    ends with the ruling `expired`.
    """
    question = ask.open_questions.get(event.subtask)
    if question is None or question.number != event.number or question.doubt is not None:
        return ask
    if question.approval is not None:
        return approvals.expire_approval(ask, ask.work[event.subtask], question, event.at)
    answered = QuestionAnswer(question, "", question.assumption, event.at)
    words = f"nobody answered within {format_span(question.asking.expire_after)}"
    ask = ask.with_decision(event.at, event.subtask, "question expired", words + _format_assumption(question))
    if not event.subtask:
        return _resume_or_fail(replace(ask, question=None, answered=(*ask.answered, answered)), question, words, event)
    return apply_answer(ask, ask.work[event.subtask], answered, words)


def _format_assumption(question: Question) -> str:
    return f"; assumed: {question.assumption}" if question.assumption else ""


def _resume_or_fail(ask: RequestState, question: Question, words: str, event: ev.QuestionExpired) -> RequestState:
    if question.assumption:
        return ask
    failure = Failure("planning", f"{words} what was asked: {question.message}", "Say it in a new request.")
    return replace(ask, run=replace(ask.run, failure=failure, written=event.at))


def apply_answer(ask: RequestState, work: SubtaskState, answer: QuestionAnswer, skip_reason: str = "") -> RequestState:
    """Let a subtask continue with an answer, or end it if the answer is to go on without it.

    If `skip_reason` is given, an empty answer ends the subtask as well, with `skip_reason` as the reason.
    """
    work = replace(work, question=None, answered=(*work.answered, answer))
    if chooses_to_skip(answer.question, answer.text) or (skip_reason and not answer.text):
        return end_subtask(ask, work, skip_reason or "a person said to go on without it", answer.at)
    return ask.with_subtask(replace(work, state="pending", answers=(*work.answers, answer.note)))


def chooses_to_skip(question: Question, text: str) -> bool:
    """Return True if the answer `text` is the option to go on without the subtask, and the question offered it."""
    return GO_ON_WITHOUT in question.options and text.strip().casefold() == GO_ON_WITHOUT.casefold()


def list_assumptions(ask: RequestState) -> list[str]:
    """Return one line for people for each question that nobody answered, with the assumption made."""
    answered = (*ask.answered, *(one for work in ask.work.values() for one in work.answered))
    return [
        f"Nobody answered “{' '.join(one.question.message.split())}” "
        f"within {format_span(one.question.asking.expire_after)}; I assumed: {one.text}"
        for one in answered
        if not one.user and one.text and one.ruling is None
    ]
