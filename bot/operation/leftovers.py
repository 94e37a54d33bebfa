"""Removes the folders and servers that killed processes left on this machine, when the next process starts."""

from __future__ import annotations

import asyncio
import logging
import shutil
from pathlib import Path

from bot.store.values import StoreError
from specialists.sandbox.scratch_folder import find_abandoned_folders
from specialists.tools.tables.table_cache import TableCache, find_cache_folder

log = logging.getLogger(__name__)

TRIAL_PREFIX = "leadhand-try-"
"""Prefix of the data folder of a `leadhand try --ask`, whose store server keeps running if the bot is killed."""


async def remove_leftovers() -> None:
    """Remove working folders of dead processes, after stopping the servers in them, and outdated cached tables."""
    swept = 0
    for folder in find_abandoned_folders():
        for data in folder.glob(f"{TRIAL_PREFIX}*"):
            await _stop_server(data)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        swept += 1
    await asyncio.to_thread(TableCache(find_cache_folder()).remove_outdated_entries)
    if swept:
        log.info("working folders of processes that were killed, removed: %d", swept)


async def _stop_server(data_folder: Path) -> None:
    from bot.store.embedded import stop_embedded  # noqa: PLC0415 - only where there is one

    try:
        await stop_embedded(data_folder)
    except StoreError as error:
        log.warning("a server that a killed trial left behind still runs: %s", error)
