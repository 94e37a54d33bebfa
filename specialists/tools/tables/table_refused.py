"""Why a file or a query gives no table, and what a library says of it without its paths."""

from __future__ import annotations

import re


class TableRefused(Exception):
    """The file cannot be read as a table. The text says what it is and what to do, in one line."""


# From what begins a path up to what ends one in a message. An address on the web is none: `://` stands before it.
_PATH = re.compile(r"""(?<![\w.:/])(?:\.{1,2}/|/(?=[^\s"'/]+/))[^\s"',;:()]+""")


def words_of(error: Exception, most: int) -> str:
    """Quote an error's words up to so many characters. Where things lie on this machine is nobody's business."""
    text = _PATH.sub("the file", str(error).strip())
    return text if len(text) <= most else text[:most] + " ..."
