"""Plans that no planner made: a crew's pipeline, and whoever gets what no plan could be made for, at every level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Member, Terms, Tier
from handoff.effects import MakePlan
from handoff.events import PlanProposed
from handoff.planning.plan_brief import PlanBrief
from specialists.crew import Crew
from specialists.registry import load_crew
from tests.handoff.kit import R, ask, asked, job, planned, started, subtask
from tests.specialists.scripted_model import ScriptedModel, saying

GARBAGE = saying("{ I would ask the")
FAULTS = ("The reply is no JSON.",)


class Costless(ScriptedModel):
    """A model whose calls cost nothing, and that needs no warming."""

    async def warm(self) -> None:
        """Nothing to do."""

    def price(self, tier: Tier, tokens_in: int, tokens_out: int) -> float:
        del tier, tokens_in, tokens_out
        return 0.0


def crew_in(folder: Path, outer: str = "", inner: str = "") -> Crew:
    """`writer` and `reader`, and inside it `legal` with `clerk` and `archivist`."""
    for where, names, text in (
        (folder, ("reader", "writer"), outer),
        (folder / "legal", ("archivist", "clerk"), f"description: Knows contracts.\n{inner}"),
    ):
        where.mkdir(exist_ok=True)
        for name in names:
            page = f"---\nname: {name}\ndescription: Works.\ntools: []\nmodel: fast\n---\nYou work.\n"
            (where / f"{name}.md").write_text(page)
        (where / "crew.yml").write_text(text)
    return load_crew(folder, {})


async def plan_of(crew: Crew, effect: MakePlan, *moves: Any, text: str = "find the lease") -> PlanProposed:
    model: Any = Costless(list(moves))
    planning = Planning(crew, model, TrackRecord(), Terms())
    members = (Member(name="legal", crew=Terms()),)
    plan = planned(subtask("law", specialist="legal")).model_copy(update={"members": members})
    state = job(asked(), plan, started("law").model_copy(update={"specialist": "legal"}))
    level = planning.within("legal") if effect.within else planning
    assert level is not None
    event = await level.plan(effect, PlanBrief(text), ask(state), now=lambda: 9.0)
    assert isinstance(event, PlanProposed)
    assert not model.moves, "no call more and none less"
    return event


@pytest.mark.parametrize(
    ("said", "expected"), [("default: reader", "reader"), ("", "reader"), ("default: legal", "legal")]
)
async def test_what_cannot_be_planned_in_two_tries_goes_to_the_default(
    tmp_path: Path, said: str, expected: str
) -> None:
    event = await plan_of(crew_in(tmp_path, said), MakePlan(R, FAULTS), GARBAGE)
    (part,) = event.plan.subtasks
    assert (part.specialist, part.intent) == (expected, "find the lease")
    assert f"no usable plan in two tries, so {expected} gets it as it stands" in event.reasons[0]


@pytest.mark.parametrize(("said", "expected"), [("default: clerk", "legal/clerk"), ("", "legal/archivist")])
async def test_a_crew_inside_has_a_default_of_its_own(tmp_path: Path, said: str, expected: str) -> None:
    event = await plan_of(crew_in(tmp_path, inner=said), MakePlan(R, FAULTS, "law", 1), GARBAGE)
    assert [(one.id, one.specialist) for one in event.plan.subtasks] == [("law/request", expected)]


PIPELINE = "pipeline:\n- {specialist: clerk, title: Find it, brief: 'Find it. {request}'}\n"


async def test_a_crew_inside_with_a_pipeline_asks_no_planner(tmp_path: Path) -> None:
    event = await plan_of(crew_in(tmp_path, inner=PIPELINE), MakePlan(R, (), "law", 1))
    assert event.pipeline
    assert [(one.id, one.intent) for one in event.plan.subtasks] == [("law/clerk", "Find it. find the lease")]


async def test_rules_come_before_the_pipeline(tmp_path: Path) -> None:
    steps = PIPELINE.replace("clerk", "reader")
    crew = crew_in(tmp_path, f"{steps}rules:\n- {{name: write, to: writer, when: ['^write']}}\n")
    event = await plan_of(crew, MakePlan(R), text="write a note")
    assert (event.rule, event.pipeline, event.plan.subtasks[0].specialist) == ("write", False, "writer")
    event = await plan_of(crew, MakePlan(R), text="read a note")
    assert (event.rule, event.pipeline, event.plan.subtasks[0].specialist) == ("", True, "reader")
