"""One provider of ours and the local server it talks to, for each wire format."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from bot.models.anthropic import AnthropicModel
from bot.models.calling import Limits
from bot.models.openai_chat import OpenAIChatModel
from bot.models.openai_responses import OpenAIResponsesModel
from handoff.contracts import Tier
from specialists.turns.model import ModelCall, ModelMessage
from tests.providers.rendering import Reply
from tests.providers.server import Brain, ProviderServer
from tests.providers.wire import Api

CLAUDE: dict[Tier, str] = {"fast": "claude-haiku-5-5", "balanced": "claude-sonnet-5-5", "deep": "claude-opus-5-5"}
GPT: dict[Tier, str] = {"fast": "gpt-6-luna", "balanced": "gpt-6.1-terra", "deep": "gpt-6.1-sol"}
QUICK = Limits(first_pause=0.02, longest_pause=0.05)


AnyModel = AnthropicModel | OpenAIResponsesModel | OpenAIChatModel
Heard = tuple[list[str], Callable[[str], Awaitable[None]]]


@dataclass
class Pair:
    """A provider and its server."""

    api: Api
    model: AnyModel
    server: ProviderServer


def ask(text: str = "Hello", **more: Any) -> ModelCall:
    """A call with one message."""
    more = {"purpose": "test", "system": "You are the analyst.", "deadline": 20.0, **more}
    return ModelCall(messages=(ModelMessage(role="user", text=text),), **more)


def connect(api: Api, server: ProviderServer, limits: Limits = QUICK) -> AnyModel:
    """A provider for that server."""
    if api == "anthropic":
        return AnthropicModel(CLAUDE, api_key="key", base_url=server.url, limits=limits)
    if api == "responses":
        return OpenAIResponsesModel(GPT, api_key="key", base_url=server.openai_url, limits=limits)
    return OpenAIChatModel(GPT, api_key="key", base_url=server.openai_url, limits=limits)


@asynccontextmanager
async def paired(api: Api, brain: Brain, limits: Limits = QUICK) -> AsyncIterator[Pair]:
    """A provider and its server, for as long as the block lasts."""
    async with ProviderServer(brain) as server:
        model = connect(api, server, limits)
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
