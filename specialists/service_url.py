"""Parses the addresses of services that operators name, such as `redis://user:password@host:6379/0`.

One parser serves all of them, because a library that cannot parse an address quotes parts of it in its error. If the
password contains `#`, `/` or `?`, the quoted part may be from the password. No error here quotes any part.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

ENCODING_HINT = "write # / ? @ : % [ ] in a user name or password as %23 %2F %3F %40 %3A %25 %5B %5D"
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_PATH_AND_OPTIONS = re.compile(r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?P<fragment>#.*)?", re.DOTALL)
_HOST_AND_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)?(?P<port>:[0-9]*)?")
_UNENCODED_CHARACTER = re.compile(r"%(?![0-9A-Fa-f]{2})|[\[\]]")
_NON_ASCII_CHARACTER = re.compile(r"[^\x00-\x7f]")
_WEB_SCHEMES = frozenset({"http", "https"})
_HIGHEST_PORT = 65_535
_SECRET_OPTION_NAME = re.compile(r"pass|pwd|secret|token|key|sig|auth|code", re.IGNORECASE)
_SPLIT_CHARACTERS = re.compile(r"[\s/?#@:,\[\]]+")
"""Characters at which parsers split an address, and so an unencoded password in it."""


class BadUrl(ValueError):
    """An address cannot be used. The text says why and what to do, and quotes no part of the address."""


@dataclass(frozen=True, slots=True)
class ServiceUrl:
    """A parsed address. User, password and option values are decoded; `hosts` are pairs of (host, port or None)."""

    scheme: str
    hosts: tuple[tuple[str, int | None], ...]
    path: str = ""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def host(self) -> str:
        """The first host; "" if none is named."""
        return self.hosts[0][0]

    @property
    def redacted_address(self) -> str:
        """The address without login, options and fragment, as people may see it."""
        places = (f"[{host}]" if ":" in host else host for host, _ in self.hosts)
        ports = (f":{port}" if port else "" for _, port in self.hosts)
        return f"{self.scheme}://{','.join(map(''.join, zip(places, ports, strict=True)))}{self.path}"

    @property
    def port(self) -> int | None:
        """The port of the first host; None if none is named."""
        return self.hosts[0][1]


def parse_service_url(text: str, schemes: Collection[str]) -> ServiceUrl:
    """Parse an address. Raises BadUrl unless it has one of the schemes and a valid form."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or match["scheme"].lower() not in schemes:
        raise BadUrl(f"it begins with one of: {', '.join(f'{scheme}://' for scheme in schemes)}")
    if any(sign.isspace() or not sign.isprintable() for sign in text.strip()):
        raise BadUrl("it holds a blank or an invisible character; take it out, or write it as %20 and the like")
    scheme, rest = match["scheme"].lower(), _PATH_AND_OPTIONS.fullmatch(match["rest"])
    assert rest is not None  # noqa: S101 - it matches everything
    login, _, host_list = match["authority"].rpartition("@")
    if (scheme not in _WEB_SCHEMES and ("@" in match["rest"] or rest["fragment"])) or _UNENCODED_CHARACTER.search(
        login
    ):
        raise BadUrl(ENCODING_HINT)
    if scheme in _WEB_SCHEMES and _NON_ASCII_CHARACTER.search(match["authority"]):
        raise BadUrl("write signs beyond ASCII percent-encoded, and such a host by its name in xn-- form")
    user, _, password = login.partition(":")
    options = dict(parse_qsl(rest["query"] or "", keep_blank_values=True))
    hosts = tuple(map(_split_host, host_list.split(",")))
    return ServiceUrl(scheme, hosts, unquote(rest["path"]), unquote(user), unquote(password), options)


def _split_host(address: str) -> tuple[str, int | None]:
    match = _HOST_AND_PORT.fullmatch(address)
    if match is None:
        raise BadUrl(f"its host or port cannot be read: a port is a number; {ENCODING_HINT}")
    port = int((match["port"] or ":").removeprefix(":") or 0)
    if port > _HIGHEST_PORT:
        raise BadUrl(f"its port is higher than {_HIGHEST_PORT}; {ENCODING_HINT}")
    return (match["host"] or "").strip("[]").lower(), port or None


def find_web_url_fault(text: str) -> str:
    """Return why a text is no http or https address with a host, in words to follow a setting's name; "" if it is."""
    try:
        url = parse_service_url(text, ("https", "http"))
    except BadUrl as error:
        return f"is no address: {error}"
    return "" if url.host else "is no address: its host is missing"


def redact_url(address: str) -> str:
    """Return a web address without login, options and fragment, as people may see it. Raises BadUrl."""
    return parse_service_url(address, ("https", "http")).redacted_address


def find_secrets(text: str) -> frozenset[str]:
    """Return what may be secret in a text with addresses, in any spelling: whole, decoded, and in pieces.

    These are passwords, user names without a password (a token, say), and values of options with a name like `token`.
    """
    secrets: set[str] = set()
    for _, address in re.findall(r"([A-Za-z][A-Za-z0-9+.-]*)://(\S+)", text):
        login, at, _ = address.rpartition("@")
        user, _, password = login.partition(":")
        if not at:  # without a host: any text behind a colon that is no port
            password = address.partition(":")[2]
            user, password = "", re.split(r"[/?]", password)[0] if not password[:1].isdecimal() else ""
        secret = password or user
        secrets |= {secret, *_SPLIT_CHARACTERS.split(secret)}
        options = parse_qsl(address.partition("?")[2].partition("#")[0])
        secrets |= {value for name, value in options if _SECRET_OPTION_NAME.search(name)}
    return frozenset({*secrets, *map(unquote, secrets)} - {""})
