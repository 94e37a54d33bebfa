"""Pipelines: the fixed plan of a crew, whose steps its file lists, so that no planner is asked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import FindingCondition, Material, Member, Plan, Strategy, Subtask, Tier
from handoff.materials.material_lists import REQUEST
from handoff.planning import plan_check
from handoff.planning.plan_brief import PlanBrief

PLACE = "{request}"
"""The placeholder for the request in a step's brief. A brief without it gets the request at its end."""
NEEDS = {"request": "request", "thread": "thread", "answers": "answer", "files": "file"}
"""The kinds of material by the words for them in a step's needs. File endings, such as `.csv`, may be named, too."""
INLINE = 4_000
"""The most characters of a request that is put into the briefs. A longer one is given as a material, in full."""
_ALL_BRIEFS = 40_000
"""The most characters of the request in all briefs together, if it is no material, since the log stores the plan."""
_SAMPLE = "“Why does the nightly export of orders.csv stop at row 1,024?”"
"""A sample request with which the steps are checked when the crew is loaded."""

FollowUps = Literal["pipeline", "planner"]
"""The planner of later requests in a thread."""


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step of a pipeline. `needs` are words of `NEEDS` or file endings; None: all material."""

    name: str
    specialist: str
    title: str
    brief: str
    after: tuple[str, ...] = ()
    done_when: str = ""
    needs: tuple[str, ...] | None = None
    tier: Tier | None = None
    critical: bool = False
    only_for: FindingCondition | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The pipeline of a crew."""

    steps: tuple[PipelineStep, ...]
    strategy: Strategy = "merge"
    instruction: str = ""
    """Advice for the synthesizer."""
    follow_ups: FollowUps = "pipeline"
    """`pipeline`: later requests in a thread go through the pipeline as well. `planner`: the planner plans them."""

    @property
    def reason(self) -> str:
        """The reason for the plan, for the trace."""
        return f"pipeline: the crew's own plan of {len(self.steps)} steps, without asking the planner"


def takes_request(pipeline: Pipeline | None, brief: PlanBrief) -> bool:
    """Return True if a request goes through the pipeline. Only earlier requests that were not refused make it later."""
    follows = any(not one.refusal for one in brief.earlier)
    return pipeline is not None and (pipeline.follow_ups == "pipeline" or not follows)


def build_pipeline_plan(pipeline: Pipeline, brief: PlanBrief) -> Plan:
    """Return the pipeline's plan for a request or a crew's subtask, with its text in the briefs."""
    text = brief.text.strip()
    by_reference = len(text) > INLINE and any(one.name == REQUEST for one in brief.materials)
    share = _ALL_BRIEFS // len(pipeline.steps)
    stands = f"(the request stands below, under {REQUEST!r})" if by_reference else text[:share]
    subtasks = tuple(
        _make_step_subtask(step, stands, brief.materials, by_reference=by_reference) for step in pipeline.steps
    )
    goal = " ".join(text.split())[:INLINE]
    return Plan(goal=goal, subtasks=subtasks, strategy=pipeline.strategy, instruction=pipeline.instruction)


def faults_of(pipeline: Pipeline, members: Sequence[str]) -> tuple[str, ...]:
    """Return the faults of the steps according to `plan_check`. `members` are the names of the crew's members."""
    known: Mapping[str, Member] = {name: Member(name=name) for name in members}
    return plan_check.check(build_pipeline_plan(pipeline, PlanBrief(_SAMPLE)), known)


def _make_step_subtask(step: PipelineStep, stands: str, there: Sequence[Material], *, by_reference: bool) -> Subtask:
    brief = step.brief.strip()
    intent = brief.replace(PLACE, stands) if PLACE in brief else f"{brief}\n\nThe request:\n{stands}"
    needs = None if step.needs is None or not there else tuple(_list_needed_names(step.needs, there))
    if needs is not None and by_reference and REQUEST not in needs:
        needs = (REQUEST, *needs)
    return Subtask(
        id=step.name,
        title=step.title,
        intent=intent,
        specialist=step.specialist,
        after=step.after,
        needs=needs,
        done_when=step.done_when,
        tier=step.tier,
        critical=step.critical,
        only_for=step.only_for,
    )


def _list_needed_names(words: Sequence[str], there: Sequence[Material]) -> Iterator[str]:
    kinds = {NEEDS[word] for word in words if word in NEEDS}
    endings = tuple(word.casefold() for word in words if word not in NEEDS)
    for one in there:
        if one.kind in kinds or (one.kind == "file" and endings and one.name.casefold().endswith(endings)):
            yield one.name
