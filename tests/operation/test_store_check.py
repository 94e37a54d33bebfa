"""What an instance does every so often, and what it says of a store whose settings were changed under it."""

import asyncio
import logging
from pathlib import Path

import pytest

from bot.operation.periodic import StoreSettingsCheck, repeat_every
from bot.store.redis.redis_store import Store
from tests.patience import patience
from tests.store.kit import ask, tcp_server

OFTEN = 0.02


async def test_a_server_that_begins_to_evict_is_told_once_and_so_is_its_mending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bot.operation.periodic")
    with tcp_server(tmp_path / "server", "--appendonly", "yes") as port:
        store = await Store.connect(f"redis://127.0.0.1:{port}")
        check = StoreSettingsCheck(store)
        await check.run()
        assert caplog.messages == []
        ask(port, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        await check.run()
        await check.run()
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "maxmemory-policy noeviction" in caplog.text
        ask(port, "CONFIG", "SET", "maxmemory-policy", "noeviction")
        await check.run()
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
        await store.close()


async def test_it_goes_on_after_a_failure_never_twice_at_once_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    begun, under_way, most = asyncio.Semaphore(0), 0, 0

    async def work() -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        begun.release()
        try:
            await asyncio.sleep(3 * OFTEN)
        finally:
            under_way -= 1
        raise ValueError("it went wrong")

    with repeat_every(OFTEN, work):
        for _ in range(3):
            await asyncio.wait_for(begun.acquire(), patience())
    assert most == 1
    assert "it went wrong" in caplog.text
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(begun.acquire(), 10 * OFTEN)
    assert under_way == 0
