"""One attempt at a subtask: the specialist's runner, with its checkpoints in the job's log."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.owner import Owner
from handoff import events as ev
from handoff.contracts import Escalation, Usage
from handoff.effects import RunSubtask
from handoff.job import Work
from handoff.store.interface import Store
from specialists import finish
from specialists.calls import ToolBroke
from specialists.checkpoint import ToolReturn
from specialists.dialogue import Model, ModelError, ToolReply, Turn
from specialists.registry import Specialist
from specialists.runner import run
from specialists.toolkits.tool import ToolOutcome
from specialists.toolkits.workbench import FolderWorkbench


async def run_subtask(
    effect: RunSubtask, owner: Owner, *, crew: Mapping[str, Specialist], model: Model, store: Store
) -> ev.Event:
    """Work on a subtask, from its last checkpoint where it has one, and say how the attempt ended."""
    specialist = crew.get(effect.specialist)
    work = _work(effect, owner)
    if specialist is None:
        text = f"the crew has no specialist called {effect.specialist!r} any more"
        return _failed(effect, "lost", text)
    if work.state == "pending":
        owner.note(ev.AttemptStarted(**_of(effect), specialist=effect.specialist, tier=effect.tier))
    resumed = work.state == "in_progress"
    log = _Log(effect, owner, work.checkpoints if resumed else ())
    made = [file for point in log.history if isinstance(point, ToolReturn) for file in point.artifacts]
    folder = Path(tempfile.gettempdir()) / f"leadhand-{secrets.token_hex(8)}"
    workbench = FolderWorkbench(
        (*effect.handoff.artifacts, *made),
        lambda digest: store.get_blob(owner.claim.key, digest),
        lambda data: store.put_blob(owner.claim.key, data),
        folder,
    )
    try:
        outcome = await run(
            specialist,
            effect.handoff,
            model=model,
            workbench=workbench,
            log=log,
            done_when=effect.done_when,
            elapsed=max(0.0, time.time() - work.attempt_started) if resumed else 0.0,
        )
    except ModelError as error:
        return _failed(effect, "model", str(error), transient=error.transient, usage=error.usage)
    except ToolBroke as error:
        return _failed(effect, "tool", str(error), usage=error.usage)
    finally:
        if folder.exists():  # only where a tool asked for a file
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    if isinstance(outcome, Escalation):
        return ev.Escalated(**_of(effect), escalation=outcome, usage=log.usage)
    return ev.ResultReturned(**_of(effect), result=outcome)


def _work(effect: RunSubtask, owner: Owner) -> Work:
    ask = owner.job.ask(effect.request) if owner.job else None
    if ask is None:
        raise KeyError(effect.request)
    return ask.work[effect.subtask]


def _of(effect: RunSubtask) -> dict[str, Any]:
    return {
        "at": time.time(),
        "request": effect.request,
        "subtask": effect.subtask,
        "attempt": effect.attempt,
    }


class _Log:
    """The attempt's checkpoints: read from the job, written as its events."""

    def __init__(self, effect: RunSubtask, owner: Owner, checkpoints: Sequence[ev.TurnTaken | ev.ToolReturned]) -> None:
        self._effect = effect
        self._owner = owner
        self.history = [_restored(point) for point in checkpoints]
        self.usage = sum((point.usage for point in self.history if isinstance(point, Turn)), Usage())

    async def turn(self, turn: Turn) -> None:
        """Keep a model turn, before any tool runs that it asks for. One that only ends the work goes with the end."""
        self.usage += turn.usage
        event = ev.TurnTaken(**_of(self._effect), turn=turn.model_dump(mode="json"))
        if all(call.name in finish.NAMES for call in turn.calls):
            self._owner.note(event)
        else:
            await self._owner.report(event)

    async def tool(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Keep a tool's reply: at once where it made files, else while the model is already told of it."""
        event = ev.ToolReturned(
            **_of(self._effect),
            reply=reply.model_dump(mode="json"),
            artifacts=outcome.artifacts,
            gaps=outcome.gaps,
            sources=outcome.sources,
        )
        if outcome.artifacts:
            await self._owner.report(event)
        else:
            self._owner.note(event)


def _failed(effect: RunSubtask, kind: ev.FailureKind, message: str, **more: Any) -> ev.AttemptFailed:
    return ev.AttemptFailed(**_of(effect), kind=kind, message=message, **more)


def _restored(point: ev.TurnTaken | ev.ToolReturned) -> Turn | ToolReturn:
    if isinstance(point, ev.TurnTaken):
        return Turn.model_validate(point.turn)
    return ToolReturn(ToolReply.model_validate(point.reply), point.artifacts, point.gaps, point.sources)
