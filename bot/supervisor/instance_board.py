"""The board on which instances tell each other their crews, and the load of specialists that have equals.

Each instance writes its row in the store every `BEAT` seconds, and at once when an attempt of a specialist with equals
begins or ends. A row that is not renewed expires, so that nothing has to be cleared after a crash.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.store.redis.redis_records import InstanceRegistry
from bot.store.values import StoreError

log = logging.getLogger(__name__)

BEAT = 10.0
"""Seconds between two rows of an instance."""
LOOK = 1.0
"""Seconds for which the rows of other instances are cached."""
LOAD_COUNTS = 2.5 * BEAT
"""Seconds after its last row for which the load of an instance still counts."""
CREWS_COUNT = 4.5 * BEAT
"""Seconds after its last row for which the crews of an instance still count: longer than a restart takes."""
LAST = 0.1
"""Seconds at most to write the last row of an instance that is stopping."""
MOST_ROW = 16 * 1024
"""Characters at most of a row that are parsed."""


@dataclass(frozen=True, slots=True)
class SpecialistLoad:
    """The attempts of a specialist that are under way, and the average seconds of one (None: unknown)."""

    waiting: int = 0
    seconds: float | None = None


OwnLoads = Callable[[], Mapping[str, SpecialistLoad]]
"""Returns the loads of this instance's specialists that have equals, by `crew:specialist`."""


@dataclass(frozen=True, slots=True)
class InstanceSummary:
    """An instance as its row tells: its name, the age of the row in seconds, its crews, and its attempts under way."""

    name: str
    age: float
    crews: tuple[str, ...]
    busy: int


@dataclass(slots=True)
class _Row:
    """The parsed row of an instance, and its age in seconds when it was read."""

    age: float
    crews: frozenset[str] = frozenset()
    load: Mapping[str, SpecialistLoad] = field(default_factory=dict)


class InstanceBoard:
    """The board as one instance sees it. While the store is away, the rows read last are used until they expire.

    Args:
        board: The registry in the store.
        name: The name of this instance.
        crews: The names of its crews.
    """

    def __init__(self, board: InstanceRegistry, name: str, crews: Iterable[str]) -> None:
        self._board = board
        self._name = name
        self._crews = sorted(crews)
        self._mine: list[OwnLoads] = []
        self._others: list[_Row] = []
        self._looked = float("-inf")
        self._dirty = False
        self._putting: asyncio.Task[None] | None = None

    def add_loads(self, mine: OwnLoads) -> None:
        """Include the loads that `mine` returns in this instance's rows from now on."""
        self._mine.append(mine)

    async def put_row(self) -> None:
        """Write this instance's row to the store, unless the store is away."""
        load = {key: [busy.waiting, busy.seconds] for mine in self._mine for key, busy in mine().items()}
        with contextlib.suppress(StoreError):  # the next beat writes a row again
            await self._board.put(self._name, json.dumps({"crews": self._crews, "load": load}))

    def put_row_soon(self) -> None:
        """Start to write the row in a task. If a load changes meanwhile, the row is written again."""
        self._dirty = True
        if self._putting is None or self._putting.done():
            self._putting = asyncio.create_task(self._put_while_dirty())

    async def _put_while_dirty(self) -> None:
        while self._dirty:
            self._dirty = False
            await self.put_row()

    async def run(self) -> None:
        """Write the row every `BEAT` seconds, until cancelled."""
        while True:
            await self.put_row()
            await asyncio.sleep(BEAT)

    async def read_other_rows(self) -> None:
        """Read the rows of the other instances, unless they were read within the last `LOOK` seconds."""
        if time.monotonic() - self._looked < LOOK:
            return
        try:
            rows = await self._board.rows()
        except StoreError as error:
            log.info("what other instances do could not be read: %s", error)
            return
        self._looked = time.monotonic()
        self._others = [_parse_row(age, text) for name, (age, text) in rows.items() if name != self._name]

    def find_load(self, key: str) -> SpecialistLoad:
        """Return the load of a specialist (`crew:specialist`) in all other instances together, as last read."""
        said = [row.load[key] for row in self._others if key in row.load and self._row_age(row) <= LOAD_COUNTS]
        times = [one.seconds for one in said if one.seconds is not None]
        return SpecialistLoad(sum(one.waiting for one in said), sum(times) / len(times) if times else None)

    async def has_crew_elsewhere(self, crew: str) -> bool:
        """Return True if another instance has that crew, or had it within the last `CREWS_COUNT` seconds."""
        await self.read_other_rows()
        return any(crew in row.crews and self._row_age(row) <= CREWS_COUNT for row in self._others)

    async def list_instances(self) -> list[InstanceSummary]:
        """Read the rows of all instances, this one included. Raises StoreError."""
        rows = {name: _parse_row(age, text) for name, (age, text) in (await self._board.rows()).items()}
        return [
            InstanceSummary(name, row.age, tuple(sorted(row.crews)), sum(busy.waiting for busy in row.load.values()))
            for name, row in rows.items()
        ]

    def _row_age(self, row: _Row) -> float:
        return row.age + time.monotonic() - self._looked

    async def close(self) -> None:
        """Write a last row, without load, if the store is quick enough."""
        self._dirty = False
        if self._putting is not None:
            self._putting.cancel()
            await asyncio.gather(self._putting, return_exceptions=True)
        self._mine.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST):
                await self.put_row()


def _parse_row(age: float, text: str) -> _Row:
    """Parse a row. If it cannot be parsed, return an empty row: a newer release may write rows in another form."""
    try:
        fields: Any = json.loads(text[:MOST_ROW])
        load = {str(key): _parse_busy(*one) for key, one in fields["load"].items()}
        return _Row(age, frozenset(map(str, fields["crews"])), load)
    except (ValueError, KeyError, TypeError, AttributeError):
        return _Row(age)


def _parse_busy(waiting: Any, seconds: Any) -> SpecialistLoad:
    return SpecialistLoad(int(waiting), None if seconds is None else float(seconds))
