"""Recognises texts that name a change of code, such as a pull request. Pure.

It may find too many: the fetch before planning shows whether the change exists.
"""

from __future__ import annotations

import re

REVIEW_REQUEST = r"/pull/\d{1,9}|/-/merge_requests/\d{1,9}|(?<![\w/])[\w.-]+[#!]\d{1,9}\b"
REVISION_RANGE = r"(?<![\w./-])([\w][\w/.-]{0,80}?)(\.{2,3})([\w][\w/-]{0,80}(?:\.[\w/-]+)*)"
"""Two revisions, and the two or three dots between them."""
_CHANGE = re.compile(f"{REVIEW_REQUEST}|{REVISION_RANGE}")
_MAX_READ = 20_000
"""The first characters of a text that are looked at."""


def names_code_change(text: str) -> bool:
    """Return True if a text names a pull or merge request (a link or `shop#7`), or two revisions (`main...topic`)."""
    return _CHANGE.search(text[:_MAX_READ]) is not None
