"""Dry run of planning: decides who would get a request, and describes the decision as JSON values and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.supervisor.crew_planner import CrewPlanner
from handoff.contracts import Material, Place, Request, Usage
from handoff.effects import MakePlan
from handoff.events import AnswerWritten, Event, PlannerAsked, PlanProposed, PlanRejected
from handoff.planning.plan_brief import make_request_brief
from handoff.state.job_state import Job, RequestState
from handoff.text.counts import format_count
from specialists.model import Model

NO_PLACE = Place(team="", channel="", thread_ts="0")


@dataclass(frozen=True, slots=True)
class Routing:
    """The decision who gets a request, made as in a job."""

    decision: Event
    """The decision. With a first responder, the one that would follow if it handed the request over."""
    rejections: tuple[PlanRejected, ...] = ()
    """Replies of the planner that were rejected before the decision."""
    first_responder: str = ""
    """The first responder that gets the request before anybody else; empty if there is none."""


async def decide_route(
    planning: CrewPlanner,
    text: str,
    now: Callable[[], float],
    files: tuple[Material, ...] = (),
    model: Model | None = None,
) -> Routing:
    """Decide as in a job: by a rule or the pipeline, else by the planner. `model` None stands for the crew's model."""
    request = RequestState(Request(id="0", user="", text=text, at=now()), is_gathered=True, materials=files)
    brief = make_request_brief(Job(NO_PLACE, (request,)), request)
    event = await planning.make_plan(MakePlan(request.id), brief, request, now=now, model=model)
    first = ""
    if isinstance(event, PlanProposed) and event.is_first:
        first = event.plan.subtasks[0].specialist
        event = await planning.make_plan(
            MakePlan(request.id), brief, request, now=now, model=model, allows_first_responder=False
        )
    if not isinstance(event, PlanRejected):
        return Routing(event, first_responder=first)
    second_event = await planning.make_plan(
        MakePlan(request.id, event.faults), brief, request, now=now, model=model, allows_first_responder=False
    )
    return Routing(second_event, (event,), first)


def export_routing(routing: Routing, text: str, label: str) -> dict[str, Any]:
    """Return the decision on the request `text` as JSON values. `label` is the model's name for people.

    Raises TypeError if the event is no decision.
    """
    event, rejections = routing.decision, routing.rejections
    usage = sum((one.usage for one in rejections), getattr(event, "usage", Usage()))
    fields: dict[str, Any] = {
        **({"first": routing.first_responder} if routing.first_responder else {}),
        "does": "plan",
        "by": label,
        "why": list(getattr(event, "reasons", ())),
        "parts": [],
        "missing": [],
        "refused": [fault for one in rejections for fault in one.faults],
        "calls": usage.calls,
        "tokens": usage.tokens_in + usage.tokens_out,
    }
    if isinstance(event, AnswerWritten):
        return {**fields, "does": "answer", "text": event.text, "why": [event.why] if event.why else []}
    if isinstance(event, PlannerAsked):
        return {**fields, "does": "ask", "text": event.question, "options": list(event.options)}
    if not isinstance(event, PlanProposed):
        raise TypeError(f"{event.type} is no decision of a planner")
    part_fields = {"id", "specialist", "title", "after", "intent", "done_when", "critical"}
    parts = [one.model_dump(mode="json", include=part_fields) for one in event.plan.subtasks]
    is_handed_whole = len(parts) == 1 and parts[0]["intent"] == text.strip()
    return {
        **fields,
        "does": "hand" if is_handed_whole else "plan",
        "by": f"rule {event.rule}" if event.rule else "the crew's pipeline" if event.pipeline else label,
        "parts": parts,
        "missing": list(event.plan.missing),
        "strategy": event.plan.strategy,
    }


def describe_decision(routing: dict[str, Any]) -> str:
    """Render a decision, as `export_routing` returns it, in lines for people, with its reasons last."""
    parts = format_count(len(routing["parts"]), "part")
    decision_words = {"answer": "answered at once", "ask": "asked back first", "plan": f"a plan of {parts}"}
    if routing["does"] == "hand":
        lines = [f"{routing['parts'][0]['specialist']} gets it as it stands (by {routing['by']})"]
    else:
        lines = [f"{decision_words[routing['does']]} (by {routing['by']})"]
        lines += [routing["text"]] if "text" in routing else []
        lines += [f"- {option}" for option in routing.get("options", ())]
        for part in routing["parts"]:
            after = f" (after {', '.join(part['after'])})" if part["after"] else ""
            lines.append(f"- {part['id']}: {part['specialist']}: {part['title']}{after}")
    lines += [f"missing: nobody in the crew can {part}" for part in routing["missing"]]
    lines += [f"refused at first: {fault}" for fault in routing["refused"]]
    if "first" in routing:
        lines = [f"{routing['first']} gets it first, as it stands; if it hands it over:", *lines]
    lines = [f"crew {routing['crew']}:", *lines] if "crew" in routing else lines
    return "\n".join([*lines, *(f"why: {why}" for why in routing["why"])])
