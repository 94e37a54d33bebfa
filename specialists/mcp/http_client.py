"""Makes the HTTP client for MCP servers at an address: it follows no redirects, and bounds the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from specialists.mcp.flood_meter import LONGEST_MESSAGE, FloodError, FloodMeter
from specialists.outbound.clients import make_client

if TYPE_CHECKING:
    import httpx2

_EVENT_STREAM_TYPE = "text/event-stream"


def make_http_client(
    url: str,
    headers: Mapping[str, str],
    on_refusal: Callable[[int], None],
    on_flood: Callable[[str], None],
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """Make a client for the server at `url`. It uses no passwords of this machine, such as those in `~/.netrc`.

    Args:
        url: The server's address.
        headers: The headers of each request.
        on_refusal: Called with the status of each error answer, which the SDK does not pass on.
        on_flood: Called with a text for people if one answer, or all together, bring too much.
        auth: Adds the token of a sign-in to each request.
    """
    import httpx2  # noqa: PLC0415 - comes with the SDK

    meter = FloodMeter()

    class BoundedTransport(httpx2.AsyncHTTPTransport):
        """Counts the bytes of each answer as they arrive, and refuses compressed answers."""

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            """Send the request, and return its answer with a counted stream."""
            response = await super().handle_async_request(request)
            if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
                await response.aclose()
                raise httpx2.RemoteProtocolError("it compresses its answers, which was not asked for", request=request)
            if response.status_code >= 400:
                on_refusal(response.status_code)
            events = response.headers.get("content-type", "").strip().lower().startswith(_EVENT_STREAM_TYPE)
            response.stream = CountedStream(response.stream, is_event_stream=events)
            return response

    class CountedStream(httpx2.AsyncByteStream):
        """An answer's body: one message, or a stream of `events`. Raises `httpx2.ReadError` once it is too large."""

        def __init__(self, stream: Any, *, is_event_stream: bool) -> None:
            self._stream, self._events = stream, is_event_stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                try:
                    meter.count_piece(len(piece), piece.count(b"\n\n") + piece.count(b"\r\n\r\n"))
                    if not self._events and size > LONGEST_MESSAGE:
                        meter.count_message(size)
                except FloodError as flood:
                    on_flood(str(flood))
                    raise httpx2.ReadError(str(flood)) from None
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    return make_client(
        url,
        httpx2.AsyncClient,
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(10, read=90),
        follow_redirects=False,
        auth=auth,
        transport=BoundedTransport,
    )
