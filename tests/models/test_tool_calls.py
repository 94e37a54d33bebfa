"""Calls of tools as servers write them: read where they can be meant, and each a call of its own on every wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handoff.contracts import ToolCall, Turn
from tests.models.chat_replies import chunks, part, reply_with_calls
from tests.models.conftest import TOOLS, TextListener, ask, catch_failures, open_pair, take_turn, take_turns
from tests.providers.rendering import Reply
from tests.providers.wire import Api

CALLS = (
    ToolCall(id="call_1", name="look_up", arguments={"city": "Zürich", "deep": {"x": [1, 2.5, None]}}),
    ToolCall(id="call_2", name="add", arguments={"a": 3}),
)
CALL = ask(tools=TOOLS)


def cities(turn: Turn) -> list[Any]:
    """The cities that are looked up. Each call has a name of its own."""
    assert len({call.id for call in turn.calls} - {"", "None"}) == len(turn.calls)
    return [call.arguments["city"] for call in turn.calls]


async def test_parallel_tool_calls_are_read(api: Api, text_listener: TextListener) -> None:
    turn = await take_turn(api, Reply("I will look.", CALLS, "tool_use"), ask(tools=TOOLS, on_text=text_listener[1]))
    assert (turn.stop, turn.calls, turn.text, "".join(text_listener[0])) == (
        "tool_use",
        CALLS,
        "I will look.",
        "I will look.",
    )


async def test_a_tool_call_without_arguments_is_an_empty_object(api: Api) -> None:
    empty = ToolCall(id="c", name="look_up", arguments={})
    turn = await take_turn(api, Reply(calls=(empty,), stop="tool_use", cut_arguments=""), CALL)
    assert turn.calls[0].arguments == {}


async def test_tool_arguments_that_are_not_json_are_asked_for_again(api: Api) -> None:
    replies = [Reply(calls=CALLS, stop="tool_use", cut_arguments='{"city": Z}'), Reply(calls=CALLS, stop="tool_use")]
    async with open_pair(api, lambda _: replies.pop(0)) as pair:
        turn = await pair.model.reply(CALL)
    assert (turn.calls, turn.usage.calls) == (CALLS, 2)
    assert turn.usage.tokens_in == pair.server.stats.prompt_tokens


async def test_arguments_are_read_as_servers_write_them() -> None:
    written: list[tuple[Any, dict[str, Any]]] = [
        ({"city": "Bern"}, {"city": "Bern"}),
        (None, {}),
        ('{"city": "Bern"}</tool_call>', {"city": "Bern"}),
        ('{"city": "Bern"}}', {"city": "Bern"}),
        (json.dumps('{"city": "Bern"}'), {"city": "Bern"}),
        ('{"city": "\\ud83d"}', {"city": "\ufffd"}),
    ]
    turns = await take_turns("chat", [reply_with_calls({"arguments": one}, id="a") for one, _ in written], CALL)
    assert [turn.calls[0].arguments for turn in turns] == [read for _, read in written]
    assert all(turn.model_dump_json() for turn in turns)


async def test_arguments_that_are_cut_or_doubled_or_endless_are_none() -> None:
    deep = '{"a":' * 90
    wrong = ['{"city": "Be', '{"city": "Bern"}{"city": "Rome"}', '["Bern"]', deep, deep + "1" + "}" * 90]
    failures = await catch_failures("chat", [reply_with_calls({"arguments": one}, id="a") for one in wrong], CALL)
    assert {failure.kind for failure in failures} == {"bad_reply"}


@pytest.mark.parametrize("ids", [{}, {"id": ""}, {"id": "call_0"}])
async def test_every_call_has_an_id_of_its_own(ids: dict[str, str]) -> None:
    reply = reply_with_calls({"arguments": '{"city": "Bern"}'}, {"arguments": '{"city": "Rome"}'}, **ids)
    assert cities(await take_turn("chat", reply, CALL)) == ["Bern", "Rome"]


STREAMED_PARTS = {
    "one index, two ids": (part(0, '{"city": "Bern"}', id="a"), part(0, '{"city": "Rome"}', id="b")),
    "no index, no id": (part(None, '{"city": "Bern"}'), part(None, '{"city": "Rome"}')),
    "one id, two indexes": (
        part(0, '{"city": ', id="a"),
        part(0, '"Bern"}', id="a"),
        part(1, {"city": "Rome"}, id="a"),
    ),
    "by turns, by an index that is text": (
        *(part(index, '{"city"') for index in "01"),
        *(part(index, rest, "") for index, rest in (("0", ': "Bern"}'), ("1", ': "Rome"}'))),
    ),
} | {
    f"by turns, by their ids, {name}": (
        *(part(index, '{"city"', id=one) for one, index in zip("ab", indexes, strict=True)),
        part(indexes[0], ': "Bern"}', "", id="a"),
        part(indexes[1], ': "Rome"}', "", id="b"),
    )
    for name, indexes in {"no index": (None, None), "one index": (0, 0), "text": ("0", "1")}.items()
}


@pytest.mark.parametrize("parts", STREAMED_PARTS.values(), ids=STREAMED_PARTS)
async def test_streamed_calls_are_told_apart(parts: tuple[dict[str, Any], ...]) -> None:
    turn = await take_turn("chat", chunks(*parts, finish="tool_calls"), CALL)
    assert cities(turn) == ["Bern", "Rome"]
    assert {call.name for call in turn.calls} == {"look_up"}


@pytest.mark.parametrize("ids", [{}, {"id": ""}, {"id": None}, {"id": "call_0"}])
@pytest.mark.parametrize("index", [0, None])
async def test_parallel_calls_under_one_index_are_calls_of_their_own(ids: dict[str, Any], index: int | None) -> None:
    replies = []
    for pieces in (1, 3):
        deltas = []
        for arguments in ('{"city": "Bern"}', '{"city": "Rome"}', '{"city": "Bonn {}"}'):
            size = -(-len(arguments) // pieces)
            for start in range(0, len(arguments), size):
                name = "" if start else "look_up"
                deltas.append(part(index, arguments[start : start + size], name, **ids))
        replies.append(chunks(*deltas, finish="tool_calls"))
    for turn in await take_turns("chat", replies, CALL):
        assert cities(turn) == ["Bern", "Rome", "Bonn {}"]


async def test_a_name_that_every_part_repeats_begins_no_new_call() -> None:
    deltas = [part(0, piece) for piece in ('{"city": "a}', "{b", '"', "}", "")]
    assert cities(await take_turn("chat", chunks(*deltas, finish="tool_calls"), CALL)) == ["a}{b"]


@pytest.mark.parametrize("ids", [("a", "b"), ("a", "a"), ("", ""), (None, None)])
async def test_blocks_of_a_message_that_share_a_place_or_an_id_are_all_read(ids: tuple[str | None, str | None]) -> None:
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": name, "name": "look_up", "input": {"city": city}, "mark": "m"}
        for name, city in zip(ids, ("Bern", "Rome"), strict=True)
    ]
    text = {"type": "text", "text": "I look."}
    message = {"type": "message", "role": "assistant", "content": [text, *calls], "usage": {}}
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (text | {"text": ""}, {"type": "text_delta", "text": text["text"]}),
    ]
    for call in calls:
        written = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
        blocks.append((call | {"input": {}}, written))
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": []}}]
    for empty, delta in blocks:
        events += [
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
        ]
    events += [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    whole = Reply(raw={**message, "stop_reason": "tool_use"})
    for turn in await take_turns("anthropic", [whole, Reply(raw=tuple(events))], CALL):
        assert (turn.text, cities(turn)) == ("I look.", ["Bern", "Rome"])
        kept = [block["id"] for block in turn.thoughts if block.get("type") == "tool_use"]
        assert kept == [call.id for call in turn.calls], "handed back by the ids that the replies name"


@pytest.mark.parametrize("output", [[], None])
async def test_a_response_whose_last_event_is_empty_is_made_of_the_items_before_it(output: list[Any] | None) -> None:
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "aGlkZGVu"},
        {"type": "function_call", "call_id": "a", "name": "look_up", "arguments": '{"city": "Bern"}'},
        {"type": "function_call", "call_id": "a", "name": "look_up", "arguments": '{"city": "Rome"}'},
    ]
    events = [{"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)]
    whole = {"object": "response", "status": "completed", "output": output}
    reply = Reply(raw=(*events, {"type": "response.completed", "response": whole}))
    turn = await take_turn("responses", reply, CALL)
    assert cities(turn) == ["Bern", "Rome"]
    kept = [item["call_id"] for item in turn.thoughts if item.get("type") == "function_call"]
    assert kept == [call.id for call in turn.calls]
