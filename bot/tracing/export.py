"""Exports a trace as JSON, in the format of docs/trace-schema.json. `VERSION` rises when the format changes meaning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bot.store.values import Head, LogEntry
from bot.tracing.cut_texts import choose_text_limit, cut_all_texts
from bot.tracing.job_trace import RequestFigures, Trace, TraceLane, derive_trace
from bot.tracing.span import Span
from bot.tracing.steps import export_events
from handoff import events as ev
from handoff.contracts import Usage

FORMAT, VERSION = "leadhand.trace", 1
MAX_EXPORT_CHARS = 16_000_000
"""Most characters of all long texts of an export together; if there are more, each text is cut."""
MIN_REQUEST_CHARS = 1_000
"""Characters up to which each text of a request is never cut."""


def export_job_trace(entries: Sequence[LogEntry], head: Head | None) -> dict[str, Any]:
    """Return the trace of all requests of a job as JSON values of bounded size, with the state from `head` if given."""
    key = head.key if head is not None else None
    trace = derive_trace(entries, job=key.job if key else "", team=key.team if key else "")
    return export_trace(trace) | ({"state": head.fields.get("state", "")} if head is not None else {})


def export_trace(trace: Trace, *, include_events: bool = True) -> dict[str, Any]:
    """Return a trace as JSON values of bounded size. Without `include_events`, it lacks the events of the log."""
    events = export_events(trace.steps) if include_events else []
    spans = [export_span(one) for one in trace.spans]
    cap = choose_text_limit([events, spans], MAX_EXPORT_CHARS)
    return {
        "format": FORMAT,
        "version": VERSION,
        "schema": ev.SCHEMA,
        "team": trace.team,
        "job": trace.job,
        "state": trace.state,
        **_export_gaps(trace),
        **({"budgets": list(trace.budget_lines)} if trace.budget_lines else {}),
        "requests": [cut_all_texts(export_request(one), max(cap, MIN_REQUEST_CHARS)) for one in trace.requests],
        "spans": cut_all_texts(spans, cap),
        **({"events": cut_all_texts(events, cap)} if include_events else {}),
    }


def dump_trace(trace: Trace) -> str:
    """Return the export as indented text. Lone surrogates, which UTF-8 does not allow, become `?`."""
    return json.dumps(export_trace(trace), indent=2, ensure_ascii=False).encode("utf-8", "replace").decode()


def _export_gaps(trace: Trace) -> dict[str, Any]:
    """Return the fields that tell what is missing from a trace: unreadable entries and omitted spans."""
    gaps: dict[str, Any] = {}
    if trace.unreadable_count:
        gaps["unreadable"] = {"from_seq": trace.first_unreadable_seq, "entries": trace.unreadable_count}
    if trace.omitted_spans:
        gaps["spans_left_out"] = trace.omitted_spans
    return gaps


def export_request(figures: RequestFigures) -> dict[str, Any]:
    """Return the figures of a request as JSON values. Times are seconds since the epoch, durations seconds."""
    return {
        "id": figures.id,
        "user": figures.user,
        "text": figures.text,
        "state": figures.state,
        "start": figures.start,
        "end": figures.end,
        "answer_written": figures.answered_at,
        "seconds_one_by_one": round(figures.sequential_seconds, 3),
        "seconds_side_by_side": round(figures.parallel_seconds, 3),
        "gain": figures.gain_line,
        "usage": export_usage(figures.usage),
        "lanes": [_export_lane(lane) for lane in figures.lanes],
    }


def _export_lane(lane: TraceLane) -> dict[str, Any]:
    return {
        "lane": lane.name,
        "usage": export_usage(lane.usage),
        "seconds_busy": round(lane.busy_seconds, 3),
        "seconds_waited": round(lane.waited_seconds, 3),
        "attempts": lane.attempt_count,
        "failed": lane.failed_count,
    }


def export_usage(usage: Usage) -> dict[str, Any]:
    """Return tokens, calls, cost (None: no price is known) and the seconds of model calls as JSON values."""
    return {
        "model_calls": usage.calls,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "tokens_cached": usage.tokens_cached,
        "cost_usd": usage.cost,
        "model_seconds": round(usage.duration, 3),
    }


_REQUIRED_FIELDS = ("id", "kind", "name", "lane", "start", "end", "state")
_OPTIONAL_FIELDS = (
    "parent", "after", "request", "subtask", "attempt", "words", "outcome", "reason", "derived", "model", "tier",
    "call", "brief", "text", "critical",
)  # fmt: skip


def export_span(span: Span) -> dict[str, Any]:
    """Return a span as JSON values, without empty fields."""
    fields: dict[str, Any] = {name: getattr(span, name) for name in _REQUIRED_FIELDS}
    fields |= {name: value for name in _OPTIONAL_FIELDS if (value := getattr(span, name))}
    if span.usage is not None:
        fields["usage"] = export_usage(span.usage)
    if span.arguments:
        fields["arguments"] = dict(span.arguments)
    if span.decisions:
        fields["decisions"] = [{"subtask": one.subtask, "what": one.what, "why": one.why} for one in span.decisions]
    return fields | {"events": list(span.events)}
