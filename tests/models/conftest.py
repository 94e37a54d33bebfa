"""One provider of ours and the local server it talks to, for each wire format, and limits before it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import LimitRules, Payer
from bot.models.anthropic_messages import AnthropicMessages
from bot.models.call_retrier import RetryPolicy
from bot.models.openai_chat import OpenAIChat
from bot.models.openai_responses import OpenAIResponses
from bot.models.provider_model import ProviderModel
from bot.store.redis.redis_store import Store
from handoff.contracts import Tier, Turn
from specialists.model import ModelCall, ModelError, ModelMessage
from specialists.tools.tool import ToolSpec
from tests.patience import eventually
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import Brain, Latency, ProviderServer
from tests.providers.wire import Api, WireRequest
from tests.store.kit import MovedClock, fresh_store

CLAUDE: dict[Tier, str] = {"fast": "claude-haiku-5-5", "balanced": "claude-sonnet-5-5", "deep": "claude-opus-5-5"}
GPT: dict[Tier, str] = {"fast": "gpt-6-luna", "balanced": "gpt-6.1-terra", "deep": "gpt-6.1-sol"}
QUICK = RetryPolicy(first_pause_seconds=0.02, max_pause_seconds=0.05)
HOME = "home-server"
"""The name of the provider that speaks chat completions here."""
LOOK_UP = ToolSpec("look_up", "Looks a city up.", {"type": "object", "properties": {"city": {"type": "string"}}})
TOOLS = (LOOK_UP,)
ANA = Payer("T1", "C1", "U1", "J1")
FINE = Reply("Fine.", tokens_out=40)
TextListener = tuple[list[str], Callable[[str], Awaitable[None]]]


@dataclass
class Pair:
    """A provider and its server."""

    api: Api
    model: ProviderModel
    server: ProviderServer

    def say(self, reply: Reply | Fault) -> None:
        """Have the server say this from now on."""
        self.server.brain = lambda _: reply


def ask(text: str = "Hello", **more: Any) -> ModelCall:
    """A call with one message."""
    more = {"purpose": "test", "system": "You are the analyst.", "timeout_seconds": 120.0, **more}
    return ModelCall(messages=(ModelMessage(role="user", text=text),), **more)


def connect_to(api: Api, url: str, retries: RetryPolicy = QUICK, **options: Any) -> ProviderModel:
    """A provider for the server at an address without a path; the options are those of its wire."""
    if api == "anthropic":
        return ProviderModel(
            AnthropicMessages("key", url, **options), CLAUDE, provider="anthropic", retry_policy=retries
        )
    if api == "responses":
        responses = OpenAIResponses("key", f"{url}/v1", **options)
        return ProviderModel(responses, GPT, provider="openai", retry_policy=retries)
    return ProviderModel(OpenAIChat("key", f"{url}/v1", **options), GPT, provider=HOME, retry_policy=retries)


def connect(api: Api, server: ProviderServer, retries: RetryPolicy = QUICK, **options: Any) -> ProviderModel:
    """A provider for that server."""
    return connect_to(api, server.url, retries, **options)


@asynccontextmanager
async def open_pair(
    api: Api, brain: Brain, retries: RetryPolicy = QUICK, *, latency: float | Latency = 0.0, **options: Any
) -> AsyncIterator[Pair]:
    """A provider and its server, for as long as the block lasts; the options are those of the wire."""
    async with ProviderServer(brain, latency=latency) as server:
        model = connect(api, server, retries, **options)
        try:
            yield Pair(api, model, server)
        finally:
            await model.close()


async def take_turns(api: Api, replies: Iterable[Reply], call: ModelCall | None = None, **options: Any) -> list[Turn]:
    """What one provider makes of these replies, one after the other."""
    turns = []
    async with open_pair(api, lambda _: Reply(), **options) as pair:
        for reply in replies:
            pair.say(reply)
            turns.append(await pair.model.reply(call or ask()))
    return turns


async def take_turn(api: Api, reply: Reply, call: ModelCall | None = None, **options: Any) -> Turn:
    """What a provider makes of a reply."""
    (turn,) = await take_turns(api, [reply], call, **options)
    return turn


async def catch_failures(
    api: Api, replies: Iterable[Reply | Fault], call: ModelCall | None = None, **options: Any
) -> list[ModelError]:
    """How calls fail whose server says the same each time that it is asked. Each reached it as often as it counts."""
    failures = []
    async with open_pair(api, lambda _: Reply(), **options) as pair:
        for reply in replies:
            pair.say(reply)
            before = pair.server.stats.calls
            with pytest.raises(ModelError) as caught:
                await pair.model.reply(call or ask())
            assert caught.value.usage.calls == pair.server.stats.calls - before
            failures.append(caught.value)
    return failures


async def catch_failure(api: Api, reply: Reply | Fault, call: ModelCall | None = None, **options: Any) -> ModelError:
    """How a call fails whose server says this each time that it is asked."""
    (failure,) = await catch_failures(api, [reply], call, **options)
    return failure


@dataclass
class ServerScript:
    """What the server says to each call, and what was counted."""

    words: Callable[[], Reply | Fault | Awaitable[Reply | Fault]]
    withheld_for: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def withheld(self, reason: str) -> None:
        self.withheld_for.append(reason)

    def note_wait(self, seconds: float) -> None:
        self.waits.append(seconds)


@dataclass
class Desk:
    """Two instances on one store, whose clock can be moved, with a provider behind each."""

    server: ProviderServer
    script: ServerScript
    store: Store
    clock: MovedClock
    made_limits: list[CallLimits] = field(default_factory=list)

    def limits(self, **rules: Any) -> CallLimits:
        model = connect("chat", self.server)
        self.made_limits.append(CallLimits(self.store.counters, model, LimitRules(**rules), self.store.clock))
        limits = self.made_limits[-1]
        limits.on_wait, limits.on_withheld = self.script.note_wait, self.script.withheld
        return limits

    async def close(self) -> None:
        for limits in self.made_limits:
            await limits.close()
            await limits._model.close()


async def wait_for_calls(desk: Desk, calls: int) -> None:
    """Wait until so many calls have reached the provider."""

    async def have_arrived() -> bool:
        return len(desk.server.requests) >= calls

    await eventually(have_arrived)


@pytest.fixture(params=["anthropic", "responses", "chat"])
def api(request: pytest.FixtureRequest) -> Api:
    api: Api = request.param
    return api


@pytest.fixture
async def pair(api: Api) -> AsyncIterator[Pair]:
    """A provider whose server says `Hello there, this is the answer.`."""
    async with open_pair(api, lambda _: Reply("Hello there, this is the answer.")) as both:
        yield both


@pytest.fixture
async def desk(server_url: str) -> AsyncIterator[Desk]:
    """Two instances on one empty store, and a provider that says that all is fine, until told otherwise."""
    said = ServerScript(lambda: FINE)
    store = await fresh_store(server_url)
    async with ProviderServer(lambda _: said.words()) as server:
        made = Desk(server, said, store, MovedClock(store))
        yield made
        await made.close()
    await store.close()


@pytest.fixture
def text_listener() -> TextListener:
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
