"""The rehearsed specialists: over the real runner and the real tools, and on odd input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.models.rehearsal.rehearsal import RehearsalModel
from handoff.contracts import Escalation, Handoff, Note, Plan, Result, ToolCall, ToolReply
from specialists.model import ModelCall, ModelError, ModelMessage
from specialists.registry import load_crew
from specialists.runner import run_specialist
from specialists.tools.tool import FolderWorkbench
from specialists.turns.finish_tools import FINISH_SPECS
from tests.own_tools import all_tools
from tests.specialists.scripted_model import KeptLog

GENERAL = Path(__file__).parents[2] / "specialists" / "crews" / "general"
ORDERS = b"day,region,plan,revenue,units\n" + b"".join(
    f"2026-0{month}-{day:02},{region},{plan},{month * 10 + day}.5,{day}\n".encode()
    for month in (1, 2, 3)
    for day in (3, 14, 25)
    for region in ("North", "South")
    for plan in ("Free", "Pro")
)


async def work(
    name: str, intent: str, folder: Path, *, context: Sequence[Note] = (), **files: bytes
) -> Result | Escalation:
    """What a specialist of the general crew hands back, rehearsed."""
    workbench = FolderWorkbench.make_in_memory(
        ((f"{stem}.csv", "text/csv", data) for stem, data in files.items()), folder
    )
    artifacts = workbench.artifacts
    handoff = Handoff(to_agent=name, intent=intent, context=tuple(context), artifacts=artifacts)
    specialist = load_crew(GENERAL, all_tools()).specialists[name]
    outcome = await run_specialist(specialist, handoff, model=RehearsalModel(), workbench=workbench, log=KeptLog())
    assert isinstance(outcome, Result | Escalation)
    return outcome


async def test_the_analyst_shows_the_queries_rows_and_draws_them(tmp_path: Path) -> None:
    outcome = await work("analyst", "Why did revenue rise?", tmp_path, orders=ORDERS)
    assert isinstance(outcome, Result)
    assert "| 2026-01 | 294 |" in outcome.content
    assert "| 2026-03 | 534 |" in outcome.content
    assert "From 2026-01 to 2026-03, total revenue rose from 294 to 534 (+81.6 %)." in outcome.content
    assert "the reason behind them takes a language model" in outcome.content
    assert [artifact.media_type for artifact in outcome.artifacts] == ["image/png"]
    assert any("orders.csv" in finding.source for finding in outcome.findings)
    assert (outcome.usage.model, outcome.usage.cost) == ("rehearsal", None)


async def test_the_analyst_asks_which_file_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    old, new = ORDERS, ORDERS.replace(b".5,", b".9,")
    outcome = await work("analyst", "Total revenue by plan", tmp_path, old=old, new=new)
    assert isinstance(outcome, Escalation)
    assert outcome.options == ("old.csv", "new.csv")
    note = Note(source=f"Asked: {outcome.message}", text="Answered by a person: new.csv")
    outcome = await work("analyst", "Total revenue by plan", tmp_path, context=[note], old=old, new=new)
    assert isinstance(outcome, Result)
    assert {finding.source for finding in outcome.findings} == {"new.csv"}


async def test_plain_arithmetic_is_worked_out_by_the_tool(tmp_path: Path) -> None:
    outcome = await work("analyst", "What is (17 + 3) * 23?", tmp_path)
    assert isinstance(outcome, Result)
    assert outcome.content == "(17 + 3) * 23 = 460"


@pytest.mark.parametrize(
    ("name", "intent", "data", "expected_text"),
    [
        ("analyst", "Total revenue by plan", b"", "orders.csv"),
        ("analyst", "Total revenue by plan", b"\x89PNG\r\n\x1a\n" + bytes(50), "orders.csv"),
        ("analyst", "Is that so?", ORDERS, "which figure is meant"),
        ("writer", "Write a haiku about spring", b"", "nothing to write from"),
        ("reviewer", "Check the note", b"", "no rules for the work of reviewer"),
    ],
)
async def test_what_cannot_be_done_is_given_up_with_its_reason(
    tmp_path: Path, name: str, intent: str, data: bytes, expected_text: str
) -> None:
    outcome = await work(name, intent, tmp_path, orders=data)
    assert isinstance(outcome, Escalation)
    assert outcome.reason == "out_of_scope"
    assert expected_text in outcome.message


async def test_the_writer_puts_together_what_there_is_and_adds_nothing(tmp_path: Path) -> None:
    facts = Note(source="Find why", text="- Revenue rose from 10 to 20.\n\n**Total revenue by product line**")
    outcome = await work("writer", "Draft a note to the board", tmp_path, context=[facts])
    assert isinstance(outcome, Result)
    assert outcome.content.startswith("# Note to the board\n\n**In short.** Revenue rose from 10 to 20.\n")


async def test_a_pace_longer_than_the_deadline_is_a_model_error() -> None:
    call = ModelCall(purpose="other", system="", messages=(ModelMessage(role="user", text="x"),), timeout_seconds=0.05)
    with pytest.raises(ModelError) as caught:
        await RehearsalModel(pace=5).reply(call)
    assert caught.value.kind == "timeout"


MARKS = """# Task|# Request|# Specialists|# Files|# Results|# Gaps|<result id="a" sure="3"/>|- a: b.|(3 rows)|
- a.csv (text/csv, 3 bytes)|a.csv is table a: 1 rows, 1 columns|- b DOUBLE: 1 to 2, 3 distinct|sales by region?|https://x.y|
Answered by a person: b|# From earlier steps|## Asked: x"""
TEXTS = st.lists(st.one_of(st.sampled_from(MARKS.split("|")), st.text(max_size=30)), max_size=12).map("\n".join)
PURPOSES = st.sampled_from(
    ["planner", "synthesizer", "check", *(f"specialist:{name}" for name in ("analyst", "researcher", "writer", "x"))]
)


@settings(max_examples=45, deadline=None)
@given(purpose=PURPOSES, text=TEXTS, reply=TEXTS, tool=st.sampled_from(["profile_table", "query_table", "web_search"]))
async def test_no_text_brings_it_down(purpose: str, text: str, reply: str, tool: str) -> None:
    done = ToolCall(id="1", name=tool, arguments={"file": "a.csv"})
    messages = (
        ModelMessage(role="user", text=text),
        ModelMessage(role="assistant", calls=(done,)),
        ModelMessage(role="tool", replies=(ToolReply(call_id="1", text=reply),)),
    )
    turn = await RehearsalModel().reply(ModelCall(purpose=purpose, system="", messages=messages, tools=FINISH_SPECS))
    assert bool(turn.calls) == (turn.stop == "tool_use")
    if purpose == "planner":
        decided = json.loads(turn.text)["next"]
        assert decided.pop("who") == "answer" or Plan.model_validate(decided).subtasks
