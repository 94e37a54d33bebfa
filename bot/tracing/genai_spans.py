"""Converts the spans of a job to OpenTelemetry, by its semantic conventions for generative AI.

The ids of traces and spans are derived from the job: if two instances send the same request, they send the same spans.
Source: https://github.com/open-telemetry/semantic-conventions-genai (the names of `gen_ai.*`, as of November 2026).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from bot.tracing.span import SUPERVISORS_LANE, Span
from handoff.contracts import Usage

MAX_CONTENT_CHARS = 16_000
"""Most characters of one text that are sent."""
OTHER_NAME = "other"
_OPERATIONS = {
    "request": "invoke_workflow",
    "plan": "plan",
    "attempt": "invoke_agent",
    "chat": "chat",
    "tool": "execute_tool",
}
"""The operation of a span by its kind. The conventions have none for our other kinds."""
_SAMPLED_FLAGS = TraceFlags(TraceFlags.SAMPLED)

SpanAttributes = dict[str, str | int | float | bool]


class SpanConverter:
    """Converts the spans of a job for a collector.

    Args:
        service: The bot's name in the collector.
        release: The bot's version.
        provider: The provider of its models, as the conventions name it.
        known_names: The names of the crews' specialists and tools. A model made up any other name, which therefore
            counts as content.
        include_contents: True if contents are sent: texts of people, models and tools.
    """

    def __init__(
        self,
        service: str,
        release: str,
        provider: str = "",
        known_names: Collection[str] = (),
        *,
        include_contents: bool = False,
    ) -> None:
        self._resource = Resource({"service.name": service, "service.version": release})
        self._scope = InstrumentationScope("leadhand", release)
        self._provider = provider
        self._known_names = frozenset(known_names)
        self._include_contents = include_contents

    def encode_otlp(self, team: str, job: str, spans: Sequence[Span]) -> bytes:
        """Encode the spans as OTLP (protobuf), without those that are still open."""
        return bytes(encode_spans(self.to_sdk_spans(team, job, spans)).SerializeToString())

    def to_sdk_spans(self, team: str, job: str, spans: Sequence[Span]) -> list[ReadableSpan]:
        """Return the spans as objects of OpenTelemetry's SDK, without those that are still open."""
        span_ids = {span.id for span in spans}
        origin = SpanOrigin(
            team, job, self._resource, self._scope, self._provider, self._known_names, self._include_contents
        )
        return [_make_readable_span(span, origin, span_ids) for span in spans if span.end is not None]


@dataclass(frozen=True, slots=True)
class SpanOrigin:
    """The values that all spans of a job share: the job, and the arguments of its `SpanConverter`."""

    team: str
    job: str
    resource: Resource
    scope: InstrumentationScope
    provider: str
    known_names: frozenset[str]
    include_contents: bool

    def mask_name(self, name: str) -> str:
        """Return the name as it may be sent. If contents are not, `other` replaces each part that a model made up."""
        if self.include_contents:
            return name
        return "/".join(part if part in self.known_names else OTHER_NAME for part in name.split("/"))


def make_trace_id(team: str, job: str, request: str) -> int:
    """Return the trace id of one request: 128 bits, never 0."""
    return int.from_bytes(sha256(f"{team}/{job}/{request}".encode()).digest()[:16], "big") or 1


def _make_span_context(span_id: str, request: str, origin: SpanOrigin) -> SpanContext:
    digest = sha256(f"{origin.team}/{origin.job}/{span_id}".encode()).digest()
    number = int.from_bytes(digest[:8], "big") or 1
    return SpanContext(
        make_trace_id(origin.team, origin.job, request), number, is_remote=False, trace_flags=_SAMPLED_FLAGS
    )


def _make_readable_span(span: Span, origin: SpanOrigin, span_ids: set[str]) -> ReadableSpan:
    end = span.end if span.end is not None else span.start
    has_failed = span.state == "failed"
    why = span.reason if has_failed and origin.include_contents else None
    return ReadableSpan(
        name=_make_span_name(span, origin),
        context=_make_span_context(span.id, span.request, origin),
        parent=_make_span_context(span.parent, span.request, origin) if span.parent in span_ids else None,
        resource=origin.resource,
        instrumentation_scope=origin.scope,
        attributes=_make_span_attributes(span, origin),
        events=tuple(_make_policy_events(span, origin)),
        kind=SpanKind.CLIENT if span.kind == "chat" else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, why) if has_failed else Status(StatusCode.UNSET),
        start_time=_to_nanoseconds(span.start),
        end_time=_to_nanoseconds(max(end, span.start)),
    )


def _to_nanoseconds(seconds: float) -> int:
    return round(seconds * 1_000_000) * 1_000


def _make_span_name(span: Span, origin: SpanOrigin) -> str:
    """Return the name of a span by the conventions, without titles and texts of requests, which are contents."""
    match span.kind:
        case "request":
            return "invoke_workflow leadhand"
        case "attempt":
            return f"invoke_agent {origin.mask_name(span.lane)}"
        case "chat":
            return f"chat {span.model}".rstrip()
        case "tool":
            return f"execute_tool {origin.mask_name(span.name)}"
        case "subtask":
            return f"subtask {span.subtask}" if origin.include_contents else "subtask"
        case "synthesis":
            return span.name or span.kind
        case "wait" | "pause":
            return f"{span.kind} {span.outcome}".rstrip()
    return span.kind


def _make_span_attributes(span: Span, origin: SpanOrigin) -> SpanAttributes:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": _OPERATIONS.get(span.kind),
        "gen_ai.conversation.id": origin.job,
        "gen_ai.agent.name": _find_agent_name(span, origin),
        "leadhand.kind": span.kind,
        "leadhand.state": span.state,
        "leadhand.outcome": span.outcome,
        "leadhand.subtask": span.subtask if origin.include_contents else "",
        "leadhand.attempt": span.attempt or None,
        "leadhand.tier": span.tier,
        "leadhand.times_derived": span.derived,
        "leadhand.events": json.dumps(list(span.events[:100])),
        "error.type": (span.outcome or "failed") if span.state == "failed" else None,
    }
    if span.kind == "request":
        attributes["gen_ai.workflow.name"] = "leadhand"
    if span.kind == "tool":
        attributes |= {
            "gen_ai.tool.name": origin.mask_name(span.name),
            "gen_ai.tool.type": "function",
        }
    if span.usage is not None:
        attributes |= _make_usage_attributes(span.usage, span.model, origin.provider)
    if origin.include_contents:
        attributes |= _make_content_attributes(span)
    return {name: value for name, value in attributes.items() if value not in {None, ""}}


def _find_agent_name(span: Span, origin: SpanOrigin) -> str:
    if span.kind == "request":
        return "leadhand"
    return span.lane if span.lane == SUPERVISORS_LANE else origin.mask_name(span.lane)


def _make_usage_attributes(usage: Usage, model: str, provider: str) -> Mapping[str, Any]:
    return {
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model or usage.model,
        "gen_ai.response.model": usage.model or model,
        "gen_ai.usage.input_tokens": usage.tokens_in,
        "gen_ai.usage.output_tokens": usage.tokens_out,
        "leadhand.calls": usage.calls,
        "leadhand.cost_usd": usage.cost,
    }


def _make_content_attributes(span: Span) -> Mapping[str, Any]:
    """Return the span attributes with content: tool arguments and results, prompts, model output and the reason."""
    attributes: dict[str, Any] = {
        "leadhand.words": _cut_content(span.words),
        "leadhand.reason": _cut_content(span.reason),
    }
    if span.kind == "tool":
        arguments = json.dumps(dict(span.arguments), ensure_ascii=False)
        call = {"gen_ai.tool.call.id": span.call, "gen_ai.tool.call.arguments": _cut_content(arguments)}
        return attributes | call | {"gen_ai.tool.call.result": _cut_content(span.text)}
    if span.kind not in {"request", "attempt", "chat"}:
        return attributes  # brief and text of a subtask are in the spans of its attempts
    if span.brief:
        attributes["gen_ai.input.messages"] = _dump_message("user", span.brief)
    if span.text:
        attributes["gen_ai.output.messages"] = _dump_message("assistant", span.text)
    return attributes


def _dump_message(role: str, text: str) -> str:
    """Return the JSON of one message, as the conventions define it."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": _cut_content(text)}]}], ensure_ascii=False)


def _cut_content(text: str) -> str:
    return (
        text
        if len(text) <= MAX_CONTENT_CHARS
        else f"{text[:MAX_CONTENT_CHARS]} [{len(text) - MAX_CONTENT_CHARS} characters more]"
    )


def _make_policy_events(span: Span, origin: SpanOrigin) -> list[Event]:
    """Return the decisions of policy on a span as events; with their reasons only if contents are sent."""
    return [
        Event(
            "leadhand.decision",
            {
                "leadhand.decision": one.what,
                **({"leadhand.reason": _cut_content(one.why)} if origin.include_contents else {}),
            },
            _to_nanoseconds(one.at),
        )
        for one in span.decisions
    ]
