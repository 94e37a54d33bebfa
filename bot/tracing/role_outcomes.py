"""Derives the outcome of a step of the supervisor's roles from the event that reports it."""

from __future__ import annotations

from typing import Any

from bot.tracing.span import SpanState
from handoff import events as ev
from handoff.contracts import Plan


def describe_outcome(event: ev.Event) -> tuple[SpanState, dict[str, Any]]:  # noqa: C901, PLR0911, PLR0912
    """Return the state in which a step ended, and the fields of its span that describe the outcome."""
    match event:
        case ev.MaterialGathered():
            words = f"{len(event.materials)} read" + "".join(f"; {one}" for one in event.faults)
            return "done", {"outcome": "gathered", "words": words}
        case ev.PlanProposed():
            name_field = (
                {"name": f"rule: {event.rule}"} if event.rule else {"name": "pipeline"} if event.pipeline else {}
            )
            count = len(event.plan.subtasks)
            words = f"plan of {count} subtask{'' if count == 1 else 's'}: {event.plan.goal}"
            fields = {"words": words, "reason": "; ".join(event.reasons), "text": _render_subtasks(event.plan)}
            return "done", {"outcome": "proposed", **fields, **name_field}
        case ev.PlanRejected():
            return "failed", {"outcome": "rejected", "words": "plan rejected", "reason": "; ".join(event.faults)}
        case ev.PlannerAsked():
            why = "; ".join(event.reasons)
            return "done", {
                "outcome": "asked",
                "words": f"asks: {event.question}",
                "text": event.question,
                "reason": why,
            }
        case ev.PlanRevised():
            if event.plan is None:
                return "done", {"outcome": "kept", "words": "plan kept", "reason": "; ".join(event.faults)}
            change_text = "; ".join(f"{one.subtask} {one.kind}: {one.why}" for one in event.changes)
            fields = {"words": "plan changed", "reason": change_text, "text": _render_subtasks(event.plan)}
            return "done", {"outcome": "revised", **fields}
        case ev.BriefRefined():
            state: SpanState = "done" if event.intent else "failed"
            fields = {"words": "brief rewritten" if event.intent else event.fault, "reason": event.fault}
            return state, {"outcome": "rewritten" if event.intent else "none", "text": event.intent, **fields}
        case ev.AttemptFailed():
            return "failed", {"outcome": event.kind, "words": event.message, "reason": event.message}
        case ev.Escalated():
            return "failed", {"outcome": event.escalation.reason, "reason": event.escalation.message}
        case ev.RequestFailed():
            fields = {"words": event.step, "reason": f"{event.reason} {event.advice}".strip()}
            return "failed", {"outcome": "failed", **fields}
        case ev.Posted():
            if event.ts:
                return "done", {"outcome": "posted", "words": "posted"}
            return "failed", {"outcome": "not posted", "words": "could not be posted", "reason": event.fault}
        case ev.ThreadOpened():
            if event.ts or event.quiet:
                return "done", {"outcome": "posted" if event.ts else "quiet", "reason": event.why}
            return "failed", {"outcome": "not opened", "reason": event.why}
        case ev.MessageSorted():
            return "done", {"outcome": event.aim, "words": f"taken as {event.aim} by {event.by}", "reason": event.why}
        case _:
            return _describe_answer_outcome(event)


def _render_subtasks(plan: Plan) -> str:
    after = {one.id: f" (after {', '.join(one.after)})" if one.after else "" for one in plan.subtasks}
    return "\n".join(f"{one.id}: {one.title} · {one.specialist}{after[one.id]}" for one in plan.subtasks)


def _describe_answer_outcome(event: ev.Event) -> tuple[SpanState, dict[str, Any]]:
    match event:
        case ev.AnswerVerified():
            refuted_text = "; ".join(one.sentence for one in event.refuted)
            words = "answer verified" if not event.doubt or event.refuted else "no verdict"
            outcome = "refuted" if refuted_text else "verified"
            return "done", {"outcome": outcome, "words": words, "reason": refuted_text or event.doubt}
        case ev.MaterialReduced():
            left_out_text = "; ".join(event.left_out)
            words = f"condensed, round {event.round}, part {event.part}"
            return "done", {
                "outcome": "condensed",
                "words": words,
                "reason": f"left out: {left_out_text}" if left_out_text else "",
            }
        case ev.AnswerWritten():
            what = "draft" if event.draft else "answer"
            why = f"chose {event.chosen}: {event.why}" if event.chosen else event.why
            words = f"{what} of {len(event.text):,} characters"
            outcome = "answered" if not event.within and event.why and not event.chosen else what
            return "done", {"outcome": outcome, "words": words, "text": event.text, "reason": why}
        case _:
            return "done", {}
