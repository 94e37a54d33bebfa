"""Finds the documents in a knowledge folder, within limits; files that are left out are named to people."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from specialists.reading.reader import LARGEST_FILE

KNOWLEDGE_FOLDER = "knowledge"
"""The folder beside a crew's specialists."""
MAX_FILES = 20_000
DEEPEST_FOLDER = 20
SIDECAR_ENDING = ".url"
"""The ending of a file beside a document, `vpn.md.url`, that holds the document's address."""
ABOUT_FILE = "knowledge.yml"
"""The file at the top of the folder that gives the web address of its documents."""
_NO_DOCUMENT_ENDINGS = frozenset(
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
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, path: str, reason: str) -> None:
        """Record that a file is left out, and why."""
        self.left_out.setdefault(reason, []).append(path)

    @property
    def faults(self) -> tuple[str, ...]:
        """One line for each reason, with the first of its files."""
        return tuple(f"{shorten_name_list(names)}: {why}" for why, names in self.left_out.items())


def shorten_name_list(names: list[str]) -> str:
    """Join the first few names with commas, and count the rest."""
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def scan_folder(folder: Path) -> FolderListing:
    """List the documents of a folder. A folder that is missing or cannot be read becomes a fault."""
    found = FolderListing()
    root = folder.resolve()
    sidecars: dict[str, int] = {}
    for place, path, facts in _walk_folder(root, root, "", 1, found):
        if path.endswith(SIDECAR_ENDING):
            sidecars[path.removesuffix(SIDECAR_ENDING)] = facts.st_mtime_ns
        elif len(found.files) >= MAX_FILES:
            found.leave_out(path, f"only the first {MAX_FILES:,} documents are indexed; take out what nobody asks for")
        elif facts.st_size > LARGEST_FILE:
            limit = f"larger than {LARGEST_FILE // 2**20} MB, so it is not read; split it, or take it out"
            found.leave_out(path, limit)
        else:
            state = f"{facts.st_mtime_ns}:{facts.st_size}:{facts.st_ino}"
            found.files[path] = KnowledgeFile(place, path, facts.st_size, state)
    for path, changed in sidecars.items():
        if one := found.files.get(path):
            found.files[path] = KnowledgeFile(one.file, path, one.size, f"{one.state}:{changed}")
    return found


def _walk_folder(
    root: Path, folder: Path, path_prefix: str, depth: int, listing: FolderListing
) -> Iterator[tuple[Path, str, os.stat_result]]:
    """Yield the readable files in and below a folder, sorted by name, as (file, path below `root`, status)."""
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        listing.leave_out(
            path_prefix or str(folder), f"the folder cannot be read ({error.strerror}); check its path and rights"
        )
        return
    for entry in entries:
        path = f"{path_prefix}{entry.name}"
        if _is_ignored(entry.name, path_prefix, listing):
            continue
        try:
            yield from _walk_entry(root, entry, path, depth, listing)
        except FileNotFoundError:  # it was deleted in the meantime
            continue
        except OSError as error:
            listing.leave_out(path, f"cannot be looked at ({error.strerror}); check its rights")


def _walk_entry(
    root: Path, entry: os.DirEntry[str], path: str, depth: int, listing: FolderListing
) -> Iterator[tuple[Path, str, os.stat_result]]:
    """Yield the file that a folder entry is, the files below it if it is a folder, or nothing."""
    if entry.is_symlink():
        if _links_to_document(root, Path(entry.path), path, listing):
            yield Path(entry.path), path, entry.stat()
    elif not entry.is_dir():
        if _may_be_document(entry, path, listing):
            yield Path(entry.path), path, entry.stat()
    elif depth < DEEPEST_FOLDER:
        yield from _walk_folder(root, Path(entry.path), f"{path}/", depth + 1, listing)
    else:
        listing.leave_out(path, f"folders more than {DEEPEST_FOLDER} deep are not read; move it up")


def _is_ignored(name: str, path_prefix: str, listing: FolderListing) -> bool:
    if not name.isprintable():
        listing.leave_out(ascii(f"{path_prefix}{name}"), "the name holds signs that cannot be shown; rename it")
    return not name.isprintable() or name.startswith((".", "~$")) or (not path_prefix and name == ABOUT_FILE)


def _links_to_document(root: Path, link: Path, path: str, listing: FolderListing) -> bool:
    """Return whether a link leads to a document in the folder. Links to folders are left out: those are read anyway."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        listing.leave_out(path, "the link leads nowhere, or in a circle; take it out")
        return False
    if not target.is_relative_to(root):
        listing.leave_out(path, "the link leads out of the folder, so it is not followed; copy what it leads to")
        return False
    if target.is_dir():
        listing.leave_out(path, "the link leads to a folder that is already read; take it out")
        return False
    return target.is_file() and link.suffix.lower() not in _NO_DOCUMENT_ENDINGS


def _may_be_document(entry: os.DirEntry[str], path: str, listing: FolderListing) -> bool:
    if not stat.S_ISREG(entry.stat().st_mode):
        listing.leave_out(path, "is no file (a pipe, a socket or a device); take it out")
        return False
    return os.path.splitext(entry.name)[1].lower() not in _NO_DOCUMENT_ENDINGS  # noqa: PTH122 - a Path for each of 100,000
