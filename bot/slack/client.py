"""The client for Slack's Web API, made in one place."""

from __future__ import annotations

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

CALL_SECONDS = 10.0
"""Seconds that one call may take in all."""
SLACK_API = "https://slack.com/api/"


def make_client(token: str, base_url: str = SLACK_API, *, call_timeout: float = CALL_SECONDS) -> AsyncWebClient:
    """Make a client with one session and no retries of its own: a repeated post could appear twice.

    To be called inside the running loop. Close with `close_client`.
    """
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=call_timeout))
    return AsyncWebClient(
        token=token, base_url=base_url, timeout=int(call_timeout) or 1, session=session, retry_handlers=[]
    )


async def close_client(client: AsyncWebClient) -> None:
    """Close the client's session."""
    if client.session is not None:
        await client.session.close()
