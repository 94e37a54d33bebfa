"""Servers that do not recognise their model's tool calls: each step is held by a JSON schema instead."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from bot.models.schema_steps import make_steps_schema
from handoff.contracts import ToolCall, ToolReply
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from specialists.turns.finish_tools import FINISH_SPECS
from tests.models.conftest import TextListener, ask, open_pair
from tests.own_tools import all_tools
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest

QUERY = ToolSpec(
    "query_table",
    "Run one SELECT.\n\nAggregate in SQL.",
    {
        "type": "object",
        "properties": {
            "sql": {"type": "string", "description": "One SELECT", "maxLength": 20_000},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["sql"],
    },
)
TOOLS = (QUERY, *FINISH_SPECS)
STEP = {"tool": "query_table", "arguments": {"sql": "select 1"}}
WRITTEN_CALL = f"```json\n{json.dumps({'name': 'query_table', 'arguments': STEP['arguments']})}\n```"


def knows_no_calls(request: WireRequest) -> Reply:
    """A model that writes its calls as text, behind a server that does not see them; a schema holds it."""
    return Reply(json.dumps(STEP) if request.answer_schema else WRITTEN_CALL)


async def test_a_call_written_as_text_is_read_and_the_next_ones_are_held_by_a_schema() -> None:
    async with open_pair("chat", knows_no_calls) as pair:
        turns = [await pair.model.reply(ask(tools=TOOLS, tool_choice="required")) for _ in range(2)]
    for turn in turns:
        assert (turn.text, turn.stop) == ("", "tool_use")
        assert [(call.name, call.arguments) for call in turn.calls] == [("query_table", {"sql": "select 1"})]
    assert turns[0].calls[0].id != turns[1].calls[0].id
    first, second = pair.server.requests
    assert first.tools
    assert "response_format" not in first.body
    assert not second.tools
    assert "tool_choice" not in second.body
    assert second.answer_schema is not None
    assert pair.model.needs_step_schema("balanced")
    assert not pair.model.needs_step_schema("deep")


async def test_the_tools_are_listed_and_the_conversation_is_told_in_plain_messages() -> None:
    calls = (ToolCall(id="c1", name="query_table", arguments={"sql": "é"}),)
    messages = (
        ModelMessage(role="user", text="Total?"),
        ModelMessage(role="assistant", text="I look.", calls=calls),
        ModelMessage(role="tool", replies=(ToolReply(call_id="c1", text="no such table", failed=True),)),
        ModelMessage(role="user", text="Go on."),
    )
    async with open_pair("chat", knows_no_calls, tool_mode="schema") as pair:
        await pair.model.reply(ModelCall(purpose="test", system="Be brief.", messages=messages, tools=TOOLS))
    request = pair.server.requests[0]
    assert request.system.startswith("Be brief.\n\nAnswer with one JSON object, ")
    assert (
        "- query_table(sql: string (One SELECT), limit?: integer): Run one SELECT. Aggregate in SQL." in request.system
    )
    assert '"tool": NAME' in request.system
    told = [(each["role"], each["content"]) for each in request.body["messages"][1:]]
    assert told == [
        ("user", "Total?"),
        ("assistant", 'I look.\n{"tool": "query_table", "arguments": {"sql": "é"}}'),
        ("user", "# query_table failed\nno such table"),
        ("user", "Go on."),
    ]


def test_a_step_is_one_tool_with_its_own_arguments() -> None:
    schema = make_steps_schema(TOOLS)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(STEP, schema)
    wrongs: list[dict[str, Any]] = [
        {"tool": "query_table", "arguments": {"summary": "s", "content": "c", "confidence": 5}},
        {"tool": "query_table", "arguments": {}},
        {"tool": "query_table", "arguments": {"sql": "s", "limit": 500}},
        {"tool": "query_table", "arguments": {"sql": "s", "more": 1}},
        {"tool": "read_mind", "arguments": {}},
    ]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_every_tool_there_is_makes_a_step() -> None:
    specs = [tool.spec for tool in all_tools().values()]
    schema = make_steps_schema(specs)
    jsonschema.Draft202012Validator.check_schema(schema)
    told = json.dumps(schema)
    assert "$ref" not in told
    assert "20000" not in told  # no grammar counts to that
    chart = next(one for one in schema["oneOf"] if one["properties"]["tool"]["const"] == "draw_chart")
    assert {"title", "kind", "sql"} <= set(chart["properties"]["arguments"]["properties"])


async def test_references_of_a_tools_schema_are_written_out() -> None:
    place = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    parameters = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Place"}, "next": {"$ref": "#/$defs/Chain"}},
        "required": ["at"],
        "$defs": {"Place": place, "Chain": {"type": "object", "properties": {"more": {"$ref": "#/$defs/Chain"}}}},
    }
    schema = make_steps_schema((ToolSpec("go", "Goes.", parameters),))
    jsonschema.validate({"tool": "go", "arguments": {"at": {"city": "Bern"}}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"tool": "go", "arguments": {"at": {}}}, schema)


async def test_a_model_without_tools_is_held_by_a_schema_at_once() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("no_tools") if request.tools else Reply(json.dumps(STEP))

    async with open_pair("chat", brain) as pair:
        for _ in range(2):
            turn = await pair.model.reply(ask(tools=TOOLS))
            assert turn.calls[0].name == "query_table"
    assert pair.server.stats.calls == 3  # learnt once


async def test_a_server_without_schemas_either_is_told_the_step_in_words() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("no_schemas") if "response_format" in request.body else Reply(WRITTEN_CALL)

    async with open_pair("chat", brain, tool_mode="schema") as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert turn.calls[0].name == "query_table"


@pytest.mark.parametrize("options", [{"tool_mode": "native"}, {"is_own_server": True}])
async def test_whoever_wants_native_calls_alone_gets_text_as_text(options: dict[str, Any]) -> None:
    async with open_pair("chat", knows_no_calls, **options) as pair:
        turns = [await pair.model.reply(ask(tools=TOOLS)) for _ in range(2)]
    assert [(turn.text, turn.calls) for turn in turns] == [(WRITTEN_CALL, ())] * 2
    assert all(request.tools for request in pair.server.requests)
    assert not pair.model.needs_step_schema("balanced")


async def test_native_calls_and_plain_answers_switch_nothing() -> None:
    call = ToolCall(id="c", name="query_table", arguments={"sql": "select 1"})
    replies = [Reply("It is 42."), Reply(calls=(call,), stop="tool_use"), Reply("Done.")]
    async with open_pair("chat", lambda _: replies.pop(0)) as pair:
        turns = [await pair.model.reply(ask(tools=TOOLS)) for _ in range(3)]
    assert [turn.text for turn in turns] == ["It is 42.", "", "Done."]
    assert not pair.model.needs_step_schema("balanced")


async def test_a_call_that_a_server_does_not_force_is_forced_by_a_schema_this_once() -> None:
    def talks(request: WireRequest) -> Reply:
        return Reply(json.dumps(STEP)) if request.answer_schema else Reply("I will now query the table.")

    async with open_pair("chat", talks) as pair:
        free = await pair.model.reply(ask(tools=TOOLS))
        forced = await pair.model.reply(ask(tools=TOOLS, tool_choice="required"))
    assert (free.text, free.calls) == ("I will now query the table.", ())
    assert forced.calls[0].name == "query_table"
    assert pair.server.stats.calls == 3
    assert free.usage.tokens_in + forced.usage.tokens_in == pair.server.stats.prompt_tokens
    assert not pair.model.needs_step_schema("balanced")  # calls that it makes may well be recognised


async def test_a_step_that_was_cut_is_no_call_and_is_never_streamed(text_listener: TextListener) -> None:
    async with open_pair("chat", lambda _: Reply(json.dumps(STEP)[:-9], stop="max_tokens"), tool_mode="schema") as pair:
        turn = await pair.model.reply(ask(tools=TOOLS, on_text=text_listener[1]))
    assert (turn.calls, turn.stop, text_listener[0]) == ((), "max_tokens", [])
