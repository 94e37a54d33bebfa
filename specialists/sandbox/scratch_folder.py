"""Makes the folder for this process's temporary files, and finds the folders that killed processes left behind.

All temporary folders of a process lie in one folder, which the process keeps locked while it lives. If another process
can lock the folder, its owner is dead. A process id would not tell, since ids are reused and containers have their own.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER_PREFIX = "leadhand-run-"
_NEW_PREFIX = "leadhand-new-"
"""The prefix of a folder until it is locked. Folders with this prefix are never taken for abandoned."""
_FOLDER_NAME = re.compile(rf"{FOLDER_PREFIX}[0-9a-f]{{16}}")
_folders_by_process: dict[tuple[int, str], tuple[Path, int]] = {}
"""(process id, the system's temporary folder) -> (this process's folder, the descriptor of its lock)."""


def get_scratch_folder() -> Path:
    """Return the private folder of this process. It is made at the first call, and removed when the process ends."""
    key = (os.getpid(), tempfile.gettempdir())
    folder_and_lock = _folders_by_process.get(key)
    if folder_and_lock is None or not folder_and_lock[0].is_dir():
        _folders_by_process[key] = folder_and_lock = _make_folder(Path(key[1]))
    return folder_and_lock[0]


def _make_folder(parent: Path) -> tuple[Path, int]:
    name = secrets.token_hex(8)
    unlocked_folder = parent / f"{_NEW_PREFIX}{name}"
    unlocked_folder.mkdir(mode=0o700)
    lock = os.open(unlocked_folder, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.suppress(OSError):  # a file system without locks: no process can sweep it
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    folder = unlocked_folder.rename(parent / f"{FOLDER_PREFIX}{name}")
    atexit.register(_remove_folder, folder, os.getpid())
    return folder, lock


def _remove_folder(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a child that was forked
        shutil.rmtree(folder, ignore_errors=True)


def find_abandoned_folders() -> Iterator[Path]:
    """Yield the folders that dead processes of this user left behind, each while we hold its lock."""
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*")):
        if not _FOLDER_NAME.fullmatch(folder.name):
            continue
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # it is gone, or belongs to another user
        try:
            state = os.fstat(lock)
            if state.st_uid == os.geteuid() and stat.S_IMODE(state.st_mode) == 0o700:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield folder
        except OSError:
            continue  # its process lives
        finally:
            os.close(lock)
