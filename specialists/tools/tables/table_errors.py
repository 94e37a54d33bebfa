"""The error of a file or query that gives no table, and a function that removes paths from libraries' messages."""

from __future__ import annotations

import re


class TableRefused(Exception):
    """A file cannot be read as a table, or a query cannot be run. The message says in one line why and what to do."""


# A path in a message, from its beginning to its end. A web address is no path: `://` stands before its slashes.
_PATH = re.compile(r"""(?<![\w.:/])(?:\.{1,2}/|/(?=[^\s"'/]+/))[^\s"',;:()]+""")


def describe_error(error: Exception, most_characters: int) -> str:
    """Return the first `most_characters` characters of an error's message, without the paths of this machine."""
    text = _PATH.sub("the file", str(error).strip())
    return text if len(text) <= most_characters else text[:most_characters] + " ..."
