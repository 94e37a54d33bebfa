"""A server that keeps no connection and does not say so, as llama.cpp does after a stream; in a thread of its own."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import BinaryIO, Self

_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\n\r\n"
)


class ClosingServer:
    """Serves one connection at a time while used as a context manager.

    It reads every request and answers the first so many. `closed` is set each time that it has closed a connection, so
    that a test can hold its loop until then: what the loop sends next goes to a connection whose end it has not read.

    Args:
        closes: Whether a connection serves one request.
        answers: How many requests are answered.
    """

    def __init__(self, *, closes: bool = True, answers: int = 1_000) -> None:
        self.requests = 0
        self.connections = 0
        self.closed = threading.Event()
        self._closes = closes
        self._answers = answers
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as reader, contextlib.suppress(ConnectionError):
                served = False
                while not (served and self._closes) and _read(reader):
                    self.connections += not served
                    self.requests += 1
                    served = True
                    if self.requests > self._answers:
                        break
                    connection.sendall(_reply())
            self.closed.set()


def _read(reader: BinaryIO) -> bool:
    """Read a whole request; False if the connection ended before."""
    length = 0
    while line := reader.readline().strip().lower():
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return length > 0 and len(reader.read(length)) == length


def _reply() -> bytes:
    chunk = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}
    events = f"data: {json.dumps(chunk)}\n\n".encode(), b"data: [DONE]\n\n"
    return _HEAD + b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"
