"""What a turn is, through the real SDKs and over the wire."""

from __future__ import annotations

import asyncio
from typing import get_args

from handoff.contracts import Tier, ToolReply
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from tests.models.conftest import LOOK_UP, Pair, TextListener, ask, open_pair
from tests.models.test_tool_calls import CALLS
from tests.providers.rendering import Reply
from tests.providers.wire import Api

ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
TOOLS = (LOOK_UP, ADD)


async def test_text_comes_back_with_its_usage_and_streams_in_pieces(pair: Pair, text_listener: TextListener) -> None:
    pieces, listen = text_listener
    for on_text in (None, listen):
        turn = await pair.model.reply(ask(on_text=on_text))
        request = pair.server.requests[-1]
        assert (turn.text, turn.stop, turn.calls) == ("Hello there, this is the answer.", "end", ())
        assert request.stream, "so that its silence can be told"
        assert (turn.usage.calls, turn.usage.tokens_in, turn.usage.tokens_out) == (1, request.prompt_tokens, 9)
        assert turn.usage.duration > 0
    assert pair.server.stats.prompt_tokens == 2 * turn.usage.tokens_in
    assert len(pieces) > 1
    assert "".join(pieces) == turn.text


async def test_each_tier_has_its_model(pair: Pair) -> None:
    names = ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5")
    if pair.api != "anthropic":
        names = ("gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol")
    for tier, name in zip(get_args(Tier), names, strict=True):
        turn = await pair.model.reply(ask(tier=tier))
        assert pair.server.requests[-1].model == turn.usage.model == name


async def test_a_whole_conversation_arrives_as_it_was(pair: Pair) -> None:
    messages = (
        ModelMessage(role="user", text="Weather?"),
        ModelMessage(role="assistant", text="Looking.", calls=CALLS),
        ModelMessage(
            role="tool",
            replies=(ToolReply(call_id="call_1", text="sunny"), ToolReply(call_id="call_2", text="no", failed=True)),
        ),
        ModelMessage(role="assistant", text="Sunny."),
        ModelMessage(role="user", text="Sure?"),
    )
    await pair.model.reply(
        ModelCall(purpose="test", system="Be brief.", messages=messages, tools=TOOLS, max_tokens=777)
    )
    got = pair.server.requests[0]
    assert got.system == "Be brief."
    assert got.messages == messages
    assert got.tools == TOOLS
    assert got.max_tokens == 777


async def test_prompts_are_marked_for_the_providers_cache(pair: Pair) -> None:
    await pair.model.reply(ask(tools=TOOLS))
    body = pair.server.requests[0].body
    if pair.api == "anthropic":
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    elif pair.api == "responses":
        assert body["prompt_cache_key"] == "leadhand:test"
        assert body["store"] is False


async def test_many_calls_run_side_by_side(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("Yes."), latency=0.2) as pair:
        await pair.model.warm()
        turns = await asyncio.gather(*(pair.model.reply(ask()) for _ in range(10)))
    assert [turn.text for turn in turns] == ["Yes."] * 10
    assert pair.server.stats.at_once == 10
