"""Derives the spans of waits from a log: for people, for the time of a retry, for an instance to run the job."""

from __future__ import annotations

from typing import Any

from bot.tracing.attempt_spans import OpenAttempts, find_lane
from bot.tracing.span import SUPERVISORS_LANE, SpanState
from bot.tracing.span_book import SpanBook, SpanDraft
from handoff import events as ev
from handoff.state.job_state import RequestState, SubtaskState
from handoff.state.state_values import Question, QuestionAnswer

AWAY_DERIVED = "the log holds its end and how long it was"


class OpenWaits:
    """The waits under way."""

    def __init__(self, book: SpanBook, attempts: OpenAttempts) -> None:
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
            book.add("away", "nobody at work", SUPERVISORS_LANE, times, derived=AWAY_DERIVED)
        elif isinstance(event, ev.TakenOver):
            words = f"taken over by {event.owner}; {event.lost} lost in a row"
            book.add("away", "taken over", SUPERVISORS_LANE, (event.at, event.at), words=words)
        elif isinstance(event, ev.SetAside) and self._quarantine_wait is None:
            told = {"outcome": "set_aside", "words": f"set aside at {event.step}", "reason": event.reason}
            self._quarantine_wait = book.begin("wait", "set aside", SUPERVISORS_LANE, event.at, **told)
        elif isinstance(event, ev.Released) and self._quarantine_wait is not None:
            book.close(self._quarantine_wait, event.at, "done", words=f"released by {event.user}")
            self._quarantine_wait = None

    def update_questions(self, ask: RequestState) -> None:
        """Begin the waits for questions that are open now, and end those for questions that no longer are."""
        open_now = {(ask.id, name, one.number): one for name, one in ask.open_questions.items()}
        for key in [key for key in self._open_questions if key[0] == ask.id and key not in open_now]:
            self._end_wait_span(key, self._open_questions.pop(key), ask)
        for key, question in open_now.items():
            if key not in self._open_questions:
                self._open_questions[key] = self._begin_wait_span(ask, key[1], question)

    def _begin_wait_span(self, ask: RequestState, name: str, question: Question) -> SpanDraft:
        work = ask.work.get(name)
        kind = _classify_question(question)
        parent, lane = self._attempts.find_parent_id(ask.id, ""), SUPERVISORS_LANE
        inside = False
        if work is not None:
            running = self._attempts.find_attempt(ask.id, name)
            inside = running is not None
            parent = (running or self._attempts.ensure_subtask(ask, work))["id"]
            lane = find_lane(ask, name)
        brief = question.message + "".join(f"\n• {one}" for one in question.options)
        approval = question.approval
        return self._book.begin(
            "wait",
            kind.replace("_", " "),
            lane,
            question.asked,
            parent=parent,
            after="" if inside else self._book.find_cause(self._book.seq),
            request=ask.id,
            subtask=name,
            outcome=kind,
            words=question.message,
            brief=brief,
            arguments=approval.arguments if approval is not None else {},
            attempt=work.attempt if work is not None else 0,
        )

    def _end_wait_span(self, key: tuple[str, str, int], draft: SpanDraft, ask: RequestState) -> None:
        _, name, number = key
        work = ask.work.get(name)
        given = ask.answered if not name else work.answered if work is not None else ()
        answered = next((one for one in reversed(given) if one.question.number == number), None)
        state, told = _describe_wait_end(answered)
        at = answered.at if answered is not None else self._book.at
        self._book.close(draft, at, state, **told)
        if name:
            self._attempts.set_ruled_calls_start(ask.id, name, at)

    def end_pauses(self, ask: RequestState) -> None:
        """End the pauses that are over by now."""
        for place in [one for one in self._pauses if one[0] == ask.id]:
            work = ask.work.get(place[1])
            waits = work is not None and work.state == "pending" and work.not_before == self._pauses[place].until
            if not waits or ask.run.is_concluded:
                draft = self._pauses.pop(place)
                early = self._book.at < draft.until
                self._book.close(draft, min(self._book.at, draft.until), "stopped" if early else "done")

    def begin_pauses(self, ask: RequestState) -> None:
        """Begin the pauses before next attempts."""
        for name, work in ask.work.items():
            waits = work.state == "pending" and work.not_before > self._book.at
            if waits and (ask.id, name) not in self._pauses and not ask.run.is_concluded:
                self._pauses[ask.id, name] = self._begin_pause_span(ask, work)

    def _begin_pause_span(self, ask: RequestState, work: SubtaskState) -> SpanDraft:
        fields: dict[str, Any] = {
            "parent": self._attempts.ensure_subtask(ask, work)["id"],
            "after": self._book.find_cause(self._book.seq),
            "request": ask.id,
            "subtask": work.subtask.id,
            "attempt": work.attempt,
            "words": f"{work.not_before - self._book.at:.1f} s before the next attempt",
            "reason": work.failures[-1] if work.failures else "",
        }
        draft = self._book.begin("pause", "pause before a retry", work.specialist, self._book.at, **fields)
        draft.until = work.not_before
        return draft


def _classify_question(question: Question) -> str:
    if question.approval is not None:
        return "cost" if question.approval.kind == "cost" else "approval"
    return "doubt" if question.doubt is not None else "question"


def _describe_wait_end(answer: QuestionAnswer | None) -> tuple[SpanState, dict[str, Any]]:
    """Return the state in which a wait for people ended, and fields of its span. `answer`: None without an answer."""
    if answer is None:
        return "stopped", {"reason": "it was asked no more"}
    if answer.ruling is not None:
        ruling = answer.ruling
        by = f" by {', '.join(ruling.users)}" if ruling.users else ""
        return "done", {"text": f"{ruling.outcome}{by}", "reason": ruling.reason}
    if not answer.user:
        return "stopped", {"text": answer.text, "reason": "nobody answered in time; this was assumed"}
    return "done", {"text": answer.text, "reason": f"answered by {answer.user}"}
