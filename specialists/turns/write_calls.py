"""Makes a call of a tool that writes, at most once. Its intent is stored first; its outcome is known or in doubt.

An intent without an outcome is settled in the same way whatever cut the call short (the time, an error, the death of
its owner): the tool looks the call up or repeats it with the same key. Otherwise it stays in doubt.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handoff.events import ToolStarted
from handoff.state.state_values import UnknownWrite
from specialists.tools.tool import ToolOutcome, Workbench, WorkbenchLost
from specialists.turns import briefing
from specialists.turns.one_call import ReadyCall, cut_outcome, prepare_call

if TYPE_CHECKING:
    from specialists.turns.attempt_log import AttemptLog

SETTLE_SECONDS = 20.0
"""Most seconds that a look-up may take, and also a repeat with the same key."""

INTERRUPTED_REASON = "I was interrupted while it was under way"
_CUT_OFF_REASON = "it took too long and was cut off"
_TARGET_CHANGED_REASON = "I was interrupted while it was under way, and where it went to cannot be found again"
_TOOL_GONE_REASON = "I was interrupted while it was under way, and the tool is no longer there"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _UnknownOutcome:
    """A call that may have been carried out.

    `reason` tells people why its outcome is unknown; "" if the tool cannot tell.
    """

    reason: str


def make_intent(ready: ReadyCall, log: AttemptLog) -> ToolStarted:
    """Return the intent of a call that is about to be made for the first time, with the ruling that allows it."""
    key = str(uuid.uuid4()) if ready.tool.key != "none" else ""
    what = ready.tool.describe_call(ready.arguments)
    return log.make_intent(ready.call, what=what, key=key, digest=digest_call(ready), ruling=ready.ruling)


def digest_call(ready: ReadyCall) -> str:
    """Return the digest of a call: equal for calls of one tool with the same arguments, and for no others."""
    return hashlib.sha256(f"{ready.tool.name} {ready.arguments.model_dump_json()}".encode()).hexdigest()[:32]


async def run_write(
    ready: ReadyCall, intent: ToolStarted, workbench: Workbench, *, deadline: float
) -> ToolOutcome | UnknownWrite:
    """Make the call for the first time. Its intent is stored already. `deadline` is on the running loop's clock."""
    outcome = await _run_tool(ready, intent, workbench, deadline)
    if isinstance(outcome, _UnknownOutcome):
        return await _settle_outcome(ready, intent, workbench, outcome, was_cut_off=True)
    return outcome


async def settle_write(
    ready: ReadyCall | ToolOutcome, intent: ToolStarted, workbench: Workbench
) -> ToolOutcome | UnknownWrite:
    """Find out what became of a call that was begun earlier, and make it now if it certainly was not carried out."""
    if isinstance(ready, ToolOutcome) or ready.tool.access != "write":
        return make_unknown_write(intent, _TOOL_GONE_REASON)
    ready = await prepare_call(ready, workbench)
    if isinstance(ready, ToolOutcome) or (ready.tool.prepare is not None and digest_call(ready) != intent.digest):
        return make_unknown_write(intent, _TARGET_CHANGED_REASON)
    return await _settle_outcome(ready, intent, workbench, _UnknownOutcome(INTERRUPTED_REASON), was_cut_off=False)


async def _settle_outcome(
    ready: ReadyCall, intent: ToolStarted, workbench: Workbench, cause: _UnknownOutcome, *, was_cut_off: bool
) -> ToolOutcome | UnknownWrite:
    """Look the call up, or repeat it with its key.

    `was_cut_off` says that it was cut off just now: if it was not carried out, the model is told so, and may make it
    again. Without it, a call that was certainly not carried out is made now.
    """
    looked_up = await _look_up_call(ready, intent, workbench)
    if isinstance(looked_up, ToolOutcome):
        return cut_outcome(looked_up)
    if looked_up is None and was_cut_off:
        return ToolOutcome(briefing.render_note("not_carried_out", tool=ready.tool.name), failed=True)
    if looked_up is None or (ready.tool.key == "drops_repeats" and intent.key):
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        outcome = await _run_tool(ready, intent, workbench, deadline)
        # A failed repeat says nothing about the first call, which may still have been carried out.
        if isinstance(outcome, ToolOutcome) and (looked_up is None or not outcome.failed):
            return outcome
        if isinstance(outcome, _UnknownOutcome) and looked_up is None:
            return await _settle_outcome(ready, intent, workbench, outcome, was_cut_off=True)
    return make_unknown_write(intent, cause.reason)


def make_unknown_write(intent: ToolStarted, reason: str) -> UnknownWrite:
    """Return the record of a write of which nobody knows whether it was carried out. `reason` is for people."""
    return UnknownWrite(intent.call, intent.tool, intent.what, reason)


async def _run_tool(
    ready: ReadyCall, intent: ToolStarted, workbench: Workbench, deadline: float
) -> ToolOutcome | _UnknownOutcome:
    tool = ready.tool
    try:
        async with asyncio.timeout_at(deadline):
            return cut_outcome(await tool.run(*_list_tool_inputs(ready, intent, workbench)))
    except TimeoutError:  # ours or the tool's own: either way no answer came
        return _UnknownOutcome(_CUT_OFF_REASON)
    except WorkbenchLost:  # the attempt is interrupted: its next owner settles the intent
        raise
    except Exception as error:  # noqa: BLE001 - not hidden: it is logged, and the call is in doubt
        _log.exception("the tool %s broke", tool.name)
        return _UnknownOutcome(f"it broke off with an error, {type(error).__name__}")


def _list_tool_inputs(ready: ReadyCall, intent: ToolStarted, workbench: Workbench) -> tuple[Any, ...]:
    inputs = (ready.arguments, workbench)
    return inputs if ready.tool.key == "none" else (*inputs, intent.key)


async def _look_up_call(
    ready: ReadyCall, intent: ToolStarted, workbench: Workbench
) -> ToolOutcome | _UnknownOutcome | None:
    """Look up what became of a call; None if it certainly was not made, `_UnknownOutcome` if the tool cannot tell."""
    if ready.tool.look_up is None:
        return _UnknownOutcome("")
    try:
        async with asyncio.timeout(SETTLE_SECONDS):
            outcome = await ready.tool.look_up(*_list_tool_inputs(ready, intent, workbench))
    except TimeoutError:
        _log.warning("the tool %s took too long to look up a call", ready.tool.name)
        return _UnknownOutcome("")
    except WorkbenchLost:
        raise
    except Exception:  # noqa: BLE001 - not hidden: it is logged, and means that the tool cannot tell
        _log.exception("the tool %s could not look up a call", ready.tool.name)
        return _UnknownOutcome("")
    return _UnknownOutcome("") if outcome is not None and outcome.failed else outcome
