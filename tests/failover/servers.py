"""A primary, two replicas and three Sentinels that can be parted; and a cluster of three primaries and replicas."""

import contextlib
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.store.embedded import find_server_program
from tests.failover.relay import Relays, relays
from tests.store.kit import ask, listens, until

HERE, THERE = "127.0.0.2", "127.0.0.3"
"""Where the two sides call from: the old primary with one Sentinel, and all the others."""
QUICK = {"info-period": 200, "ping-period": 100, "ask-period": 100, "publish-period": 200, "script-retry-delay": 100}
DOWN_AFTER = 700
"""Milliseconds of silence until a server counts as down."""


def can_part() -> bool:
    """Whether the loopback has an address for each side, as it has on Linux."""
    for address in (HERE, THERE):
        with socket.socket() as listener:
            try:
                listener.bind((address, 0))
            except OSError:
                return False
    return True


NEEDS_SIDES = pytest.mark.skipif(not can_part(), reason=f"the loopback of this system has no {HERE} and {THERE}")


_given_ports: set[int] = set()


def quiet_port() -> int:
    """A free port below those that the system gives to outgoing connections: these servers end and start again."""
    while True:
        port = secrets.randbelow(12_000) + 20_000
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            if port not in _given_ports:
                _given_ports.add(port)
                return port


@dataclass
class Node:
    """A server of a test. Others, and clients, reach it through `front`."""

    folder: Path
    side: str
    port: int = field(default_factory=quiet_port)
    front: int = field(default_factory=quiet_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self, *settings: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [str(find_server_program()), *settings, "--port", str(self.port), "--dir", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        process = self.process
        until(lambda: listens(self.port) or process.poll() is not None, "no server")
        assert process.poll() is None, (self.folder / "log").read_text()[-500:]

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def freeze(self) -> None:
        """Stop it in the middle of everything: it takes connections, and answers nobody."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)

    def ask(self, *words: str) -> bytes:
        """One command and the start of its reply; nothing where a Sentinel, at that moment, throws all clients out."""
        try:
            return ask(self.port, *words)
        except ConnectionResetError:
            return b""


class WatchedServers:
    """A primary and two replicas, watched by three Sentinels. The first of each can be parted from the others."""

    def __init__(self, folder: Path, ways: Relays) -> None:
        self._ways = ways
        self.servers = [Node(folder / f"server{n}", HERE if n == 0 else THERE) for n in range(3)]
        self.sentinels = [Node(folder / f"sentinel{n}", HERE if n == 0 else THERE) for n in range(3)]
        for node in (*self.servers, *self.sentinels):
            ways.before(node.front, node.port)

    def start(self) -> None:
        primary, *replicas = self.servers
        for node in self.servers:
            of = ("--replicaof", "127.0.0.1", str(primary.front)) if node in replicas else ()
            announced = ("--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(node.front))
            kept = ("--save", "", "--appendonly", "yes", "--repl-diskless-sync-delay", "0", "--repl-timeout", "10")
            node.start(*of, *announced, *kept, "--bind-source-addr", node.side)
        for node in replicas:
            until(lambda node=node: b"master_link_status:up" in node.ask("INFO", "replication"), "no link")  # type: ignore[misc]
        for node in self.sentinels:
            self._start_sentinel(node)
        for node in self.sentinels:
            until(lambda node=node: self._knows_all(node), "the Sentinels do not find each other")  # type: ignore[misc]

    def _start_sentinel(self, node: Node) -> None:
        settings = [
            f"bind-source-addr {node.side}",
            "sentinel announce-ip 127.0.0.1",
            f"sentinel announce-port {node.front}",
            f"sentinel monitor main 127.0.0.1 {self.servers[0].front} 2",
            f"sentinel down-after-milliseconds main {DOWN_AFTER}",
            "sentinel failover-timeout main 2000",
        ]
        node.folder.mkdir(parents=True)
        (node.folder / "sentinel.conf").write_text("\n".join(settings) + "\n")
        node.start(str(node.folder / "sentinel.conf"), "--sentinel")
        node.ask("SENTINEL", "DEBUG", *(str(part) for pair in QUICK.items() for part in pair))

    def _knows_all(self, node: Node) -> bool:
        said = node.ask("SENTINEL", "MASTER", "main").split(b"\r\n")
        told = dict(zip(said[2::4], said[4::4], strict=False))
        return (told.get(b"num-slaves"), told.get(b"num-other-sentinels")) == (b"2", b"2")

    def url(self, *sentinels: int, options: str = "") -> str:
        """The store's URL by way of some of the Sentinels."""
        places = ",".join(f"127.0.0.1:{self.sentinels[n].front}" for n in sentinels or (0, 1, 2))
        return f"redis+sentinel://{places}/main{options}"

    def part(self) -> None:
        """Part the primary and its Sentinel from the others. Clients still reach everything."""
        nodes = (*self.servers, *self.sentinels)
        self._ways.cut_ways({(node.front, THERE if node.side == HERE else HERE) for node in nodes})

    def silence(self) -> None:
        """Let nothing through to the primary any more, from anywhere."""
        self._ways.cut_ways({(self.servers[0].front, caller) for caller in (HERE, THERE, "127.0.0.1")})

    def heal(self) -> None:
        self._ways.heal()

    def primary_of(self, sentinel: int) -> int:
        """The front of the primary that a Sentinel names."""
        said = self.sentinels[sentinel].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
        return int(said.split(b"\r\n")[4])

    def has_new_primary(self) -> bool:
        return self.primary_of(1) == self.primary_of(2) != self.servers[0].front

    def is_whole(self) -> bool:
        """Whether the old primary follows the new one."""
        said = self.servers[0].ask("INFO", "replication")
        return b"role:slave" in said and b"master_link_status:up" in said

    def kill(self) -> None:
        for node in (*self.servers, *self.sentinels):
            node.kill()


@contextlib.contextmanager
def watched_servers(folder: Path) -> Iterator[WatchedServers]:
    """Servers and Sentinels that agree."""
    with relays() as ways:
        made = WatchedServers(folder, ways)
        try:
            made.start()
            yield made
        finally:
            made.kill()


class Cluster:
    """Three primaries, and a replica of each."""

    TIMEOUT = 1000
    """Milliseconds of silence until a node counts as down."""

    def __init__(self, folder: Path) -> None:
        self.nodes = [Node(folder / f"node{n}", HERE) for n in range(6)]

    def start(self) -> None:
        for node in self.nodes:
            self.start_node(node)
        first = self.nodes[0]
        for n, node in enumerate(self.nodes[:3]):
            node.ask("CLUSTER", "ADDSLOTSRANGE", str(n * 5462), str(min((n + 1) * 5462, 16384) - 1))
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", str(n + 1))
        for node in self.nodes[1:]:
            node.ask("CLUSTER", "MEET", "127.0.0.1", str(first.port), str(first.front))
        for node in self.nodes:
            until(lambda node=node: b"cluster_known_nodes:6" in node.ask("CLUSTER", "INFO"), "no meeting")  # type: ignore[misc]
        for primary, replica in zip(self.nodes[:3], self.nodes[3:], strict=True):
            name = primary.ask("CLUSTER", "MYID").split(b"\r\n")[1].decode()
            until(lambda r=replica, n=name: b"+OK" in r.ask("CLUSTER", "REPLICATE", n), "no such primary")  # type: ignore[misc]
        self.wait()

    def start_node(self, node: Node) -> None:
        """Start a node, or start it again with what it kept."""
        own = ("--cluster-enabled", "yes", "--cluster-port", str(node.front))
        kept = ("--save", "", "--appendonly", "yes", "--repl-diskless-sync-delay", "0")
        node.start(*own, *kept, "--cluster-node-timeout", str(self.TIMEOUT), "--bind", "127.0.0.1")

    def wait(self) -> None:
        """Until every node is up, every slot is served and every replica follows."""
        for node in self.nodes:
            until(lambda node=node: b"cluster_state:ok" in node.ask("CLUSTER", "INFO"), "not up")  # type: ignore[misc]
        for node in self.nodes:
            until(lambda node=node: self._is_settled(node), "no link")  # type: ignore[misc]

    def _is_settled(self, node: Node) -> bool:
        said = node.ask("INFO", "replication")
        return b"connected_slaves:1" in said if b"role:master" in said else b"master_link_status:up" in said

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def is_primary(self, node: Node) -> bool:
        return b"role:master" in node.ask("ROLE") or b"role:master" in node.ask("INFO", "replication")

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that is up."""
    made = Cluster(folder)
    with ExitStack() as stack:
        stack.callback(made.kill)
        made.start()
        yield made
