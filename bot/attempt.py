"""One attempt at a subtask: the specialist's runner, with its checkpoints in the job's log."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.owner import Owner
from handoff import events as ev
from handoff.contracts import Escalation, Usage
from handoff.doubts import Checked, Written
from handoff.doubts import Checkpoint as KeptCheckpoint
from handoff.effects import RunSubtask
from handoff.job import Work
from handoff.store.interface import Store
from specialists import briefing, finish
from specialists.calls import ToolBroke
from specialists.checkpoint import Checkpoint, InDoubt, Intent, PersonSaid, ToolReturn
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
        return _failed(effect, owner, "lost", text)
    if work.state == "pending":
        owner.note(ev.AttemptStarted(**_of(effect, owner), specialist=effect.specialist, tier=effect.tier))
    resumed = work.state == "in_progress"
    log = _Log(effect, owner, work, resumed=resumed)
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
            elapsed=_elapsed(work) if resumed else 0.0,
        )
    except ModelError as error:
        return _failed(effect, owner, "model", str(error), transient=error.transient, usage=error.usage)
    except ToolBroke as error:
        return _failed(effect, owner, "tool", str(error), usage=error.usage)
    finally:
        if folder.exists():  # only where a tool asked for a file
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    if isinstance(outcome, InDoubt):
        intent = outcome.intent
        of_call = {"call": intent.call, "tool": intent.tool, "what": intent.what, "reason": outcome.reason}
        return ev.ToolInDoubt(**_of(effect, owner), **of_call, usage=log.usage)
    if isinstance(outcome, Escalation):
        return ev.Escalated(**_of(effect, owner), escalation=outcome, usage=log.usage)
    return ev.ResultReturned(**_of(effect, owner), result=outcome)


def _work(effect: RunSubtask, owner: Owner) -> Work:
    ask = owner.job.ask(effect.request) if owner.job else None
    if ask is None:
        raise KeyError(effect.request)
    return ask.work[effect.subtask]


def _elapsed(work: Work) -> float:
    """Seconds that the attempt took up to its last checkpoint: time in which nobody worked on it does not count."""
    return max(0.0, work.checkpoints[-1].at - work.attempt_started) if work.checkpoints else 0.0


def _of(effect: RunSubtask, owner: Owner) -> dict[str, Any]:
    return {
        "at": owner.now(),
        "request": effect.request,
        "subtask": effect.subtask,
        "attempt": effect.attempt,
    }


class _Log:
    """The attempt's checkpoints: read from the job, written as its events."""

    def __init__(self, effect: RunSubtask, owner: Owner, work: Work, *, resumed: bool) -> None:
        self._effect = effect
        self._owner = owner
        self.history = [_restored(point) for point in work.checkpoints] if resumed else []
        self.written = {one.digest: _told(one) for one in work.writes}
        self.usage = sum((point.usage for point in self.history if isinstance(point, Turn)), Usage())

    async def turn(self, turn: Turn) -> None:
        """Keep a model turn, before any tool runs that it asks for. One that only ends the work goes with the end."""
        self.usage += turn.usage
        event = ev.TurnTaken(**_of(self._effect, self._owner), turn=turn.model_dump(mode="json"))
        if all(call.name in finish.NAMES for call in turn.calls):
            self._owner.note(event)
        else:
            await self._owner.report(event)

    async def started(self, intent: Intent) -> None:
        """Keep an intent. Where the request was stopped meanwhile, this ends as the attempt is about to."""
        event = ev.ToolStarted(
            **_of(self._effect, self._owner),
            call=intent.call,
            tool=intent.tool,
            what=intent.what,
            key=intent.key,
            digest=intent.digest,
        )
        await self._owner.report(event)
        if event not in _work(self._effect, self._owner).intents:
            raise asyncio.CancelledError

    async def tool(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Keep a tool's reply: at once where it wrote or made files, else while the model is already told of it."""
        event = ev.ToolReturned(
            **_of(self._effect, self._owner),
            reply=reply.model_dump(mode="json"),
            artifacts=outcome.artifacts,
            gaps=outcome.gaps,
            sources=outcome.sources,
        )
        wrote = any(intent.call == reply.call_id for intent in _work(self._effect, self._owner).intents)
        if wrote or outcome.artifacts:
            await self._owner.report(event)
        else:
            self._owner.note(event)
            await self._owner.hold()  # the next turn is begun without waiting for the commit


def _failed(effect: RunSubtask, owner: Owner, kind: ev.FailureKind, message: str, **more: Any) -> ev.AttemptFailed:
    return ev.AttemptFailed(**_of(effect, owner), kind=kind, message=message, **more)


def _told(write: Written) -> str:
    """What a model is told that wants to do again what an earlier attempt did, or may have done."""
    return briefing.note("written_already" if write.known else "maybe_written", words=write.came_of_it)


def _restored(point: KeptCheckpoint) -> Checkpoint:
    if isinstance(point, ev.TurnTaken):
        return Turn.model_validate(point.turn)
    if isinstance(point, ev.ToolStarted):
        return Intent(point.call, point.tool, point.what, point.key, point.digest)
    if isinstance(point, Checked):
        # A person who says "stop" ends the subtask, so that no attempt ever hears it.
        return PersonSaid(point.call, "words" if point.verdict == "stop" else point.verdict, point.words)
    return ToolReturn(ToolReply.model_validate(point.reply), point.artifacts, point.gaps, point.sources)
