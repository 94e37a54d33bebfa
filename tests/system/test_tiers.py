"""Which model is called: by the role's tier, and by a specialist's own model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bot.models.model_choice import OPENAI_TIERS
from bot.settings import read_settings
from handoff import events as ev
from handoff.contracts import Tier
from specialists.registry import load_crew
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.system.brains import Words, connect, crew_of, in_turn, plan, provider, result, subtask
from tests.system.scene import Scene

SETTING = "planner balanced, verifier fast"
ROOM: dict[Tier, int] = {"fast": 3_000, "balanced": 4_000, "deep": 5_000}
WORDS: dict[str, Words] = {
    "planner": lambda _: plan({**subtask("a", "first"), "critical": True}, subtask("b", "second")),
    "specialist": lambda _: result("Done."),
    "synthesizer": lambda _: Reply("All is done."),
}


async def test_each_role_is_called_on_its_tier_with_the_budget_of_that(scene: Scene, tmp_path: Path) -> None:
    """The crew's file comes before the settings, role by role."""
    crew_file = "roles: {planner: fast, synthesizer: balanced}"
    expected: dict[str, Tier] = {"planner": "fast", "verifier": "fast", "synthesizer": "balanced"}
    crew = crew_of(tmp_path, ["first", "second"], crew_file)
    context = ", ".join(f"{tier} {room}" for tier, room in ROOM.items())
    terms = read_settings({"LEADHAND_ROLES": SETTING, "LEADHAND_CONTEXT": context}).terms
    async with provider(**WORDS) as server, scene.bot(connect("chat", server), crew=crew, terms=terms):
        talk = await scene.ask("Do two things")
        job = await talk.over()

    assert job.latest_request.state == "completed"
    asked = {purpose_of(request): request.model for request in server.requests}
    tiers: dict[str, Tier] = {**expected, "specialist:first": "fast", "specialist:second": "fast"}
    assert asked == {purpose: OPENAI_TIERS[tier] for purpose, tier in tiers.items()}
    (planned,) = await talk.of(ev.PlanProposed)
    assert "roles" not in ev.dump_event(planned), "releases that know no roles can read the plan"
    (verified,) = await talk.of(ev.AnswerVerified)
    (written,) = await talk.of(ev.AnswerWritten)
    budgets = {"planner": planned.pack.budget, "verifier": verified.pack.budget, "synthesizer": written.pack.budget}
    assert budgets == {role: ROOM[tier] for role, tier in expected.items()}


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
    assert "A verse." in talk.join_bot_texts()
    lines = await talk.timeline()
    assert "poet starts (attempt 1, gpt-6-astra)" in lines
    [done] = await talk.of(ev.ResultReturned)
    assert done.result.usage.model == "gpt-6-astra"
    later = await second.timeline()
    assert "clerk starts (attempt 2, fast)" in later, "no tier to raise: the fallback is next"
    assert "Prose." in second.join_bot_texts()
