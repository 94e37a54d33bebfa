"""Proxies around the bot's boundaries: they change nothing, and name each passage."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from bot.models.chosen_model import ChosenModel
from bot.slack.send.outside_sender import OUTSIDE_KEY_PREFIX
from bot.slack.send.web_calls import make_client
from bot.store.redis.redis_store import Store
from handoff.contracts import Turn
from specialists.model import ModelCall
from specialists.tools.tool import Tool
from tests.crash.points import Passages

WRITES = {
    "jobs": frozenset(
        {"ingest", "signal", "claim", "beat", "release", "commit", "quarantine", "release_quarantined", "forget"}
    ),
    "outbox": frozenset(
        {"record_intent", "record_sending", "record_draft", "record_sent_message", "erase_forgotten_messages"}
    ),
    "blobs": frozenset({"put", "drop", "record_file_reads"}),
    "schedules": frozenset({"put", "compare_and_set", "fire"}),
    "settings": frozenset({"put"}),
    "audit": frozenset({"add_entry"}),
}
READS = {
    "jobs": frozenset(
        {"read_log", "read_inbox", "read_head", "read_heads", "read_statuses", "read_next_due", "read_forget_time"}
    )
    | frozenset({"read_heads_asked_by", "list_keys_asked_by", "count_jobs_asked_by", "list_keys_under_way"}),
    "outbox": frozenset({"read_messages", "read_forgotten_messages"}),
    "blobs": frozenset({"get", "measure_usage", "list_jobs_that_read"}),
    "schedules": frozenset({"read", "list_all", "list_due", "read_next_due"}),
    "settings": frozenset({"read_team"}),
    "audit": frozenset({"read"}),
}
"""The methods of a store's parts. Its own only read."""


class WatchedObject:
    """Something that has other things in place of some of its own, by their names."""

    def __init__(self, whole: Any, instead: Mapping[str, Any]) -> None:
        self._whole, self._instead = whole, instead

    def __getattr__(self, name: str) -> Any:
        return self._instead[name] if name in self._instead else getattr(self._whole, name)


def watch_part(name: str, part: Any, passages: Passages) -> WatchedObject:
    """A part of a store whose writes have names."""

    def watch(method: str) -> Callable[..., Awaitable[Any]]:
        call = getattr(part, method)

        @functools.wraps(call)
        async def watch_call(*args: Any, **options: Any) -> Any:
            what = describe_write(name, method, args)
            passages.at("before", *what)
            answer = await call(*args, **options)
            if method != "claim" or answer is not None:
                passages.at("after", *what)
            return answer

        return watch_call

    return WatchedObject(part, {method: watch(method) for method in WRITES[name]})


def describe_write(part: str, name: str, args: tuple[Any, ...]) -> list[str]:
    """Say what a call of a writing method is about, in words that do not depend on ids or timing."""
    if name == "commit":
        return [f"commit {_event(payload)}" for payload in args[3]]
    if name in {"ingest", "signal", "quarantine", "release_quarantined"}:
        return [f"{name} {_event(args[1])}"]
    if part == "outbox":
        return [f"outbox.{name} {_key(args[1])}"]
    return [name if part == "jobs" else f"{part}.{name}"]


def _event(payload: str) -> str:
    fields = json.loads(payload)
    about = _key(fields["key"]) if "key" in fields and fields["type"] == "Posted" else _part(fields)
    return f"{fields['type']} {about}".strip()


def _part(fields: dict[str, str]) -> str:
    """The subtask that an event is of, or that it is inside."""
    return fields.get("subtask", "") or fields.get("within", "")


def _key(key: str) -> str:
    """A message's key without the request's id; a file's without its digest, and a receipt's without its message.

    That of a message elsewhere is random.
    """
    if key.startswith(OUTSIDE_KEY_PREFIX):
        return "elsewhere"
    _, _, rest = key.partition(":")
    kind = rest.partition(":")[0]
    return kind if kind in {"file", "receipt"} else rest


def watch_model(model: ChosenModel, passages: Passages) -> ChosenModel:
    """A model whose calls have names."""

    async def reply(call: ModelCall) -> Turn:
        async with passages.around(f"model {call.purpose}"):
            return await model.reply(call)

    return cast("ChosenModel", WatchedObject(model, {"reply": reply}))


def watched_tools(tools: Mapping[str, Tool], passages: Passages) -> dict[str, Tool]:
    """Tools whose runs and look-ups have names."""

    def watch_tool_call(what: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(call)
        async def run(*args: Any) -> Any:
            async with passages.around(what):
                return await call(*args)

        return run

    return {
        name: replace(
            tool,
            run=watch_tool_call(f"tool {name}", tool.run),
            look_up=watch_tool_call(f"look-up {name}", tool.look_up) if tool.look_up else None,
        )
        for name, tool in tools.items()
    }


def watched_client(passages: Passages, token: str, base_url: str) -> AsyncWebClient:
    """The bot's client, each of whose HTTP requests has a name; Bolt's copies of it share its session."""
    client = make_client(token, base_url)
    plain = client.session
    if plain is None:
        raise AssertionError("the client was made without a session")
    client.session = aiohttp.ClientSession(timeout=plain.timeout, trace_configs=[_tracing(passages)])
    plain.detach()
    return client


def _tracing(passages: Passages) -> aiohttp.TraceConfig:
    trace = aiohttp.TraceConfig()

    async def note_start(
        _: aiohttp.ClientSession, __: SimpleNamespace, params: aiohttp.TraceRequestStartParams
    ) -> None:
        passages.at("before", request_name(str(params.url)))

    async def note_end(_: aiohttp.ClientSession, __: SimpleNamespace, got: aiohttp.TraceRequestEndParams) -> None:
        passages.at("after", request_name(str(got.url)))

    trace.on_request_start.append(note_start)
    trace.on_request_end.append(note_end)
    return trace


def request_name(url: str) -> str:
    """The Web API's method, or where else a request goes: an upload or a download."""
    parts = [part for part in urlsplit(url).path.split("/") if part]
    return parts[1] if parts[0] == "api" and len(parts) > 1 else parts[0]


@contextlib.contextmanager
def watched_slack(passages: Passages) -> Iterator[None]:
    """While this lasts, the bots that are wired here have watched clients, and their acknowledgements have names."""
    send = SocketModeClient.send_message

    async def watch_sending(self: SocketModeClient, message: str) -> None:
        async with passages.around("ack"):
            await send(self, message)

    with (
        patch("bot.slack.connection.make_client", functools.partial(watched_client, passages)),
        patch.object(SocketModeClient, "send_message", watch_sending),
    ):
        yield


@contextlib.asynccontextmanager
async def watched_store(store: Store, passages: Passages) -> AsyncIterator[Store]:
    """A watched store, closed at the end."""
    try:
        parts = {name: watch_part(name, getattr(store, name), passages) for name in WRITES}
        yield cast("Store", WatchedObject(store, parts))  # it has all methods, by way of __getattr__
    finally:
        await store.close()
