"""Hands payloads from Slack to Bolt, so that each gets an answer, even if Bolt cannot read it.

Bolt reads some fields before our code runs, and may raise any error for a malformed one. Of a payload that cannot be
handled, only its type and the type of the error are logged, because the rest may be people's words.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.adapter.socket_mode.internals import build_headers
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.logs import describe_error
from bot.store.values import PayloadTooLarge
from specialists.outbound.clients import open_session

log = logging.getLogger(__name__)

OK, BAD_REQUEST, SEND_AGAIN = 200, 400, 500
_PAYLOAD_FAULTS = (PayloadTooLarge, AttributeError, TypeError, LookupError, ValueError, RecursionError)
"""Errors that Bolt or our code raises, at each delivery, for a payload that is too large or malformed."""


async def dispatch(app: AsyncApp, make_request: Callable[[], AsyncBoltRequest]) -> BoltResponse:
    """Have Bolt handle a request, and return the response.

    Its status is 500 if handling failed, so that Slack sends the request again, or 400 if the request is malformed.
    """
    try:
        return await app.async_dispatch(make_request())
    except Exception as error:  # noqa: BLE001 - not hidden: it is logged, and the answer says so
        return make_error_response(error, None)


def make_error_response(error: Exception, body: Any) -> BoltResponse:
    """Return the response to a payload whose handling raised an error. The error is logged, but never the body.

    The status is 500, so that Slack sends the payload again, or 400 if the payload itself is at fault.
    """
    passing = not isinstance(error, _PAYLOAD_FAULTS)
    kind = body.get("type") if isinstance(body, dict) else None
    log.error("a %s payload was not handled: %s", kind if isinstance(kind, str) else "broken", describe_error(error))
    return BoltResponse(status=SEND_AGAIN if passing else BAD_REQUEST, body="")


class AcknowledgingSocketMode(AsyncSocketModeHandler):
    """Bolt's Socket Mode, which also answers a payload that cannot be read: otherwise Slack would send it again."""

    def __init__(self, app: AsyncApp, app_token: str, *, logger: logging.Logger) -> None:
        super().__init__(app, app_token, logger=logger)
        self.client.aiohttp_client_session.detach()  # the SDK's own session, which has connected to nobody yet
        self.client.aiohttp_client_session = open_session()

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]
        """Handle a payload, and acknowledge it unless its handling failed: then Slack sends it again."""
        began = time.time()

        def make_request() -> AsyncBoltRequest:
            return AsyncBoltRequest(mode="socket_mode", body=req.payload, headers=build_headers(req))

        response = await dispatch(self.app, make_request)
        if response.status not in {OK, SEND_AGAIN}:
            response = BoltResponse(status=OK, body="")
        await send_async_response(client, req, response, began)
