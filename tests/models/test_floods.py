"""Replies without measure: thousands of calls, words without end. The loop goes on, and so do deadlines."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import pytest

from bot.models.openai_chat import OpenAIChat
from bot.models.provider_model import ProviderModel
from bot.models.reply_cleaning import ThinkTagStripper
from bot.models.wire import MAX_TOOL_CALLS, ProviderConnection
from specialists.model import ModelError
from tests.models.chat_replies import event as chat_event
from tests.models.conftest import GPT, QUICK, ask, connect_to
from tests.models.raw_servers import Events, streaming
from tests.providers.wire import Api

MANY = 10_000
MAX_HOLD_SECONDS = 0.1
"""Seconds of processor time that the loop may be held in one go."""
USAGE = {"input_tokens": 5, "output_tokens": 5}


def chat_call(number: int) -> dict[str, Any]:
    return {"index": number, "id": f"c{number}", "function": {"name": "look", "arguments": "{}"}}


def chat_calls(count: int) -> Iterator[dict[str, Any]]:
    yield from (chat_event({"tool_calls": [chat_call(number)]}) for number in range(count))
    yield chat_event({}, "tool_calls")


def chat_calls_at_once(count: int) -> Iterator[dict[str, Any]]:
    yield chat_event({"tool_calls": [chat_call(number) for number in range(count)]}, "tool_calls")


def anthropic_calls(count: int) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {"usage": USAGE}}
    for number in range(count):
        block = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
        yield {"type": "content_block_start", "index": number, "content_block": block}
        yield {
            "type": "content_block_delta",
            "index": number,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        }
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": USAGE}
    yield {"type": "message_stop"}


def responses_item(number: int) -> dict[str, Any]:
    return {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": "look", "arguments": "{}"}


def responses_calls(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"type": "response.output_item.added", "item": responses_item(number)}
    yield from responses_calls_at_once(count)


def responses_calls_at_once(count: int) -> Iterator[dict[str, Any]]:
    response = {"status": "completed", "output": [responses_item(number) for number in range(count)], "usage": USAGE}
    yield {"type": "response.completed", "response": response}


FLOODS: dict[str, tuple[Api, Callable[[int], Events]]] = {
    "chat": ("chat", chat_calls),
    "chat, one event": ("chat", chat_calls_at_once),
    "anthropic": ("anthropic", anthropic_calls),
    "responses": ("responses", responses_calls),
    "responses, one event": ("responses", responses_calls_at_once),
}


@contextlib.asynccontextmanager
async def serve_flood(api: Api, events: Callable[[], Events]) -> AsyncIterator[ProviderModel]:
    """A provider whose server answers with these events. Its SDK is loaded: that would take most of the time."""
    with streaming(events) as url:
        model = connect_to(api, url, **({"tool_mode": "native"} if api == "chat" else {}))
        await model._connect()
        try:
            yield model
        finally:
            await model.close()


@contextlib.asynccontextmanager
async def watch_loop() -> AsyncIterator[list[float]]:
    """The longest processor time that the loop was held in one go, as a list of one figure."""
    longest = [0.0]

    async def tick() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            longest[0] = max(longest[0], time.thread_time() - before)

    gc.collect()
    gc.freeze()  # what thousands of earlier tests left is no work of the loop's
    ticking = asyncio.create_task(tick())
    try:
        yield longest
    finally:
        ticking.cancel()
        gc.unfreeze()


@pytest.mark.parametrize("name", FLOODS)
async def test_thousands_of_calls_in_one_reply_are_refused_and_hold_nobody_up(name: str) -> None:
    api, flood = FLOODS[name]
    ready = list(flood(MANY))
    async with serve_flood(api, lambda: ready) as model, watch_loop() as held:
        with pytest.raises(ModelError, match=f"more than {MAX_TOOL_CALLS} tool calls") as caught:
            await model.reply(ask(timeout_seconds=30.0))
    assert caught.value.kind == "bad_reply"
    assert held[0] <= MAX_HOLD_SECONDS


@pytest.mark.parametrize("name", FLOODS)
async def test_as_many_as_are_believed_come_whole(name: str) -> None:
    api, flood = FLOODS[name]
    async with serve_flood(api, lambda: flood(MAX_TOOL_CALLS)) as model:
        turn = await model.reply(ask())
    assert [call.id for call in turn.calls] == [f"c{number}" for number in range(MAX_TOOL_CALLS)]


def endless(api: Api) -> Events:
    for text in map(hex, count()):  # never the same, or it would be given up for that
        if api == "anthropic":
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        elif api == "chat":
            yield chat_event({"content": text})
        else:
            yield {"type": "response.output_text.delta", "delta": text}


async def test_words_without_end_stop_at_the_deadline(api: Api) -> None:
    async with serve_flood(api, lambda: endless(api)) as model, watch_loop() as held:
        with pytest.raises(ModelError, match="LEADHAND_CALL_DEADLINE") as caught:
            await model.reply(ask(timeout_seconds=0.5))
    assert caught.value.kind == "timeout"
    assert held[0] <= MAX_HOLD_SECONDS


async def test_a_line_without_end_is_no_reply() -> None:
    async with serve_flood("chat", lambda: [chat_event({"content": "x" * 9 * 1024 * 1024})]) as model:
        with pytest.raises(ModelError, match="goes on for more than 8 MB"):
            await model.reply(ask())


async def test_arguments_in_thousands_of_pieces_come_whole() -> None:
    words = " ".join(map(str, range(4_000)))
    text = json.dumps({"at": words})

    def pieces() -> Events:
        yield chat_event({"tool_calls": [chat_call(0) | {"function": {"name": "look", "arguments": ""}}]})
        yield from (chat_event({"tool_calls": [{"index": 0, "function": {"arguments": letter}}]}) for letter in text)
        yield chat_event({}, "tool_calls")

    async with serve_flood("chat", pieces) as model:
        (call,) = (await model.reply(ask())).calls
    assert call.arguments == {"at": words}


class SlowToLoad(OpenAIChat):
    """An SDK that takes its time, as on a busy machine."""

    def __init__(self, url: str, load_event: threading.Event) -> None:
        super().__init__("key", f"{url}/v1", tool_mode="native")
        self.loads = 0
        self._load_event = load_event

    def connect(self) -> ProviderConnection:
        self.loads += 1
        self._load_event.wait(20)
        return super().connect()


async def test_loading_the_sdk_counts_and_goes_on_for_the_next_call() -> None:
    loaded = threading.Event()
    with streaming(lambda: [chat_event({"content": "Hello."}, "stop")]) as url:
        wire = SlowToLoad(url, loaded)
        model = ProviderModel(wire, GPT, provider="home", retry_policy=QUICK)
        try:
            with pytest.raises(ModelError) as caught:
                await model.reply(ask(timeout_seconds=0.2))
            assert (caught.value.kind, caught.value.transient) == ("timeout", True)
            loaded.set()
            assert (await model.reply(ask())).text == "Hello."
        finally:
            loaded.set()
            await model.close()
    assert wire.loads == 1


def test_thoughts_are_stripped_alike_whole_and_in_pieces() -> None:
    dice = random.Random(5)
    tags = ("<think>", "</think>", "<thinking>", "</thinking>", "<thi", "nk>", "<", "/")
    parts = (*tags, " ", "\n", "\n\n", "a", "word")
    for _ in range(1_000):
        text = "".join(dice.choices(parts, k=dice.randrange(1, 12)))
        stripper, said, rest = ThinkTagStripper(), "", text
        while rest:
            cut = dice.randrange(1, len(rest) + 1)
            said, rest = said + stripper.feed(rest[:cut]), rest[cut:]
        said += stripper.flush()
        whole = ThinkTagStripper()
        assert said == whole.feed(text) + whole.flush(), text


def test_a_long_thought_costs_what_it_is_long() -> None:
    stripper = ThinkTagStripper()
    before = time.thread_time()
    said = [stripper.feed(piece) for piece in ["<think>", *["and "] * 200_000, "</think>", "\nSo.", " Yes."]]
    assert "".join([*said, stripper.flush()]) == "So. Yes."
    assert time.thread_time() - before < 2
