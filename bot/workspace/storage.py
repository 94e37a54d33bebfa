"""The storage that survives a restart: records in SQLite, written in batches in the background, and bytes of files.

A record is written `BATCH_SECONDS` after `put`, or when the workspace
stops. Several puts of the same record before that cost one write.
"""

import asyncio
import contextlib
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
BATCH_SECONDS = 0.05
CREATE_TABLE_SQL = (
    "CREATE TABLE IF NOT EXISTS records (kind TEXT, key TEXT, body TEXT, PRIMARY KEY (kind, key)) WITHOUT ROWID"
)
RecordMaker = Callable[[], dict[str, Any]]
SHARED_KINDS = frozenset({"channel", "deactivated", "file", "group", "list", "message", "session"})
"""The kinds of records that the apps of a workspace share."""


class WorkspaceStorage:
    """Stores records by kind and key, and files. Without a folder it drops records, and keeps files in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._files: dict[str, bytes] = {}
        self._record_makers: dict[tuple[str, str], RecordMaker | None] = {}
        self._dirty = asyncio.Event()
        self._database: sqlite3.Connection | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "files").mkdir(exist_ok=True, mode=0o700)
            path = folder / "workspace.sqlite3"
            path.touch(mode=0o600)
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(CREATE_TABLE_SQL)

    def put(self, kind: str, key: str, make_record: RecordMaker) -> None:
        """Store a record with the next batch: `make_record` is called then, and its result is stored."""
        if self._database is not None:
            self._record_makers[kind, key] = make_record
            self._dirty.set()

    def drop(self, kind: str, key: str) -> None:
        """Remove a record with the next batch. A missing record is no error."""
        if self._database is not None:
            self._record_makers[kind, key] = None
            self._dirty.set()

    def iterate_records(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (key, record) for each record of a kind, sorted by key, without those that wait for a batch."""
        if self._database is not None:
            query = "SELECT key, body FROM records WHERE kind = ? ORDER BY key"
            for key, body in self._database.execute(query, (kind,)):
                yield key, json.loads(body)

    def make_app_view(self, app: str) -> "WorkspaceStorage":
        """Return a view of this storage for a further app. It shares `SHARED_KINDS`, and must not be used for files."""
        return _AppStorage(self, app)

    async def write_file(self, file_id: str, content: bytes) -> None:
        """Store the bytes of a file at once, in place of earlier bytes of that id."""
        if self.folder is None:
            self._files[file_id] = content
        else:
            await asyncio.to_thread((self.folder / "files" / file_id).write_bytes, content)

    async def read_file(self, file_id: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            KeyError: There are no bytes for that id, in memory.
            FileNotFoundError: There are no bytes for that id, on disk.
        """
        if self.folder is None:
            return self._files[file_id]
        return await asyncio.to_thread((self.folder / "files" / file_id).read_bytes)

    async def drop_file(self, file_id: str) -> None:
        """Delete the bytes of a file; nothing happens if there are none."""
        if self.folder is None:
            self._files.pop(file_id, None)
        else:
            await asyncio.to_thread((self.folder / "files" / file_id).unlink, missing_ok=True)

    async def write_batches(self) -> None:
        """Write batches until cancelled. A batch that has begun is finished first."""
        while True:
            await self._dirty.wait()
            await asyncio.sleep(BATCH_SECONDS)
            self._dirty.clear()
            write_task = asyncio.ensure_future(self._write_batch())
            try:
                await asyncio.shield(write_task)
            except asyncio.CancelledError:
                await write_task  # the batch was taken: it must reach the disk before the last one
                raise

    def close(self) -> None:
        """Write the records that are still waiting, and close the database."""
        if self._database is not None:
            self._write_rows(_make_rows(self._record_makers))
            self._database.close()
            self._database = None

    async def _write_batch(self) -> None:
        record_makers, self._record_makers = self._record_makers, {}
        try:
            await asyncio.to_thread(self._write_rows, _make_rows(record_makers))
        except sqlite3.Error as error:
            self._record_makers = {**record_makers, **self._record_makers}
            log.warning(
                "%d records are not stored yet: %s. They are written with the next change.", len(record_makers), error
            )

    def _write_rows(self, rows: list[tuple[str, str, str | None]]) -> None:
        if self._database is None or not rows:
            return
        with self._database, contextlib.closing(self._database.cursor()) as cursor:  # commits, or rolls back on errors
            cursor.execute("BEGIN")
            cursor.executemany(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?)", [row for row in rows if row[2] is not None]
            )
            cursor.executemany(
                "DELETE FROM records WHERE kind = ? AND key = ?", [row[:2] for row in rows if row[2] is None]
            )


def _make_rows(record_makers: Mapping[tuple[str, str], RecordMaker | None]) -> list[tuple[str, str, str | None]]:
    return [(kind, key, None if body is None else json.dumps(body())) for (kind, key), body in record_makers.items()]


class _AppStorage(WorkspaceStorage):
    def __init__(self, shared_record: WorkspaceStorage, app: str) -> None:
        self._whole, self._app = shared_record, app

    def put(self, kind: str, key: str, body: RecordMaker) -> None:
        self._whole.put(self._qualify_kind(kind), key, body)

    def drop(self, kind: str, key: str) -> None:
        self._whole.drop(self._qualify_kind(kind), key)

    def iterate_records(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        return self._whole.iterate_records(self._qualify_kind(kind))

    def _qualify_kind(self, kind: str) -> str:
        return kind if kind in SHARED_KINDS else f"{self._app}/{kind}"
