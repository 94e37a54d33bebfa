"""Specialists made for one job, through the whole bot: planned, shown, run, stood in for, and taken over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.limits.breakers import ADHOC_BREAKER, BREAKER_RULES
from bot.operation.metering import meter_crew
from bot.operation.metrics import Metrics
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from handoff import events as ev
from handoff.contracts import Plan, Terms, Tier
from specialists.crew import Crew
from tests.own_tools import all_tools
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.specialists.scripted_model import ScriptedModel
from tests.system.brains import (
    Gate,
    connect,
    crew_of,
    in_turn,
    played_by,
    provider,
    purposes,
    result,
    subtask,
    tool_call,
)
from tests.system.scene import Scene, rows


class Priceless(ScriptedModel):
    """A model that is on no price list."""

    def compute_price(self, tier: Tier, tokens_in: int, tokens_out: int) -> None:
        del tier, tokens_in, tokens_out


MAKE = "make: {tools: [calculate], at_most: 1, fallback: writer}\n"
BRIEF = "Give quantities in old Nordic units, one a line, with the factor used. Leave out what is no quantity."
PART = subtask("units", "unitsmith", intent="Give 12 km and 3 kg in Norwegian mil and bismerpund.")
SUM = tool_call("calculate", code="12 / 10")
FACTOR = "12 km are 1.2 mil."
DONE_RESULT = result("Done.", 90)


def crew_in(folder: Path, crew_file: str = MAKE) -> Crew:
    """A writer and an analyst who owns the tool that is lent."""
    return crew_of(folder, ["writer", "analyst"], crew_file, all_tools(), analyst="calculate")


def wish(**more: Any) -> dict[str, Any]:
    return {
        "name": "unitsmith",
        "why": "nobody there knows old units",
        "description": "Converts into old Nordic units.",
        "brief": BRIEF,
        "tools": ["calculate"],
        "tier": "fast",
        **more,
    }


def plan(*subtasks: dict[str, Any], made_specialists: list[dict[str, Any]] | None = None) -> Reply:
    made_specialists = [wish()] if made_specialists is None else made_specialists
    return Reply(
        json.dumps({"made": made_specialists, "goal": "Units", "subtasks": list(subtasks), "strategy": "merge"})
    )


async def test_a_specialist_is_made_used_and_shown(scene: Scene, tmp_path: Path) -> None:
    words = {"planner": in_turn(plan(PART)), "unitsmith": in_turn(SUM, result(FACTOR, 90))}
    metrics = Metrics()
    async with played_by(scene, meter_crew(crew_in(tmp_path), metrics), **words) as server:
        talk = await scene.ask("what are 12 km and 3 kg in old Norwegian units?")
        job = await talk.over()
        card = await talk.wait_until_seen(
            lambda: (cards := talk.cards()) and rows(cards[0])["units"][0] == "complete" and cards[0]
        )
        trace = await scene.command(f"trace {job.id}")
        status = await scene.command(f"status {job.id}")
    assert purposes(server) == ["planner", "specialist:unitsmith", "specialist:unitsmith", "verifier"]
    assert FACTOR in talk.join_bot_texts()
    assert job.latest_request.state == "completed"
    asked, first, second, _ = server.requests
    assert "`calculate`: " in asked.system
    assert "at most 1 in a plan" in asked.system
    schema = json.dumps(asked.answer_schema)
    assert '"made"' in schema
    assert '"enum": ["calculate"]' in schema
    assert first.system.startswith("You are the unitsmith, made for one part of one job.")
    assert BRIEF in first.system
    assert "Hand in your work with return_result" in first.system, "the protocol of all specialists"
    assert {tool.name for tool in first.tools} == {"calculate", "return_result", "escalate"}
    assert not any(reply.failed for message in second.messages for reply in message.replies), "the tool was there"
    assert "unitsmith (made for this job)" in rows(card)["units"][1]
    assert "unitsmith (made for this job)" in str(status)
    assert "unitsmith made for this job (fast, calculate): nobody there knows old units" in str(trace)
    (planned,) = await talk.of(ev.PlanProposed)
    assert [one.subtask for one in planned.estimates] == ["units"]
    assert planned.estimates[0].tokens > len(BRIEF) // 4
    assert job.latest_request.run.members["unitsmith"].made
    counted = metrics.render()[0].decode()
    assert 'leadhand_tool_calls_total{outcome="ok",tool="calculate"} 1.0' in counted
    assert "unitsmith" not in counted


async def test_those_made_share_one_breaker_and_are_left_alone_together_where_they_keep_failing(
    scene: Scene, tmp_path: Path
) -> None:
    words = {
        "planner": in_turn(plan(PART)),
        "unitsmith": Fault("bad_request"),
        "writer": DONE_RESULT,
    }
    rules = BREAKER_RULES["made"]
    async with provider(**words) as server, scene.bot(connect("chat", server), crew=crew_in(tmp_path)) as app:
        counters = app.store.counters
        job = await (await scene.ask("what are 12 km in old Norwegian units?")).over()
        assert job.latest_request.subtasks["units"].specialist == "writer"
        known = await counters.read_breakers()
        assert [name for name in known if not name.startswith("model:")] == [ADHOC_BREAKER], "one for all that are made"
        assert known[ADHOC_BREAKER].get_state(app.store.clock()) == "closed", "one job alone does not take them away"
        for number in range(1, rules.threshold):
            await counters.record_breaker_failure(ADHOC_BREAKER, f"op{number}", rules)
        asked = purposes(server).count("specialist:unitsmith")
        talk = await scene.ask("what are 12 km in old Norwegian units?", channel="#sales")
        job = await talk.over()
    (failed,) = await talk.of(ev.AttemptFailed)
    assert failed.kind == "unavailable"
    assert failed.message.startswith("All specialists made for one job are paused for another ")
    assert purposes(server).count("specialist:unitsmith") == asked
    assert job.latest_request.subtasks["units"].specialist == "writer"


async def test_an_instance_whose_crew_lends_no_more_has_it_stood_in_for(scene: Scene, tmp_path: Path) -> None:
    gate = Gate(DONE_RESULT)
    parts = plan(subtask("text", "analyst"), {**PART, "after": ["text"]})
    async with provider(planner=in_turn(parts), analyst=gate, writer=DONE_RESULT) as server:
        async with scene.bot(connect("chat", server), crew=crew_in(tmp_path)):
            talk = await scene.ask("what are 12 km in old Norwegian units?")
            await gate.arrival_event.wait()
            await talk.until(lambda job: job.latest_request.run.plan is not None)
        gate.open()
        async with scene.bot(connect("chat", server), crew=crew_in(tmp_path, "")):
            job = await talk.over()
    (failed,) = await talk.of(ev.AttemptFailed)
    assert (failed.kind, failed.failed_calls) == ("unavailable", 0)
    assert failed.message == "the crew allows no ad-hoc specialists, and unitsmith is one"
    assert "specialist:unitsmith" not in purposes(server)
    assert job.latest_request.subtasks["units"].specialist == "writer"
    assert job.latest_request.state == "completed"


INNER = f"description: Knows old units.\n{MAKE.replace('fallback: writer', 'fallback: keeper')}"


async def test_a_crew_inside_the_crew_may_have_its_own_made(scene: Scene, tmp_path: Path) -> None:
    crew_of(tmp_path / "archive", ["keeper"], INNER, all_tools())
    outer = plan(subtask("old", "archive", intent=PART["intent"]), made_specialists=[])
    plans = in_turn(outer, plan(PART))
    async with played_by(
        scene, crew_in(tmp_path, ""), planner=plans, unitsmith=in_turn(SUM, result(FACTOR, 90))
    ) as server:
        talk = await scene.ask("what are 12 km in old Norwegian units?")
        job = await talk.over()
    planners = [request for request, who in zip(server.requests, purposes(server), strict=True) if who == "planner"]
    assert ["Specialists made for this job" in request.system for request in planners] == [False, True]
    assert FACTOR in talk.join_bot_texts()
    assert job.latest_request.state == "completed"


def test_what_a_part_is_likely_to_take_is_said_even_where_nothing_is_lent_any_more(tmp_path: Path) -> None:
    made = json.loads(plan(PART).text)
    lent, refused = crew_in(tmp_path), crew_in(tmp_path, "")
    expected = [
        CrewPlanner(crew, Priceless([]), TrackRecord(), Terms()).estimate_plan(Plan.model_validate(made))[0]
        for crew in (lent, refused)
    ]
    assert expected[0].calls > expected[1].calls == 1
    assert expected[0].tokens > expected[1].tokens > 0
