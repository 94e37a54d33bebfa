"""The HTTP client for MCP servers at an address: it follows nobody elsewhere, and bounds what comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from specialists.mcp_servers.flood_meter import LONGEST_MESSAGE

if TYPE_CHECKING:
    import httpx2

MOST_ANSWERED = 4 * LONGEST_MESSAGE
"""Bytes of one answer, which may be a stream of several messages."""


def http_client(headers: Mapping[str, str], refused: Callable[[int], None]) -> httpx2.AsyncClient:
    """Make a client with these headers. It uses no proxy and no password of the machine.

    `refused` is told the status of each answer that is an error: the SDK keeps it to itself.
    """
    import httpx2  # noqa: PLC0415 - comes with the SDK

    class Bounded(httpx2.AsyncHTTPTransport):
        """Counts what each answer brings, as it comes over the wire, and refuses what is packed."""

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            """Pass the request on."""
            response = await super().handle_async_request(request)
            if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
                await response.aclose()
                raise httpx2.RemoteProtocolError("it sends packed answers, which were not asked for", request=request)
            if response.status_code >= 400:
                refused(response.status_code)
            response.stream = Counted(response.stream)
            return response

    class Counted(httpx2.AsyncByteStream):
        """A stream that ends with an error above its cap."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > MOST_ANSWERED:
                    raise httpx2.ReadError(f"it sent more than {MOST_ANSWERED // 1024 // 1024} MB")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    return httpx2.AsyncClient(
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(10, read=90),
        trust_env=False,
        follow_redirects=False,
        transport=Bounded(trust_env=False),
    )
