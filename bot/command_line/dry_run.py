"""`leadhand try --dry --ask TEXT`: prints who would get a request and what each would be sent, without a model.

Rules, pipelines, files and briefs are those of a real job. Where a planner would be called, `--plan` gives the plan.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.app import App
from bot.command_line.console import say
from bot.command_line.one_job import CHANNEL, EXIT_ANSWERED, EXIT_FAILED, replay_job
from bot.command_line.tool_list import prove_toolkits
from bot.models.rehearsal.brief_parsing import read_sections
from bot.models.rehearsal.moves import RETURN_TOOL
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.rehearsal.rehearsed_planner import PLANNER_HEADINGS
from bot.settings import SettingsError
from bot.store.values import JobKey
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place, ToolCall, Turn, Usage
from handoff.state.job_state import RequestState
from specialists.crew import Crew
from specialists.files.frontmatter import suggest_name
from specialists.model import ModelCall
from specialists.turns.finish_tools import FINISH_TOOLS, HAND_OVER

NOTHING_DONE_TEXT = "A dry run: nothing was worked out."
NO_PLAN = "No rule and no pipeline of the crew takes this request, so the planner, a model, would choose who gets it."
ONLY_SPECIALIST = "no rule takes this, and the crew has one specialist only"
NAMED_BY_PLAN = "named by --plan"
_PLANNING_DECISIONS = frozenset({"planned"})
"""Kinds of decisions that are printed. Other kinds depend on replies that `DryModel` invents."""
_POLL_SECONDS = 0.1


def parse_plan_option(text: str, crew: Crew) -> list[dict[str, Any]]:
    """Parse a plan such as `market, pricing > copy`, where `>` means "after all of these", into its parts.

    Raises SettingsError for a name that the crew does not have.
    """
    parts: list[dict[str, Any]] = []
    before: list[str] = []
    for stage in text.split(">"):
        names = [name.strip() for name in stage.split(",") if name.strip()]
        ids = []
        for name in names:
            if name not in crew.all_specialists:
                specialist_names = ", ".join(crew.all_specialists)
                hint = suggest_name(name, crew.all_specialists)
                raise SettingsError(
                    f"--plan: there is no specialist {name}{hint}. The crew {crew.name} has: {specialist_names}."
                )
            ids.append(f"part_{len(parts) + 1}")
            parts.append({"id": ids[-1], "specialist": name, "title": name, "after": list(before)})
        before += ids
    if not parts:
        raise SettingsError("--plan names no specialist. Write it such as 'market, pricing > copy'.")
    return parts


def make_dry_model(options: argparse.Namespace, crew: Crew) -> DryModel:
    """Return the model of a dry run, whose plan names the specialists of `--plan` or the crew's only specialist.

    Raises SettingsError for a name that the crew does not have.
    """
    if options.plan:
        return DryModel(parse_plan_option(options.plan, crew), NAMED_BY_PLAN)
    names = list(crew.all_specialists)
    return DryModel(parse_plan_option(names[0], crew), ONLY_SPECIALIST) if len(names) == 1 else DryModel()


class DryModel(RehearsalModel):
    """A model that returns a given plan, does no work, and records the calls of specialists."""

    def __init__(self, parts: Sequence[Mapping[str, Any]] = (), reason: str = NAMED_BY_PLAN) -> None:
        super().__init__()
        self._reason = reason
        self.recorded_calls: list[ModelCall] = []
        """The first call of each specialist for each part."""
        self._parts = parts

    @property
    def label(self) -> str:
        """The model's name for people."""
        return "none (a dry run)"

    async def reply(self, call: ModelCall) -> Turn:
        """Return the given plan as the planner, or end the attempt as a specialist. Its first call is recorded."""
        if call.purpose == "planner":
            return Turn(text=json.dumps(self._make_plan(call), ensure_ascii=False), stop="end", usage=Usage())
        if not call.purpose.startswith(("specialist:", "made:")):
            return await super().reply(call)
        first = call.messages[0].text
        if all((one.purpose, one.messages[0].text) != (call.purpose, first) for one in self.recorded_calls):
            self.recorded_calls.append(call)
        names = {tool.name for tool in call.tools}
        ends = HAND_OVER if HAND_OVER in names and self._parts else RETURN_TOOL
        arguments = (
            {"why": "the plan is named"} if ends == HAND_OVER else {"content": NOTHING_DONE_TEXT, "confidence": 100}
        )
        return Turn(
            text="", calls=(ToolCall(id="dry", name=ends, arguments=arguments),), stop="tool_use", usage=Usage()
        )

    def _make_plan(self, call: ModelCall) -> dict[str, Any]:
        if not self._parts:
            return {"why": "a dry run", "next": {"who": "answer", "text": NO_PLAN}}
        request_text = read_sections(call.messages[0].text, PLANNER_HEADINGS).get("Request", "")
        parts = [{"intent": request_text, "done_when": "", **part} for part in self._parts]
        plan = {"goal": request_text, "subtasks": parts, "strategy": "merge", "instruction": "", "missing": []}
        return {"why": self._reason, "next": {"who": "several", **plan}}


async def perform_dry_run(
    workspace: Workspace, app: App, model: DryModel, crew: Crew, options: argparse.Namespace
) -> int:
    """Send the request as a person would, and print the call of each specialist. Returns the exit code."""
    ts = await workspace.person("ana").say(CHANNEL, f"@leadhand {options.ask}", files=list(options.file))
    place = Place(team=workspace.team_id, channel=workspace.channel_id(CHANNEL), thread_ts=ts)
    try:
        async with asyncio.timeout(options.timeout):
            request = await _wait_for_end(app, JobKey(place.team, place.job_id))
    except TimeoutError:
        say(f"The request did not come to an end within {options.timeout:g} s.")
        return EXIT_FAILED
    for decision in request.decisions:
        if decision.what in _PLANNING_DECISIONS:
            say(f"{decision.what}: {decision.why}")
    if model.recorded_calls:
        say(f"goes to: {', '.join(dict.fromkeys(map(_name_recipient, model.recorded_calls)))}")
    for call in model.recorded_calls:
        _print_call(call, crew)
    if not model.recorded_calls:
        answer = request.run.answer or NO_PLAN
        say(_render_candidates(crew) if answer == NO_PLAN else answer)
    async with contextlib.aclosing(prove_toolkits(crew, set())) as toolkit_faults:
        async for origin, faults in toolkit_faults:
            for fault in faults:
                say(f"not reachable: {origin}: {fault}")
    return EXIT_ANSWERED if model.recorded_calls else EXIT_FAILED


async def _wait_for_end(app: App, key: JobKey) -> RequestState:
    while True:
        job = await replay_job(app, key)
        if job is not None and job.latest_request.is_over:
            return job.latest_request
        await asyncio.sleep(_POLL_SECONDS)


def _name_recipient(call: ModelCall) -> str:
    return call.purpose.partition(":")[2]


def _render_candidates(crew: Crew) -> str:
    """List the specialists that the planner could choose, and explain `--plan`."""
    width = max(map(len, crew.specialists), default=0)
    lines = [f"  {name:<{width}}  {one.description}" for name, one in crew.specialists.items()]
    inside = f"and the crews inside it: {', '.join(crew.crews)}" if crew.crews else ""
    plan = " > ".join(list(crew.all_specialists)[:2])
    return "\n".join(
        [
            f"{NO_PLAN} It can choose from:",
            *lines,
            *([f"  {inside}"] if inside else []),
            f"Name its plan to see what each would be sent, such as: --plan '{plan}'",
        ]
    )


def _print_call(call: ModelCall, crew: Crew) -> None:
    """Print a specialist's call: its tools, its prompt, and its first message with brief and material."""
    name = _name_recipient(call)
    tool_names = [tool.name for tool in call.tools if tool.name not in FINISH_TOOLS]
    one = crew.all_specialists.get(name)
    unused_tools = [tool for tool in one.toolbox if tool not in tool_names] if one is not None else []
    say(f"\n{'─' * 8} {name} ({call.model or call.tier})")
    say(f"tools: {', '.join(tool_names) or 'none'}")
    if unused_tools:
        say(f"its tools with nothing to work on here: {', '.join(unused_tools)}")
    say(f"\n{'─' * 4} prompt\n{call.system.strip()}")
    say(f"\n{'─' * 4} brief\n{call.messages[0].text.strip()}")
