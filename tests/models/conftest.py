"""One provider of ours and the local server it talks to, for each wire format."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from bot.models.anthropic_messages import AnthropicMessages
from bot.models.openai_chat import OpenAIChat
from bot.models.openai_responses import OpenAIResponses
from bot.models.provider_model import ProviderModel
from bot.models.retrying import RetryPolicy
from handoff.contracts import Tier
from specialists.model import ModelCall, ModelMessage
from tests.providers.rendering import Reply
from tests.providers.server import Brain, ProviderServer
from tests.providers.wire import Api, WireRequest

CLAUDE: dict[Tier, str] = {"fast": "claude-haiku-5-5", "balanced": "claude-sonnet-5-5", "deep": "claude-opus-5-5"}
GPT: dict[Tier, str] = {"fast": "gpt-6-luna", "balanced": "gpt-6.1-terra", "deep": "gpt-6.1-sol"}
QUICK = RetryPolicy(first_pause=0.02, longest_pause=0.05)


HOME = "home-server"
"""The name of the provider that speaks chat completions here."""
Heard = tuple[list[str], Callable[[str], Awaitable[None]]]


@dataclass
class Pair:
    """A provider and its server."""

    api: Api
    model: ProviderModel
    server: ProviderServer


def ask(text: str = "Hello", **more: Any) -> ModelCall:
    """A call with one message."""
    more = {"purpose": "test", "system": "You are the analyst.", "deadline": 120.0, **more}
    return ModelCall(messages=(ModelMessage(role="user", text=text),), **more)


def connect(api: Api, server: ProviderServer, retries: RetryPolicy = QUICK, **options: Any) -> ProviderModel:
    """A provider for that server; the options are those of its wire."""
    if api == "anthropic":
        messages = AnthropicMessages("key", server.url, **options)
        return ProviderModel(messages, CLAUDE, provider="anthropic", retries=retries)
    if api == "responses":
        responses = OpenAIResponses("key", server.openai_url, **options)
        return ProviderModel(responses, GPT, provider="openai", retries=retries)
    return ProviderModel(OpenAIChat("key", server.openai_url, **options), GPT, provider=HOME, retries=retries)


@asynccontextmanager
async def paired(api: Api, brain: Brain, retries: RetryPolicy = QUICK, **options: Any) -> AsyncIterator[Pair]:
    """A provider and its server, for as long as the block lasts; the options are those of the wire."""
    async with ProviderServer(brain) as server:
        model = connect(api, server, retries, **options)
        try:
            yield Pair(api, model, server)
        finally:
            await model.close()


@pytest.fixture(params=["anthropic", "responses", "chat"])
def api(request: pytest.FixtureRequest) -> Api:
    api: Api = request.param
    return api


@pytest.fixture
async def pair(api: Api) -> AsyncIterator[Pair]:
    """A provider whose server says `Hello there, this is the answer.`."""
    async with paired(api, lambda _: Reply("Hello there, this is the answer.")) as both:
        yield both


@pytest.fixture
def heard() -> Heard:
    """A list, and a listener that puts what it hears there."""
    pieces: list[str] = []

    async def listen(piece: str) -> None:
        pieces.append(piece)

    return pieces, listen


def effort_of(request: WireRequest) -> Any:
    """How hard a call asks its model to think, in whichever field its wire has for it."""
    body = request.body
    if request.api == "anthropic":
        return (body.get("output_config") or {}).get("effort")
    return body.get("reasoning_effort") or (body.get("reasoning") or {}).get("effort")
