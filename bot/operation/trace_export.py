"""Sends the trace of each request that ended to an OpenTelemetry collector, from the job's log.

A trace is built from the log once its request is over; nothing is recorded during the work. So a trace is complete
even if several instances worked on the request, and an unreachable collector delays nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from urllib.parse import unquote

import aiohttp

from bot.jobs.job_runner import Effects, ForwardingEffects, JobRunner
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, LogBroken, StoreError
from bot.tracing.span import Span
from bot.tracing.span_reader import read_spans
from handoff.state.job_state import Job
from specialists.outbound.clients import open_session
from specialists.outbound.network_faults import describe_network_fault
from specialists.service_url import find_web_url_fault, redact_url
from specialists.tools.extras import make_install_command

log = logging.getLogger(__name__)

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
CONTENTS_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SEND_TIMEOUT_SECONDS = 5.0
"""Seconds that a collector gets to take the spans of one request."""
RETRY_SECONDS = 10.0
"""Seconds between two attempts to reach a collector that is away."""
LAST_SEND_SECONDS = 0.5
"""Seconds for sending the remaining traces when the instance stops."""
MAX_QUEUED_TRACES = 1_000
"""Maximum number of traces that wait to be sent; beyond it, the oldest are dropped."""
_RETRYABLE_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP statuses of a collector after which a trace is sent again."""


class NoCollector(Exception):
    """Traces cannot be sent: the text names the setting and says what to do."""


@dataclass(frozen=True, slots=True)
class ExportOutcome:
    """The outcome of sending spans: `fault` is "" if the collector accepted them.

    `may_retry` is True if the fault may be temporary.
    """

    fault: str = ""
    may_retry: bool = False


class SpanSender:
    """Sends spans by OTLP over HTTP to the collector that the environment variables name.

    Args:
        env: The environment with OpenTelemetry's own variables, which `bot.settings` lists.
        provider: The models' provider.
        known_names: The names of the crews' specialists and tools. In spans, any other name is replaced.

    Raises NoCollector if the collector cannot be used.
    """

    def __init__(self, env: Mapping[str, str], *, provider: str = "", known_names: Collection[str] = ()) -> None:
        try:
            from bot.tracing.genai_spans import SpanConverter  # noqa: PLC0415 - an extra
        except ImportError:
            raise NoCollector(
                f"{ENDPOINT_VARIABLE} is set, and the extra `otel` is not installed: {make_install_command('otel')}"
            ) from None
        self._url = _find_collector_address(env)
        if fault := find_web_url_fault(self._url):
            raise NoCollector(f"{ENDPOINT_VARIABLE} {fault}; it takes http://HOST:4318")
        self.endpoint = redact_url(self._url)
        contents = env.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
        self.contents = contents in {"true", "1", "span_only", "span_and_event"}
        headers = _parse_headers(env.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
        self._headers = {"Content-Type": "application/x-protobuf", **headers}
        service, release = env.get("OTEL_SERVICE_NAME") or "leadhand", version("leadhand")
        self._sending = SpanConverter(service, release, provider, known_names, include_contents=self.contents)

    async def send(self, key: JobKey, spans: Sequence[Span]) -> ExportOutcome:
        """Send the spans that have ended, and leave out the others. A network error is returned, not raised."""
        body = await asyncio.to_thread(self._sending.encode_otlp, key.team, key.job, spans)
        try:
            async with (
                open_session(seconds=SEND_TIMEOUT_SECONDS) as session,
                session.post(self._url, data=body, headers=self._headers, allow_redirects=False) as response,
            ):
                if response.status < 300:
                    return ExportOutcome()
                return ExportOutcome(
                    f"answers {response.status} {response.reason}", may_retry=response.status in _RETRYABLE_STATUSES
                )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return ExportOutcome(
                f"cannot be reached ({describe_network_fault(error) or type(error).__name__})", may_retry=True
            )

    async def probe_collector(self) -> str:
        """Send a request without spans to the collector. Returns the fault, or "" if the collector accepts it."""
        return (await self.send(JobKey("", ""), ())).fault


def make_sender(env: Mapping[str, str], *, provider: str = "", names: Collection[str] = ()) -> SpanSender | None:
    """Return a sender to the collector that the environment names; None if it names none. Raises NoCollector."""
    return SpanSender(env, provider=provider, known_names=names) if _find_collector_address(env) else None


class TraceQueue:
    """The queue of traces that this instance still has to send, oldest first."""

    def __init__(self, sender: SpanSender, *, retry_seconds: float = RETRY_SECONDS) -> None:
        self._sender = sender
        self._retry_seconds = retry_seconds
        self._queued_traces: dict[tuple[JobKey, str], None] = {}
        self._trace_queued = asyncio.Event()
        self._collector_fault = ""

    def enqueue(self, key: JobKey, request: str) -> None:
        """Queue the trace of a request for sending. If the queue is full, the oldest one is dropped."""
        self._queued_traces[key, request] = None
        if len(self._queued_traces) > MAX_QUEUED_TRACES:
            dropped_trace = next(iter(self._queued_traces))
            del self._queued_traces[dropped_trace]
            log.warning(
                "the trace of a request of job %s is not sent: too many wait for the collector", dropped_trace[0].job
            )
        self._trace_queued.set()

    @contextlib.asynccontextmanager
    async def send_in_background(self, store: Store) -> AsyncIterator[None]:
        """Send queued traces inside the `with` block. At its end, the remaining ones get one attempt."""
        work = asyncio.create_task(self._send_waiting(store))
        try:
            yield
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_SEND_SECONDS):
                    while self._queued_traces and await self._send_oldest(store):
                        pass
            for key, _ in self._queued_traces:
                log.warning("the trace of a request of job %s is not sent: the instance stops", key.job)

    async def _send_waiting(self, store: Store) -> None:
        while True:
            await self._trace_queued.wait()
            self._trace_queued.clear()
            while self._queued_traces:
                first = next(iter(self._queued_traces))
                try:
                    is_done = await self._send_oldest(store)
                except Exception:
                    log.exception("the trace of a request of job %s is not sent: reading it broke", first[0].job)
                    self._queued_traces.pop(first, None)
                    is_done = True
                if not is_done:
                    await asyncio.sleep(self._retry_seconds)

    async def _send_oldest(self, store: Store) -> bool:
        """Send the oldest trace. Returns False, and keeps it queued, if the store or the collector is unavailable."""
        key, request = next(iter(self._queued_traces))
        try:
            entries = await store.jobs.read_log(key)
        except LogBroken:
            entries = []
        except StoreError:
            return False
        of_it = [span for span in await asyncio.to_thread(read_spans, entries) if span.request == request]
        send_outcome = await self._sender.send(key, of_it)
        self._log_collector_state(send_outcome)
        if send_outcome.may_retry:
            return False
        if send_outcome.fault:
            log.warning("the trace of a request of job %s is not sent: the collector %s", key.job, send_outcome.fault)
        self._queued_traces.pop((key, request), None)
        return True

    def _log_collector_state(self, outcome: ExportOutcome) -> None:
        """Log once when the collector becomes unavailable, and once when it is back."""
        away = outcome.fault if outcome.may_retry else ""
        if away and not self._collector_fault:
            log.warning("traces wait: the collector at %s %s", self._sender.endpoint, away)
        if self._collector_fault and not away:
            log.info("the collector at %s takes traces again", self._sender.endpoint)
        self._collector_fault = away


class TracedEffects(ForwardingEffects):
    """`Effects` that also collect the ended requests of a job, and queue their traces when the job is released."""

    def __init__(self, effects: Effects, enqueue: Callable[[JobKey, str], None]) -> None:
        super().__init__(effects)
        self._enqueue = enqueue
        self._ended_requests: dict[JobKey, set[str]] = {}

    def show_job_change(self, runner: JobRunner, before: Job, after: Job) -> None:
        """Note the requests that this change ended, and pass the change on."""
        # A lost owner may not have sent its traces.
        known_job = before if after.takeover_count == before.takeover_count else None
        ended_ids = {
            request.id
            for request, was in after.list_changed_requests(known_job)
            if request.is_over and not (was is not None and was.is_over)
        }
        if ended_ids:
            self._ended_requests.setdefault(runner.claim.key, set()).update(ended_ids)
        super().show_job_change(runner, before, after)

    async def stop_showing_job(self, runner: JobRunner) -> bool:
        """Pass the call on, then queue the traces of the ended requests: their last messages are now in the log."""
        is_accepted = await super().stop_showing_job(runner)
        for request in sorted(self._ended_requests.pop(runner.claim.key, ())):
            self._enqueue(runner.claim.key, request)
        return is_accepted


def _parse_headers(text: str) -> dict[str, str]:
    """Parse comma-separated `name=value` pairs in OpenTelemetry's format; values may be percent-encoded."""
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


def _find_collector_address(env: Mapping[str, str]) -> str:
    """Return the URL that traces are sent to, or "" if none is set."""
    base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").rstrip("/")
    return env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "") or (f"{base}/v1/traces" if base else "")
