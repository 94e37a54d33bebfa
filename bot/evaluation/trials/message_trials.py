"""Trials of the classification of messages in a job's thread: rules and dispatcher together."""

from __future__ import annotations

import re
from typing import Any, get_args

from bot.evaluation.cases import DispatcherCase, Speaker
from bot.evaluation.counting_model import CountingModel
from bot.evaluation.naive_prompts import call_baseline
from bot.evaluation.outcome import CaseOutcome
from bot.evaluation.staged_job import PEOPLE, REQUEST_ID, CaseEnvironment, StagedJob
from handoff import events as ev
from handoff.contracts import Plan, Request, Subtask
from handoff.effects import make_answer_key, make_card_end_key, make_card_key

NO_VERDICT = "no verdict"
MESSAGE_ID = "9.0"
_USERS: dict[Speaker, str] = dict(zip(("requester", "colleague"), PEOPLE, strict=True))
_AIM_PATTERN = re.compile(rf"\b({'|'.join(get_args(ev.MessageAim))})\b", re.IGNORECASE)


async def classify_message(case: DispatcherCase, environment: CaseEnvironment, model: CountingModel) -> CaseOutcome:
    """Have the product find the aim of a message, by rules or by the dispatcher, and score the aim."""
    job = StagedJob(environment, model, case.asked)
    _prepare_job(job, case)
    for number, speaker in enumerate(case.before, start=1):
        _report_message(job, f"8.{number}", speaker, "hm")
        job.report_soon(ev.MessageSorted(at=job.now(), message=f"8.{number}", aim="nothing"))
    _report_message(job, MESSAGE_ID, case.by, case.input, mentions_bot=case.mentioned)
    effect = job.find_due_effect("dispatcher")
    if effect is None:
        return _score_aim(case, NO_VERDICT, "the message was not looked at", is_by_rules=True)
    event: Any = await job.perform(effect)
    return _score_aim(case, NO_VERDICT if model.errors else event.aim, event.why, is_by_rules=event.by == "rules")


async def classify_message_naively(
    case: DispatcherCase, _environment: CaseEnvironment, model: CountingModel
) -> CaseOutcome:
    """Call a plain prompt that asks for the aim of a message, and score its reply."""
    text = await call_baseline(model, "dispatcher", _write_naive_prompt(case))
    match = _AIM_PATTERN.search(text)
    return _score_aim(case, match[1].lower() if match else NO_VERDICT, text)


def _prepare_job(job: StagedJob, case: DispatcherCase) -> None:
    """Report the events that bring a job into the state of the case: over, waiting or at work."""
    at = job.now()
    job.report_soon(ev.Posted(at=at, request=REQUEST_ID, key=make_card_key(REQUEST_ID), ts="2.0"))
    if case.answer:
        ends = (
            ev.Posted(at=at, request=REQUEST_ID, key=key(REQUEST_ID), ts="2.1")
            for key in (make_answer_key, make_card_end_key)
        )
        job.report_soon(ev.AnswerWritten(at=at, request=REQUEST_ID, text=case.answer), *ends)
    elif case.question:
        job.report_soon(ev.PlannerAsked(at=at, request=REQUEST_ID, question=case.question, options=case.options))
    else:
        who = next(iter(job.environment.crew.specialists))
        parts = tuple(
            Subtask(id=f"part{number}", title=title, intent=title, specialist=who)
            for number, title in enumerate(case.parts, start=1)
        )
        job.set_plan(Plan(goal=case.asked, subtasks=parts), with_fallbacks=False)


def _report_message(
    job: StagedJob, message_id: str, speaker: Speaker, words: str, *, mentions_bot: bool = False
) -> None:
    at = job.now()
    message = Request(id=message_id, user=_USERS[speaker], text=words, at=at)
    job.report_soon(ev.MessageHeard(at=at, message=message, mentioned=mentions_bot))


def _write_naive_prompt(case: DispatcherCase) -> str:
    names = {speaker: PEOPLE[user] for speaker, user in _USERS.items()}
    question_line = f"The bot asked: {case.question} ({', '.join(case.options)})"
    at_work = f"The bot is working on: {'; '.join(case.parts)}"
    lines = [
        f"{names['requester']} to the bot: {case.asked}",
        f"The bot answered: {case.answer}" if case.answer else question_line if case.question else at_work,
        *(f"{names[one]}: hm" for one in case.before),
        f"{names[case.by]}: {'@bot ' if case.mentioned else ''}{case.input}",
    ]
    return "\n".join(lines)


def _score_aim(case: DispatcherCase, aim: str, reply: str, *, is_by_rules: bool | None = None) -> CaseOutcome:
    right = aim in case.expect
    measures = {"left alone, and for the bot": aim == "nothing"}
    if "nothing" in case.expect:
        measures = {"taken up, and not for the bot": aim not in {"nothing", "thanks", NO_VERDICT}}
    measures |= {} if is_by_rules is None else {"decided without a call": is_by_rules}
    return CaseOutcome(
        right,
        f"{aim}: {reply}" if reply else aim,
        "" if right else f"{aim}, not {' or '.join(case.expect)}",
        measures,
    )
