"""The first responder in the whole bot: it answers in one call, asks, or hands over, and the planner is told why."""

from __future__ import annotations

from handoff import events as ev
from tests.providers.wire import WireRequest
from tests.system.brains import escalation, in_turn, plan, purposes, result, subtask, tool_call
from tests.system.crews.crew_stage import crew_at_work, join_call_bodies
from tests.system.scene import Scene

WHY = "It takes figures, and then a text in a Word document."
TWO = plan(subtask("figures", "analyst"), subtask("note", "writer", ["figures"]))


def list_offered_tools(request: WireRequest) -> set[str]:
    return {tool.name for tool in request.tools}


async def test_a_simple_request_takes_one_call(scene: Scene) -> None:
    said = result("The note says that we open at nine.", 90)
    async with crew_at_work(scene, "general", assistant=said) as server:
        talk = await scene.ask("what does this say? We open at nine.")
        job = await talk.over()
    assert purposes(server) == ["specialist:assistant"]
    assert job.latest_request.state == "completed"
    assert "we open at nine" in talk.join_bot_texts()
    assert [one.what for one in job.latest_request.decisions] == ["planned"]


async def test_what_it_hands_over_is_planned_by_those_who_know_why(scene: Scene) -> None:
    written = [result("Sales rose.", 90), result("Dear board, sales rose.", 90)]
    async with crew_at_work(
        scene,
        "general",
        assistant=tool_call("hand_over", why=WHY),
        planner=TWO,
        analyst=written[0],
        writer=written[1],
        synthesizer=in_turn(None),
    ) as server:
        talk = await scene.ask("say how sales went, and draft a note to the board in a document")
        job = await talk.over()
    assert purposes(server)[:2] == ["specialist:assistant", "planner"]
    assert WHY in join_call_bodies(server, "planner")
    roster = server.requests[1].system.partition("# Specialists")[2]
    assert "- writer: " in roster
    assert "assistant" not in roster
    assert not any("hand_over" in list_offered_tools(one) for one in server.requests[1:])
    (way,) = [tool for tool in server.requests[0].tools if tool.name == "hand_over"]
    assert "- writer: Writes and restructures texts" in way.description
    assert "- assistant:" not in way.description
    (why,) = [one.why for one in job.latest_request.decisions if one.what == "hand over"]
    assert why == f"assistant hands it over: {WHY}"
    assert job.latest_request.state == "completed"
    assert "assistant" not in str(talk.cards()[0]), "people see the plan, not who passed it on"
    (handed,) = await talk.of(ev.Escalated)
    assert (handed.escalation.reason, handed.usage.calls) == ("hand_over", 1), "the trace has its call and its cost"


async def test_what_people_answered_it_reaches_those_who_come_after_it(scene: Scene) -> None:
    first = in_turn(escalation("ambiguous_input", "Which fair?", ["Spring", "Autumn"]), tool_call("hand_over", why=WHY))
    async with crew_at_work(
        scene,
        "general",
        assistant=first,
        planner=plan(subtask("text", "writer")),
        writer=result("The autumn fair is on.", 90),
    ) as server:
        talk = await scene.ask("write about the fair")
        await talk.question()
        await talk.say("Autumn")
        await talk.over()
    assert "Autumn" in join_call_bodies(server, "planner")
    assert "Autumn" in join_call_bodies(server, "specialist:writer")
