"""Settles calls of writing tools of which nobody knows whether they were carried out, by asking a person.

An intent (`ToolStarted`) is kept before the call and its outcome (`ToolReturned`) after it. An intent without an
outcome is in doubt and is never simply run again: a person settles it, or the tool itself does if it can look the call
up or is safe to repeat.
"""

from __future__ import annotations

from handoff import events as ev
from handoff.contracts import Usage
from handoff.engine.subtask import fail_subtask
from handoff.state.job_state import RequestState, SubtaskState, replace
from handoff.state.state_values import CheckedWrite, DoubtVerdict, Question, UnknownWrite

HAPPENED = "It happened"
NOT_HAPPENED = "It did not happen"
STOP = "Stop this part"
OPTIONS = (HAPPENED, NOT_HAPPENED, STOP)
"""The answers that settle a doubt, in the order of their buttons."""

_VERDICTS: dict[str, DoubtVerdict] = {
    HAPPENED.casefold(): "happened",
    NOT_HAPPENED.casefold(): "not_happened",
    STOP.casefold(): "stop",
}


def verdict_of(text: str) -> DoubtVerdict:
    """Return the meaning of an answer: only the words of a button count, anything else is `words`."""
    return _VERDICTS.get(text.strip(" \t\n.!“”\"'").casefold(), "words")


def ask_about_write(
    ask: RequestState, work: SubtaskState, intent: ev.ToolStarted, reason: str, usage: Usage, at: float
) -> RequestState:
    """Ask the requester whether a call was carried out. The attempt keeps its checkpoints, to go on from them."""
    number = work.last_question_number + 1
    doubt = UnknownWrite(intent.call, intent.tool, intent.what, reason, usage)
    text = f"Was this carried out? {intent.what}"
    asking = ask.find_enclosing_run(work).terms.asking
    question = Question(number, text, OPTIONS, at, whom=(ask.request.user,), doubt=doubt, asking=asking)
    return ask.with_work(replace(work, state="input_required", question=question, doubts=work.doubts + 1))


def settle_unknown_write(
    ask: RequestState, work: SubtaskState, doubt: UnknownWrite, event: ev.QuestionAnswered, *, waited: float
) -> RequestState:
    """Let the attempt go on from its checkpoints, or end it if the person says so.

    The `waited` seconds do not count as time of the attempt.
    """
    verdict = verdict_of(event.text)
    if verdict == "stop":
        ask, work = ask.charge(work.end_attempt(), doubt.usage)
        return fail_subtask(ask, work, "stopped by a person", event.at)
    checked = CheckedWrite(event.at, doubt.call, verdict, event.user, event.text)
    started = work.attempt_started + max(0.0, waited)
    points = (*work.checkpoints, checked)
    return ask.with_work(replace(work, state="in_progress", checkpoints=points, attempt_started=started))
