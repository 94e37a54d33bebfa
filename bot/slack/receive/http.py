"""Serves HTTP mode: one path for events, clicks and commands, which refuses malformed requests early.

The same server also serves the bot's own pages to people's browsers.

Bolt alone answers some malformed requests with an exception or a 500, and logs the whole body of a badly signed one. So
the signature and the form are checked here first, and a body is never logged.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from bot.slack.receive.bolt_dispatch import dispatch
from bot.slack.receive.browser_page import PAGE_HEADERS, RenderQueryPage, render_html

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 4 * 1024 * 1024
SIGNATURE_SECONDS = 300
"""Seconds for which a signature holds."""
EVENTS_PATH = "/slack/events"
"""The path that Slack posts everything to."""
REDIRECT_PATH = "/slack/oauth_redirect"
"""The path to which Slack sends the browser of a person who installs the app."""


def make_web_app(
    app: AsyncApp, *, signing_secret: str, path: str = EVENTS_PATH, pages: Sequence[web.RouteDef] = ()
) -> web.Application:
    """Make an aiohttp application that passes Slack's signed requests to Bolt, and serves `pages`.

    It answers 401 to a request without a signature of the last five minutes, and 400 to a signed one that it cannot
    read. It answers 500 if a request could not be handled, so that Slack sends it again.
    """

    async def handle(request: web.Request) -> web.Response:
        body = await request.read()
        if not _is_signed(body, request.headers, signing_secret):
            log.warning("a request without a valid signature was turned away")
            return web.Response(status=401, text="not signed by Slack")
        text = _decode_body(body, request.content_type)
        if text is None:
            log.warning("a signed request that cannot be read was turned away (%s)", request.content_type)
            return web.Response(status=400, text="cannot be read")
        headers: dict[str, str | Sequence[str]] = dict(request.headers)

        def make_request() -> AsyncBoltRequest:
            return AsyncBoltRequest(body=text, query=request.query_string, headers=headers)

        return await to_aiohttp_response(await dispatch(app, make_request))

    server = web.Application(client_max_size=MAX_BODY_BYTES)
    server.router.add_post(path, handle)
    server.add_routes(pages)
    return server


def make_page_route(path: str, show: RenderQueryPage) -> web.RouteDef:
    """Return the route of one of the bot's pages. HEAD is not allowed: it would use up a page that works only once."""

    async def handle(request: web.Request) -> web.Response:
        page = await show(request.rel_url.raw_query_string)
        return web.Response(status=page.status, text=render_html(page), content_type="text/html", headers=PAGE_HEADERS)

    return web.get(path, handle, allow_head=False)


def _is_signed(body: bytes, headers: Mapping[str, str], secret: str) -> bool:
    """Return True if Slack signed these bytes in the last `SIGNATURE_SECONDS`. They need not be UTF-8."""
    stamp, signature = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if (
        not (stamp.isascii() and stamp.isdigit() and len(stamp) < 12)
        or abs(time.time() - int(stamp)) > SIGNATURE_SECONDS
    ):
        return False
    digest = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={digest}".encode(), signature.encode("utf-8", "surrogateescape"))


def _decode_body(body: bytes, content_type: str) -> str | None:
    """Return the body as text if it is JSON or a form such as Slack sends, otherwise None."""
    try:
        text = body.decode("utf-8")
        if content_type == "application/json":
            payload = json.loads(text)
            event = payload.get("event", {}) if isinstance(payload, Mapping) else None
            has_type = isinstance(event, Mapping) and (not event or isinstance(event.get("type"), str))
            return text if has_type and isinstance(payload.get("type"), str) else None
        form = parse_qs(text, keep_blank_values=True)
        if "payload" in form:
            payload = json.loads(form["payload"][0])
            return text if isinstance(payload, Mapping) and isinstance(payload.get("type"), str) else None
    except (ValueError, RecursionError):
        return None
    return text if "command" in form or "ssl_check" in form else None
