"""Recognises texts that name a change of code, such as a pull request. Pure.

It may recognise texts that name none: the fetch before planning shows whether the change exists.
"""

from __future__ import annotations

import re

REVIEW_REQUEST_PATTERN = r"/pull/\d{1,9}|/-/merge_requests/\d{1,9}|(?<![\w/])[\w.-]+[#!]\d{1,9}\b"
REVISION_RANGE_PATTERN = r"(?<![\w./-])([\w][\w/.-]{0,80}?)(\.{2,3})([\w][\w/-]{0,80}(?:\.[\w/-]+)*)"
"""Two revisions, and the two or three dots between them."""
_CHANGE = re.compile(f"{REVIEW_REQUEST_PATTERN}|{REVISION_RANGE_PATTERN}")
_MAX_SEARCHED_CHARACTERS = 20_000
"""The number of characters at the beginning of a text that are searched."""


def names_code_change(text: str) -> bool:
    """Return True if a text names a pull or merge request (a link or `shop#7`), or two revisions (`main...topic`)."""
    return _CHANGE.search(text[:_MAX_SEARCHED_CHARACTERS]) is not None
