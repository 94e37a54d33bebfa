"""Servers that speak HTTP over a plain socket, each in a thread of its own: a test may hold its loop meanwhile."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from tests.models.chat_replies import event

Events = Iterable[dict[str, Any]]
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


@contextlib.contextmanager
def _serving(
    answer: Callable[[socket.socket, BinaryIO], None], tell_closed: Callable[[], None] = lambda: None
) -> Iterator[str]:
    """The address of a server that has one connection after the other answered, and then closes it."""

    def serve() -> None:
        while True:
            try:
                connection, _ = door.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as reader, contextlib.suppress(OSError):
                answer(connection, reader)
            tell_closed()

    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
        door.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def _read(reader: BinaryIO) -> bool:
    """Read a whole request; False if the connection ended before."""
    length = 0
    while line := reader.readline().strip().lower():
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return length > 0 and len(reader.read(length)) == length


def _line(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


@contextlib.contextmanager
def streaming(events: Callable[[], Events]) -> Iterator[str]:
    """The address of a server that answers each request with a stream of these events."""

    def answer(connection: socket.socket, reader: BinaryIO) -> None:
        _read(reader)
        connection.sendall(_HEAD + b"Connection: close\r\n\r\n")
        piece = bytearray()
        for one in events():
            piece += _line(one)
            if len(piece) > 100_000:
                connection.sendall(piece)
                piece.clear()
        connection.sendall(piece)

    with _serving(answer) as url:
        yield url


class ClosingServer:
    """A server that keeps no connection and does not say so, as llama.cpp does after a stream.

    It reads every request and answers the first so many. `close_event` is set each time that it closed a connection,
    so that a test can hold its loop until then: what the loop sends next goes to a connection whose end is unread.

    Args:
        closes: Whether a connection serves one request.
        answers: How many requests are answered.
    """

    def __init__(self, *, closes: bool = True, answers: int = 1_000) -> None:
        self.requests = 0
        self.connections = 0
        self.close_event = threading.Event()
        self._closes = closes
        self._answers = answers

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Its address."""
        with _serving(self._answer, self.close_event.set) as url:
            yield url

    def _answer(self, connection: socket.socket, reader: BinaryIO) -> None:
        served = False
        while not (served and self._closes) and _read(reader):
            self.connections += not served
            self.requests += 1
            served = True
            if self.requests > self._answers:
                return
            connection.sendall(_reply())


def _reply() -> bytes:
    events = _line(event({"role": "assistant", "content": "Hello."}, "stop")), b"data: [DONE]\n\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in events) + b"0\r\n\r\n"
    return _HEAD + b"Transfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\n\r\n" + body
