"""Which model an environment gets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bot.models.anthropic import AnthropicModel
from bot.models.choosing import ModelSettingsError, choose_model, probe
from bot.models.openai_chat import OpenAIChatModel
from bot.models.openai_responses import OpenAIResponsesModel
from bot.models.rehearsal.rehearsal import RehearsalModel
from tests.models.conftest import QUICK, connect
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:9"}


@asynccontextmanager
async def ollama(body: Any) -> AsyncIterator[str]:
    """Something that answers `/api/tags` and `/v1/models` with that body. Gives its host and port."""

    async def tags(_: web.Request) -> web.Response:
        return web.json_response(body)

    app = web.Application()
    app.router.add_get("/api/tags", tags)
    app.router.add_get("/v1/models", tags)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


MODELS = {
    "models": [
        {"name": "qwen3:1.7b", "size": 1_400_000_000},
        {"name": "qwen3:8b", "size": 5_200_000_000},
        {"name": "mxbai-embed-large", "size": 9_000_000_000},
    ]
}


@pytest.mark.parametrize(
    ("env", "kind", "label"),
    [
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, AnthropicModel, "claude-sonnet-5-5 (Anthropic)"),
        ({"OPENAI_API_KEY": "k"}, OpenAIResponsesModel, "gpt-6.1-terra (OpenAI)"),
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://api.openai.com/v1"}, OpenAIResponsesModel, ""),
        (
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1", "LEADHAND_MODEL_BALANCED": "phi"},
            OpenAIChatModel,
            "phi (127.0.0.1:8080)",
        ),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "LEADHAND_MODEL": "openai"}, OpenAIResponsesModel, ""),
        ({"ANTHROPIC_API_KEY": "k", "LEADHAND_MODEL": " Rehearsal "}, RehearsalModel, "rehearsal (no language model)"),
        ({}, RehearsalModel, "rehearsal (no language model)"),
        ({"ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": ""}, RehearsalModel, "rehearsal (no language model)"),
    ],
)
async def test_the_first_that_is_there(env: dict[str, str], kind: type, label: str) -> None:
    model = await choose_model(NOWHERE | env)
    assert type(model) is kind
    assert model.label == label or not label
    await model.close()


async def test_an_ollama_on_loopback_comes_before_the_rehearsal() -> None:
    async with ollama(MODELS) as host:
        model = await choose_model({"OLLAMA_HOST": host})
        named = await choose_model({"OLLAMA_HOST": f"http://{host}", "LEADHAND_MODEL_FAST": "qwen3:1.7b"})
        keyed = await choose_model({"OLLAMA_HOST": host, "OPENAI_API_KEY": "k"})
    assert model.label == "qwen3:8b (Ollama)"
    assert dict(named.tiers) == {"fast": "qwen3:1.7b", "balanced": "qwen3:8b", "deep": "qwen3:8b"}
    assert isinstance(keyed, OpenAIResponsesModel)


async def test_a_compatible_server_is_asked_for_its_models() -> None:
    async with ollama({"data": [{"id": "bge-small"}, {"id": "llama-8b"}, {"id": "phi"}]}) as host:
        url = {"OPENAI_BASE_URL": f"http://{host}/v1"}
        listed = await choose_model(url)
        named = await choose_model(url | {"LEADHAND_MODEL_DEEP": "phi"})
    async with ollama({"data": [{"id": "gpt-6-luna"}]}) as host:
        gateway = await choose_model({"OPENAI_BASE_URL": f"http://{host}/v1", "OPENAI_API_KEY": "k"})
    assert isinstance(listed, OpenAIChatModel)
    assert set(listed.tiers.values()) == {"llama-8b"}
    assert dict(named.tiers) == {"fast": "llama-8b", "balanced": "llama-8b", "deep": "phi"}
    assert gateway.tiers["balanced"] == "gpt-6.1-terra"


@pytest.mark.parametrize("body", [{"models": []}, {"models": None}, [], None, {"models": [{"name": "nomic-embed"}]}])
async def test_an_ollama_without_a_chat_model_is_none(body: Any) -> None:
    async with ollama(body) as host:
        assert isinstance(await choose_model({"OLLAMA_HOST": host}), RehearsalModel)


async def test_an_ollama_elsewhere_is_never_asked() -> None:
    for host in ("192.0.2.1:11434", "ollama.example", "http://10.0.0.1", "::bad"):
        assert isinstance(await choose_model({"OLLAMA_HOST": host}), RehearsalModel)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"LEADHAND_MODEL": "gpt"}, "anthropic, openai, ollama, rehearsal"),
        ({"LEADHAND_MODEL": "anthropic"}, "ANTHROPIC_API_KEY"),
        ({"LEADHAND_MODEL": "openai", "ANTHROPIC_API_KEY": "k"}, "OPENAI_API_KEY"),
        ({"LEADHAND_MODEL": "ollama"}, "ollama serve"),
        ({"LEADHAND_REHEARSAL_PACE": "slow"}, "LEADHAND_REHEARSAL_PACE"),
    ],
)
async def test_a_wrong_setting_says_what_to_do(env: dict[str, str], words: str) -> None:
    with pytest.raises(ModelSettingsError, match=words):
        await choose_model(NOWHERE | env)


async def test_probing_makes_one_call_per_model_and_tells_faults() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("not_found") if request.model == "gpt-6.1-sol" else Reply("ready")

    async with ProviderServer(brain) as server:
        model = connect("responses", server, QUICK)
        faults = await probe(model)
        await model.close()
    assert faults["fast"] is None
    assert faults["balanced"] is None
    assert "404" in (faults["deep"] or "")
    assert server.stats.calls == 3
    assert await probe(RehearsalModel()) == {"fast": None, "balanced": None, "deep": None}
