"""A server behind TLS. The embedded one is built without, so something in front of it ends the TLS."""

import asyncio
import contextlib
import secrets
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, StoreError
from tests.failover.writers import Writer, list_broken_promises, more, run_writers
from tests.patience import eventually
from tests.store.kit import hearing

CERTIFICATES = Path(__file__).parent / "certificates"
JOBS = [JobKey("T1", f"J{n:010}") for n in range(3)]


@pytest.fixture
async def tls_port(server_url: str) -> AsyncIterator[int]:
    """A port that speaks TLS with a certificate of our own authority, before a real server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server_with_key.pem")
    lines: set[asyncio.Task[None]] = set()

    async def pump(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                to.write(data)
                await to.drain()
        to.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        lines.add(task)
        there = await asyncio.open_unix_connection(server_url.removeprefix("unix://"))
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
        lines.discard(task)

    listener = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    yield int(listener.sockets[0].getsockname()[1])
    listener.close()
    for line in list(lines):
        line.cancel()
    await asyncio.gather(*lines, return_exceptions=True)


async def test_all_of_the_store_works_through_tls(tls_port: int) -> None:
    url = f"rediss://127.0.0.1:{tls_port}?ssl_ca_certs={CERTIFICATES / 'ca.pem'}"
    prefix = f"t{secrets.token_hex(4)}"
    store = await Store.connect(url, prefix=prefix)
    heard: list[JobKey] = []

    async def hears_all() -> bool:
        for key in JOBS:
            await store.jobs.signal(key, "{}", dedupe=[])
        return set(heard) >= set(JOBS)

    writers = [Writer("one", store, JOBS), Writer("two", store, JOBS[::-1])]
    async with run_writers(writers):
        await more(writers, 100)
    promises = [writer.promise_record for writer in writers]
    assert await list_broken_promises(store, promises) == []
    assert not any(promised.refusal_counts for promised in promises)
    async with hearing(store.listen(), heard):
        await eventually(hears_all)
    digest = await store.blobs.put(JOBS[0], b"x" * 300_000)
    assert await store.blobs.get(JOBS[0], digest) == b"x" * 300_000
    assert "Valkey" in await store.describe() or "Redis" in await store.describe()
    await store.close()


async def test_a_certificate_of_a_stranger(tls_port: int, tmp_path: Path) -> None:
    for options in ("", f"?ssl_ca_certs={CERTIFICATES / 'other_ca.pem'}"):
        with pytest.raises(StoreError, match=r"not trusted.*ssl_ca_certs=") as caught:
            await Store.connect(f"rediss://:secret@127.0.0.1:{tls_port}{options}")
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(StoreError, match="a file that is not there, or may not be read: ssl_ca_certs"):
        await Store.connect(f"rediss://127.0.0.1:{tls_port}?ssl_ca_certs={tmp_path / 'nothing.pem'}")


async def test_tls_where_there_is_none_and_none_where_there_is(tls_port: int, plain_port: int) -> None:
    with pytest.raises(StoreError, match=r"\(TLS\) does not answer"):
        await Store.connect(f"rediss://127.0.0.1:{plain_port}", timeout=0.3)
    with pytest.raises(StoreError, match="rediss://"):
        await Store.connect(f"redis://127.0.0.1:{tls_port}")
