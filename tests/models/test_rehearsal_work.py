"""The rehearsed specialists: over the real runner and the real tools, and on odd input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.slack.receive.thread_text import ABOUT
from handoff.approval_values import Approval
from handoff.contracts import Escalation, Handoff, Note, Plan, Result, ToolCall, ToolReply, Turn
from handoff.events import ToolStarted
from handoff.state.state_values import Earlier, Ruling
from specialists.model import ModelCall, ModelError, ModelMessage
from specialists.registry import load_crew
from specialists.runner import run
from specialists.tools.tool import FolderWorkbench, ToolOutcome, ToolSpec
from specialists.turns.finish_tools import SPECS
from tests.own_tools import all_tools

GENERAL = Path(__file__).parents[2] / "specialists" / "crews" / "general"
ORDERS = b"day,region,plan,revenue,units\n" + b"".join(
    f"2026-0{month}-{day:02},{region},{plan},{month * 10 + day}.5,{day}\n".encode()
    for month in (1, 2, 3)
    for day in (3, 14, 25)
    for region in ("North", "South")
    for plan in ("Free", "Pro")
)


class _Log:
    history: Sequence[Any] = ()
    written: Mapping[str, str] = MappingProxyType({})
    can_ask = False

    def __init__(self, *said: str) -> None:
        self._said = said
        self.turns: list[Turn] = []
        self.outcomes: list[ToolOutcome] = []

    async def turn(self, turn: Turn) -> None:
        self.turns.append(turn)

    async def tool(self, _: ToolReply, outcome: ToolOutcome) -> None:
        self.outcomes.append(outcome)

    async def record_sending(self, tool: str, to: str, *, refused: str = "", ruling: Ruling | None = None) -> None:
        raise AssertionError(f"nothing goes out here, but {tool} to {to} ({refused}, {ruling})")

    async def find_rulings(self, _: Approval) -> Earlier:
        return Earlier()

    def news(self) -> tuple[str, ...]:
        return ()

    def list_known_texts(self) -> tuple[str, ...]:
        return self._said

    def intent(self, call: ToolCall, *, what: str, key: str, digest: str, ruling: Ruling | None = None) -> ToolStarted:
        raise AssertionError(f"no tool of this crew writes, but {what} is about to ({call}, {key}, {digest}, {ruling})")

    async def keep_intent(self, intent: ToolStarted) -> None:
        raise AssertionError(f"no tool of this crew writes, but {intent} began")


async def work(
    name: str, intent: str, folder: Path, *, context: Sequence[Note] = (), given: Sequence[Note] = (), **files: bytes
) -> tuple[Result | Escalation, _Log]:
    """What a specialist of the general crew hands back, rehearsed."""
    workbench = FolderWorkbench.in_memory(((f"{stem}.csv", "text/csv", data) for stem, data in files.items()), folder)
    artifacts = workbench.artifacts
    handoff = Handoff(to_agent=name, intent=intent, context=tuple(context), given=tuple(given), artifacts=artifacts)
    log = _Log(intent)
    specialist = load_crew(GENERAL, all_tools()).specialists[name]
    outcome = await run(specialist, handoff, model=RehearsalModel(), workbench=workbench, log=log)
    return outcome, log


async def test_the_analyst_shows_the_queries_rows_and_draws_them(tmp_path: Path) -> None:
    outcome, _ = await work("analyst", "Why did revenue rise?", tmp_path, orders=ORDERS)
    assert isinstance(outcome, Result)
    assert "| 2026-01 | 294 |" in outcome.content
    assert "| 2026-03 | 534 |" in outcome.content
    assert "From 2026-01 to 2026-03, total revenue rose from 294 to 534 (+81.6 %)." in outcome.content
    assert "the reason behind them takes a language model" in outcome.content
    assert [artifact.media_type for artifact in outcome.artifacts] == ["image/png"]
    assert any("orders.csv" in finding.source for finding in outcome.findings)
    assert outcome.usage.model == "rehearsal"
    assert outcome.usage.cost is None


async def test_the_analyst_asks_which_figure_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    outcome, _ = await work("analyst", "Which plan is best?", tmp_path, orders=ORDERS)
    assert isinstance(outcome, Escalation)
    assert (outcome.reason, outcome.options) == ("ambiguous_input", ("revenue", "units"))
    note = Note(source=f"Asked: {outcome.message}", text="Answered by a person: units")
    outcome, _ = await work("analyst", "Which plan is best?", tmp_path, context=[note], orders=ORDERS)
    assert isinstance(outcome, Result)
    assert "| Free | 252 |" in outcome.content


async def test_the_analyst_asks_which_file_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    old, new = ORDERS, ORDERS.replace(b".5,", b".9,")
    outcome, _ = await work("analyst", "Total revenue by plan", tmp_path, old=old, new=new)
    assert isinstance(outcome, Escalation)
    assert outcome.options == ("old.csv", "new.csv")
    note = Note(source=f"Asked: {outcome.message}", text="Answered by a person: new.csv")
    outcome, _ = await work("analyst", "Total revenue by plan", tmp_path, context=[note], old=old, new=new)
    assert isinstance(outcome, Result)
    assert {finding.source for finding in outcome.findings} == {"new.csv"}


async def test_what_somebody_else_said_asks_for_nothing(tmp_path: Path) -> None:
    said = f"({ABOUT} Times: UTC.)\n[2026-11-23 04:21] Ben: Total revenue by plan"
    about = [Note(source="message", text=said)]
    outcome, _ = await work("analyst", "What is the total revenue?", tmp_path, given=about, orders=ORDERS)
    assert isinstance(outcome, Result)
    assert not outcome.gaps
    assert "by plan" not in outcome.content
    outcome, _ = await work("analyst", "Is that so?", tmp_path, given=about, orders=ORDERS)
    assert isinstance(outcome, Escalation)
    assert "which figure is meant" in outcome.message


async def test_plain_arithmetic_is_worked_out_by_the_tool(tmp_path: Path) -> None:
    outcome, log = await work("analyst", "What is (17 + 3) * 23?", tmp_path)
    assert isinstance(outcome, Result)
    assert outcome.content == "(17 + 3) * 23 = 460"
    assert len(log.outcomes) == 1


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n" + bytes(50)])
async def test_the_analyst_says_what_is_wrong_with_a_file(tmp_path: Path, data: bytes) -> None:
    outcome, _ = await work("analyst", "Total revenue by plan", tmp_path, orders=data)
    assert isinstance(outcome, Escalation)
    assert outcome.reason == "out_of_scope"
    assert "orders.csv" in outcome.message


async def test_the_writer_publishes_only_where_a_document_is_asked_for(tmp_path: Path) -> None:
    facts = Note(
        source="Find why",
        text="- Revenue rose from 10 to 20.\n\n**Total revenue by product line**",
    )
    outcome, _ = await work("writer", "Draft a note to the board", tmp_path, context=[facts])
    assert isinstance(outcome, Result)
    assert outcome.artifacts == ()
    assert outcome.content.startswith("# Note to the board\n\n**In short.** Revenue rose from 10 to 20.\n")
    outcome, _ = await work("writer", "Draft a note to the board as a canvas", tmp_path, context=[facts])
    assert isinstance(outcome, Result)
    assert [artifact.publish_as for artifact in outcome.artifacts] == ["canvas"]
    outcome, _ = await work("writer", "Draft a report for the board", tmp_path, context=[facts])
    assert isinstance(outcome, Result)
    assert outcome.artifacts[0].name.endswith(".docx")


async def test_the_writer_admits_that_it_has_no_material(tmp_path: Path) -> None:
    outcome, _ = await work("writer", "Write a haiku about spring", tmp_path)
    assert isinstance(outcome, Escalation)
    assert outcome.reason == "out_of_scope"
    assert "nothing to write from" in outcome.message


async def test_a_review_takes_a_model_and_nothing_is_said_to_be_checked(tmp_path: Path) -> None:
    notes = [Note(source="Find why", text="Revenue was 1,200 in March.")]
    outcome, _ = await work("reviewer", "Check the note", tmp_path, context=notes)
    assert isinstance(outcome, Escalation)
    assert "no rules for the work of reviewer" in outcome.message


async def test_work_with_other_tools_is_declined() -> None:
    search = ToolSpec("web_search", "", {"properties": {"query": {}}, "required": ["query"]})
    messages = (ModelMessage(role="user", text="# Task\nFind the price of tea"),)
    call = ModelCall(purpose="specialist:researcher", system="", messages=messages, tools=(search, *SPECS))
    (end,) = (await RehearsalModel().reply(call)).calls
    assert end.name == "escalate"
    assert "no rules for the work of researcher" in end.arguments["message"]


async def test_a_pace_longer_than_the_deadline_is_a_model_error() -> None:
    call = ModelCall(purpose="other", system="", messages=(ModelMessage(role="user", text="x"),), deadline=0.05)
    with pytest.raises(ModelError) as caught:
        await RehearsalModel(pace=5).reply(call)
    assert caught.value.kind == "timeout"


MARKS = st.sampled_from(
    """# Task
# Request
# Specialists
# Files
# Results
# Gaps
<result id="a" sure="3"/>
- a: b.
- a.csv (text/csv, 3 bytes)
a.csv is table a: 1 rows, 1 columns
- b DOUBLE: 1 to 2, 3 distinct
a | b
(3 rows)
sales by region?
https://x.y
Answered by a person: b
# From earlier steps
## Asked: x""".splitlines()
)
TEXTS = st.lists(st.one_of(MARKS, st.text(max_size=30)), max_size=12).map("\n".join)
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
    turn = await RehearsalModel().reply(ModelCall(purpose=purpose, system="", messages=messages, tools=SPECS))
    assert bool(turn.calls) == (turn.stop == "tool_use")
    if purpose == "planner":
        decided = json.loads(turn.text)["next"]
        assert decided.pop("who") == "answer" or Plan.model_validate(decided).subtasks
