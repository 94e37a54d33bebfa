"""Circuit breakers: all instances stop calling a model or specialist that keeps failing, until a probe succeeds.

An instance acts on the state of a breaker that it last received from the store. It asks the store only when a call
wants to become the probe. It reports failures, and the first success after failures.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from bot.store.counters import Breaker, BreakerRule
from bot.store.redis.redis_counters import Counters
from bot.store.values import StoreError
from specialists.model import CallWithheld, ModelError, ModelErrorKind

log = logging.getLogger(__name__)

BREAKER_RULES: Mapping[str, BreakerRule] = {
    "specialist": BreakerRule(3),
    "model": BreakerRule(5),
    "made": BreakerRule(10),
}
"""The rule of each kind of breaker. The kind is the part of a breaker's name before the colon."""
ADHOC_BREAKER = "made:specialist"
"""The breaker that all ad-hoc specialists share: a planner invents their names, so none has a breaker of its own.

It opens after more failures than others, so that one job's bad brief does not stop the ad-hoc specialists of all jobs.
"""
CALLER_FAULT_KINDS: frozenset[ModelErrorKind] = frozenset({"bad_request", "too_long"})
"""Errors that the call itself causes: they do not count against the model."""
PROVIDER_FAULT_KINDS: frozenset[ModelErrorKind] = frozenset({"unavailable", "rate_limited", "auth", "quota"})
"""Errors that the provider causes: they do not count against the specialist that made the call."""
POLL_PAUSE_RANGE = (0.1, 1.0)
"""Seconds between two polls of state that all instances share: a pair of the first and the longest pause."""
BREAKER_ADVICE = "Mention me again in a few minutes. If it still fails, ask whoever runs me to run `leadhand check`."


ProbeIds = dict[str, str]
"""By breaker name: the id of a call as the breaker's probe, or "" if it is an ordinary call."""


def find_breaker_name(purpose: str) -> str:
    """Return the name of the specialist's breaker for calls with this purpose, or "" if they have none."""
    kind, _, name = purpose.partition(":")
    if kind == "made":
        return ADHOC_BREAKER
    return purpose if kind == "specialist" and name else ""


class Breakers:
    """The breakers of specialists and models, by the store's `clock`. If `is_enabled` is False, no breaker opens."""

    def __init__(self, counters: Counters, clock: Callable[[], float], *, is_enabled: bool) -> None:
        self._counters = counters
        self._clock = clock
        self._is_enabled = is_enabled
        self._running_calls: Counter[str] = Counter()
        self._call_ended = asyncio.Event()

    def is_open(self, specialist: str) -> bool:
        """Return True if a specialist's breaker is open in the state that this instance last received."""
        return (
            self._is_enabled
            and self._counters.recall_breaker(f"specialist:{specialist}").get_state(self._clock()) == "open"
        )

    async def describe_open_breakers(self) -> list[str]:
        """Read the breakers from the store, and describe each open one in a line. Raises StoreError."""
        now = self._clock()
        breakers = await self._counters.read_breakers() if self._is_enabled else {}
        return [
            str(_make_withheld_error(name, one, one.open_until - now))
            for name, one in sorted(breakers.items())
            if now < one.open_until
        ]

    @asynccontextmanager
    async def admit_call(
        self, names: Sequence[str], *, max_wait_seconds: float, hold_seconds: float, is_last: bool = False
    ) -> AsyncIterator[float]:
        """Admit a call, as a probe of each breaker whose pause is over, and report the outcome to the store.

        A call waits at most `max_wait_seconds` seconds for the end of a model's pause, or of another call's probe of
        the model. It never waits for a specialist's pause: another specialist may do the work. A probe keeps its place
        during the call; if its instance dies, the place is free after `hold_seconds` seconds. If `is_last`, no
        specialist's breaker stops the call.

        Yields the seconds waited. Raises CallWithheld and StoreError.
        """
        started_at = time.monotonic()
        probes: ProbeIds = {}
        try:
            for name in names if self._is_enabled else ():
                probes[name] = (
                    ""
                    if is_last and _is_specialist_breaker(name)
                    else await self._wait_for_breaker(name, started_at + max_wait_seconds, hold_seconds)
                )
                self._running_calls[name] += 1
            waited_seconds = time.monotonic() - started_at
            async with self._renew_probes(probes, hold_seconds):
                yield waited_seconds if waited_seconds > POLL_PAUSE_RANGE[0] / 2 else 0.0
        except ModelError as error:
            if isinstance(error, CallWithheld):
                await self._release_probes(probes)
            else:
                await self._record_failure(probes, error)
            raise
        except BaseException:
            await self._release_probes(probes)
            raise
        else:
            for name, probe in probes.items():
                await self._report_outcome(name, probe, has_succeeded=True)
        finally:
            self._running_calls.subtract(probes.keys())
            self._call_ended.set()
            self._call_ended = asyncio.Event()

    @asynccontextmanager
    async def _renew_probes(self, probes: ProbeIds, hold: float) -> AsyncIterator[None]:
        """Renew the places of the probes every third of `hold` seconds, inside the `with` block."""
        own_probes = {name: probe for name, probe in probes.items() if probe}
        renewal_task = asyncio.create_task(self._renew_until_cancelled(own_probes, hold)) if own_probes else None
        try:
            yield
        finally:
            if renewal_task is not None:
                renewal_task.cancel()
                await asyncio.gather(renewal_task, return_exceptions=True)

    async def _renew_until_cancelled(self, probes: ProbeIds, hold: float) -> None:
        while True:
            await asyncio.sleep(hold / 3)
            for name, probe in probes.items():
                try:
                    await self._counters.request_passage(name, probe=probe, hold=hold)
                except StoreError as error:
                    log.warning("the probe of %s could not be renewed and is tried again: %s", name, error)

    async def _wait_for_breaker(self, name: str, deadline: float, hold: float) -> str:
        """Wait until a call may be made. Returns its id as a probe, or "" for an ordinary call. Raises CallWithheld."""
        probe, pause = secrets.token_hex(8), POLL_PAUSE_RANGE[0]
        if _is_specialist_breaker(name):
            await self._wait_for_running_calls(name, deadline)
        while (known_breaker := self._counters.recall_breaker(name)).open_until:
            now = self._clock()
            if now >= known_breaker.open_until:
                is_admitted, known_breaker = await self._counters.request_passage(name, probe=probe, hold=hold)
                if is_admitted:
                    return probe if known_breaker.open_until else ""
            wait = known_breaker.open_until - now if known_breaker.open_until > now else pause
            if _is_specialist_breaker(name) or wait > deadline - time.monotonic():
                raise _make_withheld_error(
                    name, known_breaker, max(known_breaker.open_until, known_breaker.probe_until) - now
                )
            await asyncio.sleep(wait)
            pause = min(2 * pause, POLL_PAUSE_RANGE[1])
        return ""

    async def _wait_for_running_calls(self, name: str, deadline: float) -> None:
        """Wait while calls under way of a specialist that has failed could open its breaker, until `deadline`."""
        threshold = BREAKER_RULES[name.partition(":")[0]].threshold
        while (seconds_left := deadline - time.monotonic()) > 0:
            failures = self._counters.recall_breaker(name).failures
            if not failures or failures + self._running_calls[name] < threshold or not self._running_calls[name]:
                return
            end_waiter = asyncio.ensure_future(self._call_ended.wait())
            try:
                await asyncio.wait({end_waiter}, timeout=seconds_left)
            finally:
                end_waiter.cancel()

    async def _record_failure(self, probes: ProbeIds, error: ModelError) -> None:
        for name, probe in probes.items():
            if _is_specialist_breaker(name) and error.kind in PROVIDER_FAULT_KINDS:
                await self._release_probes({name: probe})
            elif _is_specialist_breaker(name):
                await self._report_outcome(name, probe)
            elif error.kind in CALLER_FAULT_KINDS:
                await self._report_outcome(name, probe, has_succeeded=True)
            else:
                await self._report_outcome(
                    name, probe, pause=min(error.pause, BREAKER_RULES["model"].longest_rest_seconds)
                )

    async def _release_probes(self, probes: ProbeIds) -> None:
        """Release the probes' places so that another call may probe at once: this call neither succeeded nor failed."""
        for name, probe in probes.items():
            if not probe:
                continue
            try:
                await self._counters.request_passage(name, probe=probe, hold=0.0)
            except StoreError as error:  # then the place stays taken until `hold` seconds have passed
                log.warning("the probe of %s could not be given back: %s", name, error)

    async def count_specialist_failure(self, purpose: str) -> None:
        """Count a specialist's failure that was no failed model call: a tool crashed, or its deadline passed."""
        if self._is_enabled and (name := find_breaker_name(purpose)):
            await self._report_outcome(name, "")

    async def _report_outcome(self, name: str, probe: str, *, has_succeeded: bool = False, pause: float = 0.0) -> None:
        known_breaker = self._counters.recall_breaker(name)
        if has_succeeded and not probe and (known_breaker.open_until or not known_breaker.failures):
            return
        operation = secrets.token_hex(8)
        try:
            if has_succeeded:
                breaker = await self._counters.record_breaker_success(name, operation, probe=probe)
            else:
                rule = BREAKER_RULES[name.partition(":")[0]]
                breaker = await self._counters.record_breaker_failure(
                    name, operation, rule, probe=probe, rest_seconds=pause
                )
        except StoreError as error:  # the job's runner meets the same outage and reports it
            log.warning("the %s of %s could not be counted: %s", "success" if has_succeeded else "failure", name, error)
            return
        if breaker.openings > known_breaker.openings:
            pause_seconds = breaker.open_until - self._clock()
            log.warning("%s failed %d times; paused for %.0f s", name, breaker.failures, pause_seconds)


def _is_specialist_breaker(name: str) -> bool:
    """Return True for the breaker of a specialist, the shared breaker of ad-hoc specialists included."""
    return not name.startswith("model:")


def _make_withheld_error(name: str, breaker: Breaker, seconds: float) -> CallWithheld:
    kind, _, owner_name = name.partition(":")
    is_adhoc = name == ADHOC_BREAKER
    wait = max(1, math.ceil(seconds))
    times = "" if breaker.failures < 2 else f" after {breaker.failures} failures in a row"
    text = f"The {kind} {owner_name} is paused for another {wait} seconds{times}."
    if is_adhoc:
        text = f"All specialists made for one job are paused for another {wait} seconds{times}."
    owner = "specialists made for one job after their" if is_adhoc else f"{kind} {owner_name} after its"
    limit = f"the pause of {owner} failures"
    return CallWithheld(
        "breaker", text, transient=kind == "model", pause=float(wait), advice=BREAKER_ADVICE, limit=limit
    )
