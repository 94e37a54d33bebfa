"""A collector of OpenTelemetry on loopback: keeps what it is sent, and answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.specialists.local_web import serving


@dataclass
class Collector:
    """`answers` are the status codes of the next requests, 200 after them. `headers` are those of the last one."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    bodies: list[bytes] = field(default_factory=list)
    took: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def spans(self) -> list[Any]:
        """All spans that were taken, in the order in which they came."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        scopes = [scope for request in requests for one in request.resource_spans for scope in one.scope_spans]
        return [span for scope in scopes for span in scope.spans]


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def get_message_text(span: Any, name: str) -> str:
    """The text of a message among the attributes of a span."""
    [message] = json.loads(attributes(span)[name])
    return str(message["parts"][0]["content"])


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()

    async def take(request: web.Request) -> web.Response:
        status = collector.answers.pop(0) if collector.answers else 200
        collector.headers = {name.lower(): value for name, value in request.headers.items()}
        if status == 200:
            collector.bodies.append(await request.read())
            collector.took.set()
        return web.Response(status=status)

    async with serving(take) as site:
        collector.url = site.url("").rstrip("/")
        yield collector
