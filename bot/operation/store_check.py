"""The check of a running store's settings: they can be changed under a bot that runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from bot.store.interface import Store

log = logging.getLogger(__name__)

CHECK_SECONDS = 600.0
"""Seconds between two checks."""


class StoreCheck:
    """The faults of a store's settings, each logged once when it appears and once when it is mended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Sequence[str] = ()

    async def run(self) -> None:
        """Ask the store, and log what has changed."""
        found = await self._store.check()
        for fault in found:
            if fault not in self._known:
                log.warning("the store: %s", fault)
        for fault in self._known:
            if fault not in found:
                log.info("the store, mended: %s", fault)
        self._known = found
