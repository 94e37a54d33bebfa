"""Socket Mode: up to ten WebSocket connections, each payload to one of them."""

import asyncio
import json
import secrets
from dataclasses import replace
from typing import Any

from aiohttp import WSMsgType, web

from bot.workspace.transport import Ack, PayloadKind, Retry

MAX_CONNECTIONS = 10
TICKET_SECONDS = 30.0


class SocketMode:
    """The app's connections and the payloads that wait for an acknowledgement.

    Without a connection, Slack counts an event as not delivered. Here the event
    waits for the next connection, so that nothing is lost if the app starts
    later. Clicks and commands fail at once.
    """

    def __init__(self, app_id: str, ack_seconds: float) -> None:
        self._app_id = app_id
        self._ack_seconds = ack_seconds
        self._tickets: dict[str, float] = {}
        self._sockets: dict[web.WebSocketResponse, set[str]] = {}
        self._pending: dict[str, asyncio.Future[Ack]] = {}
        self._connection_event = asyncio.Event()
        self._turn = 0

    @property
    def connection_count(self) -> int:
        """The number of open connections."""
        return len(self._sockets)

    def issue_ticket(self) -> str:
        """Return a ticket for one connection, valid for `TICKET_SECONDS`."""
        now = asyncio.get_running_loop().time()
        self._tickets = {ticket: until for ticket, until in self._tickets.items() if until > now}
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = now + TICKET_SECONDS
        return ticket

    async def serve_connection(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until it closes. A used or expired ticket gives 403."""
        until = self._tickets.pop(request.query.get("ticket", ""), 0.0)
        if until < asyncio.get_running_loop().time():
            return web.Response(status=403, text="This ticket is used up or too old: call apps.connections.open again.")
        socket = web.WebSocketResponse(max_msg_size=16 * 1024 * 1024)
        await socket.prepare(request)
        if self.connection_count >= MAX_CONNECTIONS:
            await socket.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await socket.close()
            return socket
        self._sockets[socket] = set()
        await socket.send_json(self._make_hello())
        self._connection_event.set()
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._receive_ack(message.data)
        finally:
            self._drop_connection(socket)
        return socket

    async def send(self, kind: PayloadKind, payload: dict[str, Any], retry: Retry | None = None) -> Ack:
        """Send a payload over the next connection, and wait for its `Ack`. A timeout gives an `Ack` with a failure."""
        if kind == "events_api" and not self._sockets:
            began = asyncio.get_running_loop().time()
            await self._connection_event.wait()
            wait_seconds = asyncio.get_running_loop().time() - began
            return replace(await self._send_envelope(kind, payload, retry), wait_seconds=wait_seconds)
        return await self._send_envelope(kind, payload, retry)

    async def _send_envelope(self, kind: PayloadKind, payload: dict[str, Any], retry: Retry | None) -> Ack:
        if not self._sockets:
            return Ack(ok=False, failure="not_connected")
        envelope_id = secrets.token_hex(16)
        socket = list(self._sockets)[self._turn % len(self._sockets)]
        self._turn += 1
        future: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        self._pending[envelope_id] = future
        self._sockets[socket].add(envelope_id)
        try:
            await socket.send_str(json.dumps(_make_envelope(kind, envelope_id, payload, retry)))
            async with asyncio.timeout(self._ack_seconds):  # `wait_for` of Python 3.11 may swallow a cancellation
                return await future
        except TimeoutError:
            return Ack(ok=False, failure="timeout")
        except ConnectionError:
            return Ack(ok=False, failure="connection_closed")
        finally:
            del self._pending[envelope_id]
            self._sockets.get(socket, set()).discard(envelope_id)

    async def request_reconnect(self) -> None:
        """Ask the app to replace every connection by a new one, as Slack does every few hours."""
        for socket in tuple(self._sockets):
            await socket.send_json({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})

    async def close(self) -> None:
        """Close every connection."""
        for socket in tuple(self._sockets):
            await socket.close()

    def _receive_ack(self, text: str) -> None:
        try:
            answer = json.loads(text)
        except ValueError:
            return  # Slack ignores what is not JSON
        future = self._pending.get(answer.get("envelope_id", "")) if isinstance(answer, dict) else None
        if future and not future.done():
            body = answer.get("payload")
            future.set_result(Ack(ok=True, body=body if isinstance(body, dict) else None))

    def _drop_connection(self, socket: web.WebSocketResponse) -> None:
        for envelope_id in self._sockets.pop(socket):
            future = self._pending.get(envelope_id)
            if future and not future.done():
                future.set_result(Ack(ok=False, failure="connection_closed"))
        if not self._sockets:
            self._connection_event.clear()

    def _make_hello(self) -> dict[str, Any]:
        return {
            "type": "hello",
            "num_connections": self.connection_count,
            "debug_info": {"host": "local", "build_number": 1, "approximate_connection_time": 18060},
            "connection_info": {"app_id": self._app_id},
        }


def _make_envelope(kind: PayloadKind, envelope_id: str, payload: dict[str, Any], retry: Retry | None) -> dict[str, Any]:
    envelope: dict[str, Any] = {
        "envelope_id": envelope_id,
        "type": kind,
        "payload": payload,
        "accepts_response_payload": kind != "events_api",
    }
    if kind == "events_api":
        envelope["retry_attempt"] = retry.attempt if retry else 0
        envelope["retry_reason"] = retry.reason if retry else ""
    return envelope
