"""Finds addresses in text, decides which may become links, renders links, and makes text plain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from handoff.text.invisible_characters import remove_invisible

BROADCAST_PATTERN = re.compile(r"@(?:channel|here|everyone)(?![^\W_])", re.IGNORECASE)


def to_plain_line(text: str, limit: int = 150) -> str:
    """Return a text as one line of at most `limit` characters, for fields without markup, such as titles."""
    flat = " ".join(remove_invisible(text).split()).replace("<", "\u2039").replace(">", "\u203a")
    flat = BROADCAST_PATTERN.sub(lambda match: "\uff20" + match.group()[1:], flat)
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


_ADDRESS_END = r"\s<>|`\"()\[\]{}*"
_URL = rf"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{{0,30}}://[^{_ADDRESS_END}]*"
_OTHER_SCHEMES = rf"(?:mailto|tel|sms|data|javascript|vbscript|slack|file|facetime|skype|callto):[^{_ADDRESS_END}]+"
_DOMAIN = (
    r"(?<![^\W_])(?:[\w.+\-]{1,64}@)?"  # a mail address as well
    r"[^\W_][\w\-]*(?:\.[\w\-]+)*\.(?:xn--[a-z0-9\-]{2,59}|[^\W\d_]{2,63})(?![^\W_])"
    rf"(?::\d{{1,5}}(?!\w))?(?:[/?#][^{_ADDRESS_END}]*)?"
)
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_IPV4 = rf"(?<![\w.]){_BYTE}(?:\.{_BYTE}){{3}}(?![\w]|\.\w)(?::\d{{1,5}}(?!\w))?(?:[/?#][^{_ADDRESS_END}]*)?"
_IPV6 = (
    r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::[0-9a-f:.]{0,40})"
    rf"(?![\w:])(?:[/?#][^{_ADDRESS_END}]*)?"
)
_ADDRESS = re.compile(rf"{_URL}|{_OTHER_SCHEMES}|(?P<domain>{_DOMAIN})|{_IPV4}|{_IPV6}", re.IGNORECASE)
_DOTTED_NAME = re.compile(r"(?!www\.)[\w\-]+(?:\.[\w\-]+)*\.([a-z]{2,63})", re.IGNORECASE | re.ASCII)
_TLDS = Path(__file__).with_name("top_level_domains.txt")
_SHOWN_LIMIT = 300
"""Maximum number of characters of an address that are shown."""


class AddressSpan(NamedTuple):
    """An address in a text, with the positions of its start and end."""

    start: int
    end: int
    address: str


def find_address_spans(word: str) -> Iterator[AddressSpan]:
    """Find the addresses in a word without spaces: URLs, mail addresses, bare domains and IP addresses."""
    if "." not in word and ":" not in word:
        return
    for match in _ADDRESS.finditer(word):
        address = match.group().rstrip(".,;:!?'")
        if match["domain"] and _is_plain_dotted_name(address):
            continue
        yield AddressSpan(match.start(), match.start() + len(address), address)


def _is_plain_dotted_name(address: str) -> bool:
    """Return True for dotted names such as `requests.get` and `sales.xlsx`, whose last part is no top-level domain."""
    match = _DOTTED_NAME.fullmatch(address)
    return match is not None and match[1].lower() not in _read_top_level_domains()


@cache
def _read_top_level_domains() -> frozenset[str]:
    """Return the ASCII names of IANA's list of top-level domains. A name beyond ASCII always counts as a domain."""
    return frozenset(_TLDS.read_text(encoding="ascii").split())


def flatten_address(address: str) -> str:
    """Return an address to be shown as code: on one line, without backticks, cut if it is very long."""
    flat = address.replace("`", "'").replace("\n", " ")
    return flat if len(flat) <= _SHOWN_LIMIT else flat[:_SHOWN_LIMIT] + "…"


MAX_LINK_LENGTH = 2000
"""Maximum number of characters of an address that may become a link."""
SCHEME = re.compile(r"(?:(?<=[\"'_~])|^)https?://", re.IGNORECASE)
ADDRESS_RUN = re.compile(rf"(?:(?![<>`|\[\]\"])[!-~]){{1,{MAX_LINK_LENGTH}}}")
"""Characters that may belong to an address in a sentence. Punctuation at the end may belong to the sentence."""
_ANGLED_ADDRESS = re.compile(rf"<((?:h|ht|htt|https?|https?:[!-;=?-~]{{0,{MAX_LINK_LENGTH}}}))(>|\Z)", re.IGNORECASE)
_MARKUP_CHARACTER = re.compile(r"[*~]|(?<![^\W_])_")
_BACKSLASH_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINKABLE_ADDRESS = re.compile(
    r"https?://(?!\S*&#?\w+;)(?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.(?![:/?#]|$)|(?=[:/?#]|$)))+"
    r"(?::\d{1,5})?(?:[/?#][\w\-.~:/?#@!$&'*+,;=%()]{0,2000})?",
    re.IGNORECASE | re.ASCII,
)


def unescape_address(address: str) -> str:
    """Return an address without Markdown's backslashes before punctuation."""
    return _BACKSLASH_ESCAPE.sub(r"\1", address)


def is_linkable(address: str, known_addresses: Collection[str]) -> bool:
    """Return True if an address is one of `known_addresses`, and any browser would open the host that it shows.

    Credentials, backslashes, letters beyond ASCII and `xn--` are refused, since they can disguise a host. So are HTML
    entities, which a Markdown reader would decode to other characters.
    """
    return address in known_addresses and _LINKABLE_ADDRESS.fullmatch(address) is not None


def names_other_address(label: str, address: str) -> bool:
    """Return True if the label of a link contains an address other than the link's own address or host."""
    flat = unicodedata.normalize("NFKC", unquote(label)).replace("\u3002", ".")
    flat = re.sub(r"\s*\.\s*", ".", re.sub(r"[\\*_~`]", "", remove_invisible(flat)))
    addresses = [_strip_address(span.address) for word in flat.split() for span in find_address_spans(word)]
    host = urlsplit(address).netloc.lower()
    return any(one != _strip_address(address) and one.lower() != host for one in addresses)


def names_same_address(label: str, address: str) -> bool:
    """Return True if the label of a link is just the link's own address or host."""
    return label.strip() in {address, _strip_address(address), urlsplit(address).netloc}


def _strip_address(address: str) -> str:
    return re.sub(r"[\\*_~`]", "", address).removeprefix("https://").removeprefix("http://").rstrip("/")


def read_angled_address(text: str, position: int) -> tuple[str, int, bool] | None:
    """Read the address whose opening angle bracket is at a position of the text; None if there is none.

    Returns the address, the position after it, and True if its closing bracket is there; the text may end before.
    """
    match = _ANGLED_ADDRESS.match(text, position)
    return None if match is None else (match[1], match.end(), bool(match[2]))


def render_mrkdwn_link(address: str, words: str) -> str:
    """Render a mrkdwn link; `address` and `words` must be escaped. If `words` is "", people see the address."""
    label = words.replace("|", "/")
    return f"<{address}|{label}>" if label else f"<{address}>"


def render_markdown_link(address: str, words: str, previous_character: str) -> str:
    """Render a Markdown link. After `!` or a backslash, which would change its meaning, it begins with a space."""
    gap = " " if previous_character in {"!", "\\"} else ""
    target = address.replace("(", "%28").replace(")", "%29")
    label = words.rstrip("\\") or _MARKUP_CHARACTER.sub(r"\\\g<0>", address.replace("&", "&amp;"))
    return f"{gap}[{label}]({target})"
