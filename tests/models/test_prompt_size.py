"""How large a call is: estimated, and corrected by what its server counts."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.models.anthropic_messages import AnthropicMessages
from bot.models.prompt_size import PromptSizes, prompt_tokens
from bot.models.provider_model import ProviderModel
from bot.models.server_facts import context_at
from tests.models.conftest import CLAUDE, ask, paired
from tests.providers.rendering import Reply

CALL = ask("Total by region? " * 40)


def test_an_estimate_is_corrected_by_what_was_counted() -> None:
    sizes = PromptSizes()
    plain = prompt_tokens(CALL)
    assert sizes.of(CALL, "qwen") == plain
    sizes.learn(CALL, "qwen", 2 * plain)
    assert sizes.of(CALL, "qwen") == 2 * plain
    assert sizes.of(CALL, "other") == plain
    for _ in range(20):
        sizes.learn(CALL, "qwen", plain)
    assert sizes.of(CALL, "qwen") == pytest.approx(plain, rel=0.01)


@pytest.mark.parametrize(("counted", "most"), [(0, 1), (10**9, 4)])
def test_what_is_no_count_moves_an_estimate_little(counted: int, most: int) -> None:
    sizes = PromptSizes()
    sizes.learn(CALL, "qwen", counted)
    assert sizes.of(CALL, "qwen") <= most * prompt_tokens(CALL)


async def test_a_provider_learns_from_each_reply() -> None:
    async with paired("chat", lambda _: Reply("Yes.")) as pair:
        await pair.model.reply(CALL)
        counted = pair.server.stats.prompt_tokens
        assert pair.model._sizes.of(CALL, "gpt-6.1-terra") == counted


SERVERS = [
    ("/props", {"default_generation_settings": {"n_ctx": 8192}}, 8192),
    ("/v1/models", {"data": [{"id": "other", "max_model_len": 5}, {"id": "home", "max_model_len": 32_768}]}, 32_768),
    ("/v1/models", {"data": [{"id": "home", "meta": {"n_ctx": 4096}}]}, 4096),
    ("/api/ps", {"models": [{"name": "home", "context_length": 4096}]}, 4096),
    ("/props", {"default_generation_settings": "?"}, None),
    ("/v1/models", ["home"], None),
    ("/nothing", {}, None),
]


@pytest.mark.parametrize(("path", "said", "context"), SERVERS)
async def test_servers_say_in_their_ways_what_a_context_takes(path: str, said: object, context: int | None) -> None:
    async def say(_: web.Request) -> web.Response:
        return web.json_response(said)

    app = web.Application()
    app.router.add_get(path, say)
    async with TestServer(app) as server:
        assert await context_at(str(server.make_url("/v1")), "home", {}) == context


@pytest.mark.parametrize(
    ("said", "context"), [({"id": "m", "type": "model", "max_input_tokens": 200_000}, 200_000), ("?", None)]
)
async def test_anthropic_says_what_its_models_take(said: object, context: int | None) -> None:
    async def say(_: web.Request) -> web.Response:
        return web.json_response(said)

    app = web.Application()
    app.router.add_get("/v1/models/claude-opus-5-5", say)
    async with TestServer(app) as server:
        model = ProviderModel(AnthropicMessages("key", str(server.make_url("/"))), CLAUDE, provider="anthropic")
        assert await model.context("deep") == context
        assert await model.context("fast") is None  # it is not there
        await model.close()
