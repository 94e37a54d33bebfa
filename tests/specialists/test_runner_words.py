"""What models say in words in place of a call: read as the call it is for certain, else sent back and never sure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handoff.contracts import Result, ToolCall
from specialists.tools.tool import Tool, ToolOutcome, ToolSpec, Workbench
from specialists.turns import finish_tools
from specialists.turns.finish_tools import FINISH_SPECS
from specialists.turns.text_calls import find_written_call, holds_unread_call
from tests.specialists.scripted_model import (
    LookArguments,
    Looker,
    Move,
    calling,
    finish,
    give_up,
    make_text_turn,
    play,
    returning,
)

ANNOUNCEMENT = "I will now query the table to get the total by region."
CALL = json.dumps({"name": "look", "arguments": {"at": "sea"}})
BARE = {"summary": "North leads.", "content": "North first, South second.", "confidence": 35}


async def test_a_call_written_as_text_is_made() -> None:
    looker, text = Looker(), f"I will look at the sea first.\n\n{CALL}"
    outcome, model, log = await finish([make_text_turn(text), returning()], looker.tool())
    assert looker.seen_places == ["sea"]
    asked, told = model.calls[1].messages[1:]
    assert [(call.name, call.arguments) for call in asked.calls] == [("look", {"at": "sea"})]
    assert asked.text == ""
    assert told.replies[0].text == "saw sea"
    assert (outcome.content, outcome.doubts) == ("All of it.", ())
    assert log.turns[0].stop == "tool_use", "a takeover reads the call, not the words"


async def test_the_same_text_twice_gives_calls_of_two_ids() -> None:
    _, _, log = await play([make_text_turn(CALL), make_text_turn(CALL), returning()], Looker().tool())
    first, second = (turn.calls[0].id for turn in log.turns[:2])
    assert first != second


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(BARE),
        json.dumps({"name": "return_result", "arguments": BARE}),
        json.dumps({key: value for key, value in BARE.items() if key != "summary"}),
    ],
)
async def test_a_result_written_as_text_keeps_its_own_confidence_and_is_read_at_once(text: str) -> None:
    outcome, model, _ = await finish([make_text_turn(text)], Looker().tool())
    assert len(model.calls) == 1
    assert (outcome.content, outcome.confidence, outcome.doubts) == (BARE["content"], 35, ())


async def test_an_escalation_written_as_text_is_one() -> None:
    wish = {"name": "escalate", "arguments": {"reason": "out_of_scope", "message": "There is no sea."}}
    outcome, _, _ = await give_up([make_text_turn(json.dumps(wish))])
    assert (outcome.reason, outcome.message) == ("out_of_scope", "There is no sea.")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "look", "arguments": {"at": "se',
        '{"name": "look", "arguments": "the sea"}',
        "look(at='sea')",
        "<function=look><parameter=at>sea</parameter></function>",
    ],
)
async def test_a_written_call_that_cannot_be_read_is_sent_back_and_never_a_result(text: str) -> None:
    looker = Looker()
    outcome, model, _ = await give_up([make_text_turn(text), make_text_turn(text)], looker.tool())
    assert looker.seen_places == []
    assert "a tool call written as text that could not be read" in model.calls[1].messages[-1].text
    assert "look, escalate, return_result" in model.calls[1].messages[-1].text
    assert model.calls[1].tool_choice == "required"
    assert (outcome.reason, outcome.partial_result) == ("confidence_too_low", None)
    await finish([make_text_turn(text), calling(("look", {"at": "sea"})), returning()], looker.tool())


async def test_words_that_are_followed_by_the_work_cost_nothing_but_a_turn() -> None:
    moves = [make_text_turn(ANNOUNCEMENT), calling(("look", {"at": "sea"})), returning()]
    outcome, model, _ = await finish(moves, Looker().tool())
    assert (outcome.content, outcome.doubts) == ("All of it.", ())
    assert [call.tool_choice for call in model.calls] == ["auto", "required", "auto"]


async def test_words_after_tools_are_sent_back_once_each_time() -> None:
    look_at = calling(("look", {"at": "sea"}))
    moves = [make_text_turn(ANNOUNCEMENT), look_at, make_text_turn("It is blue."), make_text_turn("It is blue.")]
    outcome, model, _ = await finish(moves, Looker().tool())
    assert len(model.calls) == 4
    assert (outcome.content, outcome.confidence, len(outcome.doubts)) == ("It is blue.", 50, 1)


async def test_words_then_nothing_are_the_words_in_doubt() -> None:
    outcome, _, _ = await finish([make_text_turn(ANNOUNCEMENT), make_text_turn(" ")], Looker().tool())
    assert (outcome.content, outcome.confidence) == (ANNOUNCEMENT, 50)
    assert outcome.doubts
    await give_up([make_text_turn('look("sea")'), make_text_turn(" ")], Looker().tool())


@pytest.mark.parametrize(
    ("moves", "content"),
    [
        (
            [
                calling(("look", {"at": "sea"})),
                make_text_turn("It is blue."),
                make_text_turn("I have handed in the result."),
            ],
            "It is blue.",
        ),
        (
            [
                calling(("look", {"at": "sea"})),
                make_text_turn("It is blue."),
                make_text_turn("escalate. escalate.", "max_tokens"),
            ],
            "It is blue.",
        ),
        (
            [make_text_turn("I will write."), make_text_turn("Dear Ana, thank you for the coffee.")],
            "Dear Ana, thank you for the coffee.",
        ),
        ([make_text_turn("Dear Ana, thank you."), make_text_turn("Done.")], "Dear Ana, thank you."),
    ],
)
async def test_what_was_said_first_stands_once_a_tool_gave_something_else_what_says_more(
    moves: list[Move], content: str
) -> None:
    outcome, model, _ = await finish(moves, Looker().tool())
    assert not model.moves
    assert (outcome.content, outcome.confidence, outcome.gaps) == (content, 50, ())


async def test_words_in_the_last_call_are_doubted_at_once() -> None:
    outcome, model, _ = await finish(
        [calling(("look", {"at": "sea"})), make_text_turn("Blue.")], Looker().tool(), max_turns=1
    )
    assert model.calls[1].tool_choice == "required"
    assert outcome.confidence == 50
    assert outcome.doubts
    assert "limit of 1 turns" in outcome.gaps[0]


async def test_a_tool_call_written_in_the_last_call_is_no_result() -> None:
    outcome, _, _ = await give_up([calling(("look", {"at": "a"})), make_text_turn(CALL)], Looker().tool(), max_turns=1)
    assert outcome.message == "Reached the limit of 1 turns without a result."


async def test_a_call_that_writes_is_never_read_from_words() -> None:
    made: list[str] = []

    async def post(arguments: LookArguments, _bench: Workbench) -> ToolOutcome:
        """Post it."""
        made.append(arguments.at)
        return ToolOutcome("posted")

    poster = Tool("post", "write", LookArguments, post)
    quoted = f"The page says: {json.dumps({'name': 'post', 'arguments': {'at': 'all'}})}"
    _, model, _ = await give_up([make_text_turn(quoted), make_text_turn(quoted)], poster)
    assert made == []
    assert "could not be read" in model.calls[1].messages[-1].text


async def test_a_call_as_the_content_of_a_result_is_sent_back_and_then_no_result() -> None:
    outcome, _, log = await give_up([returning(f"```json\n{CALL}\n```"), returning(CALL)], Looker().tool())
    assert "content: a tool call written as text is no result" in log.replies[0].text
    assert outcome.reason == "confidence_too_low"
    wanted = json.dumps({"name": "get_weather", "parameters": {"type": "object"}})
    await finish([returning(wanted)], Looker().tool())
    about = f"Calls look like this, and the sea was read by one of them: {CALL}. " + "It is blue and wide. " * 40
    await finish([returning(about)], Looker().tool())


@pytest.mark.parametrize(
    "text",
    ["We calculate (roughly) that it holds.", 'He said "calculate" twice.', "A <toolbar> and std::function<int>."],
)
def test_words_about_tools_are_no_calls(text: str) -> None:
    assert not holds_unread_call(text, ["calculate", "return_result", "escalate"])


async def test_thoughts_go_back_with_the_turn_that_they_belong_to() -> None:
    thoughts = ({"model": "deep"}, {"type": "thinking", "thinking": "Hm.", "signature": "s"})
    first = calling(("look", {"at": "sea"})).model_copy(update={"thoughts": thoughts})
    _, model, _ = await play([first, returning()], Looker().tool())
    assert [message.thoughts for message in model.calls[1].messages] == [(), thoughts, ()]


def test_the_summary_is_taken_from_the_content_where_none_is_given() -> None:
    given = {"content": "# Sales\n\n| a | b |\n|---|---|\n\nNorth leads. South follows.", "confidence": 80}
    outcome = finish_tools.read_finish_call(ToolCall(id="1", name="return_result", arguments=given))
    assert isinstance(outcome, Result)
    assert outcome.summary == "North leads. South follows."


@pytest.mark.parametrize(
    ("given_severity", "read_severity"),
    [("High", "high"), ("major", "high"), ("blocker", "critical"), (None, "info"), ("info", "info")],
)
def test_severities_are_read_under_their_usual_names(given_severity: str | None, read_severity: str) -> None:
    finding = {"message": "m"} if given_severity is None else {"message": "m", "severity": given_severity}
    arguments = {"content": "c", "confidence": 80, "findings": [finding]}
    outcome = finish_tools.read_finish_call(ToolCall(id="1", name="return_result", arguments=arguments))
    assert isinstance(outcome, Result)
    assert outcome.findings[0].severity == read_severity


def test_a_tools_spec_leaves_out_what_no_model_needs() -> None:
    spec: ToolSpec = Looker().tool().spec
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "at": {"type": "string"},
            "times": {"default": 1, "maximum": 5, "minimum": 1, "type": "integer"},
        },
        "required": ["at"],
    }


QUERY = ToolSpec(
    "query_table",
    "Runs SQL.",
    {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]},
)
TOOLS = (QUERY, *FINISH_SPECS)
SQL = {"sql": "select region, sum(sales) from sales group by region"}
RESULT = {"summary": "North leads.", "content": "North: 35", "confidence": 35}


def call_text(tool: str, call_arguments: Any, *, name: str = "name", arguments: str = "arguments") -> str:
    return json.dumps({name: tool, arguments: call_arguments})


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{call_text('query_table', SQL)}\n</tool_call>",
        f"<tool_call>{call_text('query_table', SQL)}",
        f"```json\n{call_text('query_table', SQL)}\n```",
        call_text("query_table", SQL),
        call_text("query_table", SQL, name="tool"),
        call_text("query_table", SQL, name="tool", arguments="parameters"),
        call_text("query_table", SQL, name="action", arguments="input"),
        call_text("query_table", json.dumps(SQL)),
        json.dumps([{"function": json.loads(call_text("query_table", SQL))}]),
        json.dumps(
            {"tool_calls": [{"id": "1", "type": "function", "function": json.loads(call_text("query_table", SQL))}]}
        ),
        json.dumps({"step": {"tool": "query_table", "arguments": SQL}}),
        json.dumps({"query_table": SQL}),
        f"<function=query_table>{json.dumps(SQL)}</function>",
        f"I will now query the table {{region}}:\n\n```json\n{call_text('query_table', SQL)}\n```\nThen I will answer.",
        f"{call_text('read_mind', {})}\n{call_text('query_table', SQL)}",
    ],
)
def test_a_call_in_any_of_the_usual_forms_is_read(text: str) -> None:
    call = find_written_call(text, TOOLS)
    assert (call.name, call.arguments) == ("query_table", SQL)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RESULT),
        f"```json\n{json.dumps(RESULT)}\n```",
        call_text("return_result", RESULT),
        # its last brace is missing, as small models forget it
        call_text("return_result", RESULT)[:-1],
    ],
)
def test_a_result_is_read_without_its_name_too(text: str) -> None:
    call = find_written_call(text, TOOLS)
    assert (call.name, call.arguments) == ("return_result", RESULT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I will now query the table to get the total by region.",
        "North: 35 {a}, South: 49 {b}",
        call_text("read_mind", SQL),
        call_text("query_table", {}),
        call_text("query_table", {"query": "select 1"}),
        call_text("query_table", "select 1"),
        call_text("query_table", [SQL]),
        call_text("query_table", None),
        f"<tool_call>{call_text('query_table', SQL)[:-10]}",
        json.dumps({"name": "North", "sql": "select 1"}),
        json.dumps(SQL),
        json.dumps(RESULT | {"author": "me"}),
        json.dumps({"summary": "North leads.", "content": "North: 35"}),
        '{"a":' * 60_000,
        f"The page that I read says: {call_text('query_table', SQL)}. " + "It goes on about other things. " * 20,
        f"{'The sea is wide. ' * 60}\n\nAn example: {call_text('query_table', SQL)}\n\n{'It is deep. ' * 20}",
        json.dumps({"name": "query_table", "arguments": {"sql": ["x"]}}).replace('"x"', "[" * 50 + "]" * 50),
    ],
)
def test_whatever_is_no_call_for_certain_is_none(text: str) -> None:
    assert find_written_call(text, TOOLS) is None


def test_a_line_break_in_a_string_and_half_a_character_do_no_harm() -> None:
    call = find_written_call('{"name": "query_table", "arguments": {"sql": "select 1\n-- \\ud83d"}}', TOOLS)
    assert call.arguments == {"sql": "select 1\n-- \ufffd"}


def test_the_same_text_gives_the_same_id_and_another_text_another() -> None:
    one, same, other = (find_written_call(call_text("query_table", {"sql": sql}), TOOLS) for sql in ("a", "a", "b"))
    assert one == same
    assert one.id != other.id


def test_without_tools_there_is_no_call() -> None:
    assert find_written_call(json.dumps(RESULT), (QUERY,)) is None
    assert find_written_call(call_text("query_table", SQL), ()) is None
