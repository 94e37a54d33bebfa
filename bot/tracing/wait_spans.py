"""Derives the spans of waits from a log: for people, for the time of a retry, for an instance to run the job."""

from __future__ import annotations

from typing import Any

from bot.tracing.attempt_spans import AttemptSpans, find_lane
from bot.tracing.span import SUPERVISORS_LANE, SpanState
from bot.tracing.span_book import SpanBook, SpanDraft
from handoff import events as ev
from handoff.state.job_state import RequestState, SubtaskState
from handoff.state.state_values import Question, QuestionAnswer

DERIVED_FROM_ABSENCE = "the log holds its end and how long it was"


class WaitSpans:
    """Builds the spans of waits and pauses while a log is read."""

    def __init__(self, book: SpanBook, attempts: AttemptSpans) -> None:
        self._book = book
        self._attempts = attempts
        self._open_questions: dict[tuple[str, str, int], SpanDraft] = {}
        self._pauses: dict[tuple[str, str], SpanDraft] = {}
        self._quarantine_wait: SpanDraft | None = None

    def apply_event(self, event: ev.Event) -> None:
        """Read an event about the whole job: taken over, resumed, quarantined or released."""
        book = self._book
        if isinstance(event, ev.WorkResumed):
            times = (event.at - event.away, event.at)
            book.add_ended_span("away", "nobody at work", SUPERVISORS_LANE, times, derived=DERIVED_FROM_ABSENCE)
        elif isinstance(event, ev.TakenOver):
            words = f"taken over by {event.owner}; {event.lost} lost in a row"
            book.add_ended_span("away", "taken over", SUPERVISORS_LANE, (event.at, event.at), words=words)
        elif isinstance(event, ev.SetAside) and self._quarantine_wait is None:
            wait_fields = {"outcome": "set_aside", "words": f"set aside at {event.step}", "reason": event.reason}
            self._quarantine_wait = book.begin_span("wait", "set aside", SUPERVISORS_LANE, event.at, **wait_fields)
        elif isinstance(event, ev.Released) and self._quarantine_wait is not None:
            book.end_span(self._quarantine_wait, event.at, "done", words=f"released by {event.user}")
            self._quarantine_wait = None

    def update_questions(self, request: RequestState) -> None:
        """Begin the waits for questions that are open now, and end those for questions that no longer are."""
        open_now = {(request.id, name, one.number): one for name, one in request.open_questions.items()}
        for key in [key for key in self._open_questions if key[0] == request.id and key not in open_now]:
            self._end_wait_span(key, self._open_questions.pop(key), request)
        for key, question in open_now.items():
            if key not in self._open_questions:
                self._open_questions[key] = self._begin_wait_span(request, key[1], question)

    def _begin_wait_span(self, request: RequestState, name: str, question: Question) -> SpanDraft:
        subtask = request.subtasks.get(name)
        kind = _classify_question(question)
        parent, lane = self._attempts.find_parent_id(request.id, ""), SUPERVISORS_LANE
        is_inside_attempt = False
        if subtask is not None:
            running = self._attempts.find_attempt_span(request.id, name)
            is_inside_attempt = running is not None
            parent = (running or self._attempts.ensure_subtask_span(request, subtask))["id"]
            lane = find_lane(request, name)
        brief = question.message + "".join(f"\n• {one}" for one in question.options)
        approval = question.approval
        return self._book.begin_span(
            "wait",
            kind.replace("_", " "),
            lane,
            question.asked_at,
            parent=parent,
            after="" if is_inside_attempt else self._book.find_cause_id(self._book.entry_seq),
            request=request.id,
            subtask=name,
            outcome=kind,
            words=question.message,
            brief=brief,
            arguments=approval.arguments if approval is not None else {},
            attempt=subtask.attempt if subtask is not None else 0,
        )

    def _end_wait_span(self, key: tuple[str, str, int], draft: SpanDraft, request: RequestState) -> None:
        _, name, number = key
        subtask = request.subtasks.get(name)
        answers = request.question_answers if not name else subtask.question_answers if subtask is not None else ()
        answer = next((one for one in reversed(answers) if one.question.number == number), None)
        state, fields = _describe_wait_end(answer)
        at = answer.at if answer is not None else self._book.entry_time
        self._book.end_span(draft, at, state, **fields)
        if name:
            self._attempts.set_ruled_calls_start(request.id, name, at)

    def end_pauses(self, request: RequestState) -> None:
        """End the request's pauses that are over, or whose next attempt is no longer due."""
        for place in [one for one in self._pauses if one[0] == request.id]:
            subtask = request.subtasks.get(place[1])
            is_waiting = (
                subtask is not None
                and subtask.state == "pending"
                and subtask.not_before == self._pauses[place].planned_end
            )
            if not is_waiting or request.run.is_concluded:
                draft = self._pauses.pop(place)
                is_early = self._book.entry_time < draft.planned_end
                self._book.end_span(
                    draft, min(self._book.entry_time, draft.planned_end), "stopped" if is_early else "done"
                )

    def begin_pauses(self, request: RequestState) -> None:
        """Begin a pause for each subtask of the request that waits for the time of its next attempt."""
        for name, subtask in request.subtasks.items():
            is_waiting = subtask.state == "pending" and subtask.not_before > self._book.entry_time
            if is_waiting and (request.id, name) not in self._pauses and not request.run.is_concluded:
                self._pauses[request.id, name] = self._begin_pause_span(request, subtask)

    def _begin_pause_span(self, request: RequestState, subtask: SubtaskState) -> SpanDraft:
        fields: dict[str, Any] = {
            "parent": self._attempts.ensure_subtask_span(request, subtask)["id"],
            "after": self._book.find_cause_id(self._book.entry_seq),
            "request": request.id,
            "subtask": subtask.spec.id,
            "attempt": subtask.attempt,
            "words": f"{subtask.not_before - self._book.entry_time:.1f} s before the next attempt",
            "reason": subtask.failures[-1] if subtask.failures else "",
        }
        draft = self._book.begin_span(
            "pause", "pause before a retry", subtask.specialist, self._book.entry_time, **fields
        )
        draft.planned_end = subtask.not_before
        return draft


def _classify_question(question: Question) -> str:
    if question.approval is not None:
        return "cost" if question.approval.kind == "cost" else "approval"
    return "doubt" if question.doubt is not None else "question"


def _describe_wait_end(answer: QuestionAnswer | None) -> tuple[SpanState, dict[str, Any]]:
    """Return the state in which a wait for people ended, and fields of its span. `answer` is None if none came."""
    if answer is None:
        return "stopped", {"reason": "it was asked no more"}
    if answer.ruling is not None:
        ruling = answer.ruling
        by = f" by {', '.join(ruling.users)}" if ruling.users else ""
        return "done", {"text": f"{ruling.outcome}{by}", "reason": ruling.reason}
    if not answer.user:
        return "stopped", {"text": answer.text, "reason": "nobody answered in time; this was assumed"}
    return "done", {"text": answer.text, "reason": f"answered by {answer.user}"}
