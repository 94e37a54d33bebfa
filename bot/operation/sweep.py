"""What a killed process left on this machine, swept when the next one starts."""

from __future__ import annotations

import asyncio
import logging
import shutil
from pathlib import Path

from bot.store.values import StoreError
from specialists.sandbox.scratch import find_abandoned_folders
from specialists.tools.tables.table_cache import TableCache, cache_folder

log = logging.getLogger(__name__)

TRIAL = "leadhand-try-"
"""What the folder of a `leadhand try --ask` starts with: it holds the data of a server, which outlives a killed bot."""


async def remove_leftovers() -> None:
    """Remove the working folders of dead processes, and cached tables that nobody needs."""
    swept = 0
    for folder in find_abandoned_folders():
        for data in folder.glob(f"{TRIAL}*"):
            await _end_server(data)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        swept += 1
    await asyncio.to_thread(TableCache(cache_folder()).sweep)
    if swept:
        log.info("working folders of processes that were killed, removed: %d", swept)


async def _end_server(data: Path) -> None:
    from bot.store.embedded import stop_embedded  # noqa: PLC0415 - only where there is one

    try:
        await stop_embedded(data)
    except StoreError as error:
        log.warning("a server that a killed trial left behind still runs: %s", error)
