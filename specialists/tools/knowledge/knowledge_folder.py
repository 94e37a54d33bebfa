"""Searches a folder of documents; its index is updated in the background and shared with other processes.

Only the process that holds the lock beside the index updates it; all processes search it. A search does not wait for a
complete index: while one is being made, the search reports how much is indexed.
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

from specialists.tools.knowledge.knowledge_files import (
    FOLDER_SETTINGS_FILE,
    KnowledgeFile,
    scan_folder,
    shorten_name_list,
)
from specialists.tools.knowledge.knowledge_index import (
    INDEX_VERSION,
    NO_FTS5_MESSAGE,
    IndexedDocument,
    KnowledgeHit,
    KnowledgeIndex,
    has_fts5,
)
from specialists.tools.knowledge.knowledge_pages import FetchedPages
from specialists.tools.knowledge.knowledge_reading import NoFreeChild, read_documents, split_into_batches

log = logging.getLogger(__name__)

SCAN_VALID_SECONDS = 5.0
"""Seconds after a scan of the folder during which searches do not scan it again."""
SCAN_INTERVAL_SECONDS = 60.0
"""Seconds between two scans of the folder in the background."""
SCAN_WAIT_SECONDS, LARGE_SCAN_WAIT_SECONDS = 1.0, 0.02
"""Seconds that a search waits for a scan of the folder: `SCAN_WAIT_SECONDS` with up to `LARGE_FOLDER_DOCUMENTS`
documents, `LARGE_SCAN_WAIT_SECONDS` with more."""
LARGE_FOLDER_DOCUMENTS = 2_000
MAX_AWAITED_CHANGES, CHANGES_WAIT_SECONDS = 50, 3.0
"""If at most `MAX_AWAITED_CHANGES` documents changed, a search waits up to `CHANGES_WAIT_SECONDS` seconds until they
are indexed."""
CHECK_WAIT_SECONDS = 10.0
"""Seconds that `check_documents` waits for documents to be indexed; it does not report on documents indexed later."""
_MAX_CHILDREN = 2
"""Child processes that read for the index at the same time; the others are left for people's files."""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How complete the index is.

    Attributes:
        indexed_count: How many documents can be searched.
        unreadable_count: How many documents cannot be read.
        document_count: How many documents the folder has.
        is_scanned: False until the folder was scanned for the first time.
    """

    indexed_count: int
    unreadable_count: int
    document_count: int
    is_scanned: bool

    @property
    def remaining_count(self) -> int:
        """How many documents are still to be indexed."""
        return max(0, self.document_count - self.indexed_count - self.unreadable_count)


class KnowledgeFolder:
    """The documents of a folder, with their search index.

    Args:
        folder: The folder of the documents. Only `pages` write to it.
        data_folder: The data folder of the bot; indexes are kept in its folder `knowledge`, which is made if it is
            missing.
        pages: Fetches the documents into the folder, if they are web pages.
    """

    def __init__(self, folder: Path, data_folder: Path, pages: FetchedPages | None = None) -> None:
        self.folder = folder
        key = hashlib.sha256(f"{folder.resolve()} {INDEX_VERSION}".encode()).hexdigest()[:16]
        self._index_file = data_folder.expanduser() / "knowledge" / f"{key}.sqlite"
        self._index = KnowledgeIndex(self._index_file)
        self._pages = pages
        self._update_task: asyncio.Task[None] | None = None
        self._scan_ended: asyncio.Event | None = None
        self._next_scan = 0.0
        self._document_count = 0

    # ------------------------------------------------------------ searching

    async def search(self, question: str, most: int) -> list[KnowledgeHit]:
        """Return up to `most` matching passages, best first. Changed documents are indexed first, if they are few."""
        await self._update_if_due()
        return await asyncio.to_thread(self._index.search, question, most)

    async def find_document(self, path: str) -> IndexedDocument | None:
        """Return the document with this path, title or end of a path; None if no document, or several, match.

        If there is none, new and changed documents are indexed first, if they are few, and the search is repeated.
        """
        document = await asyncio.to_thread(self._index.find_document, path)
        if document is None:
            await self._update_if_due()
            document = await asyncio.to_thread(self._index.find_document, path)
        return document

    async def list_similar_paths(self, path: str, most: int) -> list[str]:
        """List up to `most` paths of documents that are similar to a path that does not exist."""
        return await asyncio.to_thread(self._index.list_similar_paths, path, most)

    async def read_progress(self) -> IndexProgress:
        """Return how complete the index is, whichever process updates it."""

        def read() -> IndexProgress:
            wanted_count = self._index.read_fact("wanted")
            return IndexProgress(
                self._index.count_documents(),
                len(self._index.list_faults()),
                int(wanted_count or 0),
                bool(wanted_count),
            )

        return await asyncio.to_thread(read)

    def make_link(self, path: str, own_link: str) -> str:
        """Return a document's address: `own_link`, or one made from `base` in knowledge.yml; "" if there is neither."""
        base = self._read_base_address() if not own_link else ""
        if not base:
            return own_link
        stem = path.rpartition(".")[0] or path
        return base.replace("{path}", path).replace("{page}", stem) if "{" in base else f"{base.rstrip('/')}/{path}"

    # ------------------------------------------------------------ keeping it new

    async def keep_updated(self) -> None:
        """Fetch the pages and update the index, every `SCAN_INTERVAL_SECONDS` seconds, until cancelled."""
        while True:
            try:
                if self._pages is not None:
                    async with self._hold_lock() as has_lock:
                        if has_lock:
                            await self._pages.fetch_due_pages()
            except OSError as error:
                log.warning("the pages in %s were not fetched: %s", self.folder, error)
            await self.update_index()
            await asyncio.sleep(SCAN_INTERVAL_SECONDS)

    async def update_index(self) -> None:
        """Scan the folder and index all that changed. Does nothing while another process does so."""
        await self._start_update()

    async def check_documents(self) -> tuple[str, ...]:
        """Return one line for each fault of the folder, of the documents read so far, and of the pages to fetch."""
        if not has_fts5():
            return (NO_FTS5_MESSAGE,)
        if self._pages is not None and not self.folder.exists():
            return self._pages.faults  # the first start fetches them
        await asyncio.wait({self._start_update()}, timeout=CHECK_WAIT_SECONDS)
        listing = await asyncio.to_thread(scan_folder, self.folder)
        if not listing.files and not listing.faults:
            return (f"{self.folder} holds no documents; put some in (Markdown, text, HTML, PDF, Word)",)
        paths_by_fault: dict[str, list[str]] = {}
        for path, fault in await asyncio.to_thread(self._index.list_faults):
            paths_by_fault.setdefault(fault, []).append(path)
        lines = (f"{shorten_name_list(paths)} {fault}" for fault, paths in paths_by_fault.items())
        pages = self._pages.faults if self._pages is not None else ()
        return (*listing.faults, *lines, *pages)

    async def close(self) -> None:
        """Cancel the indexing that is under way."""
        if self._update_task is not None:
            self._update_task.cancel()
            await asyncio.gather(self._update_task, return_exceptions=True)

    async def _update_if_due(self) -> None:
        """Update the index, at most once in `SCAN_VALID_SECONDS`; wait for the update if few documents changed."""
        task = self._start_update() if time.monotonic() >= self._next_scan else self._update_task
        if task is None or task.done() or self._scan_ended is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(
                self._scan_ended.wait(),
                LARGE_SCAN_WAIT_SECONDS if self._document_count > LARGE_FOLDER_DOCUMENTS else SCAN_WAIT_SECONDS,
            )
            if (await self.read_progress()).remaining_count <= MAX_AWAITED_CHANGES:
                await asyncio.wait({task}, timeout=CHANGES_WAIT_SECONDS)

    def _start_update(self) -> asyncio.Task[None]:
        if (
            self._update_task is None
            or self._update_task.done()
            or self._update_task.get_loop() is not asyncio.get_running_loop()
        ):
            self._scan_ended = asyncio.Event()
            self._update_task = asyncio.create_task(self._run_update(self._scan_ended))
        return self._update_task

    async def _run_update(self, scan_ended: asyncio.Event) -> None:
        try:
            async with self._hold_lock() as has_lock:
                if not has_lock:
                    return
                changed_files = await asyncio.to_thread(self._scan_for_changes)
                scan_ended.set()
                free_children = asyncio.Semaphore(_MAX_CHILDREN)
                async with asyncio.TaskGroup() as group:
                    for batch in split_into_batches(changed_files):
                        await free_children.acquire()
                        group.create_task(self._index_batch(batch, free_children))
        except* NoFreeChild:
            log.info("the rest of the knowledge in %s is indexed later: too much else is being read", self.folder)
        except* (OSError, sqlite3.Error) as group:
            log.warning("the knowledge in %s is not indexed: %s", self.folder, group.exceptions[0])
        finally:
            scan_ended.set()
            self._next_scan = time.monotonic() + SCAN_VALID_SECONDS

    async def _index_batch(self, batch: Sequence[KnowledgeFile], free_children: asyncio.Semaphore) -> None:
        try:
            documents = await read_documents(batch)
            await asyncio.to_thread(self._index.index_documents, documents)
        finally:
            free_children.release()

    def _scan_for_changes(self) -> list[KnowledgeFile]:
        """Scan the folder, drop deleted and changed documents from the index, and return the new and changed files.

        Stores the number of documents and the faults in the index, and logs the faults if they changed.
        """
        listing = scan_folder(self.folder)
        self._document_count = len(listing.files)
        indexed_states = self._index.list_file_states()
        changed_files = [one for path, one in listing.files.items() if indexed_states.get(path) != one.state]
        outdated_paths = [
            path
            for path in indexed_states
            if path not in listing.files or indexed_states[path] != listing.files[path].state
        ]
        if outdated_paths:
            self._index.remove_documents(outdated_paths)
        if self._index.read_fact("wanted") != str(len(listing.files)):
            self._index.write_facts(wanted=str(len(listing.files)))
        if (self._index.read_fact("faults") or "[]") != json.dumps(listing.faults):
            self._index.write_facts(faults=json.dumps(listing.faults))
            for line in listing.faults:
                log.warning("knowledge in %s: %s", self.folder, line)
        return changed_files

    @contextlib.asynccontextmanager
    async def _hold_lock(self) -> AsyncIterator[bool]:
        """Hold the lock beside the index. Yields False if another process holds it."""
        self._index_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._index_file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
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
            folder_settings = yaml.safe_load((self.folder / FOLDER_SETTINGS_FILE).read_bytes()[:8000])
        except (OSError, yaml.YAMLError, ValueError):
            return ""
        base = folder_settings.get("base") if isinstance(folder_settings, dict) else ""
        return base if isinstance(base, str) and base.startswith(("http://", "https://")) else ""
