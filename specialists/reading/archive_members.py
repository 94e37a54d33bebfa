"""Reads a ZIP: a list of its members, and the members as inner files. Their contents are not read here."""

from __future__ import annotations

import contextlib
import io
import zipfile

from specialists.formats.contents import (
    MAX_INNER_FILE_BYTES,
    Blob,
    FileContents,
    InnerFileAllowance,
    UnreadableFile,
    guess_media_type,
    make_safe_name,
)
from specialists.formats.encodings import decode_name
from specialists.formats.file_kind import BROKEN_ZIP_ERRORS

_MAX_LISTED_MEMBERS = 1_000
_PIECE_BYTES = 1024 * 1024
_SYSTEM_FILES = ("__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini")


def open_zip(data: bytes, kind: str) -> zipfile.ZipFile:
    """Open a ZIP file. `kind` names the format in faults, such as `Word document`.

    Raises:
        UnreadableFile: its directory is damaged or missing.
    """
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except BROKEN_ZIP_ERRORS:
        raise UnreadableFile(f"is a damaged {kind}, cut off perhaps; save it again and attach that") from None


def read_zip(data: bytes, name: str, contents: FileContents) -> None:
    """List the members of an archive, and add those without a password as inner files, one level deep.

    Raises:
        UnreadableFile: it is damaged, empty, or protected by a password.
    """
    del name
    with open_zip(data, "ZIP archive") as archive:
        members = [
            member for member in archive.infolist() if not member.is_dir() and not _is_system_file(member.filename)
        ]
        if not members:
            raise UnreadableFile("is an empty archive; pack the files again and attach that")
        protected_members = [member for member in members if member.flag_bits & 1]
        if len(protected_members) == len(members):
            raise UnreadableFile("is protected by a password; pack it without one and attach it again")
        if protected_members:
            contents.add_gap(
                f"{len(protected_members):,} of {len(members):,} files inside are protected by a password and not read"
            )
        contents.add_text(f"[{len(members):,} files]\n")
        allowance = InnerFileAllowance(contents)
        for member in members:
            member_name = (
                _add_member_section(member, contents)
                if len(contents.outline) < _MAX_LISTED_MEMBERS
                else _decode_member_name(member)
            )
            if not member.flag_bits & 1:
                _add_inner_file(archive, member, member_name, contents, allowance)
        if len(members) > _MAX_LISTED_MEMBERS:
            contents.add_gap(f"only the first {_MAX_LISTED_MEMBERS:,} of {len(members):,} files inside are listed")
        allowance.report_refused()


def unpack_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, max_bytes: int) -> bytes | None:
    """Unpack a member in pieces, as its declared size may be wrong. None if it has more than `max_bytes` bytes."""
    pieces, size = [], 0
    with archive.open(member) as file:
        while piece := file.read(_PIECE_BYTES):
            size += len(piece)
            if size > max_bytes:
                return None
            pieces.append(piece)
    return b"".join(pieces)


def _add_member_section(member: zipfile.ZipInfo, contents: FileContents) -> str:
    name = _decode_member_name(member)
    contents.begin_section(name)
    contents.add_text(f"{name} ({member.file_size:,} bytes)\n")
    return name


def _add_inner_file(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, contents: FileContents, allowance: InnerFileAllowance
) -> None:
    if not allowance.has_room(member.file_size):
        allowance.refuse(name)
        return
    try:
        data = unpack_member(archive, member, MAX_INNER_FILE_BYTES)
    except BROKEN_ZIP_ERRORS:
        contents.add_gap(f"{name} inside is damaged and not read")
        return
    if data is None:
        allowance.refuse(name)
    else:
        allowance.accept_or_refuse(Blob(name, guess_media_type(name), data))


def _is_system_file(name: str) -> bool:
    return name.startswith(_SYSTEM_FILES[0]) or name.rpartition("/")[2] in _SYSTEM_FILES


def _decode_member_name(member: zipfile.ZipInfo) -> str:
    """Return a member's name, with its encoding guessed: many programs write UTF-8 or others without marking it."""
    name = member.filename
    if not name.isascii() and not member.flag_bits & 0x800:
        with contextlib.suppress(UnicodeEncodeError):
            name = decode_name(name.encode("cp437"), "cp437")
    return make_safe_name(name)
