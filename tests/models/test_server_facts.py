"""What servers say of their models, each in its way: if they see, what their context takes, and which there are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.models.server_facts import fetch_context_size, fetch_picture_support
from tests.models.conftest import connect_to


@asynccontextmanager
async def telling(path: str, payload: Any) -> AsyncIterator[str]:
    """The address of a server that says one thing, at one path."""

    async def say(_: web.Request) -> web.Response:
        return web.json_response(payload)

    app = web.Application()
    app.router.add_route("*", path, say)
    async with TestServer(app) as server:
        yield str(server.make_url("/")).rstrip("/")


SEES = [
    ("/props", {"modalities": {"vision": True}}, True),
    ("/props", {"modalities": {"vision": False}}, False),
    ("/v1/models", {"data": [{"id": "home", "architecture": {"input_modalities": ["text", "image"]}}]}, True),
    ("/v1/models", {"data": [{"id": "home", "architecture": {"input_modalities": ["text"]}}]}, False),
    ("/v1/models", {"data": [{"id": "home"}]}, None),
    ("/api/show", {"capabilities": ["completion", "vision"]}, True),
    ("/api/show", {"capabilities": ["completion"]}, False),
    ("/nothing", {}, None),
]
CONTEXTS = [
    ("/props", {"default_generation_settings": {"n_ctx": 8192}}, 8192),
    ("/v1/models", {"data": [{"id": "other", "max_model_len": 5}, {"id": "home", "max_model_len": 32_768}]}, 32_768),
    ("/v1/models", {"data": [{"id": "home", "meta": {"n_ctx": 4096}}]}, 4096),
    ("/api/ps", {"models": [{"name": "home", "context_length": 4096}]}, 4096),
    ("/props", {"default_generation_settings": "?"}, None),
    ("/v1/models", ["home"], None),
    ("/nothing", {}, None),
]


@pytest.mark.parametrize(
    ("ask", "path", "payload", "fact"),
    [(fetch_picture_support, *row) for row in SEES] + [(fetch_context_size, *row) for row in CONTEXTS],
)
async def test_servers_say_in_their_ways_what_their_models_can(ask: Any, path: str, payload: Any, fact: Any) -> None:
    async with telling(path, payload) as url:
        assert await ask(f"{url}/v1", "home", {}) == fact


MODEL = {"id": "m", "type": "model", "max_input_tokens": 200_000}


@pytest.mark.parametrize(
    ("payload", "sees", "context"),
    [
        (MODEL | {"capabilities": {"image_input": {"supported": True}}}, True, 200_000),
        (MODEL | {"capabilities": {"image_input": {"supported": False}}}, False, 200_000),
        ("?", None, None),
    ],
)
async def test_anthropic_says_what_its_models_can(payload: Any, sees: object, context: int | None) -> None:
    async with telling("/v1/models/claude-opus-5-5", payload) as url:
        model = connect_to("anthropic", url)
        assert (await model.sees_pictures("deep"), await model.fetch_context_size("deep")) == (sees, context)
        # It is not there.
        assert (await model.sees_pictures("fast"), await model.fetch_context_size("fast")) == (
            None,
            None,
        )
        await model.close()
