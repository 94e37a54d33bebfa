"""Where the calls of an attempt may go: addresses that people named, or that the web itself gave.

An address can carry data out, as whoever runs its host sees it asked for. So once an attempt has read what nobody here
wrote, or was handed what others found, an address that its model put together is refused: whatever a page or a file
talks the model into, it can go nowhere with what it knows. What is asked for by the first turn of a fresh brief, before
anything was read, is free.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from urllib.parse import unquote, urlsplit

from handoff.contracts import ToolReply

_ADDRESS = re.compile(r"https?://[^\s<>\"'|\[\]`\\]+", re.IGNORECASE)
_HOST = re.compile(r"(?<![\w@.-])(?:https?://)?([^\W_][\w-]*(?:\.[\w-]+)+(?::\d{1,5})?)(?![\w@-])", re.IGNORECASE)
_AFTER = ".,;:!?*_'"
"""What ends a sentence, or marks it, and not an address."""
_PORTS = {"http": 80, "https": 443}

_Place = tuple[str, str, str]
"""An address as it is compared: host, path and query."""


class Trail:
    """What is known of addresses in one attempt.

    Args:
        words: What people said in the job. Any page of a host that they named may be asked for.
        finders: The names of the tools whose replies give addresses from the web. What other tools say does not count:
            a model can have them say anything.
        told: Whether its brief brings what others found.
    """

    def __init__(self, words: Sequence[str] = (), finders: Collection[str] = (), *, told: bool = False) -> None:
        self._hosts = {_bare(found) for text in words for found in _HOST.findall(text)}
        self._finders = finders
        self._known: set[_Place] = set()
        self._has_read = told
        self._bound = told

    def turn(self) -> None:
        """A turn ended: what it asks for was chosen with what had been read by now."""
        self._bound = self._has_read

    def heard(self, tool: str, reply: ToolReply) -> None:
        """A tool replied."""
        if reply.failed:
            return
        self._has_read = True
        if tool in self._finders:
            self._known |= {place for address in _addresses(reply.text) for place in _known_by(address)}

    def allows(self, address: str) -> bool:
        """Whether a call of the last turn may go to an address."""
        if not self._bound:
            return True
        place = _place(address)
        return place is not None and (place[0] in self._hosts or place in self._known)


def _addresses(text: str) -> set[str]:
    """The addresses in a text. One in brackets is given with and without what follows its first closing one."""
    found = set()
    for match in _ADDRESS.findall(text):
        address = match.rstrip(_AFTER)
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(_AFTER)
        found |= {address, match.split(")", 1)[0].rstrip(_AFTER)}
    return found


def _known_by(address: str) -> set[_Place]:
    """What an address makes known: itself, and the same without its query, which says less."""
    place = _place(address)
    return set() if place is None else {place, (place[0], place[1], "")}


def _place(address: str) -> _Place | None:
    """None for what no browser would take, and for one with a user's name in it, which is how a host is disguised."""
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc or "\\" in address:
        return None
    host = parts.hostname if port in {None, _PORTS[parts.scheme]} else f"{parts.hostname}:{port}"
    return _bare(host), unquote(parts.path).rstrip("/"), parts.query


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")
