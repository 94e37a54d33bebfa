"""A crew's fixed plan: steps that its file lists, so that no planner is asked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import FindingCondition, Material, Member, Plan, Strategy, Subtask, Tier
from handoff.materials.material_lists import REQUEST
from handoff.planning import plan_check
from handoff.planning.plan_brief import PlanBrief

PLACE = "{request}"
"""Where the request stands in a brief. A brief without it has the request at its end."""
NEEDS = {"request": "request", "thread": "thread", "answers": "answer", "files": "file"}
"""The words for what a step needs, each with the kind of material that it stands for. `.csv` stands for such files."""
INLINE = 4_000
"""Characters of a request that stands in the briefs themselves. A longer one is given as material, whole."""
_ALL_BRIEFS = 40_000
"""Characters that the request may take in all briefs together, where it is no material: a plan is kept in the log."""
_SAMPLE = "“Why does the nightly export of orders.csv stop at row 1,024?”"
"""A sample request with which the steps are checked when the crew is read."""

FollowUps = Literal["pipeline", "planner"]


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step. `needs` are words of `NEEDS` or endings of files; None: all that there is."""

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
    """The steps of a crew, and how their results are put together.

    `follow_ups` says who plans a later request in a thread: the pipeline as well, or the planner.
    """

    steps: tuple[PipelineStep, ...]
    strategy: Strategy = "merge"
    instruction: str = ""
    follow_ups: FollowUps = "pipeline"

    @property
    def reason(self) -> str:
        """Why there is this plan, for the trace."""
        return f"pipeline: the crew's own plan of {len(self.steps)} steps, without asking the planner"


def takes_request(pipeline: Pipeline | None, brief: PlanBrief) -> bool:
    """Return True if a request goes into the pipeline. Refused requests before it do not make it a follow-up."""
    follows = any(not one.refusal for one in brief.earlier)
    return pipeline is not None and (pipeline.follow_ups == "pipeline" or not follows)


def build_pipeline_plan(pipeline: Pipeline, brief: PlanBrief) -> Plan:
    """Return the plan for a request, or for the subtask of a crew, with its text in the briefs as it was written."""
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
    """Return what the checks of plans find wrong with the steps; `members` are the names of who can be given one."""
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
