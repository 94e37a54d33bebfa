"""What a model thought goes back to it unchanged with the next turn, and to no other model."""

from __future__ import annotations

from typing import Any

from handoff.contracts import Tier, ToolCall, ToolReply, Turn
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from tests.models.conftest import Pair, ask, paired
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import Api, WireRequest

TOOLS = (ToolSpec("look_up", "Looks a city up.", {"type": "object", "properties": {"city": {"type": "string"}}}),)
CALL = ToolCall(id="call_1", name="look_up", arguments={"city": "Bern"})

BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"},  # a display that omits it is no empty thought
    {"type": "redacted_thinking", "data": "aGlkZGVu"},
    {"type": "text", "text": "I will look."},
    {"type": "thinking", "thinking": "Bern, then.", "signature": "bW9yZQ"},
    {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {"city": "Bern"}},
]
ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "aGlkZGVu"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I will look.", "annotations": []}],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"city": "Bern"}'},
]


def messages_stream() -> Reply:
    """A streamed message of `BLOCKS`, each part as the API streams it."""
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(BLOCKS):
        empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}
        deltas: dict[str, list[dict[str, Any]]] = {
            "thinking": [
                {"type": "thinking_delta", "thinking": block.get("thinking")},
                {"type": "signature_delta", "signature": block.get("signature")},
            ],
            "text": [{"type": "text_delta", "text": block.get("text")}],
            "tool_use": [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"city": ', '"Bern"}')],
        }
        start = block | empty.get(block["type"], {})
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas.get(block["type"], [])]
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]
    return Reply(raw=tuple(events))


def responses_stream() -> Reply:
    """A streamed response of `ITEMS`."""
    response = {"id": "r", "object": "response", "status": "completed", "output": ITEMS, "error": None}
    return Reply(
        raw=(
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            *({"type": "response.output_item.done", "output_index": n, "item": i} for n, i in enumerate(ITEMS)),
            {"type": "response.completed", "response": response},
        )
    )


def brain(request: WireRequest) -> Reply:
    if request.messages[-1].replies:
        return Reply("Sunny.")
    return messages_stream() if request.api == "anthropic" else responses_stream()


async def next_turn(pair: Pair, turn: Turn, tier: Tier = "balanced", calls: tuple[ToolCall, ...] = (CALL,)) -> Any:
    """Take the turn after this one; the messages that the server got for it."""
    messages = (
        ModelMessage(role="user", text="Weather?"),
        ModelMessage(role="assistant", text=turn.text, calls=calls, thoughts=turn.thoughts),
        ModelMessage(role="tool", replies=(ToolReply(call_id="call_1", text="sunny"),)),
    )
    await pair.model.reply(
        ModelCall(purpose="test", system="", messages=messages, tools=TOOLS, tier=tier, tool_choice="required")
    )
    body = pair.server.requests[-1].body
    return body["messages"] if pair.api == "anthropic" else body["input"]


async def test_blocks_come_back_as_they_were() -> None:
    async with paired("anthropic", brain) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        assert (turn.text, turn.calls, turn.stop) == ("I will look.", (CALL,), "tool_use")
        assert turn.thoughts == ({"provider": "anthropic", "model": "claude-sonnet-5-5"}, *BLOCKS)
        kept = Turn.model_validate_json(turn.model_dump_json())
        sent = await next_turn(pair, kept)
    assert sent[1] == {"role": "assistant", "content": BLOCKS}
    assert "tool_choice" not in pair.server.requests[-1].body  # a forced call is an error while a model thinks


async def test_items_come_back_as_they_were() -> None:
    async with paired("responses", brain, own=True) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        assert (turn.text, turn.calls) == ("I will look.", (CALL,))
        assert turn.thoughts == ({"provider": "openai", "model": "gpt-6.1-terra"}, *ITEMS)
        sent = await next_turn(pair, Turn.model_validate_json(turn.model_dump_json()))
    assert sent[1:4] == ITEMS
    assert pair.server.requests[-1].body["include"] == ["reasoning.encrypted_content"]


async def test_another_models_thoughts_are_left_out_and_its_words_and_calls_told() -> None:
    wires: tuple[Api, ...] = ("anthropic", "responses")
    for api in wires:
        async with paired(api, brain) as pair:
            turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
            sent = await next_turn(pair, turn, tier="deep")
            assert "thinking" not in str(sent)
            assert "reasoning" not in str(sent)
            assert pair.server.requests[-1].messages[1] == ModelMessage(
                role="assistant", text="I will look.", calls=(CALL,)
            ) or pair.server.requests[-1].messages[1:3] == (
                ModelMessage(role="assistant", text="I will look."),
                ModelMessage(role="assistant", calls=(CALL,)),
            )


async def test_thoughts_that_do_not_fit_the_calls_any_more_are_left_out() -> None:
    async with paired("anthropic", brain) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        other = CALL.model_copy(update={"id": "call_2"})
        sent = await next_turn(pair, turn, calls=(other,))
    assert "thinking" not in str(sent)


async def test_thoughts_that_are_refused_are_sent_no_more() -> None:
    def refuses(request: WireRequest) -> Reply | Fault:
        told = str(request.body)
        thinks = "'type': 'thinking'" in told or "'type': 'reasoning'" in told
        return Fault("no_thoughts") if thinks else brain(request)

    wires: tuple[Api, ...] = ("anthropic", "responses")
    for api in wires:
        async with paired(api, refuses) as pair:
            turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
            for _ in range(2):
                await next_turn(pair, turn)
        assert pair.server.stats.calls == 4  # learnt once


async def test_a_turn_without_thoughts_keeps_none(api: Api) -> None:
    reply = Reply("Looking.", (CALL,), "tool_use")
    async with paired(api, lambda _: reply) as pair:
        assert (await pair.model.reply(ask(tools=TOOLS))).thoughts == ()
