"""Guards the way out: tools may ask for URLs that people named, or that the web itself gave.

A URL can carry data out, since whoever runs its host sees the request. So once an attempt has read what nobody here
wrote, or was handed what others found, a URL that its model put together is refused: whatever a page or a file talks
the model into, it can send nowhere what it knows. The first turn of a fresh brief, before anything was read, is free.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from handoff.addresses import addresses_in
from handoff.contracts import ToolReply
from specialists.toolkits.tool import Tool
from specialists.turns.approving import Leaving

_URL = re.compile(r"https?://[^\s<>\"'|\[\]`\\]+", re.IGNORECASE)
_HOST = re.compile(r"(?<![\w@.-])(?:https?://)?([^\W_][\w-]*(?:\.[\w-]+)+(?::\d{1,5})?)(?![\w@-])", re.IGNORECASE)
_AFTER = ".,;:!?*_'"
"""Characters after a URL that end or mark a sentence, and are no part of it."""
_PORTS = {"http": 80, "https": 443}

_Url = tuple[str, str, str]
"""A URL as it is compared: host, path and query."""


class EgressGuard:
    """Decides which URLs the calls of one attempt may ask for.

    Args:
        words: Texts that people wrote in the job. Any page of a host that they named may be asked for.
        url_tools: The names of the tools whose replies give URLs from the web. What other tools say does not count:
            a model can have them say anything.
        derived: True if the brief holds what others found.

    Attributes:
        given: The addresses in the replies of those tools, word for word.
    """

    def __init__(self, words: Sequence[str] = (), url_tools: Collection[str] = (), *, derived: bool = False) -> None:
        self._hosts = {_bare(found) for text in words for found in _HOST.findall(text)}
        self._url_tools = url_tools
        self._known: set[_Url] = set()
        self.given: set[str] = set()
        self._has_read = derived
        self._restricted = derived

    def turn_ended(self) -> None:
        """Restrict the calls of the turn that just ended, if anything had been read when the model chose them."""
        self._restricted = self._has_read

    def reply_read(self, tool: str, reply: ToolReply) -> None:
        """Note that a tool replied, and the URLs in its reply if it takes them from the web."""
        if reply.failed:
            return
        self._has_read = True
        if tool in self._url_tools:
            self._known |= {known for url in _urls(reply.text) for known in _known_by(url)}
            self.given |= addresses_in(reply.text)

    def judge(self, tool: Tool, arguments: BaseModel) -> Literal["allow", "refuse"] | Leaving:
        """Say if a call of the last turn may be made; `Leaving` is what people have to approve first."""
        if tool.url_of is None:
            return "allow"
        return "allow" if self.allows(tool.url_of(arguments)) else "refuse"

    def allows(self, url: str) -> bool:
        """Say if a call of the last turn may ask for a URL."""
        if not self._restricted:
            return True
        parsed = _parsed(url)
        return parsed is not None and (parsed[0] in self._hosts or parsed in self._known)


def _urls(text: str) -> set[str]:
    """Find the URLs in a text. One in brackets is given with and without what follows its first closing one."""
    found = set()
    for match in _URL.findall(text):
        url = match.rstrip(_AFTER)
        while url.endswith(")") and url.count(")") > url.count("("):
            url = url[:-1].rstrip(_AFTER)
        found |= {url, match.split(")", 1)[0].rstrip(_AFTER)}
    return found


def _known_by(url: str) -> set[_Url]:
    """List what a URL makes known: itself, and itself without its query, which says less."""
    parsed = _parsed(url)
    return set() if parsed is None else {parsed, (parsed[0], parsed[1], "")}


def _parsed(url: str) -> _Url | None:
    """Parse a URL; None if no browser would take it, or if it holds a user's name, which is how a host is disguised."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc or "\\" in url:
        return None
    host = parts.hostname if port in {None, _PORTS[parts.scheme]} else f"{parts.hostname}:{port}"
    return _bare(host), unquote(parts.path).rstrip("/"), parts.query


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")
