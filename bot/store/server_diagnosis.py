"""Explains a server's errors and settings to people: one line for each, with what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis import exceptions
from redis.asyncio.sentinel import MasterNotFoundError

from bot.store.values import StoreError
from specialists.service_url import ENCODING_HINT

OLDEST_VERSION = (7, 0)
_NO_PRIMARY_CODES = re.compile(r"(?:^|[\s-])(?:READONLY|MASTERDOWN|NOREPLICAS|UNBLOCKED|LOADING)\b")
"""Error codes of a server that was demoted, is cut off from its replicas, or has just started. They may be inside other
errors, as scripts and pipelines wrap them."""
NO_PRIMARY_CHOSEN_TEXT = "is down and no other is chosen yet"
FULL_MEMORY_SHARE = 0.8
"""The share of `maxmemory` from which on no job should be claimed."""
FULL_MEMORY_PREFIX = "The Redis server's memory is"
"""The first words of the fault about nearly full memory, which is not a wrong setting."""


@dataclass(frozen=True, slots=True)
class ServerFault:
    """A fault of a server, with what to do. If it `is_fatal`, the bot must not start."""

    text: str
    is_fatal: bool = True


def is_not_primary_error(error: Exception) -> bool:
    """Return True if a server refused a call because it is no primary, or cannot act as one now.

    The call was not executed. By now the URL may lead to another server.
    """
    kinds = (exceptions.ReadOnlyError, exceptions.MasterDownError, exceptions.BusyLoadingError)
    return isinstance(error, kinds) or (
        isinstance(error, exceptions.ResponseError) and _NO_PRIMARY_CODES.search(str(error)) is not None
    )


def explain_error(error: Exception, address: str) -> StoreError:
    """Return a StoreError that explains an error to people. `address` is the server's address without password."""
    where = f"The Redis server at {address}"
    text = _extract_message(error)
    if isinstance(error, MasterNotFoundError):
        what = (
            "Most Sentinels must be up to choose one"
            if NO_PRIMARY_CHOSEN_TEXT in text
            else "Check the hosts and the name in REDIS_URL"
        )
        return StoreError(f"No Sentinel at {address} names a primary ({text}). {what}.")
    if isinstance(error, exceptions.AuthenticationError) or text.startswith(("NOAUTH", "WRONGPASS")):
        return StoreError(
            f"{where} refused the password. Put the right one in REDIS_URL, between the colon and the @. "
            f"In it, {ENCODING_HINT}."
        )
    if isinstance(error, exceptions.NoPermissionError):
        return StoreError(
            f"{where} does not allow this user enough ({text}). Grant it: ~lh:* &lh:* +@all -@dangerous +info."
        )
    if is_not_primary_error(error):
        return _explain_no_primary(error, text, where)
    if isinstance(error, exceptions.OutOfMemoryError):
        return StoreError(f"{where} is out of memory. Raise its `maxmemory`; nothing was lost, and work then goes on.")
    if isinstance(error, exceptions.MovedError):
        return StoreError(f"{where} is part of a cluster. Use redis+cluster:// in REDIS_URL.")
    return _explain_other_error(error, text, where)


def _extract_message(error: Exception) -> str:
    """Return the first line of an error, without the quoted arguments of a command, which may include a password."""
    text = str(error).split("\n", 1)[0]
    text = text.rpartition("of pipeline caused error: ")[2]
    return text.partition(", with args beginning with")[0]


def _explain_no_primary(error: Exception, text: str, where: str) -> StoreError:
    """Explain the error of a server that was demoted, is cut off or has just started. It may pass by itself."""
    if isinstance(error, exceptions.BusyLoadingError) or "LOADING" in text:
        return StoreError(f"{where} is still loading its data. Try again in a moment.")
    if "NOREPLICAS" in text:
        return StoreError(
            f"{where} has fewer replicas than its `min-replicas-to-write`, so it takes no writes. Bring them back."
        )
    return StoreError(
        f"{where} is a read-only replica. In a failover its new primary is found by itself; if this stays so, point "
        "REDIS_URL at the primary, or use redis+sentinel://."
    )


def _explain_other_error(error: Exception, text: str, where: str) -> StoreError:
    if text == "The previous master is now a slave":
        return StoreError(f"{where} has a new primary. Try again in a moment.")
    if isinstance(error, exceptions.ClusterDownError):
        return StoreError(f"{where} is a cluster that is down ({text}). Bring its missing nodes back.")
    if "unknown command 'SENTINEL'" in text:
        return StoreError(f"{where} is no Sentinel. Give the Sentinels' hosts in REDIS_URL, or use redis://.")
    if "DB index is out of range" in text:
        return StoreError(f"{where} has no database of that number. REDIS_URL ends with it; /0 is always there.")
    if text.startswith("MISCONF"):
        return StoreError(f"{where} cannot write to its disk. Free some space there; its log says more.")
    if isinstance(error, exceptions.RedisClusterException) and "not enabled" in text:
        return StoreError(f"{where} is no cluster. Use redis:// in REDIS_URL.")
    return _explain_connection(error, text, where)


def _explain_connection(error: Exception, text: str, where: str) -> StoreError:
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return StoreError(
            f"{where} shows a certificate that is not trusted ({_extract_certificate_reason(text)}). "
            f"Name its authority's file in REDIS_URL: ?ssl_ca_certs=/path/ca.pem."
        )
    if text.startswith("Connection closed by server"):
        return StoreError(f"{where} hangs up. If it speaks TLS, REDIS_URL starts with rediss://; its log says more.")
    if isinstance(error, exceptions.TimeoutError):
        return StoreError(f"{where} does not answer ({text}). Check that it runs and is not overloaded.")
    if isinstance(error, exceptions.ConnectionError | OSError | exceptions.RedisClusterException):
        return StoreError(f"{where} cannot be reached ({text}). Check that it runs and that REDIS_URL is right.")
    return StoreError(f"{where} refused a command: {text}")


def _extract_certificate_reason(text: str) -> str:
    """Return the reason of a failed certificate check, without the position in OpenSSL's source."""
    return text.partition("certificate verify failed: ")[2].partition(" (_ssl")[0] or text


def describe_server(info: Mapping[str, Any], save: str | None) -> str:
    """Describe a server in a few words from its INFO and `save` setting: program, version, persistence, eviction."""
    name = "Valkey" if info.get("valkey_version") else "Redis"
    version = info.get("valkey_version") or info.get("redis_version", "of an unknown version")
    if int(info.get("aof_enabled", 0)):
        persistence = "append-only file"
    else:
        persistence = {None: "persistence unknown", "": "nothing on disk"}.get(save, "snapshots only")
    return f"{name} {version}, {persistence}, {info.get('maxmemory_policy', 'noeviction')}"


def describe_full_memory(info: Mapping[str, Any]) -> str:
    """Return a warning if a server's memory is nearly full by its INFO, with what to do; otherwise ""."""
    limit, used_bytes = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if not limit or used_bytes < FULL_MEMORY_SHARE * limit:
        return ""
    return (
        f"{FULL_MEMORY_PREFIX} {100 * used_bytes // limit} % full, so I start no work. Raise its `maxmemory`: "
        "nothing is lost, and work then goes on."
    )


def list_faults(info: Mapping[str, Any], save: str | None) -> list[ServerFault]:
    """List the faults of one server, from its INFO and its `save` setting (None: unknown)."""
    faults = []
    version = str(info.get("redis_version", "0"))
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST_VERSION:
        faults.append(
            ServerFault(f"The server is Redis {version}, which is too old. Use Redis 7.0 or Valkey 7.2 at least.")
        )
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        faults.append(
            ServerFault(
                f"The server may throw jobs away ({policy}). Set `maxmemory-policy noeviction` in its configuration."
            )
        )
    if info.get("role") == "slave":
        faults.append(ServerFault("The server is a read-only replica. Point REDIS_URL at the primary."))
    if text := describe_full_memory(info):
        faults.append(ServerFault(text, is_fatal=False))
    if not int(info.get("aof_enabled", 0)) and save == "":
        text = "The server keeps nothing on disk: a restart loses all jobs. Set `appendonly yes`."
        faults.append(ServerFault(f"Warning: {text}", is_fatal=False))
    return faults


def describe_replicas(connected_replicas: int, required_replicas: int) -> str:
    """Describe a primary's replicas in a few words; "" if it has none and `required_replicas` is 0."""
    count = f"{connected_replicas} replica{'' if connected_replicas == 1 else 's'}"
    if required_replicas:
        return f"{count}, each write waits for {required_replicas}"
    return f"{count}, no write waits for {'it' if connected_replicas == 1 else 'them'}" if connected_replicas else ""


def list_replica_faults(
    infos: Sequence[Mapping[str, Any]], required_replicas: int, *, is_single_server: bool
) -> list[ServerFault]:
    """List the faults of the replicas, from the INFO of each primary.

    `is_single_server` is True for a URL of one server.
    """
    least = min((int(info.get("connected_slaves", 0)) for info in infos), default=0)
    if required_replicas > least:
        shortage = (
            "has no replica" if not least else f"has {least} of the {required_replicas} replicas that were asked for"
        )
        text = f"A primary {shortage}, so its writes do not count. Bring them back, or end REDIS_URL with ?replicas=0."
        return [ServerFault(text, is_fatal=False)]
    if not is_single_server and not least:
        text = "A primary has no replica: if it is lost, so are its jobs. Give it one; writes then wait for it."
        return [ServerFault(f"Warning: {text}", is_fatal=False)]
    return []
