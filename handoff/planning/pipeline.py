"""Pipelines: a crew's fixed plan. The crew's file lists the steps, so that no planner is asked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from handoff.contracts import FindingCondition, Material, Member, Plan, Strategy, Subtask, Tier
from handoff.materials.material_lists import REQUEST_NAME
from handoff.planning import plan_check
from handoff.planning.plan_brief import PlanBrief

REQUEST_PLACEHOLDER = "{request}"
"""The placeholder for the request in a step's brief. To a brief without the placeholder, the request is appended."""
KINDS_BY_NEED = {"request": "request", "thread": "thread", "answers": "answer", "files": "file"}
"""The kinds of material by the words for them in a step's needs. File endings, such as `.csv`, may be named, too."""
MAX_INLINE_LENGTH = 4_000
"""The most characters of a request that is put into the briefs. A longer one is given as a material, in full."""
_MAX_LENGTH_IN_BRIEFS = 40_000
"""The most characters of the request in all briefs of a plan together. The log stores the plan."""
_SAMPLE_REQUEST = "“Why does the nightly export of orders.csv stop at row 1,024?”"
"""A sample request, with which the steps are checked as a plan when the crew is loaded."""

FollowUpPlanner = Literal["pipeline", "planner"]
"""The planner of later requests in a thread."""


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step of a pipeline. `needs` are words of `KINDS_BY_NEED` or file endings; None: all material."""

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
    follow_ups: FollowUpPlanner = "pipeline"
    """`pipeline`: later requests in a thread go through the pipeline as well. `planner`: the planner plans them."""

    @property
    def reason(self) -> str:
        """The reason for the plan, for the trace."""
        return f"pipeline: the crew's own plan of {len(self.steps)} steps, without asking the planner"


def applies_to_request(pipeline: Pipeline | None, brief: PlanBrief) -> bool:
    """Return True if a request goes through the pipeline. Refused requests do not count as earlier ones."""
    is_follow_up = any(not one.refusal for one in brief.earlier_requests)
    return pipeline is not None and (pipeline.follow_ups == "pipeline" or not is_follow_up)


def build_pipeline_plan(pipeline: Pipeline, brief: PlanBrief) -> Plan:
    """Return the pipeline's plan for a request or a crew's subtask, with its text in the briefs."""
    text = brief.text.strip()
    by_reference = len(text) > MAX_INLINE_LENGTH and any(one.name == REQUEST_NAME for one in brief.materials)
    share = _MAX_LENGTH_IN_BRIEFS // len(pipeline.steps)
    request_text = f"(the request stands below, under {REQUEST_NAME!r})" if by_reference else text[:share]
    subtasks = tuple(
        _make_step_subtask(step, request_text, brief.materials, is_by_reference=by_reference) for step in pipeline.steps
    )
    goal = " ".join(text.split())[:MAX_INLINE_LENGTH]
    return Plan(goal=goal, subtasks=subtasks, strategy=pipeline.strategy, instruction=pipeline.instruction)


def find_pipeline_faults(pipeline: Pipeline, members: Sequence[str]) -> tuple[str, ...]:
    """Return the faults of the steps according to `plan_check`. `members` are the names of the crew's members."""
    members_by_name: Mapping[str, Member] = {name: Member(name=name) for name in members}
    return plan_check.find_plan_faults(build_pipeline_plan(pipeline, PlanBrief(_SAMPLE_REQUEST)), members_by_name)


def _make_step_subtask(
    step: PipelineStep, request_text: str, materials: Sequence[Material], *, is_by_reference: bool
) -> Subtask:
    brief = step.brief.strip()
    intent = (
        brief.replace(REQUEST_PLACEHOLDER, request_text)
        if REQUEST_PLACEHOLDER in brief
        else f"{brief}\n\nThe request:\n{request_text}"
    )
    needs = None if step.needs is None or not materials else tuple(_yield_needed_names(step.needs, materials))
    if needs is not None and is_by_reference and REQUEST_NAME not in needs:
        needs = (REQUEST_NAME, *needs)
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


def _yield_needed_names(needs: Sequence[str], materials: Sequence[Material]) -> Iterator[str]:
    kinds = {KINDS_BY_NEED[word] for word in needs if word in KINDS_BY_NEED}
    endings = tuple(word.casefold() for word in needs if word not in KINDS_BY_NEED)
    for one in materials:
        if one.kind in kinds or (one.kind == "file" and endings and one.name.casefold().endswith(endings)):
            yield one.name
