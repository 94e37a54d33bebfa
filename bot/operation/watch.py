"""Everything that watches one instance, put together: what counts, what shows it, and what has to be asked for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Iterator

from bot.jobs.instance import Instance
from bot.models.choosing import ChosenModel
from bot.operation.health import ANSWER_SECONDS, Signs, open_door
from bot.operation.metered import MeteredModel, metered_crew
from bot.operation.metered_store import metered_store
from bot.operation.metrics import Metrics
from bot.settings import Address
from bot.store.interface import Store, StoreError
from bot.store.redis.redis_store import RedisStore
from specialists.registry import Crew


class Watch:
    """One for each instance. Each part is handed through it once, and is used from then on as it comes back."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.signs = Signs()
        self._store: RedisStore | None = None

    def store(self, store: RedisStore) -> Store:
        """The store, counted."""
        self._store = store
        self.signs.store = store
        return metered_store(store, self.metrics, self.signs.pulse)

    def model(self, model: ChosenModel) -> ChosenModel:
        """The model, counted."""
        return MeteredModel(model, self.metrics)

    def crew(self, crew: Crew) -> Crew:
        """The crew, with its tools counted."""
        return metered_crew(crew, self.metrics)

    def door(self, address: Address | None) -> contextlib.AbstractAsyncContextManager[str]:
        """Shows it all, see `open_door`."""
        return open_door(address, self.signs, self.metrics, self._measure)

    @contextlib.contextmanager
    def over(self, instance: Instance, work: asyncio.Task[None], *, slots: int) -> Iterator[None]:
        """Watch an instance and the log while they run. `work` is the task that claims jobs."""
        self.signs.working = lambda: not work.done()
        self.metrics.watch("jobs_owned", "Jobs that this instance works on.", lambda: instance.owned)
        self.metrics.watch("slots", "Jobs that this instance works on at most.", lambda: slots)
        handler = self.metrics.log_handler()
        logging.getLogger().addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)

    async def _measure(self) -> None:
        used = limit = math.nan
        if self._store is not None:
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    used, limit = await self._store.memory()
                    known = await self._store.counters.breakers()
                    now = self._store.clock()
                    states = {name: one.state(now) for name, one in known.items()}
                    self.metrics.breakers({name: state for name, state in states.items() if state != "closed"})
        self.metrics.store_memory(used, limit)
