"""Links: which address may be one, what its label may say, and how it is written.

An address is a link only if a person, a search, a page or material gave it word for word. A model that put one together
could carry data out in it, to whoever clicks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from urllib.parse import unquote, urlsplit

from bot.slack.text.safe_text import find
from handoff.text.visible_text import visible

LONGEST = 2000
"""Characters of the longest address that is a link."""
SCHEME = re.compile(r"(?:(?<=[\"'_~])|^)https?://", re.IGNORECASE)
TOKEN = re.compile(rf"(?:(?![<>`|\[\]\"])[!-~]){{1,{LONGEST}}}")
"""What an address in a sentence ends within."""
_ANGLED = re.compile(rf"<((?:h|ht|htt|https?|https?:[!-;=?-~]{{0,{LONGEST}}}))(>|\Z)", re.IGNORECASE)
_SPECIAL = re.compile(r"[*~]|(?<![^\W_])_")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINKABLE = re.compile(
    r"https?://(?!\S*&#?\w+;)(?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.(?![:/?#]|$)|(?=[:/?#]|$)))+"
    r"(?::\d{1,5})?(?:[/?#][\w\-.~:/?#@!$&'*+,;=%()]{0,2000})?",
    re.IGNORECASE | re.ASCII,
)


def unescape_address(address: str) -> str:
    """Return an address without the backslashes that Markdown lets stand before punctuation."""
    return _ESCAPED.sub(r"\1", address)


def is_linkable(address: str, known: Collection[str]) -> bool:
    """Return True if an address is known word for word, and any browser would go to the host that it shows.

    No credentials, backslashes, letters beyond ASCII or `xn--` are taken: they are how a host is disguised. Nor is what
    a reader of Markdown would decode to something else.
    """
    return address in known and _LINKABLE.fullmatch(address) is not None


def names_another(label: str, address: str) -> bool:
    """Return True if the label of a link looks like an address, and not like that of the link itself or its host."""
    flat = unicodedata.normalize("NFKC", unquote(label)).replace("\u3002", ".")
    flat = re.sub(r"\s*\.\s*", ".", re.sub(r"[\\*_~`]", "", visible(flat)))
    addresses = [_strip_address(found.address) for word in flat.split() for found in find(word)]
    host = urlsplit(address).netloc.lower()
    return any(one != _strip_address(address) and one.lower() != host for one in addresses)


def names_it(label: str, address: str) -> bool:
    """Return True if a label is the address of its link or its host, and nothing else."""
    return label.strip() in {address, _strip_address(address), urlsplit(address).netloc}


def _strip_address(address: str) -> str:
    return re.sub(r"[\\*_~`]", "", address).removeprefix("https://").removeprefix("http://").rstrip("/")


def read_angled_address(text: str, at: int) -> tuple[str, int, bool] | None:
    """Read an address between angle brackets that begins at `at`: it, where it ends, and if it is whole; or None."""
    found = _ANGLED.match(text, at)
    return None if found is None else (found[1], found.end(), bool(found[2]))


def render_mrkdwn_link(address: str, words: str) -> str:
    """Write a link, both parts escaped already; without words the address itself is what people read."""
    label = words.replace("|", "/")
    return f"<{address}|{label}>" if label else f"<{address}>"


def render_markdown_link(address: str, words: str, before: str) -> str:
    """Write a link after the character `before`: no image, and no escaped mark."""
    gap = " " if before in {"!", "\\"} else ""
    target = address.replace("(", "%28").replace(")", "%29")
    label = words.rstrip("\\") or _SPECIAL.sub(r"\\\g<0>", address.replace("&", "&amp;"))
    return f"{gap}[{label}]({target})"
