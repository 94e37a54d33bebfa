"""A call of a tool that writes: its intent is kept, it is made at most once, and its outcome is known or in doubt.

What cut the call short (the time, an error, the death of its owner) does not
matter: an intent without an outcome is settled in the same way each time. The
tool looks it up, or repeats it with the same key, or else it stays in doubt.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from dataclasses import dataclass
from typing import Any

from specialists.toolkits.tool import ToolOutcome, Workbench, WorkbenchLost
from specialists.turns import briefing
from specialists.turns.checkpoint import InDoubt, Intent
from specialists.turns.one_call import Ready, capped

SETTLE_SECONDS = 20.0
"""How long looking up may take, and how long a repeat with the same key."""

RESTARTED = "I was interrupted while it was under way"
_CUT = "it took too long and was cut off"
_ELSEWHERE = "I was interrupted while it was under way, and the tool is no longer there"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Unknown:
    """The call may have been carried out. `reason` says why nobody knows, for people."""

    reason: str


def intent_of(ready: Ready) -> Intent:
    """The intent of a call that is about to be made for the first time."""
    key = str(uuid.uuid4()) if ready.tool.key != "none" else ""
    return Intent(ready.call.id, ready.tool.name, ready.tool.words(ready.arguments), key, digest(ready))


def digest(ready: Ready) -> str:
    """The same for calls of one tool with the same arguments, and for no others."""
    return hashlib.sha256(f"{ready.tool.name} {ready.arguments.model_dump_json()}".encode()).hexdigest()[:32]


async def carry_out(ready: Ready, intent: Intent, workbench: Workbench, *, until: float) -> ToolOutcome | InDoubt:
    """Make the call, whose intent is kept, for the first time. `until` is on the running loop's clock."""
    outcome = await _made(ready, intent, workbench, until)
    if isinstance(outcome, _Unknown):
        return await _settled(ready, intent, workbench, outcome, cut=True)
    return outcome


async def find_out(ready: Ready | ToolOutcome, intent: Intent, workbench: Workbench) -> ToolOutcome | InDoubt:
    """What became of a call that somebody began: its outcome, made now if it certainly was not, or still in doubt."""
    if isinstance(ready, ToolOutcome) or ready.tool.access != "write":
        return InDoubt(intent, _ELSEWHERE)
    return await _settled(ready, intent, workbench, _Unknown(RESTARTED), cut=False)


async def _settled(
    ready: Ready, intent: Intent, workbench: Workbench, unknown: _Unknown, *, cut: bool
) -> ToolOutcome | InDoubt:
    """`cut`: it was cut off just now, so a call that was not carried out is for the model to make again."""
    seen = await _looked_up(ready, intent, workbench)
    if isinstance(seen, ToolOutcome):
        return capped(seen)
    if seen is None and cut:
        return ToolOutcome(briefing.note("not_carried_out", tool=ready.tool.name), failed=True)
    if seen is None or (ready.tool.key == "drops_repeats" and intent.key):
        until = asyncio.get_running_loop().time() + SETTLE_SECONDS
        outcome = await _made(ready, intent, workbench, until)
        # A repeat that failed says nothing of the first call, which may have been carried out all the same.
        if isinstance(outcome, ToolOutcome) and (seen is None or not outcome.failed):
            return outcome
        if isinstance(outcome, _Unknown) and seen is None:
            return await _settled(ready, intent, workbench, outcome, cut=True)
    return InDoubt(intent, unknown.reason)


async def _made(ready: Ready, intent: Intent, workbench: Workbench, until: float) -> ToolOutcome | _Unknown:
    tool = ready.tool
    try:
        async with asyncio.timeout_at(until):
            return capped(await tool.run(*_given(ready, intent, workbench)))
    except TimeoutError:  # ours or the tool's own: either way no answer came
        return _Unknown(_CUT)
    except WorkbenchLost:  # the attempt is interrupted: whoever takes it up again settles the intent
        raise
    except Exception as error:  # noqa: BLE001 - not hidden: it is logged, and the call is in doubt
        _log.exception("the tool %s broke", tool.name)
        return _Unknown(f"it broke off with an error, {type(error).__name__}")


def _given(ready: Ready, intent: Intent, workbench: Workbench) -> tuple[Any, ...]:
    given = (ready.arguments, workbench)
    return given if ready.tool.key == "none" else (*given, intent.key)


async def _looked_up(ready: Ready, intent: Intent, workbench: Workbench) -> ToolOutcome | _Unknown | None:
    """The outcome of a call that was carried out, None if it certainly was not, else unknown."""
    if ready.tool.look_up is None:
        return _Unknown("")
    try:
        async with asyncio.timeout(SETTLE_SECONDS):
            seen = await ready.tool.look_up(*_given(ready, intent, workbench))
    except TimeoutError:
        _log.warning("the tool %s took too long to look up a call", ready.tool.name)
        return _Unknown("")
    except WorkbenchLost:
        raise
    except Exception:  # noqa: BLE001 - not hidden: it is logged, and means that the tool cannot tell
        _log.exception("the tool %s could not look up a call", ready.tool.name)
        return _Unknown("")
    return _Unknown("") if seen is not None and seen.failed else seen
