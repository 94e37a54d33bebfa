"""Exports a trace as JSON, in the format of docs/trace-schema.json. `VERSION` rises when the format changes meaning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bot.store.values import Head, LogEntry
from bot.tracing.cut_texts import choose_cap, cut_all
from bot.tracing.span import Span
from bot.tracing.steps import events_json
from bot.tracing.whole_trace import RequestFigures, Trace, TraceLane, read_trace
from handoff import events as ev
from handoff.contracts import Usage

FORMAT, VERSION = "leadhand.trace", 1
MOST_CHARACTERS = 16_000_000
"""Characters at most of all long texts of an export together; if there are more, each text is cut."""
LEAST_ASKED = 1_000
"""Characters of a request's texts that are never cut."""


def trace_json(entries: Sequence[LogEntry], head: Head | None) -> dict[str, Any]:
    """Return the whole trace of a job as JSON values, with the state from its head, if it has one."""
    key = head.key if head is not None else None
    trace = read_trace(entries, job=key.job if key else "", team=key.team if key else "")
    return export(trace) | ({"state": head.fields.get("state", "")} if head is not None else {})


def export(trace: Trace, *, events: bool = True) -> dict[str, Any]:
    """Return a trace as JSON values of bounded size. `events`: include the events of the log."""
    logged = events_json(trace.steps) if events else []
    spans = [span_json(one) for one in trace.spans]
    cap = choose_cap([logged, spans], MOST_CHARACTERS)
    return {
        "format": FORMAT,
        "version": VERSION,
        "schema": ev.SCHEMA,
        "team": trace.team,
        "job": trace.job,
        "state": trace.state,
        **_find_gaps(trace),
        **({"budgets": list(trace.budgets)} if trace.budgets else {}),
        "requests": [cut_all(request_json(one), max(cap, LEAST_ASKED)) for one in trace.requests],
        "spans": cut_all(spans, cap),
        **({"events": cut_all(logged, cap)} if events else {}),
    }


def dump_trace(trace: Trace) -> str:
    """Return the export as indented text. Lone surrogates, which UTF-8 does not allow, become `?`."""
    return json.dumps(export(trace), indent=2, ensure_ascii=False).encode("utf-8", "replace").decode()


def _find_gaps(trace: Trace) -> dict[str, Any]:
    """Return the fields that tell what is missing from a trace: unreadable entries and omitted spans."""
    lacks: dict[str, Any] = {}
    if trace.unreadable:
        lacks["unreadable"] = {"from_seq": trace.broken, "entries": trace.unreadable}
    if trace.left_out:
        lacks["spans_left_out"] = trace.left_out
    return lacks


def request_json(one: RequestFigures) -> dict[str, Any]:
    """Return the figures of a request as JSON values. Times are seconds since the epoch, durations seconds."""
    return {
        "id": one.id,
        "user": one.user,
        "text": one.text,
        "state": one.state,
        "start": one.start,
        "end": one.end,
        "answer_written": one.written,
        "seconds_one_by_one": round(one.one_by_one, 3),
        "seconds_side_by_side": round(one.side_by_side, 3),
        "gain": one.gain,
        "usage": usage_json(one.usage),
        "lanes": [_lane_json(lane) for lane in one.lanes],
    }


def _lane_json(lane: TraceLane) -> dict[str, Any]:
    return {
        "lane": lane.name,
        "usage": usage_json(lane.usage),
        "seconds_busy": round(lane.busy, 3),
        "seconds_waited": round(lane.waited, 3),
        "attempts": lane.attempts,
        "failed": lane.failed,
    }


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return tokens, calls, cost (None: no price is known) and the seconds of model calls as JSON values."""
    return {
        "model_calls": usage.calls,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "tokens_cached": usage.tokens_cached,
        "cost_usd": usage.cost,
        "model_seconds": round(usage.duration, 3),
    }


_ALWAYS = ("id", "kind", "name", "lane", "start", "end", "state")
_IF_ANY = (
    "parent", "after", "request", "subtask", "attempt", "words", "outcome", "reason", "derived", "model", "tier",
    "call", "brief", "text", "critical",
)  # fmt: skip


def span_json(span: Span) -> dict[str, Any]:
    """Return a span as JSON values, without empty fields."""
    found: dict[str, Any] = {name: getattr(span, name) for name in _ALWAYS}
    found |= {name: value for name in _IF_ANY if (value := getattr(span, name))}
    if span.usage is not None:
        found["usage"] = usage_json(span.usage)
    if span.arguments:
        found["arguments"] = dict(span.arguments)
    if span.decisions:
        found["decisions"] = [{"subtask": one.subtask, "what": one.what, "why": one.why} for one in span.decisions]
    return found | {"events": list(span.events)}
