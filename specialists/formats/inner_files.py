"""How many files inside a file are passed on, how large, and under which names."""

from __future__ import annotations

import mimetypes
import re

from specialists.formats.contents import Blob, Contents

MOST_FILES = 100
LARGEST_FILE = 32 * 1024 * 1024
MOST_BYTES = 64 * 1024 * 1024
_NAMED = 5
_UNSEEN = re.compile("[\ud800-\udfff\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class InnerFileAllowance:
    """What a file may still pass on of the files in it. What is over it is counted, and said in the end."""

    def __init__(self, contents: Contents) -> None:
        """Give what is taken to `contents`."""
        self._contents = contents
        self._left = MOST_BYTES
        self._names = {blob.name for blob in contents.inside}
        self._refused: list[str] = []

    def room(self, size: int) -> bool:
        """Tell whether a file of that size would be taken."""
        return len(self._contents.inside) < MOST_FILES and size <= min(LARGEST_FILE, self._left)

    def take(self, blob: Blob) -> None:
        """Pass the file on if there is room, under a name of its own."""
        if not self.room(len(blob.data)):
            self.refuse(blob.name)
            return
        name, number = safe_name(blob.name), 1
        while name in self._names:
            number += 1
            stem, dot, ending = safe_name(blob.name).rpartition(".")
            name = f"{stem} ({number}).{ending}" if dot else f"{ending} ({number})"
        self._names.add(name)
        self._left -= len(blob.data)
        self._contents.inside.append(Blob(name, blob.media_type, blob.data))

    def refuse(self, name: str) -> None:
        """Count a file that is not passed on: it is too much."""
        self._refused.append(safe_name(name))

    def settle(self) -> None:
        """Say what was too much."""
        if self._refused:
            named = ", ".join(self._refused[:_NAMED]) + (" and others" if len(self._refused) > _NAMED else "")
            self._contents.gap(
                f"{len(self._refused):,} of the files inside are not read, too many or too large at once: {named}"
            )


def media_type_of(name: str) -> str:
    """Say the media type that goes with a name; "" if none does."""
    return mimetypes.guess_type(name)[0] or ""


def safe_name(name: str) -> str:
    """Give the name that a file inside is called by: relative, on one line, without letters that nobody sees."""
    parts = [part for part in _UNSEEN.sub("", name).replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[-200:].strip() or "unnamed"
