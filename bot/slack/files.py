"""Brings what people attached from Slack, with a size cap and a deadline."""

from __future__ import annotations

import asyncio

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from handoff.contracts import Attachment

LARGEST = 32 * 1024 * 1024
SECONDS = 60
_CHUNK = 64 * 1024


async def download(client: AsyncWebClient, attachment: Attachment) -> bytes | str:
    """The bytes of a file, or a sentence that says why it cannot be had and what to do."""
    name = attachment.name
    if attachment.size > LARGEST:
        size = attachment.size / 1024 / 1024
        return (
            f"{name} is too large ({size:,.0f} MB); at most {LARGEST // 1024 // 1024} MB are read. Attach less of it."
        )
    if not attachment.url:
        return f"{name} has no address to fetch it from (a file kept outside Slack?). Attach the file itself."
    if client.session is None:
        raise RuntimeError("the client was made without a session")
    try:
        async with (
            asyncio.timeout(SECONDS),
            client.session.get(attachment.url, headers={"Authorization": f"Bearer {client.token}"}) as response,
        ):
            return await _read(response, attachment)
    except TimeoutError:
        return f"{name} did not arrive within {SECONDS} s. Attach it again, or less of it."
    except aiohttp.ClientError as error:
        return f"{name} could not be fetched from Slack ({type(error).__name__}). Attach it again."


async def _read(response: aiohttp.ClientResponse, attachment: Attachment) -> bytes | str:
    if response.status != 200:
        return f"{attachment.name} could not be fetched from Slack (HTTP {response.status}). Attach it again."
    page = response.content_type == "text/html" and not attachment.name.lower().endswith((".html", ".htm"))
    if page and attachment.media_type != "text/html":
        return f"{attachment.name} could not be fetched: Slack answered with a login page. The app needs files:read."
    data = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        data += chunk
        if len(data) > LARGEST:
            return f"{attachment.name} is larger than {LARGEST // 1024 // 1024} MB. Attach less of it."
    return bytes(data)
