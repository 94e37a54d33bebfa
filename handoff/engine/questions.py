"""Questions to people: their addressees, reminders and expiry.

The crew's rule names the people who may answer. Without a rule, the asker (the specialist or the planner) names them;
otherwise the requester answers. An asker may name only people whom the requester mentioned or who wrote in the thread,
so that no web page can choose them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from handoff import events as ev
from handoff.contracts import ANYONE, NO_QUIET_TIMES, REQUESTER, AskingTerms, Escalation, KnownPerson
from handoff.conversation import message_kinds
from handoff.conversation.working_time import add_working_seconds, format_duration
from handoff.engine import approvals
from handoff.engine.subtask import end_with_best_result
from handoff.state.job_state import Job, RequestState, SubtaskState, replace
from handoff.state.state_values import Failure, Question, QuestionAnswer, Reminder
from handoff.text.slack_ids import PERSON_ID

MAX_REMINDERS = 4
"""The most reminders of one question."""
GO_ON_WITHOUT = "Go on without it"
"""The option, in questions about a subtask, to go on without the subtask."""
FIRST_OPTION = "first"
"""The value of `AskingTerms.assume` that stands for the first option of a question."""
MAX_ASKABLE_PEOPLE = 40
_NAMED_USER = re.compile(rf"<?@?({PERSON_ID.pattern})\b")
_MENTIONED_USER = re.compile(rf"(?<!\w)@({PERSON_ID.pattern})\b")

# ---------------------------------------------------------------- the addressees of a question


def find_mentioned_people(text: str) -> tuple[str, ...]:
    """Return the Slack ids of the people whom a text mentions, each once."""
    return tuple(dict.fromkeys(_MENTIONED_USER.findall(text)))


def list_askable_people(job: Job, request: RequestState) -> tuple[str, ...]:
    """Return the Slack ids of people whom an asker may name: mentioned by the requester, or authors in the thread.

    The requester is not among them, and there are at most `MAX_ASKABLE_PEOPLE`.
    """
    spoke = (*request.speakers, *sorted(job.people))
    user_ids = dict.fromkeys((*find_mentioned_people(request.text), *spoke))
    return tuple(one for one in user_ids if one != request.spec.user)[:MAX_ASKABLE_PEOPLE]


def choose_answerers(
    request: RequestState, rule: Sequence[str], named_people: Sequence[str], message: str
) -> tuple[str, ...]:
    """Return the ids of the people and user groups who may answer a question; empty: anybody in the thread.

    They are those of the crew's `rule`; if it is empty, the known people among the asker's `named_people`; if there are
    none, the person that `message` addresses; otherwise the requester.
    """
    if rule:
        return () if ANYONE in rule else _resolve_requester(request, rule)
    people = request.setting.people if request.setting is not None else ()
    user_ids = [user for name in named_people if (user := _find_person(name, people))] or _find_addressed_people(
        message, people
    )
    return tuple(dict.fromkeys(user_ids)) or (request.spec.user,)


def _resolve_requester(request: RequestState, words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(request.spec.user if word == REQUESTER else word for word in words))


def _find_person(name: str, people: Sequence[KnownPerson]) -> str:
    """Return the Slack id of the person with that name or id; empty if there is none, or more than one."""
    sought_name = " ".join(message_kinds.split_words(name))
    match = _NAMED_USER.match(name.strip())
    user_ids = {one.user for one in people if match is not None and match[1] == one.user}
    user_ids = user_ids or {one.user for one in people if sought_name and sought_name in _list_name_forms(one)}
    return user_ids.pop() if len(user_ids) == 1 else ""


def _list_name_forms(person: KnownPerson) -> set[str]:
    whole = {" ".join(message_kinds.split_words(name)) for name in person.names}
    return whole | {name.partition(" ")[0] for name in whole}


def _find_addressed_people(message: str, people: Sequence[KnownPerson]) -> list[str]:
    """Return the id of the person that a question addresses, as in “Ben, which year?”; empty if it is unsure."""
    if match := _NAMED_USER.match(message.strip()):
        return [one.user for one in people if one.user == match[1]]
    if not message_kinds.may_address_somebody(message):
        return []
    user_ids = [one.user for one in people if message_kinds.is_addressed_to(message, one.names)]
    return user_ids if len(user_ids) == 1 else []


# ---------------------------------------------------------------- a new question


def make_subtask_question(
    request: RequestState,
    subtask: SubtaskState,
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
    member, asking = request.find_member(subtask), request.find_enclosing_run(subtask).terms.asking
    rule = member.asks if member is not None and member.asks else asking.whom
    return Question(
        subtask.last_question_number + 1,
        message,
        options,
        at,
        whom=choose_answerers(request, rule, named_people, message),
        assumption=assumption.strip() or _resolve_assumption(asking, options),
        asking_terms=asking,
    )


def make_escalation_question(
    request: RequestState, subtask: SubtaskState, at: float, escalation: Escalation
) -> Question:
    """Return the question of a specialist's escalation."""
    named_people, assumption = escalation.whom, escalation.assumption
    return make_subtask_question(
        request, subtask, at, escalation.message, escalation.options, named_people=named_people, assumption=assumption
    )


def make_planner_question(request: RequestState, event: ev.PlannerAsked) -> Question:
    """Return the question that the planner asks before it plans."""
    return Question(
        1,
        event.question,
        event.options,
        event.at,
        whom=choose_answerers(request, event.asking.whom, event.whom, event.question),
        assumption=event.assumption.strip() or _resolve_assumption(event.asking, event.options),
        asking_terms=event.asking,
    )


def _resolve_assumption(asking: AskingTerms, options: Sequence[str]) -> str:
    if asking.assume.casefold() == FIRST_OPTION:
        return next((option for option in options if option.strip()), "")
    return asking.assume


# ---------------------------------------------------------------- reminders and expiry


def find_next_reminder(request: RequestState, question: Question) -> tuple[float, tuple[str, ...]] | None:
    """Return the time of the next reminder of a question and the ids that it goes to; None if there is none.

    The first reminder goes to those who were asked, the next ones to `AskingTerms.then` in order, then the requester.
    """
    asking = question.asking_terms
    to = (
        _choose_next_people(request, question)
        if asking.remind_after and len(question.reminders) < MAX_REMINDERS
        else ()
    )
    if not to:
        return None
    since = question.reminders[-1].at if question.reminders else question.asked_at
    quiet = request.setting.here.quiet if request.setting is not None else NO_QUIET_TIMES
    return add_working_seconds(since, asking.remind_after, asking, _find_addressee_utc_offset(request, to), quiet), to


def _choose_next_people(request: RequestState, question: Question) -> tuple[str, ...]:
    if not question.reminders:
        return question.whom or (request.spec.user,)
    if question.is_exclusive:
        return ()
    reminded_ids = {*question.whom, *(one for reminder in question.reminders for one in reminder.to)}
    line = _resolve_requester(request, (*question.asking_terms.then, REQUESTER))
    return tuple([one for one in line if one not in reminded_ids][:1])


def _find_addressee_utc_offset(request: RequestState, addressees: Sequence[str]) -> int:
    """Return the UTC offset, in seconds, of the first addressee; if it is unknown, that of the requester."""
    setting = request.setting
    if setting is None:
        return 0
    return next((one.offset for one in setting.people if one.user == addressees[0]), setting.offset)


def compute_expiry_time(question: Question) -> float | None:
    """Return the time at which a question is closed unanswered; None: never, as for calls in doubt."""
    if not question.asking_terms.expire_after or question.doubt is not None:
        return None
    return question.asked_at + question.asking_terms.expire_after


def apply_reminder(request: RequestState, event: ev.QuestionReminded) -> RequestState:
    """Record a reminder. The people that it goes to may answer from now on."""
    question = request.open_questions.get(event.subtask)
    if question is None or question.number != event.number:
        return request
    whom = question.whom
    if whom and not question.is_exclusive:
        whom = tuple(dict.fromkeys((*whom, *event.to)))
    reminders = (*question.reminders, Reminder(event.at, event.to))
    question = dataclasses.replace(question, whom=whom, reminders=reminders)
    if not event.subtask:
        return replace(request, question=question)
    return request.with_subtask(replace(request.subtasks[event.subtask], question=question))


def apply_expiry(request: RequestState, event: ev.QuestionExpired) -> RequestState:
    """Close a question that nobody answered, and continue with its assumption.

    Without an assumption, its subtask ends with its best result, or the request fails if the planner asked. An approval
    ends with the ruling `expired`.
    """
    question = request.open_questions.get(event.subtask)
    if question is None or question.number != event.number or question.doubt is not None:
        return request
    if question.approval is not None:
        return approvals.expire_approval(request, request.subtasks[event.subtask], question, event.at)
    question_answer = QuestionAnswer(question, "", question.assumption, event.at)
    words = f"nobody answered within {format_duration(question.asking_terms.expire_after)}"
    request = request.with_decision(event.at, event.subtask, "question expired", words + _format_assumption(question))
    if not event.subtask:
        return _resume_or_fail(
            replace(request, question=None, question_answers=(*request.question_answers, question_answer)),
            question,
            words,
            event,
        )
    return apply_answer(request, request.subtasks[event.subtask], question_answer, words)


def _format_assumption(question: Question) -> str:
    return f"; assumed: {question.assumption}" if question.assumption else ""


def _resume_or_fail(request: RequestState, question: Question, words: str, event: ev.QuestionExpired) -> RequestState:
    if question.assumption:
        return request
    failure = Failure("planning", f"{words} what was asked: {question.message}", "Say it in a new request.")
    return replace(request, run=replace(request.run, failure=failure, concluded_at=event.at))


def apply_answer(
    request: RequestState, subtask: SubtaskState, answer: QuestionAnswer, skip_reason: str = ""
) -> RequestState:
    """Let a subtask continue with an answer, or end it if the answer is to go on without it.

    With a `skip_reason`, an empty answer ends the subtask, too, for that reason.
    """
    subtask = replace(subtask, question=None, question_answers=(*subtask.question_answers, answer))
    if chooses_to_skip(answer.question, answer.text) or (skip_reason and not answer.text):
        return end_with_best_result(request, subtask, skip_reason or "a person said to go on without it", answer.at)
    return request.with_subtask(replace(subtask, state="pending", answer_notes=(*subtask.answer_notes, answer.note)))


def chooses_to_skip(question: Question, text: str) -> bool:
    """Return True if the answer `text` is the option to go on without the subtask, and the question offered it."""
    return GO_ON_WITHOUT in question.options and text.strip().casefold() == GO_ON_WITHOUT.casefold()


def list_assumptions(request: RequestState) -> list[str]:
    """Return one line for people for each question that expired with an assumption, and the assumption."""
    question_answers = (
        *request.question_answers,
        *(one for subtask in request.subtasks.values() for one in subtask.question_answers),
    )
    return [
        f"Nobody answered “{' '.join(one.question.message.split())}” "
        f"within {format_duration(one.question.asking_terms.expire_after)}; I assumed: {one.text}"
        for one in question_answers
        if not one.user and one.text and one.ruling is None
    ]
