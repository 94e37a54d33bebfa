"""What stands between a request and its plan: rules, what nobody can do, estimates, equals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.models.rehearsal.rehearsed_brief import CAN_ASK, NO_MODEL
from handoff import events as ev
from handoff.engine.answer import gaps
from specialists.crew import Crew
from specialists.registry import load_crew
from tests.models.price_lists import held_price_list
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.store.kit import eventually
from tests.system.brains import Words, connect, in_turn, plan, played, provider, purposes, result, subtask
from tests.system.scene import SAMPLE, Scene, rows

ONE_SKILL = "what was the total revenue by region?"
FIGURES = "Revenue by region: Oslo has the most, then Bergen, from all rows of sales.csv."
TOTALS = subtask("totals", "analyst", intent="From sales.csv give the total revenue by region.")


def reply(*subtasks: dict[str, Any], missing: list[str] | None = None) -> Reply:
    """A planner's reply that may name what nobody can do."""
    made = json.loads(plan(*subtasks).text)
    return Reply(json.dumps({**made, "missing": missing or []}))


def crew_of(folder: Path, names: list[str], crew_file: str = "") -> Crew:
    """A crew of writers without tools."""
    for name in names:
        page = f"---\nname: {name}\ndescription: Writes.\ntools: []\nmodel: fast\n---\nYou are the {name}.\n"
        (folder / f"{name}.md").write_text(page)
    (folder / "crew.yml").write_text(crew_file)
    return load_crew(folder, {})


@asynccontextmanager
async def played_by(scene: Scene, crew: Crew, **words: Words) -> AsyncIterator[ProviderServer]:
    """A bot with a crew of the test's own."""
    async with provider(**words) as server, scene.bot(connect("chat", server), crew=crew):
        yield server


async def test_a_request_of_one_skill_goes_straight_there(scene: Scene) -> None:
    async with played(scene, analyst=in_turn(result(FIGURES, 90))) as server:
        talk = await scene.ask(ONE_SKILL, files=[SAMPLE])
        job = await talk.over()
    assert "planner" not in purposes(server), "no model was asked who should do it"
    assert set(purposes(server)) == {"specialist:analyst"}
    assert job.latest.state == "completed"
    (planned,) = await talk.of(ev.PlanProposed)
    assert planned.rule == "figures-of-a-table"
    assert planned.usage.calls == 0
    assert [decision.why for decision in job.latest.decisions if decision.what == "planned"] == [
        "rule figures-of-a-table: analyst alone, without asking the planner"
    ]
    async with scene.bot():
        trace = await scene.command(f"trace {job.id}")
    assert "rule figures-of-a-table: analyst alone" in str(trace)


async def test_a_request_that_nobody_covers_is_said_so(scene: Scene) -> None:
    async with played(scene, planner=in_turn(reply(missing=["book a flight", "reserve a hotel"]))) as server:
        talk = await scene.ask("book me a flight to Rome and a hotel")
        job = await talk.over()
    assert purposes(server) == ["planner"], "nobody was set to work"
    assert job.latest.state == "failed"
    assert "nobody in the crew can book a flight; or reserve a hotel" in talk.said()
    assert "analyst (profiles and queries attached tables" in talk.said()
    assert job.latest.usage.calls == 1


async def test_a_part_that_nobody_covers_is_named_in_the_answer(scene: Scene) -> None:
    text = subtask("text", "writer", intent="Write two sentences about Rome in spring.")
    words = {"planner": in_turn(reply(text, missing=["book a flight"])), "writer": in_turn(result("Rome blooms.", 90))}
    async with played(scene, **words):
        talk = await scene.ask("two sentences about Rome in spring, and book me a flight")
        job = await talk.over()
    assert job.latest.state == "completed"
    assert "Rome blooms." in talk.said()
    assert "nobody in the crew can book a flight" in talk.said()
    assert gaps(job.latest, job.latest.run) == ("nobody in the crew can book a flight",)


async def test_an_invented_specialist_is_refused(scene: Scene) -> None:
    travel = subtask("trip", "travel_agent", intent="Book a flight to Rome for Ana.")
    async with played(scene, planner=in_turn(plan(travel), reply(missing=["book a flight"]))) as server:
        talk = await scene.ask("book me a flight to Rome")
        job = await talk.over()
    (rejected,) = await talk.of(ev.PlanRejected)
    assert "unknown specialist 'travel_agent'" in rejected.faults[0]
    assert purposes(server) == ["planner", "planner"]
    assert job.latest.state == "failed"


async def test_an_estimate_without_a_planner_waits_for_the_prices(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_price_list(tmp_path, monkeypatch)
    async with played(scene, api="responses", analyst=in_turn(result(FIGURES, 90))):
        talk = await scene.ask(ONE_SKILL, files=[SAMPLE])
        assert await eventually(held.started)
        held.release()
        await talk.over()
    (planned,) = await talk.of(ev.PlanProposed)
    assert planned.usage.calls == 0, "no call of the planner has waited for them"
    assert all(estimate.cost for estimate in planned.estimates)


async def test_estimates_stand_in_the_status_beside_what_it_took(scene: Scene) -> None:
    parts = [subtask("a", "writer"), subtask("b", "reviewer", ["a"])]
    held = in_turn(result("One sentence.", 90))
    async with played(scene, planner=in_turn(plan(*parts)), writer=held, reviewer=held):
        talk = await scene.ask("write one sentence and have it read")
        job = await talk.over()
        card = await talk.seen(lambda: (cards := talk.cards()) and rows(cards[0])["b"][0] == "complete" and cards[0])
    (planned,) = await talk.of(ev.PlanProposed)
    assert [estimate.subtask for estimate in planned.estimates] == ["a", "b"]
    assert all(estimate.tokens > 100 for estimate in planned.estimates)
    status, details = rows(card)["b"]
    assert status == "complete"
    assert "tokens" not in details
    assert job.latest.work["a"].estimate == planned.estimates[0]
    async with scene.bot():
        trace = await scene.command(f"trace {job.id}")
        told = await scene.command(f"status {job.id}")
    assert "plan of 2 subtasks, about " in str(trace)
    assert "tokens (about " in str(told), "what it took, beside what was expected"


async def test_equals_share_the_work_and_the_planner_sees_one_of_them(scene: Scene, tmp_path: Path) -> None:
    crew = crew_of(tmp_path, ["poet", "poet_b", "singer"], "confidence: 60\nequals:\n- [poet, poet_b]\n")
    parts = plan(subtask("a", "poet"), subtask("b", "poet"), subtask("c", "singer"))
    said = in_turn(result("A line.", 90))
    async with played_by(scene, crew, planner=in_turn(parts), specialist=said) as server:
        talk = await scene.ask("three lines about the sea")
        job = await talk.over()
    assert "- poet:" in server.requests[0].system
    assert "poet_b" not in server.requests[0].system
    assert {name: work.specialist for name, work in job.latest.work.items()} == {
        "a": "poet",
        "b": "poet_b",
        "c": "singer",
    }
    assert job.latest.run.terms.confidence == 60, "the crew's own word comes before the settings'"
    assert any("b: poet_b of poet (1 under way" in decision.why for decision in job.latest.decisions)


async def test_the_rehearsal_declines_what_no_rule_does(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("Book a table for two on Friday")
        assert not (await talk.over()).latest.work
        await talk.say("@leadhand Book a flight to Lisbon")
        job = await talk.until(lambda job: job if len(job.asks) > 1 and job.latest.over else None)
    first, second = (one.run.answer or "" for one in job.asks)
    assert NO_MODEL in first
    assert NO_MODEL not in second
    assert CAN_ASK in first
    assert CAN_ASK in second
