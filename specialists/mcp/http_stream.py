"""Makes the HTTP client for MCP servers at an address: it follows no redirects, and bounds the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from specialists.mcp.flood_meter import LONGEST_MESSAGE, Flood, FloodMeter
from specialists.outbound.clients import client_for

if TYPE_CHECKING:
    import httpx2

_EVENTS = "text/event-stream"


def http_client(
    url: str,
    headers: Mapping[str, str],
    refused: Callable[[int], None],
    flooded: Callable[[str], None],
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """Make a client for the server at `url`. It uses no passwords of this machine, such as those in `~/.netrc`.

    Args:
        url: The server's address.
        headers: The headers of each request.
        refused: Called with the status of each error answer, which the SDK does not pass on.
        flooded: Called with what was too much, in one answer or in all together.
        auth: Adds the token of a sign-in to each request.
    """
    import httpx2  # noqa: PLC0415 - comes with the SDK

    meter = FloodMeter()

    class Bounded(httpx2.AsyncHTTPTransport):
        """Counts the bytes of each answer as they arrive, and refuses compressed answers."""

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            """Send the request, and return its answer with a counted stream."""
            response = await super().handle_async_request(request)
            if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
                await response.aclose()
                raise httpx2.RemoteProtocolError("it compresses its answers, which was not asked for", request=request)
            if response.status_code >= 400:
                refused(response.status_code)
            events = response.headers.get("content-type", "").strip().lower().startswith(_EVENTS)
            response.stream = Counted(response.stream, events=events)
            return response

    class Counted(httpx2.AsyncByteStream):
        """An answer's body that raises an error once it is too large. It is one message, or a stream of `events`."""

        def __init__(self, stream: Any, *, events: bool) -> None:
            self._stream, self._events = stream, events

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                try:
                    meter.count_piece(len(piece), piece.count(b"\n\n") + piece.count(b"\r\n\r\n"))
                    if not self._events and size > LONGEST_MESSAGE:
                        meter.count_message(size)
                except Flood as flood:
                    flooded(str(flood))
                    raise httpx2.ReadError(str(flood)) from None
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    return client_for(
        url,
        httpx2.AsyncClient,
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(10, read=90),
        follow_redirects=False,
        auth=auth,
        transport=Bounded,
    )
