"""Trials of the classification of messages in a job's thread: rules and dispatcher together."""

from __future__ import annotations

import re
from typing import Any, get_args

from bot.evaluation.cases import DispatcherCase, Speaker
from bot.evaluation.counted_model import CountedModel
from bot.evaluation.naive_prompts import ask_naively
from bot.evaluation.outcome import Outcome
from bot.evaluation.staged_job import PEOPLE, REQUEST, CaseBench, StagedJob
from handoff import events as ev
from handoff.contracts import Plan, Request, Subtask
from handoff.effects import answer_key, card_end_key, card_key

NO_VERDICT = "no verdict"
MESSAGE = "9.0"
_USERS: dict[Speaker, str] = dict(zip(("requester", "colleague"), PEOPLE, strict=True))
_ONE_AIM = re.compile(rf"\b({'|'.join(get_args(ev.Aim))})\b", re.IGNORECASE)


async def sort_message(case: DispatcherCase, bench: CaseBench, model: CountedModel) -> Outcome:
    """Have the product find the aim of a message: by the rules, or by the dispatcher where the rules leave doubt."""
    job = StagedJob(bench, model, case.asked)
    _prepare_job(job, case)
    for number, speaker in enumerate(case.before, start=1):
        _report_message(job, f"8.{number}", speaker, "hm")
        job.report_soon(ev.MessageSorted(at=job.now(), message=f"8.{number}", aim="nothing"))
    _report_message(job, MESSAGE, case.by, case.input, mentioned=case.mentioned)
    effect = job.find_due_effect("dispatcher")
    if effect is None:
        return _score_aim(case, NO_VERDICT, "the message was not looked at", free=True)
    event: Any = await job.perform(effect)
    return _score_aim(case, NO_VERDICT if model.errors else event.aim, event.why, free=event.by == "rules")


async def sort_message_naively(case: DispatcherCase, _bench: CaseBench, model: CountedModel) -> Outcome:
    """Call a plain prompt that asks for the aim of a message, and score its reply."""
    text = await ask_naively(model, "dispatcher", _write_naive_prompt(case))
    found = _ONE_AIM.search(text)
    return _score_aim(case, found[1].lower() if found else NO_VERDICT, text)


def _prepare_job(job: StagedJob, case: DispatcherCase) -> None:
    """Bring a job into the state in which the message arrives."""
    at = job.now()
    job.report_soon(ev.Posted(at=at, request=REQUEST, key=card_key(REQUEST), ts="2.0"))
    if case.answer:
        ends = (ev.Posted(at=at, request=REQUEST, key=key(REQUEST), ts="2.1") for key in (answer_key, card_end_key))
        job.report_soon(ev.AnswerWritten(at=at, request=REQUEST, text=case.answer), *ends)
    elif case.question:
        job.report_soon(ev.PlannerAsked(at=at, request=REQUEST, question=case.question, options=case.options))
    else:
        who = next(iter(job.bench.crew.specialists))
        parts = tuple(
            Subtask(id=f"part{number}", title=title, intent=title, specialist=who)
            for number, title in enumerate(case.parts, start=1)
        )
        job.set_plan(Plan(goal=case.asked, subtasks=parts), stand_ins=False)


def _report_message(job: StagedJob, name: str, speaker: Speaker, words: str, *, mentioned: bool = False) -> None:
    at = job.now()
    message = Request(id=name, user=_USERS[speaker], text=words, at=at)
    job.report_soon(ev.MessageHeard(at=at, message=message, mentioned=mentioned))


def _write_naive_prompt(case: DispatcherCase) -> str:
    names = {speaker: PEOPLE[user] for speaker, user in _USERS.items()}
    asked = f"The bot asked: {case.question} ({', '.join(case.options)})"
    at_work = f"The bot is working on: {'; '.join(case.parts)}"
    lines = [
        f"{names['requester']} to the bot: {case.asked}",
        f"The bot answered: {case.answer}" if case.answer else asked if case.question else at_work,
        *(f"{names[one]}: hm" for one in case.before),
        f"{names[case.by]}: {'@bot ' if case.mentioned else ''}{case.input}",
    ]
    return "\n".join(lines)


def _score_aim(case: DispatcherCase, found: str, said: str, *, free: bool | None = None) -> Outcome:
    right = found in case.expect
    measures = {"left alone, and for the bot": found == "nothing"}
    if "nothing" in case.expect:
        measures = {"taken up, and not for the bot": found not in {"nothing", "thanks", NO_VERDICT}}
    measures |= {} if free is None else {"decided without a call": free}
    return Outcome(
        right,
        f"{found}: {said}" if said else found,
        "" if right else f"{found}, not {' or '.join(case.expect)}",
        measures,
    )
