"""A name that moves from one server to another, as DNS, a Kubernetes Service or a TCP proxy does in a failover."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.failover.servers import Node
from tests.store.kit import until

NAME = "redis.leadhand.test"
SERVER_OPTIONS = ("--save", "", "--appendonly", "yes", "--repl-diskless-sync-delay", "0")


class Name(Protocol):
    """What a store's URL names. Connections that are open stay open when it moves, unless it `must_cut` them."""

    @property
    def place(self) -> str:
        """The `host:port` of the URL."""

    def move(self, node: Node, *, must_cut: bool = False) -> None:
        """Let new connections reach that server."""


class Forwarder:
    """A TCP proxy on a port of the loopback, in a thread of its own: a test may block, or freeze a server."""

    def __init__(self, node: Node) -> None:
        self._target = node.port
        self._loop = asyncio.new_event_loop()
        self._links: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._do(self._listen())
        self.place = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def move(self, node: Node, *, must_cut: bool = False) -> None:
        """Let new connections reach that server."""
        self._do(self._move(node.port, must_cut=must_cut))

    def close(self) -> None:
        self._do(self._move(0, must_cut=True))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _move(self, port: int, *, must_cut: bool) -> None:
        self._target = port
        if must_cut:
            links = list(self._links)
            for link in links:
                link.cancel()
            await asyncio.gather(*links, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            there, onward = await asyncio.open_connection("127.0.0.1", self._target)
            ways = [asyncio.ensure_future(_pump(*way)) for way in ((reader, onward), (there, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                onward.close()
        writer.close()
        self._links.discard(link)


async def _pump(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        to.write(data)
        await to.drain()


class Record:
    """A name of DNS, which this process alone resolves."""

    def __init__(self, node: Node, patch: pytest.MonkeyPatch) -> None:
        self._port = node.port
        self.place = f"{NAME}:6379"
        resolve = socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
            if host not in {NAME, NAME.encode()}:
                return resolve(host, *args, **options)
            return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", self._port))]

        patch.setattr(socket, "getaddrinfo", getaddrinfo)

    def move(self, node: Node, *, must_cut: bool = False) -> None:
        """Let new connections reach that server. DNS cuts nothing."""
        assert not must_cut
        self._port = node.port


@contextlib.contextmanager
def forwarder(node: Node) -> Iterator[Forwarder]:
    made = Forwarder(node)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def record(node: Node) -> Iterator[Record]:
    with pytest.MonkeyPatch.context() as patch:
        yield Record(node, patch)


NAMES: dict[str, Callable[[Node], contextlib.AbstractContextManager[Name]]] = {"proxy": forwarder, "dns": record}


@contextlib.contextmanager
def replicated_servers(folder: Path, replicas: int = 1) -> Iterator[list[Node]]:
    """A primary and servers that follow it, all on the loopback."""
    nodes = [Node(folder / f"server{n}", "127.0.0.1") for n in range(1 + replicas)]
    try:
        nodes[0].start(*SERVER_OPTIONS)
        for node in nodes[1:]:
            node.start(*SERVER_OPTIONS, "--replicaof", "127.0.0.1", str(nodes[0].port))
        for node in nodes[1:]:
            until(lambda node=node: follows(node), "no link")  # type: ignore[misc]
        yield nodes
    finally:
        for node in nodes:
            node.resume()
            node.kill()


def follows(node: Node) -> bool:
    """Whether a server is a replica that has its primary's data."""
    return b"master_link_status:up" in node.ask("INFO", "replication")


def is_primary(node: Node) -> bool:
    return b"role:master" in node.ask("INFO", "replication")


def furthest(nodes: list[Node]) -> Node:
    """The replica that has most of what the primary wrote, which is the one to promote."""

    def offset(node: Node) -> int:
        lines = node.ask("INFO", "replication").split(b"\r\n")
        return next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"slave_repl_offset:"))

    return max(nodes, key=offset)
