"""The instrumentation of one instance: wraps its parts to count their calls, and serves its health and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterator

from bot.jobs.instance import Instance
from bot.jobs.job_runner import Effects
from bot.models.chosen_model import ChosenModel
from bot.operation.health import STORE_TIMEOUT_SECONDS, HealthState, serve_health
from bot.operation.metering import MeteredEffects, MeteredModel, meter_crew, meter_store
from bot.operation.metrics import Metrics
from bot.operation.trace_export import TracedEffects, TraceQueue
from bot.settings import Address
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError
from specialists.crew_set import CrewSet


class Instrumentation:
    """Counts the calls of an instance's parts. Wrap each part with it once, and use the wrapped part.

    `traces` exports the traces of ended requests; None if no collector is set.
    """

    def __init__(self, traces: TraceQueue | None = None) -> None:
        self.metrics = Metrics()
        self._traces = traces
        self.health = HealthState()
        self._store: Store | None = None

    def wrap_store(self, store: Store) -> Store:
        """Return the store with its calls counted."""
        self._store = store
        self.health.store = store
        return meter_store(store, self.metrics, self.health.heartbeat)

    def wrap_model(self, model: ChosenModel) -> ChosenModel:
        """Return the model with its calls counted."""
        return MeteredModel(model, self.metrics)

    def wrap_crews(self, crews: CrewSet) -> CrewSet:
        """Return the crews with the calls of their tools counted."""
        return CrewSet({name: meter_crew(crew, self.metrics) for name, crew in crews.by_name.items()})

    def wrap_effects(self, effects: Effects) -> Effects:
        """Return effects that also count how requests end, and export the requests' traces if a collector is set."""
        metered_effects = MeteredEffects(effects, self.metrics)
        return TracedEffects(metered_effects, self._traces.enqueue) if self._traces is not None else metered_effects

    def serve_health(self, address: Address | None) -> contextlib.AbstractAsyncContextManager[str]:
        """Serve health and metrics inside the `with` block. Yields the base URL, or "" if `address` is None."""
        return serve_health(address, self.health, self.metrics, self._refresh_metrics)

    @contextlib.contextmanager
    def watch_instance(
        self,
        instance: Instance,
        claim_task: asyncio.Task[None],
        *,
        slots: int,
        find_token_fault: Callable[[], str] = str,
    ) -> Iterator[None]:
        """Watch an instance and its log records inside the `with` block. `claim_task` is the task that claims jobs.

        `find_token_fault` returns why Slack refuses the bot's token, or "" while Slack accepts it.
        """
        self.health.is_claiming = lambda: not claim_task.done()
        self.health.find_token_fault = find_token_fault
        text = "1 while Slack takes the bot's token, 0 while it refuses it."
        self.metrics.add_gauge("slack_token_accepted", text, lambda: float(not find_token_fault()))
        self.metrics.add_gauge("jobs_owned", "Jobs that this instance works on.", lambda: instance.owned_job_count)
        self.metrics.add_gauge("slots", "Jobs that this instance works on at most.", lambda: slots)
        handler = self.metrics.make_log_handler()
        logging.getLogger().addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)

    async def _refresh_metrics(self) -> None:
        used_bytes = limit = math.nan
        if self._store is not None:
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(STORE_TIMEOUT_SECONDS):
                    used_bytes, limit = await self._store.read_memory_usage()
                    breakers = await self._store.counters.read_breakers()
                    now = self._store.clock()
                    states = {name: one.get_state(now) for name, one in breakers.items()}
                    self.metrics.set_breakers({name: state for name, state in states.items() if state != "closed"})
        self.metrics.set_store_memory(used_bytes, limit)
