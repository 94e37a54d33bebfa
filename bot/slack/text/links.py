"""What in a text Slack would turn into a link, and which of it may stay one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

_STOP = r"\s<>|`\"()\[\]{}*"
_URL = rf"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{{0,30}}://[^{_STOP}]+"
_OTHER = rf"(?:mailto|tel|sms|data|javascript|vbscript|slack|file|facetime|skype|callto):[^{_STOP}]+"
_DOMAIN = (
    r"(?<![^\W_])(?:[\w.+\-]{1,64}@)?"  # a mail address as well
    r"[^\W_][\w\-]*(?:\.[\w\-]+)*\.(?:xn--[a-z0-9\-]{2,59}|[^\W\d_]{2,63})(?![^\W_])"
    rf"(?::\d{{1,5}}(?!\w))?(?:[/?#][^{_STOP}]*)?"
)
_LINK = re.compile(rf"{_URL}|{_OTHER}|{_DOMAIN}", re.IGNORECASE)
_PLAIN = re.compile(
    r"(?:https?://)?([a-z0-9](?:[a-z0-9.\-]*[a-z0-9])?)(?::\d{1,5})?(?:[/?#][^\s\\<>|`\"(){}\[\]]*)?",
    re.IGNORECASE | re.ASCII,
)
_LONGEST = 300
"""Characters of an address that are shown."""


class Found(NamedTuple):
    """An address in a text: where it starts and ends, and what it is."""

    start: int
    end: int
    address: str


def find(word: str) -> Iterator[Found]:
    """Find the addresses in a word without spaces: with a scheme, of a mailbox, or a bare domain."""
    if "." not in word and ":" not in word:
        return
    for match in _LINK.finditer(word):
        address = match.group().rstrip(".,;:!?'")
        yield Found(match.start(), match.start() + len(address), address)


def allowed(address: str, hosts: Collection[str]) -> bool:
    """Return True if any browser would go to one of the hosts from this address.

    No credentials, backslashes or letters beyond ASCII are taken: they are how a host is disguised.
    """
    match = _PLAIN.fullmatch(address) if hosts else None
    return match is not None and match.group(1).lower() in hosts


def shown(address: str) -> str:
    """Show an address as it stands in the text: its host first, cut if it is very long, without backticks."""
    flat = address.replace("`", "'").replace("\n", " ")
    return flat if len(flat) <= _LONGEST else flat[:_LONGEST] + "…"
