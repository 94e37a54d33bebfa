"""Makes every HTTP client of the product: aiohttp sessions, httpx and httpx2 clients, and the search library's client.

Each gets the proxy and the certificate authorities from `network`, never from the library's own reading of the
environment.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import aiohttp
from yarl import URL

from specialists.outbound.network import (
    CA_FILE,
    find_proxy,
    make_tls_context,
    may_proxy_resolve,
    read_network_variables,
)
from specialists.tools.blocking import run_in_thread

if TYPE_CHECKING:
    import httpx
    import httpx2
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace
    from ddgs import DDGS
    from ssrfguard import Policy

_Client = TypeVar("_Client", bound="httpx2.AsyncClient")
Resolver = Callable[..., list[Any]]


class NameNotResolved(OSError):
    """A host name cannot be looked up on this machine, so nobody knows whether its address is public."""


class _ProxyConnector(aiohttp.TCPConnector):
    """Connects over the proxy for each request's URL, whatever proxy the caller sets.

    The Slack SDK sets a proxy of its own on each request, and ignores `NO_PROXY`.
    """

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own
    ) -> Connection:
        """Connect over the proxy that the environment names for the address, if any."""
        proxy = find_proxy(str(req.url))
        req.update_proxy(URL(proxy) if proxy else None, None, None)
        return await super().connect(req, traces, timeout)


def open_session(*, seconds: float | None = None, headers: Mapping[str, str] | None = None) -> aiohttp.ClientSession:
    """Open an aiohttp session in the running loop. `seconds` is the limit of each request; None: aiohttp's default."""
    timeout = aiohttp.ClientTimeout(total=seconds) if seconds is not None else aiohttp.client.DEFAULT_TIMEOUT
    return aiohttp.ClientSession(connector=_ProxyConnector(ssl=make_tls_context()), timeout=timeout, headers=headers)


def make_client(url: str, client_class: type[_Client], **options: Any) -> _Client:
    """Make a httpx2 client of the given class, for requests to the origin of `url`.

    If `transport` is a class, it is made with the same proxy and authorities.
    """
    connection_options: dict[str, Any] = {"verify": make_tls_context(), "proxy": find_proxy(url), "trust_env": False}
    if transport := options.pop("transport", None):
        return client_class(transport=transport(**connection_options), trust_env=False, **options)
    return client_class(**connection_options, **options)


@asynccontextmanager
async def make_guarded_client(
    url: str, policy: Policy, seconds: float, resolver: Resolver | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a httpx client for one request to a public address. It follows no redirects.

    Without a proxy, it connects only to the addresses that were checked. A proxy looks the name up again itself, so the
    check covers only our own look-up. A name that is not public here is refused. A name that is unknown here is refused
    too, unless a proxy is used and `may_proxy_resolve()`: the operator then vouches that it reaches only public ones.

    Args:
        url: The address of the request.
        policy: Which addresses are public.
        seconds: Most seconds of the look-up.
        resolver: Replaces `socket.getaddrinfo`. Its answers are checked too.

    Raises:
        SSRFGuardError: The address is not public.
        NameNotResolved: The name cannot be looked up here.
        TimeoutError: The look-up took longer than `seconds`.
    """
    from ssrfguard import resolve  # noqa: PLC0415 - loaded off the loop by the caller
    from ssrfguard.httpx import AsyncClient  # noqa: PLC0415 - the same

    target = policy.check_url(url)
    look_up = resolver or socket.getaddrinfo
    proxy = find_proxy(url)

    # The name is looked up here, as the client's own look-up cannot be abandoned when time is up. The client still
    # checks each answer and connects to no other address.
    def look_up_name() -> list[Any]:
        return list(look_up(target.host, target.port, type=socket.SOCK_STREAM))

    try:
        addresses = await run_in_thread(look_up_name, seconds)
    except TimeoutError:
        raise
    except OSError as error:
        if proxy is None or not may_proxy_resolve():
            raise NameNotResolved(f"{target.host} cannot be looked up here: {error.strerror or error}") from error
        addresses = []
    if proxy is None:
        async with AsyncClient(
            policy=policy, resolver=lambda *_: addresses, trust_env=False, verify=make_tls_context(), timeout=None
        ) as client:
            yield client
        return
    if addresses:
        resolve(target, policy=policy, resolver=lambda *_: addresses)
    import httpx  # noqa: PLC0415 - loaded by the guard

    connection_options: dict[str, Any] = {"proxy": proxy, "trust_env": False, "verify": make_tls_context()}
    async with httpx.AsyncClient(timeout=None, **connection_options) as proxied_client:  # noqa: S113 - the caller has one deadline for all
        yield proxied_client


def make_search_client(seconds: int) -> DDGS:
    """Make the client of the keyless search, which asks many engines. The first call blocks for about a second."""
    from ddgs import DDGS  # noqa: PLC0415 - slow

    proxy = find_proxy("https://engine.invalid")
    return DDGS(proxy=proxy, timeout=seconds, verify=read_network_variables().get(CA_FILE, True))
