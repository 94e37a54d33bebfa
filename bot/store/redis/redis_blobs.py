"""Bytes beside jobs, on a server: see `bot.store.interface.Blobs`."""

from __future__ import annotations

from bot.store import quotas
from bot.store.interface import JobKey
from bot.store.redis.keys import BLOBS
from bot.store.redis.script_calls import Calls, unless_full


class RedisBlobs:
    """`Blobs` on a server. `retention` is that of finished jobs, in seconds, and of bytes that no job comes for."""

    def __init__(self, calls: Calls, retention: float) -> None:
        self._calls = calls
        self._retention_ms = round(retention * 1000)

    async def put(self, key: JobKey, data: bytes) -> str:
        """See `Blobs.put`."""
        digest = quotas.blob_digest(data)
        args = (digest, data, quotas.JOB_BYTES_LIMIT, self._retention_ms)
        unless_full(await self._calls.run("keep", self._calls.keys.of_job(key), *args))
        return digest

    async def get(self, key: JobKey, digest: str) -> bytes:
        """See `Blobs.get`."""
        name = self._calls.keys.of_job(key)[BLOBS]
        # Beside the blobs the hash holds the sum of their sizes.
        data = await self._calls.server.command("HGET", name, digest) if digest != "size" else None
        if data is None:
            raise KeyError(digest)
        return bytes(data)
