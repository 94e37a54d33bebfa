"""Says whether a text names a change of code that could be fetched before anything is planned. Pure.

It may say so too often: whoever fetches finds out what there is.
"""

from __future__ import annotations

import re

REQUEST = r"/pull/\d{1,9}|/-/merge_requests/\d{1,9}|(?<![\w/])[\w.-]+[#!]\d{1,9}\b"
BETWEEN = r"(?<![\w./-])([\w][\w/.-]{0,80}?)(\.{2,3})([\w][\w/-]{0,80}(?:\.[\w/-]+)*)"
"""Two revisions, and the two or three dots between them."""
_CHANGE = re.compile(f"{REQUEST}|{BETWEEN}")
_MOST = 20_000
"""Characters of a text that are looked at."""


def names_a_change(text: str) -> bool:
    """Return True if it names a request for review, by its link or as `shop#7`, or two revisions as `main...topic`."""
    return _CHANGE.search(text[:_MOST]) is not None
