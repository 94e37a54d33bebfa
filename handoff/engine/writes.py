"""Handles calls in doubt: calls of writing tools that may or may not have been carried out. A person decides.

An intent (`ToolStarted`) is stored before the call, and its outcome (`ToolReturned`) after it. An intent without an
outcome is in doubt, and the call is not simply repeated: a person says what happened, unless the tool can look the call
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
STOP_SUBTASK = "Stop this part"
VERDICT_OPTIONS = (HAPPENED, NOT_HAPPENED, STOP_SUBTASK)
"""The options of a question about a call in doubt, in the order of their buttons."""

_VERDICTS: dict[str, DoubtVerdict] = {
    HAPPENED.casefold(): "happened",
    NOT_HAPPENED.casefold(): "not_happened",
    STOP_SUBTASK.casefold(): "stop",
}


def parse_verdict(text: str) -> DoubtVerdict:
    """Parse the answer to “was this call made?”: the verdict of the button with that label, else `words`."""
    return _VERDICTS.get(text.strip(" \t\n.!“”\"'").casefold(), "words")


def ask_about_write(
    ask: RequestState, work: SubtaskState, intent: ev.ToolStarted, reason: str, usage: Usage, at: float
) -> RequestState:
    """Ask the requester whether a call was carried out. The attempt keeps its checkpoints, and continues from them."""
    number = work.last_question_number + 1
    doubt = UnknownWrite(intent.call, intent.tool, intent.what, reason, usage)
    text = f"Was this carried out? {intent.what}"
    asking = ask.find_enclosing_run(work).terms.asking
    question = Question(number, text, VERDICT_OPTIONS, at, whom=(ask.request.user,), doubt=doubt, asking=asking)
    return ask.with_subtask(replace(work, state="input_required", question=question, doubts=work.doubts + 1))


def settle_unknown_write(
    ask: RequestState, work: SubtaskState, doubt: UnknownWrite, event: ev.QuestionAnswered, *, waited_seconds: float
) -> RequestState:
    """Let the attempt continue from its checkpoints with the person's answer, or end the subtask if they say so.

    The seconds `waited_seconds` for the answer do not count as time of the attempt.
    """
    verdict = parse_verdict(event.text)
    if verdict == "stop":
        ask, work = ask.charge_subtask(work.end_attempt(), doubt.usage)
        return fail_subtask(ask, work, "stopped by a person", event.at)
    checked = CheckedWrite(event.at, doubt.call, verdict, event.user, event.text)
    started = work.attempt_started + max(0.0, waited_seconds)
    points = (*work.checkpoints, checked)
    return ask.with_subtask(replace(work, state="in_progress", checkpoints=points, attempt_started=started))
