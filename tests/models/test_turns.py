"""What a turn is, through the real SDKs and over the wire."""

from __future__ import annotations

import asyncio
import json

import genai_prices
import jsonschema  # type: ignore[import-untyped]
import pytest

from handoff.contracts import Plan, Tier, ToolCall, ToolReply
from specialists.model import ModelCall, ModelError, ModelMessage
from specialists.tools.tool import ToolSpec
from tests.models.conftest import QUICK, Heard, Pair, ask, connect, paired
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import Api

TOOLS = (
    ToolSpec("look_up", "Looks a city up.", {"type": "object", "properties": {"city": {"type": "string"}}}),
    ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
)
CALLS = (
    ToolCall(id="call_1", name="look_up", arguments={"city": "Zürich", "deep": {"x": [1, 2.5, None]}}),
    ToolCall(id="call_2", name="add", arguments={"a": 3}),
)


async def test_text_comes_back_with_its_usage(pair: Pair) -> None:
    turn = await pair.model.reply(ask())
    assert (turn.text, turn.stop, turn.calls) == ("Hello there, this is the answer.", "end", ())
    assert turn.usage.calls == 1
    assert turn.usage.tokens_in == pair.server.requests[0].prompt_tokens == pair.server.stats.prompt_tokens
    assert turn.usage.tokens_out == 9
    assert turn.usage.duration > 0


@pytest.mark.parametrize(("tier", "place"), [("fast", 0), ("balanced", 1), ("deep", 2)])
async def test_each_tier_has_its_model(pair: Pair, tier: Tier, place: int) -> None:
    turn = await pair.model.reply(ask(tier=tier))
    names = ["claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"]
    if pair.api != "anthropic":
        names = ["gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol"]
    assert pair.server.requests[0].model == turn.usage.model == names[place]


async def test_text_streams_in_pieces(pair: Pair, heard: Heard) -> None:
    pieces, listen = heard
    turn = await pair.model.reply(ask(on_text=listen))
    assert pair.server.requests[0].stream
    assert len(pieces) > 1
    assert "".join(pieces) == turn.text == "Hello there, this is the answer."
    assert turn.stop == "end"
    assert turn.usage.tokens_in == pair.server.stats.prompt_tokens
    assert turn.usage.tokens_out == 9


async def test_every_call_streams_so_that_its_silence_can_be_told(pair: Pair) -> None:
    await pair.model.reply(ask())
    assert pair.server.requests[0].stream


@pytest.mark.parametrize("streamed", [False, True])
async def test_parallel_tool_calls_are_read(api: Api, heard: Heard, *, streamed: bool) -> None:
    async with paired(api, lambda _: Reply("I will look.", CALLS, "tool_use")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS, on_text=heard[1] if streamed else None))
    assert turn.stop == "tool_use"
    assert turn.calls == CALLS
    assert turn.text == "I will look."


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_tool_call_without_arguments_is_an_empty_object(api: Api, heard: Heard, *, streamed: bool) -> None:
    reply = Reply(calls=(ToolCall(id="c", name="look_up", arguments={}),), stop="tool_use", cut_arguments="")
    async with paired(api, lambda _: reply) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS, on_text=heard[1] if streamed else None))
    assert turn.calls[0].arguments == {}


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


@pytest.mark.parametrize("streamed", [False, True])
async def test_structured_output_is_asked_for_in_strict_form(api: Api, heard: Heard, *, streamed: bool) -> None:
    plan = {"goal": "g", "subtasks": [], "strategy": "merge", "instruction": "", "missing": [], "made": []}
    async with paired(api, lambda _: Reply(json.dumps(plan))) as pair:
        turn = await pair.model.reply(
            ask(answer_schema=Plan.model_json_schema(), on_text=heard[1] if streamed else None)
        )
    schema = pair.server.requests[0].answer_schema
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(plan)
    assert set(schema["$defs"]["Subtask"]["required"]) == set(schema["$defs"]["Subtask"]["properties"])
    jsonschema.validate(json.loads(turn.text), schema)


async def test_prompts_are_marked_for_the_providers_cache(pair: Pair) -> None:
    await pair.model.reply(ask(tools=TOOLS))
    body = pair.server.requests[0].body
    if pair.api == "anthropic":
        assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
        assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    elif pair.api == "responses":
        assert body["prompt_cache_key"] == "leadhand:test"
        assert body["store"] is False


async def test_a_cut_tool_call_is_no_call(api: Api, heard: Heard) -> None:
    cut = Reply("Look", CALLS[:1], "max_tokens", cut_arguments='{"city": "Zü')
    async with paired(api, lambda _: cut) as pair:
        for listen in (None, heard[1]):
            turn = await pair.model.reply(ask(tools=TOOLS, on_text=listen))
            assert turn.stop == "max_tokens"
            assert turn.calls == ()
    assert pair.server.stats.calls == 2


async def test_a_refusal_is_a_turn(api: Api, heard: Heard) -> None:
    async with paired(api, lambda _: Reply("I would rather not.", stop="refused")) as pair:
        for listen in (None, heard[1]):
            turn = await pair.model.reply(ask(on_text=listen))
            assert turn.stop == "refused"
            assert turn.calls == ()


async def test_a_reply_without_stop_reason_is_tried_once_more_and_refused(api: Api) -> None:
    async with paired(api, lambda _: Reply("Half an ans", stop=None)) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    assert caught.value.kind == "unavailable"
    assert caught.value.transient
    assert caught.value.usage.calls == pair.server.stats.calls == 2
    if api == "anthropic":  # both others count at the end of a stream, which never came
        assert caught.value.usage.tokens_in == pair.server.stats.prompt_tokens


@pytest.mark.parametrize("streamed", [False, True])
async def test_tool_arguments_that_are_not_json_are_asked_for_again(api: Api, heard: Heard, *, streamed: bool) -> None:
    replies = [Reply(calls=CALLS, stop="tool_use", cut_arguments='{"city": Z}'), Reply(calls=CALLS, stop="tool_use")]
    async with paired(api, lambda _: replies.pop(0)) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS, on_text=heard[1] if streamed else None))
    assert turn.calls == CALLS
    assert turn.usage.calls == 2
    assert turn.usage.tokens_in == pair.server.stats.prompt_tokens


async def test_a_chat_server_that_ends_tool_calls_with_stop_is_understood() -> None:
    async with paired("chat", lambda _: Reply(calls=CALLS, stop="end")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert turn.stop == "tool_use"
    assert turn.calls == CALLS


async def test_many_calls_run_side_by_side(api: Api) -> None:
    async with ProviderServer(lambda _: Reply("Yes."), latency=0.2) as server:
        model = connect(api, server, QUICK)
        await model.warm()
        turns = await asyncio.gather(*(model.reply(ask()) for _ in range(10)))
        await model.close()
    assert [turn.text for turn in turns] == ["Yes."] * 10
    assert server.stats.at_once == 10


async def test_costs_are_those_of_the_price_list(api: Api) -> None:
    if api == "chat":
        pytest.skip("a server on this machine has no prices")
    async with paired(api, lambda _: Reply("Hello", tokens_out=250, cached=40)) as pair:
        await pair.model.warm()
        turn = await pair.model.reply(ask("x" * 1000))
    usage = genai_prices.Usage(input_tokens=turn.usage.tokens_in, output_tokens=250, cache_read_tokens=40)
    provider = "anthropic" if api == "anthropic" else "openai"
    price = genai_prices.calc_price(usage, turn.usage.model, provider_id=provider).total_price
    assert turn.usage.cost == pytest.approx(float(price))
    assert float(price) > 0


async def test_the_label_names_model_and_provider(pair: Pair) -> None:
    assert (
        pair.model.label
        == {
            "anthropic": "claude-sonnet-5-5 (Anthropic)",
            "responses": "gpt-6.1-terra (OpenAI)",
            "chat": "gpt-6.1-terra (home-server)",
        }[pair.api]
    )
