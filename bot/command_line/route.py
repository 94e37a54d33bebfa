"""`leadhand route`: says who would get a request, and why, without any work being done."""

from __future__ import annotations

import argparse
import json
import mimetypes
import sys
import time
from typing import Any

from bot.app import open_crew
from bot.command_line.console import say
from bot.models.choosing import ChosenModel, ModelSettingsError, choose_model
from bot.settings import Settings, SettingsError
from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Artifact, Material, Place, Request, Usage
from handoff.effects import MakePlan
from handoff.events import AnswerWritten, Event, PlannerAsked, PlanProposed, PlanRejected, RequestFailed
from handoff.planning.plan_brief import of_request
from handoff.state import Ask, Job

NOWHERE = Place(team="", channel="", thread_ts="0")
DECIDED, NOBODY, IN_PART = 0, 1, 3


async def route(options: argparse.Namespace, settings: Settings) -> int:
    """Decide as a job would: by the crew's rules, else by the planner. Returns the exit code."""
    try:
        model = await choose_model(settings.env)
    except ModelSettingsError as error:
        raise SettingsError(str(error)) from None
    try:
        event, rejected = await _decided(options, settings, model)
    finally:
        await model.close()
    if isinstance(event, RequestFailed):
        print(f"leadhand: {event.step}: {event.reason}. {event.advice}", file=sys.stderr)  # noqa: T201
        return NOBODY
    found = told(event, options.text, model.label, rejected)
    say(json.dumps(found, indent=2, ensure_ascii=False) if options.json else in_words(found))
    return IN_PART if found["missing"] else DECIDED


async def _decided(
    options: argparse.Namespace, settings: Settings, model: ChosenModel
) -> tuple[Event, tuple[PlanRejected, ...]]:
    """Return the decision, and the replies of the planner that were refused before it."""
    planning = Planning(open_crew(settings), model, TrackRecord(), settings.terms)
    now = time.time()
    files = tuple(_file(name) for name in options.file)
    ask = Ask(Request(id="0", user="", text=options.text, at=now), gathered=True, materials=files)
    brief = of_request(Job(NOWHERE, (ask,)), ask)
    first = await planning.plan(MakePlan(ask.id), brief, ask, now=time.time)
    if not isinstance(first, PlanRejected):
        return first, ()
    return await planning.plan(MakePlan(ask.id, first.faults), brief, ask, now=time.time), (first,)


def _file(name: str) -> Material:
    """Return a file of that name: routing looks at no more of it."""
    file = Artifact(id=name, name=name, media_type=mimetypes.guess_type(name)[0] or "application/octet-stream")
    return Material(name=name, file=file)


def told(event: Event, text: str, label: str, rejected: tuple[PlanRejected, ...] = ()) -> dict[str, Any]:
    """Put a decision on the request `text` into plain values. `label` is the model's name for people."""
    usage = sum((one.usage for one in rejected), getattr(event, "usage", Usage()))
    found: dict[str, Any] = {
        "does": "plan",
        "by": label,
        "why": list(getattr(event, "reasons", ())),
        "parts": [],
        "missing": [],
        "refused": [fault for one in rejected for fault in one.faults],
        "calls": usage.calls,
        "tokens": usage.tokens_in + usage.tokens_out,
    }
    if isinstance(event, AnswerWritten):
        return {**found, "does": "answer", "text": event.text, "why": [event.why] if event.why else []}
    if isinstance(event, PlannerAsked):
        return {**found, "does": "ask", "text": event.question, "options": list(event.options)}
    if not isinstance(event, PlanProposed):
        raise TypeError(f"{event.type} is no decision of a planner")
    shown = {"id", "specialist", "title", "after", "intent", "done_when", "critical"}
    parts = [one.model_dump(mode="json", include=shown) for one in event.plan.subtasks]
    handed = len(parts) == 1 and parts[0]["intent"] == text.strip()
    return {
        **found,
        "does": "hand" if handed else "plan",
        "by": f"rule {event.rule}" if event.rule else "the crew's pipeline" if event.pipeline else label,
        "parts": parts,
        "missing": list(event.plan.missing),
        "strategy": event.plan.strategy,
    }


def in_words(found: dict[str, Any]) -> str:
    """Say a decision for people, its reasons last."""
    said = {"answer": "answered at once", "ask": "asked back first", "plan": f"a plan of {len(found['parts'])} parts"}
    if found["does"] == "hand":
        lines = [f"{found['parts'][0]['specialist']} gets it as it stands (by {found['by']})"]
    else:
        lines = [f"{said[found['does']]} (by {found['by']})"]
        lines += [found["text"]] if "text" in found else []
        lines += [f"- {option}" for option in found.get("options", ())]
        for part in found["parts"]:
            after = f" (after {', '.join(part['after'])})" if part["after"] else ""
            lines.append(f"- {part['id']}: {part['specialist']}: {part['title']}{after}")
    lines += [f"missing: nobody in the crew can {part}" for part in found["missing"]]
    lines += [f"refused at first: {fault}" for fault in found["refused"]]
    return "\n".join([*lines, *(f"why: {why}" for why in found["why"])])
