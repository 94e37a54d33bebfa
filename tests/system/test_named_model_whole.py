"""A specialist with a model of its own in the whole bot: asked for and told of by its name, then stood in for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from handoff import events as ev
from specialists.registry import load_crew
from tests.providers.faults import Fault
from tests.system.brains import connect, in_turn, plan, provider, result, subtask
from tests.system.crews.crew_stage import timeline
from tests.system.scene import Scene

PAGE = "---\nname: {name}\ndescription: Does {name} work.\ntools: []\n{keys}\n---\nYou are the {name}.\n"


async def test_its_own_model_is_asked_and_told_of_and_its_fallback_works_on_its_tier(
    scene: Scene, tmp_path: Path
) -> None:
    for name, keys in (("poet", "model: gpt-6-astra\neffort: low\nfallback: clerk"), ("clerk", "model: fast")):
        (tmp_path / f"{name}.md").write_text(PAGE.format(name=name, keys=keys))
    crew = load_crew(tmp_path, {})
    words = {"poet": in_turn(result("A verse.", 90), Fault("bad_request")), "clerk": in_turn(result("Prose.", 90))}
    asked = plan(subtask("verse", "poet"))
    async with (
        provider(planner=in_turn(asked, asked), **words) as server,
        scene.bot(connect("responses", server), crew=replace(crew)),
    ):
        talk = await scene.ask("a verse please")
        await talk.over()
        second = await scene.ask("another verse please", channel="#sales")
        await second.over()
    models = [(request.model, (request.body.get("reasoning") or {}).get("effort")) for request in server.requests]
    assert ("gpt-6-astra", "low") in models
    assert "A verse." in talk.said()
    lines = await timeline(scene, talk)
    assert "poet starts (attempt 1, gpt-6-astra)" in lines
    [done] = await talk.of(ev.ResultReturned)
    assert done.result.usage.model == "gpt-6-astra"
    later = await timeline(scene, second)
    assert "clerk starts (attempt 2, fast)" in later, "no tier to raise: the fallback is next"
    assert "Prose." in second.said()
