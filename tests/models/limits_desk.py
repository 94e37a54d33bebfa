"""Instances on one store, whose clock can be moved, with a provider behind each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bot.limits.call_limits import CallLimits
from bot.limits.rules import Payer, Rules
from bot.store.redis.redis_store import Store
from tests.models.conftest import connect
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.store.kit import MovedClock, fresh_store

ANA = Payer("T1", "C1", "U1", "J1")
FINE = Reply("Fine.", tokens_out=40)


@dataclass
class Said:
    """What the server says to each call, and what was counted."""

    words: Callable[[], Reply | Fault | Awaitable[Reply | Fault]]
    withheld_for: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def withheld(self, reason: str) -> None:
        self.withheld_for.append(reason)

    def waited(self, seconds: float) -> None:
        self.waits.append(seconds)


@dataclass
class Desk:
    """Two instances on one store, whose clock can be moved, with a provider behind each."""

    server: ProviderServer
    said: Said
    store: Store
    clock: MovedClock
    made: list[CallLimits] = field(default_factory=list)

    def limits(self, **rules: Any) -> CallLimits:
        model = connect("chat", self.server)
        self.made.append(CallLimits(self.store.counters, model, Rules(**rules), self.store.clock))
        limits = self.made[-1]
        limits.on_wait, limits.on_withheld = self.said.waited, self.said.withheld
        return limits


@asynccontextmanager
async def open_desk(url: str) -> AsyncIterator[Desk]:
    """A desk on the server at `url`, whose provider says that all is fine, until told otherwise."""
    said = Said(lambda: FINE)
    store = await fresh_store(url)
    async with ProviderServer(lambda _: said.words()) as server:
        made = Desk(server, said, store, MovedClock(store))
        yield made
        for limits in made.made:
            await limits.close()
            await limits._model.close()
    await store.close()
