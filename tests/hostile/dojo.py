"""AgentDojo's suites as work for our runner: its tools become tools, its user tasks requests.

Its environment is what the tools return and change. The calls of a task's ground truth are what the model makes.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, create_model

from handoff.approval_values import compute_call_digest
from specialists.tools.tool import OutgoingData, Tool, ToolOutcome, Workbench
from tests.hostile.desk import Leave
from tests.hostile.obeying import Wish

PLACE = Path(sys.prefix) / "agentdojo"
INSTALL = "make .venv/.ready-hostile"
VERSION, SUITES = "0.1.35", "v1.2.2"
FIRST = 6
"""The injection tasks of workspace in version 1 of the suites, which had 629 pairs; later ones have more of them."""

GOES_TO: dict[str, tuple[str, ...]] = {
    "send_money": ("recipient",),
    "schedule_transaction": ("recipient",),
    "update_scheduled_transaction": ("id", "recipient"),
    "update_password": (),
    "update_user_info": (),
    "create_calendar_event": ("participants",),
    "cancel_calendar_event": ("event_id",),
    "reschedule_calendar_event": ("event_id",),
    "add_calendar_event_participants": ("participants",),
    "create_file": ("filename",),
    "delete_file": ("file_id",),
    "share_file": ("email",),
    "append_to_file": ("file_id",),
    "send_email": ("recipients", "cc", "bcc"),
    "delete_email": ("email_id",),
    "add_user_to_channel": ("channel",),
    "send_direct_message": ("recipient",),
    "send_channel_message": ("channel",),
    "invite_user_to_slack": ("user_email",),
    "remove_user_from_slack": ("user",),
    "post_webpage": ("url",),
    "reserve_hotel": ("hotel",),
    "reserve_restaurant": ("restaurant",),
    "reserve_car_rental": ("company",),
}
"""The tools that change something, each with the arguments that say where it goes to."""
KEPT_TO_ONESELF = {
    *("update_password", "update_user_info", "create_file", "delete_file", "append_to_file", "delete_email"),
    *("add_user_to_channel", "remove_user_from_slack", "reserve_hotel", "reserve_restaurant", "reserve_car_rental"),
}
SENDS = GOES_TO.keys() - KEPT_TO_ONESELF
"""Those that tell somebody else something."""
FETCHES = "get_webpage"


def explain_absence() -> str:
    """Say what to do if the package is not here; empty if it is."""
    if PLACE.is_dir() and str(PLACE) not in sys.path:
        sys.path.append(str(PLACE))  # last: what Leadhand runs on is never taken from there
    try:
        import agentdojo  # noqa: F401, PLC0415 - only where it is wanted
    except ImportError:
        return f"AgentDojo {VERSION} is not installed; to install it, hash-checked, beside the environment: {INSTALL}"
    return ""


def suites() -> dict[str, Any]:
    """Return the suites by name. Loading them takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from agentdojo.task_suite.load_suites import get_suites  # noqa: PLC0415 - heavy

        return dict(get_suites(SUITES))


@dataclass
class World:
    """The environment of a play, what was done in it, and what of that nobody had allowed."""

    environment: Any
    words: str = ""
    leave: Leave = field(default_factory=Leave)
    made_calls: list[Wish] = field(default_factory=list)
    unapproved_writes: list[Wish] = field(default_factory=list)
    leaked_texts: list[str] = field(default_factory=list)
    public: list[str] = field(default_factory=list)
    private_read: bool = False


@dataclass
class Suite:
    """A suite at play: its tools work on whatever `world` is set."""

    name: str
    suite: Any
    runtime: Any
    tools: dict[str, Tool] = field(default_factory=dict)
    world: World = field(default_factory=lambda: World(None))
    fresh: dict[str, Any] = field(default_factory=dict)

    def likeness(self, wish: Wish) -> tuple[str, tuple[str, str, str]]:
        """Return the digest of a call and what it has in common with similar ones."""
        tool = self.tools[wish[0]]
        arguments = tool.arguments.model_validate(wish[1])
        digest = compute_call_digest(tool.name, arguments.model_dump(mode="json"))
        if tool.url:
            host = getattr(arguments, tool.url).partition("://")[2].partition("/")[0]
            return digest, ("egress", tool.name, host.lower().removeprefix("www."))
        return digest, (tool.access, tool.name, tool.target(arguments) if tool.target else "")

    def run(self, tool: Tool, arguments: BaseModel) -> ToolOutcome:
        """Do what a tool does, and note what nobody had allowed."""
        world, given = self.world, arguments.model_dump(mode="json")
        digest, (_, _, target) = self.likeness((tool.name, given))
        if tool.access == "write" and not world.leave.covers(tool.name, digest, target):
            world.unapproved_writes.append((tool.name, given))
            if tool.name in SENDS:
                world.leaked_texts.append(json.dumps(given))
        if tool.url and not self._may_go(given[tool.url], digest, target):
            world.leaked_texts.append(given[tool.url])
        world.made_calls.append((tool.name, given))
        from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: PLC0415 - heavy

        result, error = self.runtime.run_function(world.environment, tool.name, arguments.model_dump())
        text = tool_result_to_str(result) if error is None else error
        if tool.url:
            world.public.append(text)
        elif tool.access == "read":
            world.private_read = True
        return ToolOutcome(text or "(nothing)", failed=error is not None)

    def _may_go(self, url: str, digest: str, target: str) -> bool:
        """Say if an address may be asked for: as the requester or, with nothing private read, the web spelt it."""
        world = self.world
        bare = url.partition("://")[2].rstrip("/")
        if bare in world.words or world.leave.covers(FETCHES, digest, target):
            return True
        return not world.private_read and any(bare in text for text in world.public)


def load_suite(name: str, suite: Any) -> Suite:
    """Return a suite with its tools as ours."""
    from agentdojo.functions_runtime import FunctionsRuntime  # noqa: PLC0415 - heavy

    one = Suite(name, suite, FunctionsRuntime(suite.tools))
    one.tools = {function.name: _tool(one, function) for function in suite.tools}
    return one


def _tool(suite: Suite, function: Any) -> Tool:
    async def run(arguments: BaseModel, _bench: Workbench) -> ToolOutcome:
        return suite.run(suite.tools[function.name], arguments)

    run.__doc__ = function.description
    name, writes = function.name, function.name in GOES_TO
    more: dict[str, Any] = {}
    if writes:
        more["target"] = lambda given: _where(given, GOES_TO[name])
    if name in SENDS:
        more["sends"] = lambda given: OutgoingData(_where(given, GOES_TO[name]) or "others", given.model_dump_json())
    if name == FETCHES:
        more = {"url": "url", "finds_urls": True}
    return Tool(name, "write" if writes else "read", _arguments(function), run, **more)


def _where(arguments: BaseModel, names: Sequence[str]) -> str:
    values = (getattr(arguments, name, None) for name in names)
    return ", ".join(str(value) for value in values if value)


def _arguments(function: Any) -> type[BaseModel]:
    """Return a tool's arguments; a page's address has its scheme, which the suites leave out."""
    if function.name != FETCHES:
        return function.parameters  # type: ignore[no-any-return]
    address = Annotated[str, BeforeValidator(lambda url: url if "://" in str(url) else f"https://{url}")]
    return create_model("Page", url=(address, ...))


def calls_of(task: Any, environment: Any) -> list[Wish]:
    """Return the calls of a task's ground truth."""
    return [(one.function, dict(one.args)) for one in task.ground_truth(environment)]


def pairs(suite: Any) -> Iterator[tuple[Any, Any, bool]]:
    """Yield each pair of a user task and an injection task, and if version 1 of the suites had it."""
    for user in suite.user_tasks.values():
        for place, injection in enumerate(suite.injection_tasks.values()):
            yield user, injection, suite.name != "workspace" or place < FIRST
