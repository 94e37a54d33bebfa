"""The Prometheus metrics of an instance. Each instance has one `Metrics` with its own registry."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

    from handoff.contracts import Usage

SHORT_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LONG_BUCKETS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""Bucket bounds of histograms, in seconds: `SHORT_BUCKETS` for store calls, `LONG_BUCKETS` for models and requests."""

EVENT_COUNTERS: Mapping[str, tuple[str, str]] = {
    "taken_over": ("job_takeovers", "Jobs taken over from an owner that was lost."),
    "fenced": ("jobs_fenced", "Jobs that this instance had to stop working on, as another one owns them."),
    "let_go": ("jobs_let_go", "Jobs let go of properly: nothing to do for now, or this instance was told to stop."),
    "released": ("jobs_released", "Jobs that had been set aside and were released by an admin."),
    "set_aside": ("jobs_set_aside", "Jobs set aside: they cost too many owners, or cannot be read."),
    "stalled": ("jobs_stalled", "Jobs let go of, as their work made no progress."),
    "reconciled": ("posts_reconciled", "Posts in doubt that were found in their thread."),
    "store_away": ("store_outages", "Times that the store could no longer be reached."),
    "token_refused": ("slack_token_refusals", "Times that Slack began to refuse the bot's token."),
    "memory_full": ("store_memory_full", "Times that the store's memory was found too full to claim jobs."),
}
"""Events counted as they happen, mostly from the `event` of log records: event -> (counter name, help text)."""


class Metrics:
    """The counters, gauges and histograms of an instance. Every method is cheap and may be called on the event loop."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry  # noqa: PLC0415 - imported only if metrics are wanted

        self.registry: CollectorRegistry = CollectorRegistry()
        counter, gauge, histogram = self._make_counter, self._make_gauge, self._make_histogram
        self._job_claims = counter("jobs_claimed", "Jobs that this instance took into its hands, by workspace.", "team")
        self._commits = counter("commits", "Commits to a job's log, by their outcome.", "outcome")
        self._store_errors = counter("store_errors", "Calls of the store that failed, by its part.", "part")
        self._first_work = histogram(
            "claim_to_first_commit_seconds", "From a claim to its first commit.", SHORT_BUCKETS
        )
        self._model_calls = counter(
            "model_calls", "Turns of a model, its own retries included.", "provider", "model", "tier", "outcome"
        )
        self._model_seconds = histogram(
            "model_call_seconds", "How long a model's turn took.", LONG_BUCKETS, "provider", "tier"
        )
        self._tokens = counter("model_tokens", "Tokens to and from models.", "provider", "model", "tier", "direction")
        self._withheld = counter("model_calls_withheld", "Calls of a model that were not made, by why.", "reason")
        self._waits = histogram("model_call_wait_seconds", "How long calls waited for a rate or a slot.", LONG_BUCKETS)
        self._breakers = self._make_gauge("breaker", "Breakers that are not closed: 1 open, 0.5 half-open.", "name")
        self._tools = counter("tool_calls", "Calls of tools, by their outcome.", "tool", "outcome")
        self._slack = counter("slack_calls", "Calls to Slack's Web API, by their outcome.", "method", "outcome")
        self._rate_limits = counter("slack_rate_limited", "Calls that Slack answered with 429.", "method")
        self._requests = counter("requests_ended", "Requests by the end that people saw, and workspace.", "end", "team")
        self._request_seconds = histogram(
            "request_seconds", "From a request to its end in the thread.", LONG_BUCKETS, "end"
        )
        self._walls = gauge("sandbox_wall", "Whether a wall stands round what reads files and pages, 1 or 0.", "wall")
        self._landlock = gauge("sandbox_landlock_version", "The version of Landlock of this system; 0 for none.")
        self._memory = gauge("store_memory_bytes", "Memory that the store's server uses.")
        self._limit = gauge("store_memory_limit_bytes", "Its `maxmemory`; 0 where none is set.")
        self._events = {event: counter(name, text) for event, (name, text) in EVENT_COUNTERS.items()}

    def add_gauge(self, name: str, help_text: str, read_value: Callable[[], float]) -> None:
        """Add a gauge `leadhand_<name>`, whose value `read_value` returns each time that the metrics are rendered."""
        self._make_gauge(name, help_text).set_function(read_value)

    def count_claim(self, team: str) -> None:
        """Count a claim of a team's job."""
        self._job_claims.labels(team).inc()

    def count_commit(self, outcome: str) -> None:
        """Count a commit: ok, dup, fenced or conflict."""
        self._commits.labels(outcome).inc()

    def observe_first_commit(self, seconds: float) -> None:
        """Record the seconds from the claim of a job to its first commit."""
        self._first_work.observe(seconds)

    def count_store_error(self, part: str) -> None:
        """Count a call of a part of the store that raised StoreError."""
        self._store_errors.labels(part).inc()

    def count_model_reply(
        self, *, provider: str, model: str, tier: str, outcome: str, seconds: float, usage: Usage
    ) -> None:
        """Count a model's turn, its seconds and its tokens.

        `outcome` is ok, cancelled, broke (a bug) or a ModelError's kind.
        """
        self._model_calls.labels(provider, model, tier, outcome).inc()
        self._model_seconds.labels(provider, tier).observe(seconds)
        self._tokens.labels(provider, model, tier, "in").inc(usage.tokens_in)
        self._tokens.labels(provider, model, tier, "out").inc(usage.tokens_out)

    def count_withheld_call(self, reason: str) -> None:
        """Count a call of a model that was not made: breaker, rate, slots or budget."""
        self._withheld.labels(reason).inc()

    def observe_model_wait(self, seconds: float) -> None:
        """Record the seconds that a model call waited for a rate limit or a free slot."""
        self._waits.observe(seconds)

    def set_breakers(self, states: Mapping[str, str]) -> None:
        """Set the gauges of the breakers that are not closed: `states` maps names to "open" or "half-open"."""
        self._breakers.clear()
        for name, state in states.items():
            self._breakers.labels(name).set(1.0 if state == "open" else 0.5)

    def count_tool_call(self, tool: str, outcome: str) -> None:
        """Count a tool call: ok, failed (the model is told), cut (cancelled or its files away) or broke (a bug)."""
        self._tools.labels(tool, outcome).inc()

    def count_slack_call(self, method: str, outcome: str) -> None:
        """Count one attempt at a Slack call by outcome: ok, limited (429), failed (5xx, no answer) or refused."""
        self._slack.labels(method, outcome).inc()
        if outcome == "limited":
            self._rate_limits.labels(method).inc()

    def count_request_end(self, end: str, seconds: float, team: str) -> None:
        """Count a request, and its seconds, by the end that people saw: completed, partial, failed or cancelled."""
        self._requests.labels(end, team).inc()
        self._request_seconds.labels(end).observe(seconds)

    def set_store_memory(self, used_bytes: float, limit: float) -> None:
        """Set the gauges of the store's memory: bytes used and `maxmemory` (0: no limit). NaN if they are not known."""
        self._memory.set(used_bytes)
        self._limit.set(limit)

    def set_protections(self, active: Mapping[str, bool], landlock: int) -> None:
        """Set the gauges for the kernel protections of child processes: which are active, and Landlock's version."""
        for wall, stands in active.items():
            self._walls.labels(wall).set(float(stands))
        self._landlock.set(landlock)

    def count_event(self, name: str) -> None:
        """Count an event of `EVENT_COUNTERS`; any other name counts nothing."""
        if counter := self._events.get(name):
            counter.inc()

    def make_log_handler(self) -> logging.Handler:
        """Return a handler that counts log records with an `event`. Add it to a logger, and remove it at the end."""
        return _EventHandler(self)

    def render(self) -> tuple[bytes, str]:
        """Return all metrics in Prometheus' text format, and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415 - the same

        return generate_latest(self.registry), CONTENT_TYPE_LATEST

    def _make_counter(self, name: str, help_text: str, *labels: str) -> Counter:
        from prometheus_client import Counter  # noqa: PLC0415 - the same

        return Counter(f"leadhand_{name}", help_text, labels, registry=self.registry)

    def _make_gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        from prometheus_client import Gauge  # noqa: PLC0415 - the same

        return Gauge(f"leadhand_{name}", help_text, labels, registry=self.registry)

    def _make_histogram(self, name: str, help_text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        from prometheus_client import Histogram  # noqa: PLC0415 - the same

        return Histogram(f"leadhand_{name}", help_text, labels, buckets=buckets, registry=self.registry)


class _EventHandler(logging.Handler):
    """Counts log records by their `event`, and writes nothing."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        name: Any = getattr(record, "event", "")
        if name:
            self._metrics.count_event(str(name))
