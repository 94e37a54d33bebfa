"""A workbench backed by a folder: files come from a store when a tool asks, new ones go back to it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from handoff.contracts import Artifact
from handoff.provenance import Provenance

_UNSAFE = re.compile(r"[^\w.\- ]+")
_LONGEST_NAME = 120
PEOPLE = Provenance()
"""A brief that holds nothing but what people said."""


class FolderWorkbench:
    """A `Workbench` for one attempt of one specialist.

    Args:
        artifacts: the files of the handoff.
        fetch: gives the bytes for an artifact's id. What it raises passes through `path`.
        store: keeps bytes and gives back their id (the sha256, in hex). What it raises passes through `keep`.
        folder: for local copies; made, for us alone, when the first is asked for. Whoever named it
            removes it when the attempt ends.
        provenance: where the words of the brief come from.
    """

    def __init__(
        self,
        artifacts: tuple[Artifact, ...],
        fetch: Callable[[str], Awaitable[bytes]],
        store: Callable[[bytes], Awaitable[str]],
        folder: Path,
        provenance: Provenance = PEOPLE,
    ) -> None:
        self.provenance = provenance
        self._given = artifacts
        self._made: list[Artifact] = []
        self._fetch = fetch
        self._store = store
        self._folder = folder
        self._fetching: dict[str, asyncio.Lock] = {}

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The files of the handoff, then those made since."""
        return self._given + tuple(self._made)

    @property
    def made(self) -> tuple[Artifact, ...]:
        """The files that tools made here, in order."""
        return tuple(self._made)

    async def path(self, artifact: Artifact) -> Path:
        """Give a local read-only copy of the file, fetched once, named like the file but safe as a path."""
        local = self._folder / _safe(artifact.id)[:32] / _safe(artifact.name)
        async with self._fetching.setdefault(artifact.id, asyncio.Lock()):
            if not local.exists():
                data = await self._fetch(artifact.id)
                await asyncio.to_thread(self._write, local, data)
        return local

    async def keep(self, name: str, data: bytes, *, media_type: str, about: str, publish_as: str) -> Artifact:
        """Store a new file and give back its reference. A name already taken gets a number.

        Raises:
            pydantic.ValidationError: `publish_as` is not one of the ways that `Artifact` knows.
        """
        fields = {"name": self._free_name(name), "media_type": media_type, "size": len(data)}
        fields |= {"about": about, "publish_as": publish_as}
        artifact = Artifact.model_validate({"id": await self._store(data), **fields})
        self._made.append(artifact)
        return artifact

    def _write(self, local: Path, data: bytes) -> None:
        """Write under another name first, so that a copy that is there is always whole."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        local.parent.mkdir(exist_ok=True)
        part = local.with_name(local.name + ".part")
        part.write_bytes(data)
        part.chmod(0o400)
        part.replace(local)

    def _free_name(self, name: str) -> str:
        taken = {artifact.name for artifact in self.artifacts}
        stem, suffix = Path(name).stem, Path(name).suffix
        number = 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}{suffix}"
        return name


def _safe(name: str) -> str:
    """Make a name one part of a path: a name comes from whoever attached the file."""
    plain = _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ")
    return plain[-_LONGEST_NAME:].encode()[-_LONGEST_NAME:].decode(errors="ignore") or "file"
