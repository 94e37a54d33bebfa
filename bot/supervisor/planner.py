"""The planner: one model call that turns a request into a plan, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from bot.supervisor.prompts import prompt
from handoff.contracts import Artifact, Member, Usage
from handoff.effects import MakePlan
from handoff.events import PlanProposed, PlanRejected, RequestFailed
from handoff.job import Ask, Job
from handoff.plan_check import MAX_SUBTASKS, read_plan
from specialists.dialogue import Message, Model, ModelCall, ModelError

DEADLINE = 120.0
MAX_TOKENS = 4096
EARLIER = 1_200
"""Characters of each earlier answer in the thread that the planner is shown."""

Planned = PlanProposed | PlanRejected | RequestFailed


async def make_plan(effect: MakePlan, job: Job, *, members: Sequence[Member], model: Model, now: float) -> Planned:
    """One try at a plan for the request. A second try is told the exact faults of the first."""
    ask = job.ask(effect.request)
    if ask is None:
        raise KeyError(effect.request)
    by_name = {member.name: member for member in members}
    brief = describe(job, ask, members)
    if effect.faults:
        brief += "\n\n" + repair(effect.faults)
    call = ModelCall(
        purpose="planner",
        system=prompt("planner"),
        messages=(Message(role="user", text=brief),),
        tier="balanced",
        max_tokens=MAX_TOKENS,
        deadline=DEADLINE,
        answer_schema=plan_schema(tuple(by_name)),
    )
    try:
        turn = await model.reply(call)
    except ModelError as error:
        return RequestFailed(
            at=now,
            request=ask.id,
            step="planning",
            reason=str(error),
            advice="Mention me again in a while; if it stays, ask whoever runs me to look at `leadhand check`.",
            usage=error.usage,
        )
    if turn.stop == "refused":
        return _refused(ask, turn.text, turn.usage, now)
    plan, faults = read_plan(turn.text, by_name)
    if turn.stop == "max_tokens" and plan is None:
        faults = ("The plan was cut off at the length limit; make it shorter.",)
    if plan is None:
        return PlanRejected(at=now, request=ask.id, faults=faults, usage=turn.usage)
    return PlanProposed(at=now, request=ask.id, plan=plan, members=tuple(members), usage=turn.usage)


def _refused(ask: Ask, text: str, usage: Usage, now: float) -> RequestFailed:
    reason = "the model declined this request" + (f": {text.strip()[:300]}" if text.strip() else "")
    advice = "Say what it is for, or ask for something else."
    return RequestFailed(at=now, request=ask.id, step="planning", reason=reason, advice=advice, usage=usage)


def describe(job: Job, ask: Ask, members: Sequence[Member]) -> str:
    """What the planner sees: the request, one line a specialist, the files, and the thread so far."""
    parts = ["# Request", ask.request.text.strip(), "", "# Specialists"]
    parts += [f"- {member.name}: {member.description}" for member in members]
    if files := _files(job, ask):
        parts += ["", "# Files", *(f"- {file.name} ({file.media_type}, {file.size} bytes)" for file in files)]
    if ask.file_faults:
        parts += ["", "# Files that could not be read", *(f"- {fault}" for fault in ask.file_faults)]
    earlier = [other for other in job.asks if other.id != ask.id and other.request.at < ask.request.at]
    if earlier:
        parts += ["", "# Earlier in this thread"]
        for other in earlier:
            end = other.answer or (f"(no answer: {other.failure.reason})" if other.failure else "(no answer yet)")
            parts += [f"## Asked: {other.request.text.strip()}", end[:EARLIER]]
    return "\n".join(parts)


def _files(job: Job, ask: Ask) -> list[Artifact]:
    return [file for other in job.asks if other.request.at <= ask.request.at for file in other.artifacts]


def repair(faults: Sequence[str]) -> str:
    """What the planner is told about a plan that did not pass."""
    heading = "# Your last plan was not accepted\nAnswer with the whole plan again, with these mended:"
    return "\n".join([heading, *(f"- {fault}" for fault in faults)])


@cache
def plan_schema(specialists: tuple[str, ...]) -> dict[str, Any]:
    """The JSON Schema of a plan for this crew; naming the specialists in it keeps small models on the list."""
    text = {"type": "string"}
    subtask = {
        "id": text,
        "title": text,
        "intent": text,
        "specialist": {"type": "string", "enum": list(specialists)},
        "after": {"type": "array", "items": text},
        "done_when": text,
        "tier": {"anyOf": [{"type": "string", "enum": ["fast", "balanced", "deep"]}, {"type": "null"}]},
    }
    plan = {
        "goal": text,
        "subtasks": {"type": "array", "items": _closed(subtask), "minItems": 1, "maxItems": MAX_SUBTASKS},
        "strategy": {"type": "string", "enum": ["merge", "select", "reduce"]},
        "instruction": text,
    }
    return _closed(plan)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
