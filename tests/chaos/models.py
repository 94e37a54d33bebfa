"""The models' server of a run: says what the errands need, and fails and dawdles as the seed wants it."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, defaultdict

from tests.chaos.crossings import Crossings
from tests.chaos.faults import ModelFaults
from tests.chaos.words import find_call_subject, say
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest


class Models:
    """`server` is to be started and stopped by whoever made this."""

    def __init__(self, seed: int, *, calm: bool = False) -> None:
        self.fault_counts: Counter[str] = Counter()
        """Faults that came about."""
        self.answer_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """For each request, how often each of its calls was answered: by a digest of all that was said to the model."""
        self.deep: list[float] = []
        """When the model of the tier `deep` was called, in seconds since the epoch."""
        self.calm = calm
        self.crossings: Crossings | None = None
        """Hears all requests, where there are several teams."""
        self._faults = ModelFaults(seed)
        self.server = ProviderServer(say, latency=self._latency, keep=False)

    def _latency(self, request: WireRequest) -> float:
        """Seconds that the call takes. The server takes its next fault right after this where it need not wait."""
        if self.crossings is not None:
            self.crossings.hear_model(request)
        about = find_call_subject(request)
        if about is None:
            return 0.0
        if request.model == "deep":
            self.deep.append(time.time())
        fault, seconds = self._faults.next(about, streams=request.stream, calm=self.calm)
        if fault is None:
            said = json.dumps([request.model, request.body["messages"]]).encode()
            self.answer_counts[about.name][f"{about.purpose} {about.part} {hashlib.sha256(said).hexdigest()[:8]}"] += 1
            return seconds
        self.fault_counts[fault.kind] += 1
        self.server.fail_next(fault)
        return 0.0
