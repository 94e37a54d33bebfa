"""Sends the requests of a sign-in. Their addresses come from the server, so they are not trusted.

Only the MCP server's own origin is trusted, as the operator named it. All other addresses must be https and public: a
server must not make us call machines of the inner network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from specialists.outbound.clients import make_client
from specialists.outbound.network import is_loopback
from specialists.outbound.network_faults import describe_network_fault
from specialists.tools.blocking import import_in_thread
from specialists.tools.extras import describe_unavailable_tool
from specialists.tools.tool_sign_in import SignInFailed
from specialists.tools.web.fetch import FetchSettings, open_guarded_client

if TYPE_CHECKING:
    import httpx2

REQUEST_SECONDS = 15.0
"""Most seconds of one request, including name lookup and reading the answer."""
MAX_BYTES = 128 * 1024
"""Most bytes of one answer."""
LONGEST_URL = 2_000
"""Most characters of an address."""
_AUTH_HEADER = "www-authenticate"
_PORTS = {"http": 80, "https": 443}


def parse_origin(url: str) -> tuple[str, str, int]:
    """Return (scheme, host, port) of a web address. Raises ValueError for anything else."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(url)
    return parts.scheme, parts.hostname.lower(), parts.port or _PORTS[parts.scheme]


def find_url_fault(url: str, server: str) -> str:
    """Return why an address that a server named may not be called, in words to follow the address; "" if it may."""
    try:
        scheme, host, _ = parse_origin(url)
        is_own_origin = parse_origin(url) == parse_origin(server)
        parts = urlsplit(url)
    except ValueError:
        return "is not a web address"
    if len(url) > LONGEST_URL or parts.username is not None or parts.fragment:
        return "is too long, or has a user name or a fragment"
    if scheme == "https":
        return "leads to this machine" if is_loopback(host) and not is_own_origin else ""
    return "" if is_own_origin and is_loopback(host) else "is not https"


async def send_request(request: httpx2.Request, server: str) -> httpx2.Response:
    """Send one request of a sign-in to `server` (its address). Redirects are not followed.

    Raises SignInFailed if the address may not be called, cannot be reached, or answers too late or too much.
    """
    import httpx2  # noqa: PLC0415 - comes with the SDK

    url = str(request.url)
    if fault := find_url_fault(url, server):
        raise SignInFailed(f"The server names an address that cannot be used: {url[:120]} {fault}.")
    is_own_origin = parse_origin(url) == parse_origin(server)
    if not is_own_origin and (absent := describe_unavailable_tool("web", "ssrfguard")):
        raise SignInFailed(absent)
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            return await (_send_to_server(request) if is_own_origin else _send_guarded(request))
    except TimeoutError:
        raise SignInFailed(f"{urlsplit(url).hostname} did not answer within {REQUEST_SECONDS:g} seconds.") from None
    except httpx2.HTTPError as error:
        raise SignInFailed(_describe_unreachable(url, error)) from None


async def _send_to_server(request: httpx2.Request) -> httpx2.Response:
    import httpx2  # noqa: PLC0415 - comes with the SDK

    client = make_client(str(request.url), httpx2.AsyncClient, timeout=REQUEST_SECONDS, follow_redirects=False)
    request.headers["Accept-Encoding"] = "identity"
    async with client:
        response = await client.send(request, stream=True)
        try:
            return _make_response(
                response.status_code, response.headers, await _read_bounded_body(response.aiter_raw()), request
            )
        finally:
            await response.aclose()


async def _send_guarded(request: httpx2.Request) -> httpx2.Response:
    await import_in_thread("httpx", "ssrfguard.httpx")
    import httpx  # noqa: PLC0415 - only a sign-in pays for it
    from ssrfguard import SSRFGuardError  # noqa: PLC0415 - the same

    url = str(request.url)
    headers = {name: value for name, value in request.headers.items() if name != "host"}
    headers["accept-encoding"] = "identity"
    try:
        async with (
            open_guarded_client(url, FetchSettings(timeout=REQUEST_SECONDS)) as client,
            client.stream(request.method, url, headers=headers, content=request.content) as response,
        ):
            return _make_response(
                response.status_code, response.headers, await _read_bounded_body(response.aiter_raw()), request
            )
    except SSRFGuardError:
        raise SignInFailed(f"The server names an address that is not public: {url[:120]}. It is not asked.") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        raise SignInFailed(_describe_unreachable(url, error)) from None


def _describe_unreachable(url: str, error: Exception) -> str:
    return f"{urlsplit(url).hostname} cannot be reached ({describe_network_fault(error) or type(error).__name__})."


def _make_response(status: int, headers: Mapping[str, str], body: bytes, request: httpx2.Request) -> httpx2.Response:
    """Make a response from a body that was read completely, with only the headers that a sign-in needs."""
    import httpx2  # noqa: PLC0415 - comes with the SDK

    kept_headers = {_AUTH_HEADER: headers[_AUTH_HEADER]} if _AUTH_HEADER in headers else {}
    return httpx2.Response(status, headers=kept_headers, content=body, request=request)


async def _read_bounded_body(pieces: object) -> bytes:
    body = bytearray()
    async for piece in pieces:  # type: ignore[attr-defined]  # of either library
        body += piece
        if len(body) > MAX_BYTES:
            raise SignInFailed(f"The server sent more than {MAX_BYTES // 1024} KB in one answer of the sign-in.")
    return bytes(body)
