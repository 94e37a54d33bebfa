"""Which links may go out, and text for places that show it as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from handoff.text.visible_text import visible

BROADCAST = re.compile(r"@(?:channel|here|everyone)(?![^\W_])", re.IGNORECASE)


def plain(text: str, limit: int = 150) -> str:
    """One line for places that show text as it is: titles, buttons, rows. At most `limit` characters."""
    flat = " ".join(visible(text).split()).replace("<", "\u2039").replace(">", "\u203a")
    flat = BROADCAST.sub(lambda found: "\uff20" + found.group()[1:], flat)
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


_STOP = r"\s<>|`\"()\[\]{}*"
_URL = rf"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{{0,30}}://[^{_STOP}]*"
_OTHER = rf"(?:mailto|tel|sms|data|javascript|vbscript|slack|file|facetime|skype|callto):[^{_STOP}]+"
_DOMAIN = (
    r"(?<![^\W_])(?:[\w.+\-]{1,64}@)?"  # a mail address as well
    r"[^\W_][\w\-]*(?:\.[\w\-]+)*\.(?:xn--[a-z0-9\-]{2,59}|[^\W\d_]{2,63})(?![^\W_])"
    rf"(?::\d{{1,5}}(?!\w))?(?:[/?#][^{_STOP}]*)?"
)
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_IPV4 = rf"(?<![\w.]){_BYTE}(?:\.{_BYTE}){{3}}(?![\w]|\.\w)(?::\d{{1,5}}(?!\w))?(?:[/?#][^{_STOP}]*)?"
_IPV6 = (
    r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::[0-9a-f:.]{0,40})"
    rf"(?![\w:])(?:[/?#][^{_STOP}]*)?"
)
_LINK = re.compile(rf"{_URL}|{_OTHER}|(?P<domain>{_DOMAIN})|{_IPV4}|{_IPV6}", re.IGNORECASE)
_NO_DOMAIN = re.compile(r"(?!www\.)[\w\-]+(?:\.[\w\-]+)*\.([a-z]{2,63})", re.IGNORECASE | re.ASCII)
_TLDS = Path(__file__).with_name("top_level_domains.txt")
_LONGEST = 300
"""Characters of an address that are shown."""


class FoundLink(NamedTuple):
    """An address in a text: where it starts and ends, and what it is."""

    start: int
    end: int
    address: str


def find(word: str) -> Iterator[FoundLink]:
    """Find the addresses in a word without spaces: with a scheme, of a mailbox, a bare domain, or in numbers."""
    if "." not in word and ":" not in word:
        return
    for match in _LINK.finditer(word):
        address = match.group().rstrip(".,;:!?'")
        if match["domain"] and _is_no_domain(address):
            continue
        yield FoundLink(match.start(), match.start() + len(address), address)


def _is_no_domain(address: str) -> bool:
    """Return True for dotted names such as `requests.get` and `sales.xlsx`: no top-level domain is called so."""
    match = _NO_DOMAIN.fullmatch(address)
    return match is not None and match[1].lower() not in _top_level_domains()


@cache
def _top_level_domains() -> frozenset[str]:
    """Read the names of IANA's list. Those beyond ASCII need no list: whatever looks like one counts."""
    return frozenset(_TLDS.read_text(encoding="ascii").split())


def display_address(address: str) -> str:
    """Show an address as it stands in the text: its host first, cut if it is very long, without backticks."""
    flat = address.replace("`", "'").replace("\n", " ")
    return flat if len(flat) <= _LONGEST else flat[:_LONGEST] + "…"
