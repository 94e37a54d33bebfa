"""A store's URL, and the client it stands for: one server, Sentinel or Cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff

from bot.store.interface import StoreError

RETRIES = 2
SCHEMES = "redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://, redis+cluster://, rediss+cluster://"
MOST_REPLICAS = 9
CONNECTIONS = 32
"""How many commands one store has under way at a time."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A parsed URL. `shown` is what people may see: no password in it.

    `replicas` is how many must have a write before it counts; None: one, if there is any (see `Server`).
    """

    mode: str
    hosts: tuple[tuple[str, int], ...]
    options: dict[str, Any]
    master: str
    shown: str
    replicas: int | None = None


def parse(url: str) -> ServerAddress:
    """Take a store's URL apart. Raises StoreError, without a password in the text, if it is none."""
    try:
        scheme, mode = _scheme(url)
        address = _single(url) if mode == "single" else _several(url, scheme, mode)
        shown = f"{address.shown} (TLS)" if scheme == "rediss" else address.shown
        return replace(address, shown=shown, replicas=_replicas(address.options.pop("replicas", None)))
    except ValueError as error:
        raise StoreError(f"REDIS_URL is not usable ({error}). It starts with one of: {SCHEMES}.") from None


def _scheme(url: str) -> tuple[str, str]:
    scheme, _, mode = urlsplit(url).scheme.partition("+")
    if (scheme, mode) not in {
        *((scheme, mode) for scheme in ("redis", "rediss") for mode in ("", "sentinel", "cluster")),
        ("unix", ""),
    }:
        raise ValueError("unknown scheme")
    return scheme, mode or "single"


def _single(url: str) -> ServerAddress:
    options = dict(parse_url(url))
    if "path" in options:
        return ServerAddress("single", (), options, "", str(options["path"]))
    host, port = str(options.get("host", "localhost")), int(str(options.get("port", 6379)))
    return ServerAddress("single", ((host, port),), options, "", f"{host}:{port}")


def _several(url: str, scheme: str, mode: str) -> ServerAddress:
    parts = urlsplit(url)
    login, _, places = parts.netloc.rpartition("@")
    hosts = tuple(_host(place, 26379 if mode == "sentinel" else 6379) for place in places.split(","))
    master, _, database = parts.path.strip("/").partition("/")
    if mode == "sentinel" and not master:
        raise ValueError("the master's name is missing: redis+sentinel://host:port/NAME")
    if mode == "cluster" and master not in {"", "0"}:
        raise ValueError("a cluster has no databases")
    # redis-py reads the login and the query of a plain URL; hosts and path are ours.
    plain = urlunsplit((scheme, f"{login}@h" if login else "h", f"/{database}", parts.query, ""))
    options = {name: value for name, value in parse_url(plain).items() if name not in {"host", "connection_class"}}
    options["ssl"] = scheme == "rediss"
    shown = ",".join(f"{host}:{port}" for host, port in hosts) + (f"/{master}" if mode == "sentinel" else "")
    return ServerAddress(mode, hosts, options, master, shown)


def _replicas(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) > MOST_REPLICAS:
        raise ValueError(f"replicas is a number from 0 to {MOST_REPLICAS}")
    return int(text)


def _host(place: str, default: int) -> tuple[str, int]:
    parts = urlsplit(f"//{place}")
    if not parts.hostname:
        raise ValueError("a host is missing")
    return parts.hostname, parts.port or default


def client(address: ServerAddress, timeout: float) -> Redis | RedisCluster:
    """A client that gives up after `timeout` seconds of silence and sends a command three times at most.

    But for a cluster, the silence is for the caller to watch: redis-py makes a task of every command for that.

    redis-py's own default is ten retries. Two are safe only because every script that
    writes knows a repeat by its operation id.

    Raises:
        StoreError: The URL names a file of TLS that is not there.
    """
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        if (path := address.options.get(name)) and not Path(path).is_file():
            raise StoreError(f"REDIS_URL names a file that is not there: {name}={path}.")
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
        return _plain_client(address, options)
    if address.mode == "cluster":
        options.pop("db", None)
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        return RedisCluster(startup_nodes=nodes, max_connections=2 * CONNECTIONS, **options)
    return _primary_client(address, options)


def _primary_client(address: ServerAddress, options: dict[str, Any]) -> Redis:
    from bot.store.sentinels import Primary, Sentinels  # noqa: PLC0415 - only where the URL names Sentinels

    asking: dict[str, Any] = {"protocol": 2, "ssl": options["ssl"]}
    for name in ("username", "password"):
        if value := options.pop(f"sentinel_{name}", None):
            asking[name] = value
    asking |= {name: value for name, value in options.items() if name.startswith("ssl_")}
    # Passwords are not shared by default: a Sentinel often has none, and refuses one it does not know.
    manager = Sentinels(list(address.hosts), asking, **options)
    master: Redis = manager.master_for(address.master, connection_pool_class=Primary)
    return master


def _plain_client(address: ServerAddress, options: dict[str, Any]) -> Redis:
    kind = options.pop("connection_class", None)
    if "path" in options:
        options["unix_socket_path"] = options.pop("path")
    elif kind is not None:
        options["ssl"] = True
    elif address.hosts:
        options["host"], options["port"] = address.hosts[0]
    return Redis(**options)
