"""Bytes that are kept beside a job, under their sha256. They may come before the job does."""

from __future__ import annotations

from bot.store import bounds
from bot.store.interface import JobKey, PayloadTooLarge


class Blobs:
    """The bytes of all jobs."""

    def __init__(self) -> None:
        self._all: dict[JobKey, dict[str, bytes]] = {}

    def keep(self, key: JobKey, data: bytes) -> str:
        """See `Store.put_blob`."""
        digest = bounds.blob_digest(data)
        bounds.member(key)
        kept = self._all.setdefault(key, {})
        if digest not in kept and sum(map(len, kept.values())) + len(data) > bounds.JOB_BYTES_LIMIT:
            raise PayloadTooLarge(bounds.JOB_FULL)
        kept[digest] = bytes(data)
        return digest

    def get(self, key: JobKey, digest: str) -> bytes:
        """See `Store.get_blob`."""
        return self._all.get(key, {})[digest]

    def drop(self, key: JobKey) -> None:
        """Forget all that is kept beside a job."""
        self._all.pop(key, None)
