"""Opens a document that is a ZIP of XML (Word, PowerPoint, OpenDocument), after checking its unpacked size."""

from __future__ import annotations

import posixpath
from xml.etree import ElementTree as ET

from specialists.formats.contents import UnreadableFile
from specialists.formats.file_kind import BROKEN_ZIP_ERRORS
from specialists.reading.archive_members import open_zip, unpack_member

_MAX_MEMBERS = 5_000
_MAX_XML_BYTES = 32 * 1024 * 1024
_MAX_UNPACKED_BYTES = 400 * 1024 * 1024
_TOO_LARGE_FAULT = "is far larger inside than it looks. Attach the part that matters, or save it as PDF and attach that"


def read_local_name(element: ET.Element) -> str:
    """Return an element's name without namespace, as variants of a format differ in namespaces; "" for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def read_attribute(element: ET.Element | None, name: str) -> str:
    """Return an attribute by its name without namespace; "" if it is missing."""
    if element is not None:
        for key, value in element.attrib.items():
            if key.rpartition("}")[2] == name:
                return value
    return ""


class XmlPackage:
    """The members of a ZIP document. It lies in memory, so it needs no closing."""

    def __init__(self, data: bytes, kind: str) -> None:
        """Open the document.

        Raises:
            UnreadableFile: it is damaged, or too large when unpacked.
        """
        self._kind = kind
        self._archive = open_zip(data, kind)
        self._xml_bytes_left = _MAX_XML_BYTES
        members = self._archive.infolist()
        self.names = {member.filename for member in members}
        if len(members) > _MAX_MEMBERS or sum(member.file_size for member in members) > _MAX_UNPACKED_BYTES:
            raise UnreadableFile(_TOO_LARGE_FAULT)

    def has_member(self, name: str) -> bool:
        """Return True if there is a member of that name whose declared size is small enough to read."""
        return name in self.names and self._archive.getinfo(name).file_size <= _MAX_XML_BYTES

    def read_member(self, name: str) -> bytes:
        """Unpack a member; b"" if it is broken or too large. Raises KeyError if it does not exist."""
        try:
            return unpack_member(self._archive, self._archive.getinfo(name), _MAX_XML_BYTES) or b""
        except BROKEN_ZIP_ERRORS:
            return b""

    def parse_member(self, name: str) -> ET.Element | None:
        """Parse a member as XML. None if there is no member of that name.

        Raises:
            UnreadableFile: it is broken, protected by a password, or makes the parsed total too large.
        """
        if name not in self.names:
            return None
        member = self._archive.getinfo(name)
        if member.flag_bits & 1:
            raise UnreadableFile("is protected by a password; save it without one and attach it again")
        try:
            data = (
                unpack_member(self._archive, member, self._xml_bytes_left)
                if member.file_size <= self._xml_bytes_left
                else None
            )
        except BROKEN_ZIP_ERRORS:
            raise self._make_damage_error() from None
        if data is None:
            raise UnreadableFile(_TOO_LARGE_FAULT)
        self._xml_bytes_left -= len(data)
        try:
            return ET.fromstring(data)  # noqa: S314  # expat bounds entities; the child bounds the rest
        except ET.ParseError:
            raise self._make_damage_error() from None

    def parse_optional_member(self, name: str) -> tuple[ET.Element | None, bool]:
        """Parse a member that the document does not need. Returns (its tree or None, True if it is broken)."""
        try:
            return self.parse_member(name), False
        except UnreadableFile:
            return None, True

    def list_relationships(self, name: str) -> dict[str, tuple[str, str]]:
        """Return the relationships of a member: id -> (kind, name of the target member or address)."""
        folder, _, file = name.rpartition("/")
        tree, _ = self.parse_optional_member(f"{folder}/_rels/{file}.rels")
        relationships = {}
        for link in tree if tree is not None else ():
            target = link.get("Target", "")
            if link.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/" + folder, target)).lstrip("/")
            relationships[link.get("Id", "")] = (link.get("Type", "").rpartition("/")[2], target)
        return relationships

    def _make_damage_error(self) -> UnreadableFile:
        return UnreadableFile(f"is a damaged {self._kind}; open it, save it again and attach that")
