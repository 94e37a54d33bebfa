"""Finds the documents in a knowledge folder, within limits; files that are left out are named to people."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from specialists.reading.file_reader import LARGEST_FILE_BYTES

KNOWLEDGE_FOLDER = "knowledge"
"""The folder beside a crew's specialists."""
MAX_FILES = 20_000
MAX_FOLDER_DEPTH = 20
SIDECAR_ENDING = ".url"
"""The ending of a file beside a document, `vpn.md.url`, that holds the document's address."""
FOLDER_SETTINGS_FILE = "knowledge.yml"
"""The file at the top of the folder that gives the web address of its documents."""
_NON_DOCUMENT_ENDINGS = frozenset(
    (
        *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".bmp", ".tif", ".tiff", ".css", ".js", ".map"),
        *(".woff", ".woff2", ".ttf", ".otf", ".mp3", ".mp4", ".mov", ".webm", ".wav", ".zip", ".gz", ".tar", ".7z"),
        *(".exe", ".dll", ".so", ".bin", ".lock", ".tmp", ".swp"),
    )
)
"""Endings of files that stand beside documents and hold no text of their own."""
_MAX_NAMED = 3
"""Most files that a line about a fault names; further ones are only counted."""


@dataclass(frozen=True, slots=True)
class KnowledgeFile:
    """A document: its `file` on disk, its `path` in the folder as people cite it, its size in bytes, and its `state`.

    `state` is a text that changes whenever the file or its sidecar does.
    """

    file: Path
    path: str
    size: int
    state: str


@dataclass(slots=True)
class FolderListing:
    """The result of a scan of the folder: the documents by path, and the paths that are left out by reason."""

    files: dict[str, KnowledgeFile] = field(default_factory=dict)
    skipped_paths: dict[str, list[str]] = field(default_factory=dict)

    def record_skipped_file(self, path: str, reason: str) -> None:
        """Record that a file is left out, and why."""
        self.skipped_paths.setdefault(reason, []).append(path)

    @property
    def faults(self) -> tuple[str, ...]:
        """One line for each reason, which names its first `_MAX_NAMED` files and counts the others."""
        return tuple(f"{shorten_name_list(names)}: {why}" for why, names in self.skipped_paths.items())


def shorten_name_list(names: list[str]) -> str:
    """Join the first few names with commas, and count the rest."""
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def scan_folder(folder: Path) -> FolderListing:
    """List the documents of a folder. A folder that is missing or cannot be read becomes a fault."""
    listing = FolderListing()
    root = folder.resolve()
    sidecars: dict[str, int] = {}
    for file, path, status in _walk_folder(root, root, "", 1, listing):
        if path.endswith(SIDECAR_ENDING):
            sidecars[path.removesuffix(SIDECAR_ENDING)] = status.st_mtime_ns
        elif len(listing.files) >= MAX_FILES:
            listing.record_skipped_file(
                path, f"only the first {MAX_FILES:,} documents are indexed; take out what nobody asks for"
            )
        elif status.st_size > LARGEST_FILE_BYTES:
            limit = f"larger than {LARGEST_FILE_BYTES // 2**20} MB, so it is not read; split it, or take it out"
            listing.record_skipped_file(path, limit)
        else:
            state = f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
            listing.files[path] = KnowledgeFile(file, path, status.st_size, state)
    for path, sidecar_mtime in sidecars.items():
        if one := listing.files.get(path):
            listing.files[path] = KnowledgeFile(one.file, path, one.size, f"{one.state}:{sidecar_mtime}")
    return listing


def _walk_folder(
    root: Path, folder: Path, path_prefix: str, depth: int, listing: FolderListing
) -> Iterator[tuple[Path, str, os.stat_result]]:
    """Yield the readable files in and below a folder, sorted by name, as (file, path below `root`, status)."""
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        listing.record_skipped_file(
            path_prefix or str(folder), f"the folder cannot be read ({error.strerror}); check its path and rights"
        )
        return
    for entry in entries:
        path = f"{path_prefix}{entry.name}"
        if _ignore_name(entry.name, path_prefix, listing):
            continue
        try:
            yield from _walk_entry(root, entry, path, depth, listing)
        except FileNotFoundError:  # it was deleted in the meantime
            continue
        except OSError as error:
            listing.record_skipped_file(path, f"cannot be looked at ({error.strerror}); check its rights")


def _walk_entry(
    root: Path, entry: os.DirEntry[str], path: str, depth: int, listing: FolderListing
) -> Iterator[tuple[Path, str, os.stat_result]]:
    """Yield the file that a folder entry is, the files below it if it is a folder, or nothing."""
    if entry.is_symlink():
        if _accept_link(root, Path(entry.path), path, listing):
            yield Path(entry.path), path, entry.stat()
    elif not entry.is_dir():
        if _accept_file(entry, path, listing):
            yield Path(entry.path), path, entry.stat()
    elif depth < MAX_FOLDER_DEPTH:
        yield from _walk_folder(root, Path(entry.path), f"{path}/", depth + 1, listing)
    else:
        listing.record_skipped_file(path, f"folders more than {MAX_FOLDER_DEPTH} deep are not read; move it up")


def _ignore_name(name: str, path_prefix: str, listing: FolderListing) -> bool:
    if not name.isprintable():
        listing.record_skipped_file(
            ascii(f"{path_prefix}{name}"), "the name holds signs that cannot be shown; rename it"
        )
    return not name.isprintable() or name.startswith((".", "~$")) or (not path_prefix and name == FOLDER_SETTINGS_FILE)


def _accept_link(root: Path, link: Path, path: str, listing: FolderListing) -> bool:
    """Return whether a link leads to a document in the folder; record links that lead elsewhere, or to a folder."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        listing.record_skipped_file(path, "the link leads nowhere, or in a circle; take it out")
        return False
    if not target.is_relative_to(root):
        listing.record_skipped_file(
            path, "the link leads out of the folder, so it is not followed; copy what it leads to"
        )
        return False
    if target.is_dir():
        listing.record_skipped_file(path, "the link leads to a folder that is already read; take it out")
        return False
    return target.is_file() and link.suffix.lower() not in _NON_DOCUMENT_ENDINGS


def _accept_file(entry: os.DirEntry[str], path: str, listing: FolderListing) -> bool:
    if not stat.S_ISREG(entry.stat().st_mode):
        listing.record_skipped_file(path, "is no file (a pipe, a socket or a device); take it out")
        return False
    return os.path.splitext(entry.name)[1].lower() not in _NON_DOCUMENT_ENDINGS  # noqa: PTH122 - a Path for each of 100,000
