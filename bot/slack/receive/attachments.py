"""Downloads the files that people attached in Slack, with a size cap and a deadline. Only Slack gets the token."""

from __future__ import annotations

import asyncio
import math
import re
from urllib.parse import urljoin, urlsplit

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.message_reader import CANVAS_TYPE, parse_files
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from handoff.contracts import Attachment
from specialists.outbound.network_faults import describe_network_fault

MAX_FILE_BYTES = 32 * 1024 * 1024
DOWNLOAD_SECONDS = 60
SLACK_DOMAINS = ("slack.com", "slack-gov.com")
"""The domains from which Slack serves files: files.slack.com, and the subdomains of workspaces."""
_NO_TIMEOUT = aiohttp.ClientTimeout()
"""In place of the session's, which is for short calls: `DOWNLOAD_SECONDS` bounds a download as a whole."""
_CHUNK_BYTES = 64 * 1024
_MAX_REDIRECTS = 3
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
HTML_MEDIA_TYPE = "text/html"
_PAGE_TYPES = frozenset({HTML_MEDIA_TYPE, "application/xhtml+xml"})
_SIGN_IN_PATHS = frozenset({"", "signin", "sign-in", "login", "sso", "workspace-signin", "get-started"})
_SIGN_IN_PAGE = re.compile(
    rb"<title>[^<]*\b(?:sign|log)[ -]?in\b[^<]*slack|<title>[^<]*slack[^<]*\b(?:sign|log)[ -]?in\b"
    rb"|<form[^>]*(?:action=.[^\"'>]*/(?:signin|login|sso)\b|id=.signin)|data-qa=.(?:sign_?in|login)",
    re.IGNORECASE,
)


async def download_attachment(
    client: AsyncWebClient, calls: WebCalls, attachment: Attachment
) -> tuple[Attachment, bytes] | str:
    """Download an attached file.

    A file that came without an address (shared from another workspace, say) is looked up first.

    Args:
        client: made by `make_client`; its token opens the file.
        calls: makes the call of the look-up, within the budget of Slack calls.
        attachment: as it came with the message.

    Returns:
        The attachment, updated by the look-up, and its bytes; or a sentence that says why it failed and what to do.
    """
    if not attachment.url:
        lookup_outcome = await _look_up_file(client, calls, attachment)
        if isinstance(lookup_outcome, str):
            return lookup_outcome
        attachment = lookup_outcome
    name = attachment.name
    if attachment.size > MAX_FILE_BYTES:
        size = math.ceil(attachment.size / 1024 / 1024)
        return (
            f"{name} is too large ({size:,} MB); at most {MAX_FILE_BYTES // 1024 // 1024} MB are read. Attach "
            "less of it."
        )
    try:
        async with asyncio.timeout(DOWNLOAD_SECONDS):
            data = await _fetch_file(client, attachment)
    except TimeoutError:
        return f"{name} did not arrive within {DOWNLOAD_SECONDS} s. Attach it again, or less of it."
    except aiohttp.ClientError as error:
        if fault := describe_network_fault(error):
            return f"{name} could not be fetched from Slack: {fault}."
        return f"{name} could not be fetched from Slack ({type(error).__name__}). Attach it again."
    if isinstance(data, str):
        return data
    is_canvas = attachment.media_type == CANVAS_TYPE
    return attachment.model_copy(update={"media_type": HTML_MEDIA_TYPE}) if is_canvas else attachment, data


async def _look_up_file(client: AsyncWebClient, calls: WebCalls, attachment: Attachment) -> Attachment | str:
    """Look up a file that came only as an id (`file_access: check_file_info`). Returns a sentence if that fails."""
    try:
        data = await calls.make("files.info", lambda: client.files_info(file=attachment.file_id), may_repeat=True)
    except SlackRefused as error:
        return f"{attachment.name} could not be looked up in Slack: {error}. Attach the file itself."
    except NoReply:
        return f"{attachment.name} could not be looked up: Slack did not answer. Attach it again."
    files = parse_files([data.get("file")])
    if not files or not files[0].url:
        return (
            f"{attachment.name} has no address to fetch it from (a file kept outside Slack?). Attach the file itself."
        )
    return files[0]


async def _fetch_file(client: AsyncWebClient, attachment: Attachment) -> bytes | str:
    """Fetch the bytes of a file, following redirects within Slack. Returns a sentence if there is no file to read.

    Raises ClientError and TimeoutError.
    """
    if client.session is None:
        raise RuntimeError("the client was made without a session")
    headers = {"Authorization": f"Bearer {client.token}"}
    url = attachment.url
    for _ in range(_MAX_REDIRECTS + 1):
        if not is_slack_address(url, client.base_url):
            host = urlsplit(url).hostname or "an unreadable address"
            return (
                f"{attachment.name} is not kept by Slack ({host}), so it was not fetched: the bot's token goes to "
                "Slack alone. Attach the file itself."
            )
        async with client.session.get(url, headers=headers, allow_redirects=False, timeout=_NO_TIMEOUT) as response:
            if response.status not in _REDIRECT_STATUSES:
                return await _read_response(response, attachment, url)
            url = urljoin(url, response.headers.get("Location", ""))
    return f"{attachment.name} could not be fetched: Slack sent the request round in a circle. Attach it again."


def is_slack_address(url: str, base_url: str) -> bool:
    """Return True if an address is Slack's: one of its domains over https, or the server of the Web API itself."""
    try:
        parts, api = urlsplit(url), urlsplit(base_url)
        is_api_server = (parts.scheme, parts.hostname, parts.port) == (api.scheme, api.hostname, api.port)
        has_default_port = parts.port in (None, 443)
    except ValueError:
        return False
    if parts.username is not None or not parts.hostname:
        return False
    is_slack_host = any(parts.hostname == domain or parts.hostname.endswith(f".{domain}") for domain in SLACK_DOMAINS)
    return is_api_server or (parts.scheme == "https" and has_default_port and is_slack_host)


async def _read_response(response: aiohttp.ClientResponse, attachment: Attachment, url: str) -> bytes | str:
    """Return the bytes of a response, or a sentence if it has no usable file. `url` is the address after redirects."""
    if response.status != 200:
        return f"{attachment.name} could not be fetched from Slack (HTTP {response.status}). Attach it again."
    data = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
        data += chunk
        if len(data) > MAX_FILE_BYTES:
            return f"{attachment.name} is larger than {MAX_FILE_BYTES // 1024 // 1024} MB. Attach less of it."
    if response.content_type in _PAGE_TYPES and _is_login_page(attachment, url, bytes(data)):
        return f"{attachment.name} could not be fetched: Slack answered with a login page. The app needs files:read."
    return bytes(data)


def _is_login_page(attachment: Attachment, url: str, page: bytes) -> bool:
    """Return True if an HTML page is Slack's login page rather than the file.

    It is one if the address after redirects is a sign-in page, or if the file is neither a canvas nor HTML. For those,
    it is one if its size differs from the file's and its title or form is that of a sign-in page.
    """
    parts = urlsplit(url)
    if "redir=" in parts.query or parts.path.strip("/").partition("/")[0].casefold() in _SIGN_IN_PATHS:
        return True
    if attachment.media_type not in {*_PAGE_TYPES, CANVAS_TYPE} and not attachment.name.lower().endswith(
        (".html", ".htm")
    ):
        return True
    return len(page) != attachment.size and _SIGN_IN_PAGE.search(page) is not None
