"""Whether the store is still one that may be used: its settings can be changed under a bot that runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from bot.store.interface import Store

log = logging.getLogger(__name__)

LOOKS = 600.0
"""Seconds between two looks."""


class Fitness:
    """What is wrong with a store, told once when it comes up, and once when it is gone."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Sequence[str] = ()

    async def look(self) -> None:
        """Ask the store, and log what is new."""
        found = await self._store.check()
        for fault in found:
            if fault not in self._known:
                log.warning("the store: %s", fault)
        for fault in self._known:
            if fault not in found:
                log.info("the store, mended: %s", fault)
        self._known = found
