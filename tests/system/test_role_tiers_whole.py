"""Roles of the supervisor on the tiers that were set for them: which model is called, and with how much material."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.models.choosing import OPENAI_TIERS
from bot.settings import read_settings
from handoff import events as ev
from handoff.contracts import Tier
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.system.brains import Words, connect, plan, provider, result, subtask
from tests.system.scene import Scene
from tests.system.test_planning import crew_of

SETTING = "planner balanced, verifier fast"
ROOM: dict[Tier, int] = {"fast": 3_000, "balanced": 4_000, "deep": 5_000}
WORDS: dict[str, Words] = {
    "planner": lambda _: plan({**subtask("a", "first"), "critical": True}, subtask("b", "second")),
    "specialist": lambda _: result("Done."),
    "synthesizer": lambda _: Reply("All is done."),
}


@pytest.mark.parametrize(
    ("setting", "crew_file", "expected"),
    [
        ("", "", {"planner": "deep", "verifier": "deep", "synthesizer": "deep"}),
        (SETTING, "", {"planner": "balanced", "verifier": "fast", "synthesizer": "deep"}),
        ("", "roles: {synthesizer: balanced}", {"planner": "deep", "verifier": "deep", "synthesizer": "balanced"}),
        (
            SETTING,
            "roles: {planner: fast, synthesizer: balanced}",  # the crew's file comes first, role by role
            {"planner": "fast", "verifier": "fast", "synthesizer": "balanced"},
        ),
    ],
    ids=["unset", "settings", "crew", "both"],
)
async def test_each_role_is_called_on_its_tier_with_the_budget_of_that(
    scene: Scene, tmp_path: Path, setting: str, crew_file: str, expected: dict[str, Tier]
) -> None:
    crew = crew_of(tmp_path, ["first", "second"], crew_file)
    context = ", ".join(f"{tier} {room}" for tier, room in ROOM.items())
    terms = read_settings({"LEADHAND_ROLES": setting, "LEADHAND_CONTEXT": context}).terms
    async with provider(**WORDS) as server, scene.bot(connect("chat", server), crew=crew, terms=terms):
        talk = await scene.ask("Do two things")
        job = await talk.over()

    assert job.latest.state == "completed"
    asked = {purpose_of(request): request.model for request in server.requests}
    tiers: dict[str, Tier] = {**expected, "specialist:first": "fast", "specialist:second": "fast"}
    assert asked == {purpose: OPENAI_TIERS[tier] for purpose, tier in tiers.items()}
    (planned,) = await talk.of(ev.PlanProposed)
    assert "roles" not in ev.dump(planned), "releases that know no roles can read the plan"
    (verified,) = await talk.of(ev.AnswerVerified)
    (written,) = await talk.of(ev.AnswerWritten)
    budgets = {"planner": planned.pack.budget, "verifier": verified.pack.budget, "synthesizer": written.pack.budget}
    assert budgets == {role: ROOM[tier] for role, tier in expected.items()}
