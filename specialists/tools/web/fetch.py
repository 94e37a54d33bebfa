"""Fetches a page that a model names; both the address and the page may be hostile.

`ssrfguard` refuses addresses that are not public, and connects only to the
addresses it checked; `outbound.clients` handles requests through a proxy. This
module adds the rest: redirects are followed one by one (their bodies are never
read), the size of the body is limited after decoding, and one deadline covers
name look-ups, connections and bytes together.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from ipaddress import ip_network
from typing import TYPE_CHECKING

from specialists.outbound.clients import NameNotResolved, Resolver, make_guarded_client
from specialists.outbound.network import make_tls_context
from specialists.outbound.network_faults import describe_network_fault
from specialists.tools.blocking import import_in_thread

if TYPE_CHECKING:
    import httpx
    from ssrfguard import Policy

AZURE_PLATFORM_NETWORK = "168.63.129.16/32"
"""Azure's metadata and DNS address. It is registered as public, so no table of special addresses contains it."""

_MAX_REDIRECTS = 5
_REDIRECT_REFUSED_MESSAGE = "The page redirects to {url}, which was not opened. If you need it, fetch that address."
_GZIP_MEMBER_START = b"\x1f"
_HEADERS = {"User-Agent": "Leadhand (a bot that reads a page when somebody asks)", "Accept-Encoding": "identity, gzip"}


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The limits of a fetch.

    Attributes:
        timeout: Seconds for the whole fetch: name look-ups, connections, redirects and bytes.
        max_bytes: Most bytes of the decoded body that are read.
        allow_hosts: `address:port` pairs that are allowed although they are not public. For tests.
        resolver: Stands in for `socket.getaddrinfo`. Its answers are checked all the same. For tests.
    """

    timeout: float = 20.0
    max_bytes: int = 1_000_000
    allow_hosts: tuple[str, ...] = ()
    resolver: Resolver | None = None


@dataclass(frozen=True, slots=True)
class Download:
    """A fetched page. `url` is the final address; `is_whole` is false if `max_bytes` cut it."""

    url: str
    media_type: str
    charset: str
    body: bytes
    is_whole: bool


class FetchFailed(Exception):
    """The page was not fetched. The message says why: refused by policy, unreachable, an error status, or too slow."""


async def download_page(
    url: str,
    settings: FetchSettings,
    explain_refusal: Callable[[str], str],
    may_follow: Callable[[str, str], Awaitable[bool]],
) -> Download:
    """Fetch a page over http or https from a public address.

    Args:
        url: Its address, from anywhere.
        settings: The limits.
        explain_refusal: Called with the media type before the body is read. Returns why the page is of no use, or "".
        may_follow: Called with an address and the one that it redirects to. Returns whether to follow the redirect.

    Raises:
        FetchFailed: The page was not fetched; the message says why.
    """
    await _load_client()
    import httpx  # noqa: PLC0415  # already loaded, in a thread
    from ssrfguard import SSRFGuardError  # noqa: PLC0415  # the same

    try:
        async with asyncio.timeout(settings.timeout):
            for _ in range(_MAX_REDIRECTS + 1):
                page_or_redirect = await _request_once(url, settings, explain_refusal)
                if isinstance(page_or_redirect, Download):
                    return page_or_redirect
                if not await may_follow(url, page_or_redirect):
                    raise FetchFailed(_REDIRECT_REFUSED_MESSAGE.format(url=page_or_redirect[:400]))
                url = page_or_redirect
    except TimeoutError as error:
        raise FetchFailed(f"The page took longer than {settings.timeout:g} s, so it was not read.") from error
    except NameNotResolved as error:
        raise FetchFailed(f"The page cannot be reached: {error}.") from error
    except SSRFGuardError as error:
        raise FetchFailed(f"This address may not be fetched: {str(error)[:400]}") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError, zlib.error) as error:
        why = describe_network_fault(error) or f"{type(error).__name__}: {str(error)[:200]}"
        raise FetchFailed(f"The page cannot be reached ({why}).") from error
    raise FetchFailed(f"The page redirects more than {_MAX_REDIRECTS} times, so it was not read.")


async def _request_once(url: str, settings: FetchSettings, explain_refusal: Callable[[str], str]) -> Download | str:
    """Make one request. Return the page, or the address that it redirects to."""
    async with open_guarded_client(url, settings) as client, client.stream("GET", url, headers=_HEADERS) as response:
        if response.has_redirect_location:
            return str(response.url.join(response.headers["location"]))
        return await _read_page(response, settings, explain_refusal)


@asynccontextmanager
async def open_guarded_client(url: str, settings: FetchSettings) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client for one request to a public address; it follows no redirects."""
    await _load_client()
    policy = _make_policy(settings.allow_hosts)
    async with make_guarded_client(url, policy, settings.timeout, settings.resolver) as client:
        yield client


async def _read_page(
    response: httpx.Response, settings: FetchSettings, explain_refusal: Callable[[str], str]
) -> Download:
    status = response.status_code
    if status != HTTPStatus.OK:
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "unknown status"
        raise FetchFailed(f"The page answered {status} ({phrase}).")
    media_type, _, rest = response.headers.get("content-type", "").partition(";")
    media_type = media_type.strip().lower()
    refusal = explain_refusal(media_type)
    if refusal:
        raise FetchFailed(refusal)
    charset = next((part.partition("=")[2] for part in rest.split(";") if "charset=" in part.lower()), "")
    body, is_whole = await _read_body(response, settings.max_bytes)
    return Download(str(response.url), media_type, charset.strip(" \"'"), body, is_whole)


async def _read_body(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """Return the decoded body up to `limit` bytes, and whether it is whole; piece by piece, against zip bombs.

    A gzip body may have several members; bytes behind them that begin no member are ignored, as gzip does.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip"):
        raise FetchFailed(f"The page comes in an encoding that was not asked for ({encoding[:40]}).")
    decoder = zlib.decompressobj(31) if "gzip" in encoding else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        rest = chunk
        while rest and len(body) <= limit:
            if decoder and decoder.eof:
                if not rest.startswith(_GZIP_MEMBER_START):
                    return bytes(body), True
                decoder = zlib.decompressobj(31)
            remaining_bytes = limit + 1 - len(body)
            body += decoder.decompress(rest, remaining_bytes) if decoder else rest[:remaining_bytes]
            rest = decoder.unused_data if decoder else b""
        if len(body) > limit:
            return bytes(body[:limit]), False
    return bytes(body), True


async def _load_client() -> None:
    """Load the libraries and the TLS context in threads, as both are slow and would block the event loop."""
    await import_in_thread("httpx", "ssrfguard.httpx")
    await asyncio.to_thread(make_tls_context)


@cache
def _make_policy(allow_hosts: tuple[str, ...]) -> Policy:
    from ssrfguard import DEFAULT_DENIED, AddressTable, Block, Policy, Reach  # noqa: PLC0415  # only a fetch pays

    azure = Block(ip_network(AZURE_PLATFORM_NETWORK), "Azure platform address", "not registered", Reach.DENIED)
    host_parts = [host.rpartition(":") for host in allow_hosts]
    return Policy(
        denied_networks=AddressTable((*DEFAULT_DENIED.blocks, azure)),
        allowed_networks=tuple(ip_network(address) for address, _, _ in host_parts),
        allowed_ports=frozenset({80, 443, *(int(port) for _, _, port in host_parts)}),
    )
