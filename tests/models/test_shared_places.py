"""Calls of one reply that share an index, an id or a place stay calls of their own, on every wire."""

from __future__ import annotations

from typing import Any

import pytest

from specialists.tools.tool import ToolSpec
from tests.models.conftest import ask, paired
from tests.models.test_compatible_servers import chunks
from tests.providers.rendering import Reply

TOOLS = (ToolSpec("look_up", "Looks a city up.", {"type": "object", "properties": {"city": {"type": "string"}}}),)


def delta(arguments: str, name: str = "", **more: Any) -> dict[str, Any]:
    """A part of a tool call, named only where its call begins."""
    return {"tool_calls": [{**more, "function": {"arguments": arguments, **({"name": name} if name else {})}}]}


@pytest.mark.parametrize(
    "places", [({}, {}), ({"index": 0}, {"index": 0}), ({"index": "0"}, {"index": "1"})], ids=["none", "same", "text"]
)
async def test_parts_of_two_calls_that_come_by_turns_are_put_together_by_their_ids(
    places: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    first, second = ({"id": name, **place} for name, place in zip("ab", places, strict=True))
    deltas = [
        delta('{"city"', "look_up", **first),
        delta('{"city"', "look_up", **second),
        delta(': "Bern"}', **first),
        delta(': "Rome"}', **second),
    ]
    async with paired("chat", lambda _: chunks(*deltas, finish="tool_calls")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert [(call.id, call.arguments["city"]) for call in turn.calls] == [("a", "Bern"), ("b", "Rome")]


async def test_parts_that_come_by_turns_without_ids_are_put_together_by_an_index_that_is_text() -> None:
    deltas = [
        delta('{"city"', "look_up", index="0"),
        delta('{"city"', "look_up", index="1"),
        delta(': "Bern"}', index="0"),
        delta(': "Rome"}', index="1"),
    ]
    async with paired("chat", lambda _: chunks(*deltas, finish="tool_calls")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert [call.arguments["city"] for call in turn.calls] == ["Bern", "Rome"]


@pytest.mark.parametrize("ids", [("a", "b"), ("a", "a"), ("", ""), (None, None)])
@pytest.mark.parametrize("streamed", [True, False])
async def test_blocks_of_a_message_that_share_a_place_or_an_id_are_all_read(
    ids: tuple[str | None, str | None], *, streamed: bool
) -> None:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "I look."}]
    blocks += [
        {"type": "tool_use", "id": name, "name": "look_up", "input": {"city": city}, "mark": "m"}
        for name, city in zip(ids, ("Bern", "Rome"), strict=True)
    ]
    message = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use", "usage": {}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": []}}]
    text, *calls = blocks
    events += [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text["text"]}},
        {"type": "content_block_stop", "index": 0},
    ]
    for call in calls:
        json = f'{{"city": "{call["input"]["city"]}"}}'
        events += [
            {"type": "content_block_start", "index": 0, "content_block": call | {"input": {}}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": json}},
            {"type": "content_block_stop", "index": 0},
        ]
    events += [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    async with paired("anthropic", lambda _: Reply(raw=tuple(events) if streamed else message)) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert turn.text == "I look."
    assert [call.arguments["city"] for call in turn.calls] == ["Bern", "Rome"]
    assert len({call.id for call in turn.calls}) == 2
    kept = [block["id"] for block in turn.thoughts if block.get("type") == "tool_use"]
    assert kept == [call.id for call in turn.calls], "handed back by the ids that the replies name"


@pytest.mark.parametrize("output", [[], None])
async def test_a_response_whose_last_event_is_empty_is_made_of_the_items_before_it(output: list[Any] | None) -> None:
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "aGlkZGVu"},
        {"type": "function_call", "call_id": "a", "name": "look_up", "arguments": '{"city": "Bern"}'},
        {"type": "function_call", "call_id": "a", "name": "look_up", "arguments": '{"city": "Rome"}'},
    ]
    events = [
        {"type": "response.output_item.done", "output_index": place, "item": one} for place, one in enumerate(items)
    ]
    whole = {"object": "response", "status": "completed", "output": output}
    async with paired(
        "responses", lambda _: Reply(raw=(*events, {"type": "response.completed", "response": whole}))
    ) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert [call.arguments["city"] for call in turn.calls] == ["Bern", "Rome"]
    assert len({call.id for call in turn.calls}) == 2
    kept = [item["call_id"] for item in turn.thoughts if item.get("type") == "function_call"]
    assert kept == [call.id for call in turn.calls]
