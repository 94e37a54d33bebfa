"""Refusals and guesses that are handed in as results: told by what was done, in no language's words."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from handoff.checking.result_checks import CheckSubject, run_checks
from handoff.contracts import Artifact, Handoff, Material, Note
from specialists.tools.tables.calculate_tools import CalculateArguments
from specialists.tools.tables.calculate_tools import tools as calculate_tools
from specialists.tools.tables.profile import find_named_values
from specialists.tools.tables.table_tools import tools as table_tools
from specialists.tools.tool import Tool, ToolOutcome, Workbench
from tests.specialists.scripted_model import (
    EmptyBench,
    KeptLog,
    LookArguments,
    Looker,
    Move,
    calling,
    finish,
    give_up,
    handoff,
    make_text_turn,
    play,
    returning,
)

REFUSALS = (
    "The table 'sales' is not defined.",
    "Leider fehlt mir das Modul pandas, daher ist keine Summe möglich.",
    "No puedo abrir el archivo: falta la columna.",
    "表が見つかりません。",
)
SALES = Artifact(id="a" * 64, name="Sales.CSV", size=40)


def about(*files: Artifact, task: str = "Look at the sea.") -> Handoff:
    return handoff().model_copy(update={"artifacts": files, "intent": task})


def failing(*places: str) -> Tool:
    """A tool that fails at these places, and gives a figure elsewhere."""

    async def then(arguments: LookArguments) -> ToolOutcome:
        if arguments.at in places:
            return ToolOutcome(f"NameError: name {arguments.at!r} is not defined", failed=True)
        return ToolOutcome("columns: region, amount\nrows: 120\nNorth 35 | South 1,249.50 | harbour lights")

    return Looker(then).tool()


@pytest.mark.parametrize("text", REFUSALS)
async def test_a_result_after_calls_that_all_failed_is_sent_back_once_with_the_reason(text: str) -> None:
    moves = [
        calling(("look", {"at": "sales"})),
        returning(text),
        calling(("look", {"at": "sea"})),
        returning("It is 35."),
    ]
    outcome, model, _ = await finish(moves, failing("sales"))
    told = model.calls[2].messages[-1].replies[0]
    assert told.failed
    assert "look failed: NameError: name 'sales' is not defined" in told.text
    assert "Your tools are look, by these names" in told.text
    assert [tool.name for tool in model.calls[2].tools] == ["look", "escalate"]
    assert [call.tool_choice for call in model.calls] == ["auto", "auto", "required", "auto"]
    assert "return_result" in [tool.name for tool in model.calls[3].tools]
    assert (outcome.content, outcome.doubts, outcome.confidence) == ("It is 35.", (), 90)


@pytest.mark.parametrize("text", REFUSALS)
async def test_a_second_time_it_is_doubted(text: str) -> None:
    outcome, model, _ = await finish(
        [calling(("look", {"at": "sales"})), returning(text), returning(text, confidence=95)], failing("sales")
    )
    assert len(model.calls) == 3
    assert outcome.confidence == 50
    (doubt,) = run_checks(CheckSubject(outcome)).doubts
    assert "Nothing that a tool gave is in it" in doubt
    assert "name 'sales' is not defined" in doubt


@pytest.mark.parametrize("text", REFUSALS)
async def test_a_refusal_after_a_call_that_worked_and_one_that_failed(text: str) -> None:
    moves = [calling(("look", {"at": "sea"})), calling(("look", {"at": "pandas"})), returning(text), returning(text)]
    outcome, model, _ = await finish(moves, failing("pandas"))
    assert "look failed: NameError" in model.calls[3].messages[-1].replies[0].text
    assert len(outcome.doubts) == 1


@pytest.mark.parametrize(
    "text",
    [
        "North has 35, South 1.249,50. No chart could be drawn.",
        "Norden: 35, Süden: 1249.5.",
        "Harbour lights, said there.",
    ],
)
async def test_a_result_of_what_the_tools_gave_stands_whatever_failed_last(text: str) -> None:
    moves = [calling(("look", {"at": "sea"})), calling(("look", {"at": "chart"})), returning(text)]
    outcome, _, _ = await finish(moves, failing("chart"))
    assert (outcome.content, outcome.doubts) == (text, ())


@pytest.mark.parametrize("is_handed", [False, True])
async def test_words_about_a_file_that_no_tool_has_opened_are_no_result(is_handed: bool) -> None:  # noqa: FBT001
    given = (Note(source="Sales.CSV", text="region,amount\nNorth,35"),) if is_handed else ()
    moves = [make_text_turn("I will now query the table."), make_text_turn("Ich werde die Tabelle abfragen.")]
    task = about(SALES).model_copy(update={"given": given})
    outcome, _, _ = await give_up(moves, *table_tools(), task=task)
    assert (outcome.reason, outcome.partial_result) == ("confidence_too_low", None)
    assert "No tool was used for it, though Sales.CSV is there" in outcome.message


async def test_a_text_that_was_given_whole_is_no_file_for_tables() -> None:
    text = Material(name="contract.txt", kind="file", text="t" * 64, size=40)
    whole = {
        "artifacts": (Artifact(id="b" * 64, name="contract.txt", size=40),),
        "given": (Note(source="contract.txt", text="Either party may end it with 90 days' notice."),),
        "given_whole": (text,),
    }
    given = handoff().model_copy(update=whole)
    wish = calling(("query_table", {"sql": "SELECT * FROM contract"}))
    for moves in ([make_text_turn("It is 90 days.")] * 2, [wish, *[returning("It is 90 days.")] * 2]):
        outcome, model, _ = await finish(moves, *table_tools(), task=given)
        assert {tool.name for tool in model.calls[0].tools} == {"escalate", "return_result"}
        assert (outcome.content, outcome.gaps) == ("It is 90 days.", ()), "nothing of it was not read"


async def test_what_a_failed_call_said_is_no_result() -> None:
    moves = [calling(("look", {"at": "sales"})), *[returning("ERROR: NameError: name 'sales' is not defined.")] * 2]
    outcome, _, _ = await give_up(moves, failing("sales"))
    assert outcome.reason == "confidence_too_low"


async def test_a_file_that_no_tool_has_read_is_named() -> None:
    moves = [returning("Die Summe ist 12.", confidence=100), returning("Die Summe ist 12.", confidence=100)]
    outcome, model, _ = await finish(moves, *table_tools(), task=about(SALES))
    told = model.calls[1].messages[-1].replies[0].text
    assert "Sales.CSV is attached, and no tool has read it" in told
    assert "profile_table, query_table" in told
    assert [tool.name for tool in model.calls[1].tools] == ["profile_table", "query_table", "escalate"]
    assert outcome.doubts == (), "it may be right: its figures are checked as all are"


async def test_files_that_no_tool_of_the_specialist_reads_are_not_its_concern() -> None:
    page = Artifact(id="b" * 64, name="page.pdf", size=40)
    for tools, files in ((table_tools(), (page,)), (table_tools(), ()), ((Looker().tool(),), (SALES,)), ((), (SALES,))):
        outcome, model, _ = await finish([returning()], *tools, task=about(*files))
        assert len(model.calls) == 1
        assert outcome.doubts == ()


async def test_a_takeover_goes_on_where_it_was_sent_back() -> None:
    log = KeptLog()
    moves: list[Move] = [calling(("look", {"at": "sales"})), returning(REFUSALS[0])]
    with pytest.raises(IndexError):
        await play(moves, failing("sales"), log=log)
    outcome, model, _ = await finish([returning(REFUSALS[0])], failing("sales"), log=log)
    assert [tool.name for tool in model.calls[0].tools] == ["look", "escalate"]
    assert len(outcome.doubts) == 1


@pytest.mark.parametrize(
    ("files", "offered_names"), [((), ["look"]), ((SALES,), ["look", "profile_table", "query_table"])]
)
async def test_a_tool_that_reads_files_is_offered_where_there_is_one(
    files: tuple[Artifact, ...], offered_names: list[str]
) -> None:
    moves = [calling(("look", {"at": "sea"})), *[returning("saw sea")] * 2]
    _, model, _ = await play(moves, Looker().tool(), *table_tools(), task=about(*files))
    assert [tool.name for tool in model.calls[0].tools] == [*offered_names, "return_result", "escalate"]


class Columns(BaseModel):
    """What the two tools below take."""

    file: str = "sales.csv"
    sql: str = ""


PROFILE = """sales.csv is table sales: 40 rows, 3 columns (comma-separated, UTF-8)
- guest VARCHAR: 40 distinct, such as Ada, Ben, Cleo
- region VARCHAR: 2 distinct: North (20), South Coast (20)
- "price each" DOUBLE: 9.5 to 12, mean 97.69, sum 1172.25, 30 distinct
- nights BIGINT: 1 to 6, mean 2.67, sum 107, 6 distinct
First rows (region | price each | nights):
North | 9.5 | 3"""


def make_reading_tool(*, previews: bool, name: str, gives: str = "sum\n3278.75") -> Tool:
    async def read(_arguments: Columns, _bench: Workbench) -> ToolOutcome:
        """Read a file."""
        return ToolOutcome(PROFILE if previews else gives)

    return Tool(
        name, "read", Columns, read, endings=frozenset({".csv"}), previews=find_named_values if previews else None
    )


async def test_a_result_of_a_files_description_alone_is_sent_back_once_and_then_stands() -> None:
    tools = (make_reading_tool(previews=True, name="profile"), make_reading_tool(previews=False, name="query"))
    wrong, right = returning("It is 1172.25."), returning("It is 3278.75.")
    outcome, model, _ = await finish(
        [calling(("profile", {})), wrong, calling(("query", {})), right], *tools, task=about(SALES)
    )
    told = model.calls[2].messages[-1].replies[0].text
    assert "profile only describes whole columns" in told
    assert "Call query now" in told
    assert (outcome.content, outcome.doubts) == ("It is 3278.75.", ())
    assert [tool.name for tool in model.calls[2].tools] == ["query"], "the next step is that tool, and no other"
    assert model.calls[2].tool_choice == "required"
    outcome, model, _ = await finish([calling(("profile", {})), wrong, wrong], *tools, task=about(SALES))
    assert (outcome.content, outcome.doubts) == ("It is 1172.25.", ())


async def test_code_that_fails_beside_a_file_which_is_only_described_is_followed_by_a_look_into_it() -> None:
    tools = (
        make_reading_tool(previews=True, name="profile"),
        make_reading_tool(previews=False, name="query"),
        failing("code"),
    )
    moves = [calling(("profile", {})), calling(("look", {"at": "code"})), calling(("query", {})), returning("3278.75")]
    _, model, _ = await play(moves, *tools, task=about(SALES))
    offered = [[tool.name for tool in call.tools] for call in model.calls]
    assert offered[2] == ["query"]
    assert offered[1] == offered[3] == ["profile", "query", "look", "return_result", "escalate"]


@pytest.mark.parametrize(
    ("task", "sql", "unasked_name"),
    [
        ("How many nights were booked in North?", "SELECT count(*) FROM sales WHERE region = 'North'", "nights"),
        ("What came in from the south coast?", "SELECT sum(nights) FROM sales", "South Coast"),
        ("What is the mean price of each, by region?", "SELECT avg(nights) FROM sales GROUP BY region", "price each"),
        ("How many nights were booked in North?", "SELECT sum(nights) FROM sales WHERE region = 'North'", ""),
        ("Wie viele Buchungen gab es?", "SELECT count(*) FROM sales", ""),
        ("How many guests were there?", "SELECT count(*) FROM sales", ""),
    ],
)
async def test_a_result_is_sent_back_once_where_the_task_names_what_no_call_asked_for(
    task: str, sql: str, unasked_name: str
) -> None:
    tools = (make_reading_tool(previews=True, name="profile"), make_reading_tool(previews=False, name="query"))
    asking, told = calling(("query", {"sql": sql})), returning("It is 3278.75.")
    outcome, model, _ = await finish(
        [calling(("profile", {})), asking, told, told], *tools, task=about(SALES, task=task)
    )
    if not unasked_name:
        assert (len(model.calls), outcome.doubts) == (3, ())
        return
    assert f"the task names {unasked_name}, and no call asked for it" in model.calls[3].messages[-1].replies[0].text
    assert "return_result" in [tool.name for tool in model.calls[3].tools], "it may be right as it is"
    (doubt,) = outcome.doubts
    assert f"The task names {unasked_name}" in doubt


async def test_what_a_query_brought_counts_as_asked_for() -> None:
    found = make_reading_tool(previews=False, name="query", gives="region | n\nNorth | 20\nSouth Coast | 20")
    moves = [calling(("profile", {})), calling(("query", {"sql": "FROM sales"})), returning("South coast: 20.")]
    tools = (make_reading_tool(previews=True, name="profile"), found)
    outcome, _, _ = await finish(moves, *tools, task=about(SALES, task="How many on the south coast?"))
    assert outcome.doubts == ()


async def test_a_result_of_a_file_that_says_nothing_of_what_its_query_gave_is_doubted() -> None:
    tools = (make_reading_tool(previews=True, name="profile"), make_reading_tool(previews=False, name="query"))
    refusal = returning("The table is not there.")
    moves = [calling(("profile", {})), calling(("query", {"sql": "SELECT 1"})), refusal]
    outcome, model, _ = await finish([*moves, returning("It is 3,278.75.")], *tools, task=about(SALES))
    assert (outcome.content, outcome.doubts) == ("It is 3,278.75.", ())
    told = model.calls[3].messages[-1].replies[0].text
    assert told.startswith("Not accepted yet: nothing that query gave is in it.")
    assert told.endswith("sum\n3278.75")
    assert model.calls[3].tool_choice == "auto"
    outcome, model, _ = await finish([*moves, refusal], *tools, task=about(SALES))
    assert outcome.doubts == ("Nothing that query gave is in it: it may be a refusal or a guess, and no result.",)


async def test_the_last_call_is_told_again_what_a_tool_gave_last() -> None:
    tools = (make_reading_tool(previews=True, name="profile"), make_reading_tool(previews=False, name="query"))
    again = calling(("query", {"sql": "SELECT 1"}))
    _, model, _ = await play(
        [calling(("profile", {})), again, again, again, returning("3278.75")], *tools, task=about(SALES)
    )
    assert model.calls[-1].is_last
    assert model.calls[-1].messages[-1].text.endswith("What your tools gave last, word for word:\nsum\n3278.75")


@pytest.mark.parametrize(
    ("code", "expected_words"),
    [
        ("sum(revenue)", "Call query_table with SELECT sum(revenue) FROM sales and the WHERE"),
        ("print(sum(sales.nights * sales.price))", "Call query_table with SELECT sum(nights * price) FROM sales"),
        ("import pandas as pd\npd.read_csv('x')", "Call query_table with SELECT ... FROM sales and the"),
        ("SELECT sum(a) FROM sales", "Call query_table with SELECT ... FROM sales and the"),
    ],
)
async def test_code_that_looks_for_a_table_is_told_how_tables_are_asked(code: str, expected_words: str) -> None:
    (calculate,) = calculate_tools()
    outcome = await calculate.run(CalculateArguments(code=code), EmptyBench(artifacts=(SALES,)))
    assert outcome.failed
    assert expected_words in outcome.text
    assert "query_table" not in (await calculate.run(CalculateArguments(code=code), EmptyBench())).text
    assert (
        "query_table"
        not in (await calculate.run(CalculateArguments(code="1 / 0"), EmptyBench(artifacts=(SALES,)))).text
    )


def test_a_value_that_is_a_unit_is_no_value_that_a_task_names() -> None:
    text = "- period VARCHAR: 2 distinct: month (3), year (1)\n- kind VARCHAR: 2 distinct: fixed (3), per seat (1)"
    assert find_named_values(text) == ("period", "kind", "fixed", "per seat")
