"""The board on which instances tell each other their crews, and the load of specialists that have equals.

Each instance writes its row in the store every `ROW_INTERVAL_SECONDS` seconds, and at once when an attempt of a
specialist with equals begins or ends. A row that is not renewed expires, so that nothing has to be cleared after a
crash.
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

ROW_INTERVAL_SECONDS = 10.0
"""Seconds between two rows of an instance."""
CACHE_SECONDS = 1.0
"""Seconds for which the rows of other instances are cached."""
LOAD_EXPIRY_SECONDS = 2.5 * ROW_INTERVAL_SECONDS
"""Seconds after its last row for which the load of an instance still counts."""
CREWS_EXPIRY_SECONDS = 4.5 * ROW_INTERVAL_SECONDS
"""Seconds after its last row for which the crews of an instance still count: longer than a restart takes."""
LAST_ROW_SECONDS = 0.1
"""Most seconds that a stopping instance spends on writing its last row."""


@dataclass(frozen=True, slots=True)
class SpecialistLoad:
    """The attempts of a specialist that are under way, and the average seconds of one (None: unknown)."""

    attempts: int = 0
    attempt_seconds: float | None = None


ReadOwnLoads = Callable[[], Mapping[str, SpecialistLoad]]
"""Returns the loads of this instance's specialists that have equals, by `crew:specialist`."""


@dataclass(frozen=True, slots=True)
class InstanceSummary:
    """An instance as its row tells: its name, the age of the row in seconds, its crews, and its attempts under way."""

    name: str
    age: float
    crews: tuple[str, ...]
    attempts: int


@dataclass(slots=True)
class _ParsedRow:
    """The parsed row of an instance, and its age in seconds when it was read."""

    age: float
    crews: frozenset[str] = frozenset()
    loads: Mapping[str, SpecialistLoad] = field(default_factory=dict)


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
        self._own_loads: list[ReadOwnLoads] = []
        self._other_rows: list[_ParsedRow] = []
        self._read_at = float("-inf")
        self._is_changed = False
        self._write_task: asyncio.Task[None] | None = None

    def add_load_source(self, read_loads: ReadOwnLoads) -> None:
        """Include the loads that `read_loads` returns in this instance's rows from now on."""
        self._own_loads.append(read_loads)

    async def write_row(self) -> None:
        """Write this instance's row to the store, unless the store is away."""
        load = {key: [busy.attempts, busy.attempt_seconds] for mine in self._own_loads for key, busy in mine().items()}
        with contextlib.suppress(StoreError):  # the next beat writes a row again
            await self._board.put(self._name, json.dumps({"crews": self._crews, "load": load}))

    def start_writing_row(self) -> None:
        """Start to write the row in a task. If a load changes meanwhile, the row is written again."""
        self._is_changed = True
        if self._write_task is None or self._write_task.done():
            self._write_task = asyncio.create_task(self._write_while_changed())

    async def _write_while_changed(self) -> None:
        while self._is_changed:
            self._is_changed = False
            await self.write_row()

    async def write_row_repeatedly(self) -> None:
        """Write the row every `ROW_INTERVAL_SECONDS` seconds, until cancelled."""
        while True:
            await self.write_row()
            await asyncio.sleep(ROW_INTERVAL_SECONDS)

    async def read_other_rows(self) -> None:
        """Read the rows of the other instances, unless they were read within the last `CACHE_SECONDS` seconds."""
        if time.monotonic() - self._read_at < CACHE_SECONDS:
            return
        try:
            rows = await self._board.read_rows()
        except StoreError as error:
            log.info("what other instances do could not be read: %s", error)
            return
        self._read_at = time.monotonic()
        self._other_rows = [_parse_row(age, text) for name, (age, text) in rows.items() if name != self._name]

    def find_load(self, key: str) -> SpecialistLoad:
        """Return the load of a specialist (`crew:specialist`) in all other instances together, as last read."""
        loads = [
            row.loads[key]
            for row in self._other_rows
            if key in row.loads and self._compute_row_age(row) <= LOAD_EXPIRY_SECONDS
        ]
        times = [one.attempt_seconds for one in loads if one.attempt_seconds is not None]
        return SpecialistLoad(sum(one.attempts for one in loads), sum(times) / len(times) if times else None)

    async def has_crew_elsewhere(self, crew: str) -> bool:
        """Return True if another instance has that crew, or had it within the last `CREWS_EXPIRY_SECONDS` seconds."""
        await self.read_other_rows()
        return any(crew in row.crews and self._compute_row_age(row) <= CREWS_EXPIRY_SECONDS for row in self._other_rows)

    async def read_instances(self) -> list[InstanceSummary]:
        """Read the rows of all instances, this one included. Raises StoreError."""
        rows = {name: _parse_row(age, text) for name, (age, text) in (await self._board.read_rows()).items()}
        return [
            InstanceSummary(name, row.age, tuple(sorted(row.crews)), sum(busy.attempts for busy in row.loads.values()))
            for name, row in rows.items()
        ]

    def _compute_row_age(self, row: _ParsedRow) -> float:
        return row.age + time.monotonic() - self._read_at

    async def close(self) -> None:
        """Write a last row, without load, if the store is quick enough."""
        self._is_changed = False
        if self._write_task is not None:
            self._write_task.cancel()
            await asyncio.gather(self._write_task, return_exceptions=True)
        self._own_loads.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_ROW_SECONDS):
                await self.write_row()


def _parse_row(age: float, text: str) -> _ParsedRow:
    """Parse a row. If it cannot be parsed, return an empty row: a newer release may write rows in another form."""
    try:
        fields: Any = json.loads(text)
        load = {str(key): _make_load(*one) for key, one in fields["load"].items()}
        return _ParsedRow(age, frozenset(map(str, fields["crews"])), load)
    except (ValueError, KeyError, TypeError, AttributeError):
        return _ParsedRow(age)


def _make_load(attempts: Any, seconds: Any) -> SpecialistLoad:
    return SpecialistLoad(int(attempts), None if seconds is None else float(seconds))
