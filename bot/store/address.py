"""Parses the store's URL and makes the Redis client for it: for one server, a Cluster, or behind Sentinels."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import URL_QUERY_ARGUMENT_PARSERS, AbstractConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import TimeoutError as Silence

from bot.store.server_diagnosis import NO_PRIMARY_CHOSEN_TEXT
from bot.store.values import StoreError
from specialists.service_url import ENCODING_HINT, BadUrl, ServiceUrl, parse_service_url

RETRIES = 2
_MODES = ("", "+sentinel", "+cluster")
_SCHEMES = (*(f"{scheme}{mode}" for mode in _MODES for scheme in ("redis", "rediss")), "unix")
_OPTIONS = frozenset(
    {
        *("replicas", "db", "username", "password", "sentinel_username", "sentinel_password", "client_name"),
        *("socket_timeout", "socket_connect_timeout", "socket_keepalive", "health_check_interval", "max_connections"),
        *("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_cert_reqs"),
        *("ssl_check_hostname", "ssl_min_version", "ssl_ciphers"),
    }
)
_MASTER_NAME = re.compile(r"[\w.-]+")
_MAX_DATABASE_DIGITS = 10
MAX_REPLICAS = 9
MAX_CONCURRENT_COMMANDS = 32
"""Most commands that one store runs at a time."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A parsed URL. `display_name` is its form for people, without password.

    `mode` is `single`, `sentinel` or `cluster`, and `master` the primary's name at the Sentinels. `replicas` is how
    many replicas must have a durable write before it counts; None: one, if the server has any.
    """

    mode: str
    hosts: tuple[tuple[str, int], ...]
    options: dict[str, Any]
    master: str
    display_name: str
    replicas: int | None = None


def parse_url(url: str) -> ServerAddress:
    """Parse a store's URL. Raises StoreError for any other text, without quoting it."""
    try:
        parts = parse_service_url(url, _SCHEMES)
        scheme, _, mode = parts.scheme.partition("+")
        options = _parse_options(parts)
        replicas = _parse_replicas(options.pop("replicas", None))
        address = _parse_single_server(parts, options) if not mode else _parse_several_servers(parts, mode, options)
    except BadUrl as error:
        raise StoreError(f"REDIS_URL is not usable: {error}.") from None
    if scheme == "rediss" or mode:
        options["ssl"] = scheme == "rediss"
    display_name = f"{address.display_name} (TLS)" if scheme == "rediss" else address.display_name
    return replace(address, display_name=display_name, replicas=replicas)


def _parse_options(parts: ServiceUrl) -> dict[str, Any]:
    """Return the login and the options of a URL, as redis-py takes them. Raises BadUrl."""
    options: dict[str, Any] = {}
    for name, value in parts.options.items():
        if name not in _OPTIONS:
            raise BadUrl(f"an option after the ? is unknown; the options are {', '.join(sorted(_OPTIONS))}")
        try:
            options[name] = URL_QUERY_ARGUMENT_PARSERS.get(name, str)(value)
        except (TypeError, ValueError):
            raise BadUrl(f"the option {name} after the ? does not take this value") from None
    login = {"username": parts.user, "password": parts.password}
    return options | {name: value for name, value in login.items() if value}


def _parse_single_server(parts: ServiceUrl, options: dict[str, Any]) -> ServerAddress:
    if parts.scheme == "unix":
        if not parts.path.strip("/"):
            raise BadUrl("the path of the socket is missing: unix:///path/redis.sock")
        options["path"] = parts.path
        return ServerAddress("single", (), options, "", parts.path)
    if len(parts.hosts) > 1:
        raise BadUrl("it names several hosts, which only redis+sentinel:// and redis+cluster:// take")
    host, port = parts.host or "localhost", parts.port or 6379
    if parts.path.strip("/"):
        options.setdefault("db", _parse_database(parts.path.strip("/")))
    return ServerAddress("single", ((host, port),), options, "", f"{host}:{port}")


def _parse_several_servers(parts: ServiceUrl, mode: str, options: dict[str, Any]) -> ServerAddress:
    if not all(host for host, _ in parts.hosts):
        raise BadUrl("a host is missing")
    hosts = tuple((host, port or (26379 if mode == "sentinel" else 6379)) for host, port in parts.hosts)
    master, _, database = parts.path.strip("/").partition("/")
    display_name = ",".join(f"{host}:{port}" for host, port in hosts)
    if mode == "cluster":
        if master not in {"", "0"} or database:
            raise BadUrl("a cluster has no databases")
        return ServerAddress(mode, hosts, options, "", display_name)
    if not _MASTER_NAME.fullmatch(master):
        raise BadUrl("the primary's name is missing: redis+sentinel://host:port/NAME")
    if database:
        options.setdefault("db", _parse_database(database))
    return ServerAddress(mode, hosts, options, master, f"{display_name}/{master}")


def _parse_database(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < _MAX_DATABASE_DIGITS):
        raise BadUrl(f"after the last / comes the number of a database; {ENCODING_HINT}")
    return int(text)


def _parse_replicas(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) > MAX_REPLICAS:
        raise BadUrl(f"replicas is a number from 0 to {MAX_REPLICAS}")
    return int(text)


def make_client(address: ServerAddress, timeout: float) -> Redis | RedisCluster:
    """Make a client that gives up after `timeout` seconds of silence and sends a command three times at most.

    Except for a cluster, the caller must enforce the timeout, as redis-py would start a task for every command.

    There are two retries in place of redis-py's ten. They are safe only because every script that writes recognises a
    repeat by its operation id.

    Raises:
        StoreError: The URL names a TLS file that does not exist.
    """
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        if (path := address.options.get(name)) and not Path(path).is_file():
            raise StoreError(f"REDIS_URL names a file that is not there, or may not be read: {name}.")
    settings: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        # RESP 2: version 3 brings a handshake and push messages that nothing here uses.
        "protocol": 2,
        "retry": Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.2), RETRIES),
    }
    options = {**settings, **address.options}
    if address.mode != "cluster":
        options["socket_timeout"] = None
    if address.mode == "single":
        return _make_plain_client(address, options)
    if address.mode == "cluster":
        options.pop("db", None)
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        return RedisCluster(startup_nodes=nodes, max_connections=2 * MAX_CONCURRENT_COMMANDS, **options)
    return _make_sentinel_client(address, options)


def _make_sentinel_client(address: ServerAddress, options: dict[str, Any]) -> Redis:

    sentinel_options: dict[str, Any] = {"protocol": 2, "ssl": options["ssl"]}
    for name in ("username", "password"):
        if value := options.pop(f"sentinel_{name}", None):
            sentinel_options[name] = value
    sentinel_options |= {name: value for name, value in options.items() if name.startswith("ssl_")}
    # Sentinels do not get the server's password: they often have none, and refuse an unknown one.
    manager = Sentinels(list(address.hosts), sentinel_options, **options)
    master: Redis = manager.master_for(address.master, connection_pool_class=PrimaryPool)
    return master


def _make_plain_client(address: ServerAddress, options: dict[str, Any]) -> Redis:
    if "path" in options:
        options["unix_socket_path"] = options.pop("path")
    else:
        options["host"], options["port"] = address.hosts[0]
    return Redis(**options)


SENTINEL_SECONDS = 0.5
"""Seconds for a Sentinel to answer, so that a dead one does not use up the time of the call that needs the primary."""


class Sentinels(Sentinel):
    """Asks all Sentinels at once and trusts the answer with the newest configuration.

    redis-py takes the first answer. It may come from a Sentinel that a network partition has cut off together with the
    old primary, and then a client that reaches both sides would stay with the old primary.
    """

    def __init__(self, hosts: list[tuple[str, int]], sentinel_options: dict[str, Any], **options: Any) -> None:
        patience = {"socket_timeout": SENTINEL_SECONDS, "socket_connect_timeout": SENTINEL_SECONDS}
        sentinel_options = {**sentinel_options, **patience, "retry": Retry(NoBackoff(), 0)}
        super().__init__(hosts, sentinel_kwargs=sentinel_options, **options)  # type: ignore[no-untyped-call]
        self.replica_count = 0
        """The highest number of replicas, up or down, that any Sentinel has reported."""

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """Return the primary's host and port. Raises MasterNotFoundError, whose text says why there is none."""
        answers = await asyncio.gather(*(self._ask_sentinel(sentinel, service_name) for sentinel in self.sentinels))
        states = [answer for answer in answers if isinstance(answer, dict)]
        if not states:
            faults = [str(answer) for answer in answers if isinstance(answer, Exception)]
            raise MasterNotFoundError(f"none of them answers: {faults[0]}" if faults else f"no {service_name!r}")
        self.replica_count = max(self.replica_count, *(state["num-slaves"] for state in states))
        newest = max(state["config-epoch"] for state in states)
        for state in states:
            if state["config-epoch"] == newest and self.check_master_state(state, service_name):
                return state["ip"], state["port"]
        raise MasterNotFoundError(f"{service_name!r} {NO_PRIMARY_CHOSEN_TEXT}")

    async def _ask_sentinel(self, sentinel: Redis, name: str) -> dict[str, Any] | Exception | None:
        try:
            async with asyncio.timeout(2 * SENTINEL_SECONDS):
                primary_states: Any = await sentinel.sentinel_masters()
        except (Unreachable, Silence, TimeoutError) as error:
            return error
        state: dict[str, Any] | None = primary_states.get(name)
        return state


class PrimaryPool(SentinelConnectionPool):
    """A pool of connections to the primary. Once a new primary is known, connections to the former are not reused."""

    def is_to_former_primary(self, connection: AbstractConnection | None) -> bool:
        """Return True if a connection leads to another server than the known primary; False if either is unknown."""
        primary_address: tuple[str, int] | None = self.master_address
        if primary_address is None or connection is None:
            return False
        return (getattr(connection, "host", None), getattr(connection, "port", None)) != primary_address

    async def release(self, connection: AbstractConnection) -> None:
        """Return a connection to the pool. One to a former primary is closed, as its data may be out of date."""
        if self.is_to_former_primary(connection):
            connection.mark_for_reconnect()  # type: ignore[no-untyped-call]
        await super().release(connection)

    async def rediscover(self) -> None:
        """Ask the Sentinels for the primary again, because the known one may be cut off from the others."""
        await self.get_master_address()  # type: ignore[no-untyped-call]
