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
from handoff.state.state_values import DoubtVerdict, Question, UnknownWrite, WriteVerdict

HAPPENED_OPTION = "It happened"
NOT_HAPPENED_OPTION = "It did not happen"
STOP_SUBTASK_OPTION = "Stop this part"
VERDICT_OPTIONS = (HAPPENED_OPTION, NOT_HAPPENED_OPTION, STOP_SUBTASK_OPTION)
"""The options of a question about a call in doubt, in the order of their buttons."""

_VERDICTS: dict[str, DoubtVerdict] = {
    HAPPENED_OPTION.casefold(): "happened",
    NOT_HAPPENED_OPTION.casefold(): "not_happened",
    STOP_SUBTASK_OPTION.casefold(): "stop",
}


def parse_verdict(text: str) -> DoubtVerdict:
    """Parse the answer to “was this call made?”: the verdict of the button with that label, else `words`."""
    return _VERDICTS.get(text.strip(" \t\n.!“”\"'").casefold(), "words")


def ask_about_write(
    request: RequestState, subtask: SubtaskState, intent: ev.ToolStarted, reason: str, usage: Usage, at: float
) -> RequestState:
    """Ask the requester whether a call was carried out. The attempt keeps its checkpoints, and continues from them."""
    number = subtask.last_question_number + 1
    doubt = UnknownWrite(intent.call, intent.tool, intent.what, reason, usage)
    text = f"Was this carried out? {intent.what}"
    asking = request.find_enclosing_run(subtask).terms.asking
    question = Question(number, text, VERDICT_OPTIONS, at, whom=(request.spec.user,), doubt=doubt, asking_terms=asking)
    return request.with_subtask(
        replace(subtask, state="input_required", question=question, doubt_count=subtask.doubt_count + 1)
    )


def settle_unknown_write(
    request: RequestState,
    subtask: SubtaskState,
    doubt: UnknownWrite,
    event: ev.QuestionAnswered,
    *,
    waited_seconds: float,
) -> RequestState:
    """Let the attempt continue from its checkpoints with the person's answer, or end the subtask for the answer `stop`.

    The seconds `waited_seconds` for the answer do not count as time of the attempt.
    """
    verdict = parse_verdict(event.text)
    if verdict == "stop":
        request, subtask = request.charge_subtask(subtask.end_attempt(), doubt.usage)
        return fail_subtask(request, subtask, "stopped by a person", event.at)
    write_verdict = WriteVerdict(event.at, doubt.call, verdict, event.user, event.text)
    attempt_start = subtask.attempt_started + max(0.0, waited_seconds)
    checkpoints = (*subtask.checkpoints, write_verdict)
    return request.with_subtask(
        replace(subtask, state="in_progress", checkpoints=checkpoints, attempt_started=attempt_start)
    )
