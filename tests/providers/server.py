"""A model provider on this machine: the wire formats of Anthropic and OpenAI over a brain of your choice.

In a test:

    async with ProviderServer(lambda request: Reply("Hello")) as server:
        model = ProviderModel(AnthropicMessages("x", server.url), tiers, provider="anthropic")

In a process of its own, as the benchmark needs it:

    python -m tests.providers.server --port 8123 --latency-ms 200 --script six

which also answers `GET /stats` and `POST /reset`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.providers.faults import Fault, error
from tests.providers.rendering import Reply, stream, whole
from tests.providers.wire import Api, WireRequest

Brain = Callable[[WireRequest], Reply | Fault | Awaitable[Reply | Fault]]
"""What answers. It may also give back a fault, and may be a coroutine function."""

Latency = Callable[[WireRequest], float]
"""Seconds that a request takes, at the least."""

_PATHS: dict[str, Api] = {
    "/v1/messages": "anthropic",
    "/v1/responses": "responses",
    "/v1/chat/completions": "chat",
}


@dataclass
class Stats:
    """What was asked so far. `at_once` is the most requests that were under way at the same time."""

    calls: int = 0
    prompt_tokens: int = 0
    at_once: int = 0


@dataclass
class ProviderServer:
    """Serves on loopback while used as a context manager.

    Args:
        brain: What answers.
        latency: Seconds per call, or a function that tells them from the request.
        port: 0 for a free one.
        keep: Whether to keep requests in `requests`.
        props: What it says of itself, as a llama.cpp does; without, it says nothing.
        ollama: Models that it lists as an Ollama does; without any it is no Ollama.
        serves: Models that it lists as compatible servers do; without any it lists none.
    """

    brain: Brain
    latency: float | Latency = 0.0
    port: int = 0
    keep: bool = True
    ollama: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    props: dict[str, Any] | None = None
    stats: Stats = field(default_factory=Stats)
    requests: list[WireRequest] = field(default_factory=list)
    _faults: deque[Fault] = field(default_factory=deque)
    _under_way: int = 0
    _never: asyncio.Event = field(default_factory=asyncio.Event)
    """What hanging calls wait for. Kept here: an event that only its waiter knows is garbage, and so is the waiter."""
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The address that Anthropic's SDK takes as `base_url`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        """The address that OpenAI's SDK takes as `base_url`."""
        return f"{self.url}/v1"

    def fail_next(self, *faults: Fault) -> None:
        """The next calls have these faults, one each, in this order."""
        self._faults.extend(faults)

    async def start(self) -> None:
        """Begin to serve. `port` is known afterwards."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        for path in _PATHS:
            app.router.add_post(path, self._answer)
        if self.props is not None:
            app.router.add_get("/props", self._get_props)
        if self.ollama:
            app.router.add_get("/api/tags", self._list_models)
        if self.serves:
            app.router.add_get("/v1/models", self._list_served)
        app.router.add_get("/stats", self._get_stats)
        app.router.add_post("/reset", self._reset)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop serving; requests that hang are dropped."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _list_models(self, _: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": name, "size": 1_000} for name in self.ollama]})

    async def _list_served(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.serves]})

    async def _get_props(self, _: web.Request) -> web.Response:
        return web.json_response(self.props)

    async def _answer(self, http: web.Request) -> web.StreamResponse:
        peer = {"peer": str(http.transport.get_extra_info("peername")) if http.transport else ""}
        request = WireRequest(_PATHS[http.path], json.loads(await http.read()), dict(http.headers) | peer)
        self.stats.calls += 1
        self.stats.prompt_tokens += request.prompt_tokens
        if self.keep:
            self.requests.append(request)
        self._under_way += 1
        self.stats.at_once = max(self.stats.at_once, self._under_way)
        try:
            seconds = self.latency(request) if callable(self.latency) else self.latency
            if seconds:
                await asyncio.sleep(seconds)
            fault = self._faults.popleft() if self._faults else None
            if fault is None or fault.in_stream:
                said = self.brain(request)
                reply = await said if isinstance(said, Awaitable) else said
                if isinstance(reply, Fault):
                    return await self._fail(http, request, reply)
                return await self._send(http, request, reply, fault)
            return await self._fail(http, request, fault)
        finally:
            self._under_way -= 1

    async def _send(
        self, http: web.Request, request: WireRequest, reply: Reply, fault: Fault | None
    ) -> web.StreamResponse:
        if not request.stream or isinstance(reply.raw, dict):  # as servers do that know no streams
            return web.Response(body=json.dumps(whole(request, reply)).encode(), content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(http)
        events: Iterator[bytes] = stream(request, reply)
        for number, event in enumerate(events):
            if fault is not None and number >= fault.after:
                await self._fail_in_stream(http, request, response, fault)
                return response
            await response.write(event)
            if reply.pause:
                await asyncio.sleep(reply.pause)
        await response.write_eof()
        return response

    async def _fail(self, http: web.Request, request: WireRequest, fault: Fault) -> web.StreamResponse:
        if fault.kind == "hang":
            await self._never.wait()
        if fault.kind == "reset":
            _drop(http)
            return web.Response()
        if fault.kind == "html":
            return web.Response(text="<html><body>Sign in to the proxy</body></html>", content_type="text/html")
        if fault.kind == "null":
            return web.Response(text="null", content_type="application/json")
        headers = {"retry-after": fault.retry_after} if fault.retry_after is not None else {}
        if isinstance(fault.body, str):
            return web.Response(text=fault.body, status=fault.status, headers=headers, content_type="text/html")
        status, body = error(fault.kind, request.api) if fault.body is None else (fault.status, fault.body)
        return web.json_response(body, status=status, headers=headers)

    async def _fail_in_stream(
        self, http: web.Request, request: WireRequest, response: web.StreamResponse, fault: Fault
    ) -> None:
        if fault.kind == "silence_in_stream":
            await self._never.wait()
        elif fault.kind == "pings_in_stream":
            while True:
                await response.write(b': still here\n\nevent: ping\ndata: {"type": "ping"}\n\n')
                await asyncio.sleep(0.02)
        elif fault.kind == "overloaded_in_stream":
            _, body = error("overloaded", request.api)
            await response.write(f"event: error\ndata: {json.dumps(body)}\n\n".encode())
            await response.write_eof()
        elif fault.kind == "broken_event":
            await response.write(b'event: content_block_delta\ndata: {"type": "content_blo\n\n')
            await response.write_eof()
        elif fault.kind == "not_utf8":
            await response.write(b'event: content_block_delta\ndata: {"type": "\xff\xfe"}\n\n')
            await response.write_eof()
        elif fault.after % 2:
            _drop(http)  # in the middle of the body, as a lost connection does
        else:
            await response.write_eof()  # as a proxy does that gave up

    async def _get_stats(self, _: web.Request) -> web.Response:
        return web.json_response(vars(self.stats))

    async def _reset(self, _: web.Request) -> web.Response:
        self.stats = Stats()
        self.requests.clear()
        return web.json_response(vars(self.stats))


def _drop(http: web.Request) -> None:
    if http.transport is not None:
        http.transport.abort()


async def _serve(server: ProviderServer) -> None:
    await server.start()
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> None:
    """Serve a script until interrupted. The first line printed is the port."""
    from tests.providers.scripts import SCRIPTS, make_slow_latency  # noqa: PLC0415 - scripts import the rehearsal model

    parser = argparse.ArgumentParser(prog="python -m tests.providers.server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0, help="what each call takes")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="six")
    parser.add_argument("--slow", default="", help="a word; calls whose task has it take longer")
    parser.add_argument("--slow-factor", type=float, default=5.0)
    options = parser.parse_args(arguments)
    seconds = options.latency_ms / 1000
    latency: float | Latency = (
        make_slow_latency(seconds, options.slow, options.slow_factor) if options.slow else seconds
    )
    server = ProviderServer(SCRIPTS[options.script], latency=latency, port=options.port, keep=False)
    try:
        asyncio.run(_serve(server))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
