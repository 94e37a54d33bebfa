"""A workbench without files, which keeps what tools make."""

from __future__ import annotations

import hashlib
from pathlib import Path

from specialists.tools.tool import FolderWorkbench


def bench_in(folder: Path) -> FolderWorkbench:
    """Make one with its files in this folder."""
    kept: dict[str, bytes] = {}

    async def fetch(name: str) -> bytes:
        return kept[name]

    async def store(data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        kept[name] = data
        return name

    return FolderWorkbench((), fetch, store, folder)
