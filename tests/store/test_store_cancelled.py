"""A task that is told to stop stops, wherever in a call to the server it is just then."""

import asyncio

import pytest

from tests.store.kit import Kit

MOMENTS = 60
"""More turns of the loop than one call takes."""


@pytest.mark.parametrize("what", ["now", "signals"])
async def test_no_cancellation_is_lost_in_a_call(server_kit: Kit, what: str) -> None:
    async def calls() -> None:
        while True:
            await server_kit.store.read_time()

    async def listens() -> None:
        async for _ in server_kit.store.listen():
            pass

    for moment in range(MOMENTS):
        task = asyncio.create_task(calls() if what == "now" else listens())
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=2)
        task.cancel()
        assert done, f"cancelled after {moment} turns of the loop, it went on"
