"""Which model an environment gets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.models.anthropic_messages import AnthropicMessages
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.models.openai_chat import OpenAIChat
from bot.models.openai_responses import OpenAIResponses
from bot.models.rehearsal.rehearsal import RehearsalModel
from tests.models.test_server_facts import telling

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:9"}
ALL_TIERS = {f"LEADHAND_MODEL_{tier}": "phi" for tier in ("FAST", "BALANCED", "DEEP")}
WIRES = {"anthropic": AnthropicMessages, "openai": OpenAIResponses}
"""The wire of each provider that has one of its own; all others speak chat completions."""


@asynccontextmanager
async def ollama(body: Any, path: str = "/api/tags") -> AsyncIterator[str]:
    """Something that answers at a path with that body. Gives its host and port."""
    async with telling(path, body) as url:
        yield url.removeprefix("http://")


MODELS = {
    "models": [
        {"name": "qwen3:1.7b", "size": 1_400_000_000},
        {"name": "qwen3:8b", "size": 5_200_000_000},
        {"name": "mxbai-embed-large", "size": 9_000_000_000},
    ]
}


@pytest.mark.parametrize(
    ("env", "provider", "label"),
    [
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic", "claude-sonnet-5-5 (Anthropic)"),
        ({"OPENAI_API_KEY": "k"}, "openai", "gpt-6.1-terra (OpenAI)"),
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://api.openai.com/v1"}, "openai", "gpt-6.1-terra (OpenAI)"),
        (
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1", "LEADHAND_MODEL_BALANCED": "phi"},
            "127.0.0.1:8080",
            "phi (127.0.0.1:8080)",
        ),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "LEADHAND_MODEL": "openai"}, "openai", ""),
        ({"ANTHROPIC_API_KEY": "k", "LEADHAND_MODEL": " Rehearsal "}, "rehearsal", "rehearsal (no language model)"),
        ({}, "rehearsal", "rehearsal (no language model)"),
        ({"ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": ""}, "rehearsal", "rehearsal (no language model)"),
    ],
)
async def test_the_first_that_is_there(env: dict[str, str], provider: str, label: str) -> None:
    model = await choose_model(NOWHERE | env)
    assert model.provider == provider
    assert model.label == label or not label
    assert isinstance(model, RehearsalModel) or type(model.wire) is WIRES.get(provider, OpenAIChat)
    await model.close()


async def test_a_server_is_named_by_its_host_and_never_by_a_password_in_its_address() -> None:
    env = {"OPENAI_BASE_URL": "http://ana:s3cret@Gateway.example:8080/v1", "OPENAI_API_KEY": "k", **ALL_TIERS}
    model = await choose_model(env)
    assert model.provider == "gateway.example:8080"
    assert model.label == "phi (gateway.example:8080)"
    await model.close()


async def test_an_ollama_on_loopback_comes_before_the_rehearsal() -> None:
    async with ollama(MODELS) as host:
        model = await choose_model({"OLLAMA_HOST": host})
        named = await choose_model({"OLLAMA_HOST": f"http://{host}", "LEADHAND_MODEL_FAST": "qwen3:1.7b"})
        keyed = await choose_model({"OLLAMA_HOST": host, "OPENAI_API_KEY": "k"})
    assert model.label == "qwen3:8b (Ollama)"
    assert (model.provider, named.provider, keyed.provider) == ("ollama", "ollama", "openai")
    assert dict(named.tiers) == {"fast": "qwen3:1.7b", "balanced": "qwen3:8b", "deep": "qwen3:8b"}


async def test_a_compatible_server_is_asked_for_its_models() -> None:
    async with ollama({"data": [{"id": "bge-small"}, {"id": "llama-8b"}, {"id": "phi"}]}, "/v1/models") as host:
        url, host_of_listed = {"OPENAI_BASE_URL": f"http://{host}/v1"}, host
        listed = await choose_model(url)
        named = await choose_model(url | {"LEADHAND_MODEL_DEEP": "phi"})
    async with ollama({"data": [{"id": "gpt-6-luna"}]}, "/v1/models") as host:
        gateway = await choose_model({"OPENAI_BASE_URL": f"http://{host}/v1", "OPENAI_API_KEY": "k"})
    assert listed.provider == host_of_listed
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
        ({"ANTHROPIC_API_KEY": "k", "LEADHAND_SILENCE": "0"}, "LEADHAND_SILENCE is '0'; it takes seconds, from 1"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "LEADHAND_TOOL_CALLS": "json"}, "auto, native, schema"),
    ],
)
async def test_a_wrong_setting_says_what_to_do(env: dict[str, str], words: str) -> None:
    with pytest.raises(ModelSettingsError, match=words):
        await choose_model(NOWHERE | env)
