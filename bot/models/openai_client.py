"""The client of OpenAI's SDK, for both of OpenAI's wire formats."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.models.wire import ProviderConnection
from specialists.outbound.clients import make_client

if TYPE_CHECKING:
    import httpx2
    import openai

OPENAI_HOST = "api.openai.com"
_KEEPALIVE_SECONDS = 1e-6
"""Seconds after which an idle connection is closed: nearly 0, as 0 itself would keep it until the next call."""


def make_connection(api_key: str, base_url: str | None, *, keeps_connections: bool = True) -> ProviderConnection:
    """Import the SDK and make a client without retries of its own. The first call blocks for 1.5 s.

    Without `keeps_connections`, a connection serves one call. Some servers close connections that they promised to keep
    (llama.cpp after each stream), and then nobody knows whether the server has read the next call.
    """
    import openai  # noqa: PLC0415 - 1.5 s and 60 MB, only for those who use it

    default_limits = openai.DEFAULT_CONNECTION_LIMITS
    limits = (
        default_limits
        if keeps_connections
        else type(default_limits)(max_connections=default_limits.max_connections, keepalive_expiry=_KEEPALIVE_SECONDS)
    )
    # The SDK's transport over aiohttp takes half the CPU time of its default one, and aiohttp is here anyway.
    client = openai.AsyncOpenAI(
        api_key=api_key,
        base_url=base_url,
        max_retries=0,
        timeout=openai.Timeout(None, connect=5.0),  # `read_events` times silence, as pings reset a read timeout
        http_client=make_client(base_url or f"https://{OPENAI_HOST}", openai.DefaultAioHttpClient, limits=limits),
    )
    _ = (client.responses, client.chat.completions)  # loads their types now, not in the first call
    return ProviderConnection(openai, client)


def is_unencrypted_url(base_url: str | None) -> bool:
    """Return True for an http:// address: a new connection to it costs little, so it need not be kept."""
    return base_url is not None and urlsplit(base_url).scheme == "http"


def is_openai_url(base_url: str | None) -> bool:
    """Return True for OpenAI's own address, or for None, which stands for it."""
    return base_url is None or urlsplit(base_url).hostname == OPENAI_HOST


@asynccontextmanager
async def post_request(
    client: openai.AsyncOpenAI, path: str, request: dict[str, Any]
) -> AsyncIterator[httpx2.Response]:
    """Post a request to a path below the client's address, and yield the response before its body is read.

    The SDK's typed methods are not used: they convert every field of request and reply, which doubles the CPU time of
    a call. The wire formats check replies themselves.
    """
    import httpx2  # noqa: PLC0415 - the SDK has imported it

    # The full URL: with a path alone, the SDK joins it with the base URL, which takes a third of its work.
    response = await client.post(f"{client.base_url}{path}", body=request, cast_to=httpx2.Response, stream=True)
    try:
        yield response
    finally:
        await response.aclose()
