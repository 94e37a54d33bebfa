"""The models' server of a run: says what the errands need, and fails and dawdles as the seed wants it."""

from __future__ import annotations

from collections import Counter

from tests.chaos.errands import asked, say
from tests.chaos.faults import ModelFaults
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest


class Models:
    """`server` is to be started and stopped by whoever made this."""

    def __init__(self, seed: int, *, calm: bool = False) -> None:
        self.done: Counter[str] = Counter()
        """Faults that came about."""
        self.calm = calm
        self._faults = ModelFaults(seed)
        self.server = ProviderServer(say, latency=self._latency, keep=False)

    def _latency(self, request: WireRequest) -> float:
        """Seconds that the call takes. The server takes its next fault right after this where it need not wait."""
        about = asked(request)
        if about is None:
            return 0.0
        fault, seconds = self._faults.next(about, streams=request.stream, calm=self.calm)
        if fault is None:
            return seconds
        self.done[fault.kind] += 1
        self.server.fail_next(fault)
        return 0.0
