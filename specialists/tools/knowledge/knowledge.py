"""A folder of knowledge, searched: its index is made and kept new in the background, and shared with other processes.

Only the process that holds the lock beside the index reads documents; all search it. Nobody waits for an index: while
one is being made, a search says how much of it there is.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from specialists.tools.knowledge.knowledge_files import ABOUT, KnowledgeFile, scan_folder, shorten_name_list
from specialists.tools.knowledge.knowledge_index import (
    NO_FTS5,
    VERSION,
    IndexedDocument,
    KnowledgeHit,
    KnowledgeIndex,
    has_fts5,
)
from specialists.tools.knowledge.knowledge_pages import FetchedPages
from specialists.tools.knowledge.knowledge_reading import TooBusy, batches, read_documents

log = logging.getLogger(__name__)

LOOKED = 5.0
"""Seconds for which a look at the folder holds: more searches than that look once."""
EVERY = 60.0
"""Seconds between looks when nobody searches."""
SMALL, LARGE = 1.0, 0.02
"""Seconds that a search waits for a look at the folder to end: of up to `MANY` documents, and of more."""
MANY = 2_000
FEW, FOR_FEW = 50, 3.0
"""Changed documents that a search waits for, and how many seconds."""
PROVING = 10.0
"""Seconds for which a proof reads what is new; of what comes after, nothing is said yet."""
_AT_ONCE = 2
"""Children that read for the index at the same time: the other places are for people's files."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the index is: documents that can be searched, those that nobody can read, and how many there are.

    `looked` is False until the folder was looked at for the first time.
    """

    indexed: int
    unread: int
    wanted: int
    looked: bool

    @property
    def left(self) -> int:
        """How many are still to be read."""
        return max(0, self.wanted - self.indexed - self.unread)


class Knowledge:
    """The documents of a folder.

    Args:
        folder: Where they lie. It is only read.
        data: The folder in which indexes are kept, made if it is not there.
        pages: What fetches them into the folder, if they are pages of the web.
    """

    def __init__(self, folder: Path, data: Path, pages: FetchedPages | None = None) -> None:
        self.folder = folder
        key = hashlib.sha256(f"{folder.resolve()} {VERSION}".encode()).hexdigest()[:16]
        self._file = data.expanduser() / "knowledge" / f"{key}.sqlite"
        self._index = KnowledgeIndex(self._file)
        self._pages = pages
        self._task: asyncio.Task[None] | None = None
        self._walked: asyncio.Event | None = None
        self._next = 0.0
        self._documents = 0

    # ------------------------------------------------------------ searching

    async def search(self, question: str, most: int) -> list[KnowledgeHit]:
        """Find the best passages, best first. What changed a moment ago is read first, if it is little."""
        await self._refresh_index()
        return await asyncio.to_thread(self._index.search, question, most)

    async def find_document(self, path: str) -> IndexedDocument | None:
        """Give a document by its path, its title or the end of its path; None if none, or several, have it.

        It may be asked for before any search: what is not there yet is read first, if it is little.
        """
        found = await asyncio.to_thread(self._index.find_document, path)
        if found is None:
            await self._refresh_index()
            found = await asyncio.to_thread(self._index.find_document, path)
        return found

    async def list_similar_paths(self, path: str, most: int) -> list[str]:
        """List the paths that look most like a wrong one."""
        return await asyncio.to_thread(self._index.paths_like, path, most)

    async def progress(self) -> Progress:
        """Say how far the index is, whichever process makes it."""

        def read() -> Progress:
            wanted = self._index.fact("wanted")
            return Progress(self._index.count(), len(self._index.faults()), int(wanted or 0), bool(wanted))

        return await asyncio.to_thread(read)

    def link(self, path: str, own: str) -> str:
        """Give a document's address: its own, or from the `base` in `knowledge.yml`; empty if nobody said."""
        base = self._read_base_address() if not own else ""
        if not base:
            return own
        stem = path.rpartition(".")[0] or path
        return base.replace("{path}", path).replace("{page}", stem) if "{" in base else f"{base.rstrip('/')}/{path}"

    # ------------------------------------------------------------ keeping it new

    async def keep_new(self) -> None:
        """Make the index, and look for what changed, until it is cancelled."""
        while True:
            try:
                if self._pages is not None:
                    async with self._hold_lock() as alone:
                        if alone:
                            await self._pages.renew()
            except OSError as error:
                log.warning("the pages in %s were not fetched: %s", self.folder, error)
            await self.renew()
            await asyncio.sleep(EVERY)

    async def renew(self) -> None:
        """Look at the folder and read what changed, to the end. Another process may be at it: then nothing is done."""
        await self._renewal_task()

    async def prove(self) -> tuple[str, ...]:
        """Say what is wrong with the folder and its documents, a line each, as far as they are read by now."""
        if not has_fts5():
            return (NO_FTS5,)
        if self._pages is not None and not self.folder.exists():
            return ()  # the first start fetches them
        await asyncio.wait({self._renewal_task()}, timeout=PROVING)
        found = await asyncio.to_thread(scan_folder, self.folder)
        if not found.files and not found.faults:
            return (f"{self.folder} holds no documents; put some in (Markdown, text, HTML, PDF, Word)",)
        broken: dict[str, list[str]] = {}
        for path, fault in await asyncio.to_thread(self._index.faults):
            broken.setdefault(fault, []).append(path)
        lines = (f"{shorten_name_list(paths)} {fault}" for fault, paths in broken.items())
        pages = self._pages.faults if self._pages is not None else ()
        return (*found.faults, *lines, *pages)

    async def close(self) -> None:
        """End what is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _refresh_index(self) -> None:
        """Have the folder looked at, if that was not done a moment ago, and wait only for little."""
        task = self._renewal_task() if time.monotonic() >= self._next else self._task
        if task is None or task.done() or self._walked is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._walked.wait(), LARGE if self._documents > MANY else SMALL)
            if (await self.progress()).left <= FEW:
                await asyncio.wait({task}, timeout=FOR_FEW)

    def _renewal_task(self) -> asyncio.Task[None]:
        if self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            self._walked = asyncio.Event()
            self._task = asyncio.create_task(self._renew(self._walked))
        return self._task

    async def _renew(self, walked: asyncio.Event) -> None:
        try:
            async with self._hold_lock() as alone:
                if not alone:
                    return
                changed = await asyncio.to_thread(self._compare)
                walked.set()
                places = asyncio.Semaphore(_AT_ONCE)
                async with asyncio.TaskGroup() as group:
                    for batch in batches(changed):
                        await places.acquire()
                        group.create_task(self._read(batch, places))
        except* TooBusy:
            log.info("the rest of the knowledge in %s is indexed later: too much else is being read", self.folder)
        except* (OSError, sqlite3.Error) as group:
            log.warning("the knowledge in %s is not indexed: %s", self.folder, group.exceptions[0])
        finally:
            walked.set()
            self._next = time.monotonic() + LOOKED

    async def _read(self, batch: Sequence[KnowledgeFile], places: asyncio.Semaphore) -> None:
        try:
            documents = await read_documents(batch)
            await asyncio.to_thread(self._index.index_documents, documents)
        finally:
            places.release()

    def _compare(self) -> list[KnowledgeFile]:
        """Look at the folder, drop what is gone from the index, and list what is new or changed."""
        found = scan_folder(self.folder)
        self._documents = len(found.files)
        known = self._index.states()
        changed = [one for path, one in found.files.items() if known.get(path) != one.state]
        outdated = [path for path in known if path not in found.files or known[path] != found.files[path].state]
        if outdated:
            self._index.drop(outdated)
        if self._index.fact("wanted") != str(len(found.files)):
            self._index.note(wanted=str(len(found.files)))
        if (self._index.fact("faults") or "[]") != json.dumps(found.faults):
            self._index.note(faults=json.dumps(found.faults))
            for line in found.faults:
                log.warning("knowledge in %s: %s", self.folder, line)
        return changed

    @contextlib.asynccontextmanager
    async def _hold_lock(self) -> AsyncIterator[bool]:
        """Hold the lock beside the index; gives False if another process has it."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(lock)

    def _read_base_address(self) -> str:
        try:
            about = yaml.safe_load((self.folder / ABOUT).read_bytes()[:8000])
        except (OSError, yaml.YAMLError, ValueError):
            return ""
        base = about.get("base") if isinstance(about, dict) else ""
        return base if isinstance(base, str) and base.startswith(("http://", "https://")) else ""
