"""What the planner is told about a file: whose tools read it, as a small model gives tables to whoever "researches"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.supervisor.planner import describe
from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Artifact, Member, Terms
from handoff.effects import MakePlan
from handoff.planning.plan_brief import PlanBrief
from specialists.registry import load_crew
from tests.handoff.kit import ask, asked, job
from tests.specialists.scripted_model import Looker, saying
from tests.supervisor.test_without_a_planner import Costless

ANALYST = Member(name="analyst", reads=(".csv", ".xlsx"))
LEDGER = Member(name="ledger", reads=(".csv",))
WRITER = Member(name="writer")


def told_of(name: str, *members: Member) -> str:
    file = Artifact(id="1" * 64, name=name, media_type="text/csv", size=12)
    return describe(PlanBrief("Which month sold best?", files=(file,)), 8_000, members).text.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "members", "told"),
    [
        ("orders.csv", (ANALYST, WRITER), "- orders.csv (text/csv, 12 bytes, for analyst)"),
        ("ORDERS.CSV", (ANALYST, WRITER), "- ORDERS.CSV (text/csv, 12 bytes, for analyst)"),
        ("orders.csv", (ANALYST, LEDGER, WRITER), "- orders.csv (text/csv, 12 bytes, for analyst or ledger)"),
        ("orders.xlsx", (ANALYST, LEDGER, WRITER), "- orders.xlsx (text/csv, 12 bytes, for analyst)"),
        ("letter.docx", (ANALYST, WRITER), "- letter.docx (text/csv, 12 bytes)"),
        ("csv", (ANALYST, WRITER), "- csv (text/csv, 12 bytes)"),
        ("orders.csv", (ANALYST, LEDGER), "- orders.csv (text/csv, 12 bytes)"),
    ],
)
def test_a_file_names_those_whose_tools_read_it_unless_all_do(
    name: str, members: tuple[Member, ...], told: str
) -> None:
    assert told_of(name, *members) == told


async def test_what_a_specialist_reads_is_what_its_tools_read_also_in_a_crew_inside(tmp_path: Path) -> None:
    table = replace(Looker().tool("tabulate"), endings=frozenset({".csv"}))
    for name, tools in (("writer", ""), ("figures/analyst", "tabulate")):
        path = tmp_path / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        page = f"---\nname: {path.stem}\ndescription: Works.\ntools: [{tools}]\nmodel: fast\n---\nYou work.\n"
        path.write_text(page, encoding="utf-8")
    (tmp_path / "figures" / "crew.yml").write_text("description: Knows figures.\n", encoding="utf-8")
    model: Any = Costless([saying('{"why":"a sum","next":{"who":"figures"}}')])
    planning = Planning(load_crew(tmp_path, {"tabulate": table}), model, TrackRecord(), Terms())
    file = Artifact(id="1" * 64, name="orders.csv", media_type="text/csv", size=12)
    state = ask(job(asked()))
    await planning.plan(MakePlan("1.0"), PlanBrief("Sum?", files=(file,)), state, now=lambda: 9.0)
    assert "- orders.csv (text/csv, 12 bytes, for figures)" in model.calls[0].messages[0].text
