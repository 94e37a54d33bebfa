"""A cache on this machine of tables that were read, as Parquet, so that no later query reads their file again.

An entry is a folder named by the file's sha256, its ending and the version of our readers. It is written under another
name and renamed when it is complete, so several processes can share the cache. If the cache is too large, the entries
that were not used for longest are removed first. Entries that were not used for a day are always removed, since a file
should not outlive its job for long.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

MAX_CACHE_BYTES = 512 * 1024 * 1024
MAX_UNUSED_SECONDS = 24 * 3600.0
_LARGEST_ENTRY_BYTES = 256 * 1024 * 1024
_ABANDONED_SECONDS = 600.0
_UNFINISHED_PREFIX = "making-"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PACKAGE_FOLDER = Path(__file__).parents[2]
_READER_FOLDERS = (Path(__file__).parent, _PACKAGE_FOLDER / "formats", _PACKAGE_FOLDER / "reading")


class TableCache:
    """The cache of tables in one folder. Only a caller that has a file's id can find its entry.

    Args:
        folder: Made, readable by us alone, if it is missing. If it is None or another user's, nothing is cached.
        max_bytes: Most bytes of all entries together.
        max_unused_seconds: Seconds after which an unused entry is removed.
    """

    def __init__(
        self, folder: Path | None, *, max_bytes: int = MAX_CACHE_BYTES, max_unused_seconds: float = MAX_UNUSED_SECONDS
    ) -> None:
        self._folder = folder if folder is not None and _make_private_folder(folder) else None
        self._most_bytes, self._most_seconds = max_bytes, max_unused_seconds

    def find_entry(self, key: str) -> Path | None:
        """Return the folder of an entry, and record that it was used; None if there is none."""
        if self._folder is None or not key:
            return None
        entry = self._folder / key
        try:
            if time.time() - entry.stat().st_mtime > self._most_seconds:
                return None
            os.utime(entry)
        except OSError:
            return None
        return entry

    def make_entry_folder(self, key: str) -> Path | None:
        """Make a temporary folder in which to write an entry; None if nothing is cached."""
        if self._folder is None or not key:
            return None
        try:
            return Path(tempfile.mkdtemp(prefix=_UNFINISHED_PREFIX, dir=self._folder))
        except OSError:
            return None

    def add_entry(self, key: str, folder: Path) -> None:
        """Move `folder` into the cache as an entry, or delete it if it is empty, too large or already cached.

        Old and surplus entries are removed as well.
        """
        size = _measure_folder(folder)
        if self._folder is not None and 0 < size <= min(_LARGEST_ENTRY_BYTES, self._most_bytes):
            try:
                folder.rename(self._folder / key)
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        self._remove_surplus()

    def remove_entry(self, entry: Path) -> None:
        """Remove an entry that cannot be read."""
        shutil.rmtree(entry, ignore_errors=True)

    def remove_file_entries(self, digests: Iterable[str]) -> None:
        """Remove the entries of files, by their sha256."""
        file_digests = set(digests)
        for entry in self._folder.iterdir() if self._folder is not None else ():
            if entry.name.partition("-")[0] in file_digests:
                shutil.rmtree(entry, ignore_errors=True)

    def remove_outdated_entries(self) -> None:
        """Remove old, abandoned and surplus entries. Every new entry does so too; the bot calls this at its start."""
        self._remove_surplus()

    def _remove_surplus(self) -> None:
        """Remove old and abandoned entries, then those unused for longest, until the rest is small enough."""
        now, kept_entries, total_bytes = time.time(), [], 0
        for entry in self._folder.iterdir() if self._folder is not None else ():
            try:
                used_at = entry.stat().st_mtime
            except OSError:
                continue  # another process removed it
            if now - used_at > (
                _ABANDONED_SECONDS if entry.name.startswith(_UNFINISHED_PREFIX) else self._most_seconds
            ):
                shutil.rmtree(entry, ignore_errors=True)
            elif not entry.name.startswith(_UNFINISHED_PREFIX):
                kept_entries.append((used_at, entry, _measure_folder(entry)))
        total_bytes = sum(size for _, _, size in kept_entries)
        for _, entry, size in sorted(kept_entries, key=lambda each: each[0]):
            if total_bytes <= self._most_bytes:
                break
            shutil.rmtree(entry, ignore_errors=True)
            total_bytes -= size


def find_cache_folder() -> Path:
    """Return the folder of the cache: `$XDG_CACHE_HOME/leadhand/tables`, or `~/.cache/leadhand/tables`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadhand" / "tables"


def make_entry_key(digest: str, name: str) -> str:
    """Return the key of a file's entry, from the file's sha256 (hex) and its name; "" for an id that is no sha256."""
    ending = re.sub(r"\W", "", Path(name).suffix.lower())
    return f"{digest}-{ending}-{_hash_readers()}" if _DIGEST.fullmatch(digest) else ""


@functools.cache
def _hash_readers() -> str:
    """Return the version of our readers, which changes with any change to their code."""
    digest = hashlib.sha256()
    for path in sorted(file for folder in _READER_FOLDERS for file in folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _make_private_folder(folder: Path) -> bool:
    """Make the folder if it is missing. Return False if that fails, or if the folder belongs to another user."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        if status.st_uid != os.geteuid() or folder.is_symlink():
            return False
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError:
        return False
    return True


def _measure_folder(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in folder.iterdir())
    except OSError:
        return 0
