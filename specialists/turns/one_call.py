"""Checks and prepares one tool call, and runs it within a time limit if it only reads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import BaseModel, ValidationError

from handoff.contracts import ToolCall, Usage
from handoff.state.state_values import Ruling
from specialists.tools.messenger import CommonReaders
from specialists.tools.tool import FileNotKept, Tool, ToolOutcome, Workbench, WorkbenchLost
from specialists.turns.argument_names import find_name_fault
from specialists.turns.finish_tools import describe_argument_faults

MAX_OUTPUT_CHARS = 12_000
"""Characters of a tool's output that a model gets to see."""

MAX_READ_SECONDS = 120.0
"""Most seconds that a reading call may take, however much time the attempt still has."""

PREPARE_SECONDS = 30.0
"""Seconds that preparing a call may take, before people are asked about it."""

MAX_SAME_RUNS = 3
"""How often a call with the same arguments is run if it writes or fails.

After that the model gets a message instead.
"""

_log = logging.getLogger(__name__)


class ToolCrashed(Exception):
    """A tool raised an unexpected error: a bug. It is logged, and ends the attempt.

    `usage` is what the attempt had spent by then.
    """

    def __init__(self, tool: str, cause: Exception) -> None:
        super().__init__(f"the tool {tool} broke: {type(cause).__name__}: {cause}")
        self.tool = tool
        self.usage = Usage()


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call that may be made: its tool exists, and its arguments are valid.

    Attributes:
        call: The model's call, or the call as people approved it.
        tool: The tool that it names.
        arguments: The validated arguments.
        recipient: The host or service that it sends to; "" if none.
        approval_reason: What people should know of it, from `PreparedCall`.
        readers: The people of whom one has to approve it, from `PreparedCall`; None: as the crew says.
        ruling: The approval that allows it; None if none is needed.
    """

    call: ToolCall
    tool: Tool
    arguments: BaseModel
    recipient: str = ""
    approval_reason: str = ""
    readers: CommonReaders | None = None
    ruling: Ruling | None = None


def check_call(
    call: ToolCall, tools: Mapping[str, Tool], *, request_count: int, approved_call: ToolCall | None = None
) -> ReadyCall | ToolOutcome:
    """Return the call, ready to be made, or an outcome that says why it may not be made.

    Args:
        call: The model's call.
        tools: The specialist's own tools by name.
        request_count: How often the model has asked for exactly this call by now, this time included.
        approved_call: The call as people approved it, which is made in place of the model's. It may have argument names
            that no model may give: the tool filled them in before people saw the call.
    """
    tool = tools.get(call.name)
    if tool is None:
        tool_names = ", ".join(tools) or "none"
        return _make_failed_outcome(
            f"There is no tool {call.name!r}. Your tools: {tool_names}; return_result and escalate end the work."
        )
    if request_count > MAX_SAME_RUNS:
        return _make_failed_outcome(
            f"You have already called {call.name} {MAX_SAME_RUNS} times with exactly these arguments; it was not "
            "run again. Use the replies you have, change the arguments, or finish."
        )
    if fault := find_name_fault(tool.arguments, call.arguments):
        return _make_failed_outcome(
            f"{call.name} was not run: {fault}. Give only arguments that it has, spelt as they are."
        )
    effective_call = call if approved_call is None else approved_call
    try:
        return ReadyCall(effective_call, tool, tool.arguments.model_validate(effective_call.arguments))
    except ValidationError as error:
        return _make_failed_outcome(
            f"{call.name} was not run. Correct its arguments: {describe_argument_faults(error)}"
        )


async def prepare_call(ready: ReadyCall | ToolOutcome, workbench: Workbench) -> ReadyCall | ToolOutcome:
    """Return the call as its tool prepared it, or a failed outcome that says why it cannot be made.

    A call is returned unchanged if its tool prepares none. Raises ToolCrashed and WorkbenchLost, as `run_read_call`
    does.
    """
    if isinstance(ready, ToolOutcome) or ready.tool.prepare is None:
        return ready
    try:
        async with asyncio.timeout(PREPARE_SECONDS):
            prepared_call = await ready.tool.prepare(ready.arguments, workbench)
    except TimeoutError:
        return _make_failed_outcome(
            f"{ready.tool.name} was not run: where it would go to could not be found out in time."
        )
    except WorkbenchLost:
        raise
    except Exception as error:
        _log.exception("the tool %s broke", ready.tool.name)
        raise ToolCrashed(ready.tool.name, error) from error
    if isinstance(prepared_call, ToolOutcome):
        return prepared_call
    return replace(
        ready, arguments=prepared_call.arguments, approval_reason=prepared_call.why, readers=prepared_call.readers
    )


async def run_read_call(
    ready: ReadyCall, workbench: Workbench, *, deadline: float, max_seconds: float = MAX_READ_SECONDS
) -> ToolOutcome:
    """Make a call that only reads.

    Args:
        ready: The checked call.
        workbench: Passed to the tool.
        deadline: When the call is cut off, on the running loop's clock.
        max_seconds: Seconds after which it is cut off even if `deadline` is later.

    Returns:
        The tool's outcome, its text cut to `MAX_OUTPUT_CHARS`. An expected failure is an outcome too.

    Raises:
        ToolCrashed: The tool raised an unexpected error.
        WorkbenchLost: The store was unavailable when the tool needed a file.
    """
    tool = ready.tool
    latest_end = asyncio.get_running_loop().time() + max_seconds
    timeout = asyncio.timeout_at(min(deadline, latest_end))
    try:
        async with timeout:
            return cut_outcome(await tool.run(ready.arguments, workbench))
    except TimeoutError:
        if timeout.expired() and deadline < latest_end:
            return _make_failed_outcome(f"{tool.name} was stopped: the time for this task is nearly up.")
        return _make_failed_outcome(f"{tool.name} took too long and was stopped.")
    except WorkbenchLost:
        raise
    except FileNotKept as error:
        return _make_failed_outcome(
            f"{error.name} is no longer kept, so it cannot be read. Say so, and go on with what there is."
        )
    except Exception as error:
        _log.exception("the tool %s broke", tool.name)
        raise ToolCrashed(tool.name, error) from error


def cut_outcome(outcome: ToolOutcome) -> ToolOutcome:
    """Return the outcome with its text cut to `MAX_OUTPUT_CHARS` characters."""
    length = len(outcome.text)
    if length <= MAX_OUTPUT_CHARS:
        return outcome
    text = f"{outcome.text[:MAX_OUTPUT_CHARS]}\n[cut: the first {MAX_OUTPUT_CHARS:,} of {length:,} characters]"
    return replace(outcome, text=text)


def _make_failed_outcome(text: str) -> ToolOutcome:
    return ToolOutcome(text, failed=True)
