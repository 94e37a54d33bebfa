"""One attempt at a subtask: the specialist's runner, with its checkpoints in the job's log."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from bot.jobs.job_runner import Owner
from bot.limits.breakers import Breakers
from bot.store.interface import PayloadTooLarge, Store, StoreError
from handoff import events as ev
from handoff.checking import checks
from handoff.checking.evidence import behind
from handoff.contracts import Escalation, Result, Usage
from handoff.effects import RunSubtask
from handoff.engine.nested import plan_of, writes_before
from handoff.provenance import origin
from handoff.state import Checked, Work, Written
from handoff.state import Checkpoint as KeptCheckpoint
from specialists.adhoc_specialist import NotLent, specialist_for
from specialists.registry import Crew
from specialists.runner import End, run
from specialists.specialist import Specialist
from specialists.toolkits.tool import ToolOutcome, WorkbenchLost
from specialists.toolkits.workbench import FolderWorkbench
from specialists.turns import briefing
from specialists.turns.checkpoint import Checkpoint, InDoubt, Intent, PersonSaid, ToolReturn
from specialists.turns.dialogue import Model, ModelError, ToolReply, Turn, Withheld
from specialists.turns.one_call import ToolBroke

T = TypeVar("T")


async def run_subtask(
    effect: RunSubtask,
    owner: Owner,
    *,
    crew: Crew,
    model: Model,
    store: Store,
    breakers: Breakers,
) -> ev.Event:
    """Work on a subtask, from its last checkpoint if it has one, and say how the attempt ended.

    `crew` is the one whose plan the subtask is part of. Raises Fenced, and StoreError while the store is away.
    """
    work = _work(effect, owner)
    if work.state == "pending":  # first of all: only what has begun can fail
        owner.note(
            ev.AttemptStarted(**_of(effect, owner), specialist=effect.specialist, tier=effect.tier, pack=effect.pack)
        )
    try:
        specialist = _specialist(crew, effect, owner)
    except NotLent as error:
        return _failed(effect, owner, "unavailable", str(error), failed_calls=0)
    if specialist is None:
        text = f"the crew has no specialist called {effect.specialist!r} any more"
        return _failed(effect, owner, "lost", text)
    log = _Log(effect, owner, work, resumed=work.state == "in_progress")
    try:
        outcome = await _worked(specialist, effect, owner, log, model=model, store=store)
    except ModelError as error:
        return _call_failed(effect, owner, error, took=log.took())
    except ToolBroke as error:
        await breakers.specialist_failed(specialist.purpose)
        return _failed(effect, owner, "tool", str(error), usage=error.usage, failed_calls=0, took=log.took())
    except WorkbenchLost as error:
        raise error.reason from None  # the owner lets go of the job; this attempt goes on when the store is back
    if isinstance(outcome, Escalation) and outcome.reason == "timeout":
        await breakers.specialist_failed(specialist.purpose)  # its model or a tool was silent until we cut it off
    return _ended(effect, owner, outcome, log)


async def _worked(
    specialist: Specialist, effect: RunSubtask, owner: Owner, log: _Log, *, model: Model, store: Store
) -> End:
    """Run the inner loop, at a workbench of its own. Raises ModelError, ToolBroke and WorkbenchLost."""
    made = [file for point in log.history if isinstance(point, ToolReturn) for file in point.artifacts]
    folder = Path(tempfile.gettempdir()) / f"leadhand-{secrets.token_hex(8)}"
    workbench = FolderWorkbench(
        (*effect.handoff.artifacts, *made),
        lambda digest: _reached(store.blobs.get(owner.claim.key, digest)),
        lambda data: _reached(store.blobs.put(owner.claim.key, data)),
        folder,
        origin(*owner.at(effect.request), _work(effect, owner)),
    )
    try:
        return await run(
            specialist,
            effect.handoff,
            model=model,
            workbench=workbench,
            log=log,
            done_when=effect.done_when,
            elapsed=log.before,
        )
    finally:
        if folder.exists():  # only where a tool asked for a file
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _reached(call: Awaitable[T]) -> T:
    """Give the store's answer to a tool. Raises WorkbenchLost if the store is away, which no tool is at fault for."""
    try:
        return await call
    except PayloadTooLarge:
        raise
    except StoreError as error:
        raise WorkbenchLost(error) from error


def _ended(effect: RunSubtask, owner: Owner, outcome: End, log: _Log) -> ev.Event:
    if isinstance(outcome, InDoubt):
        intent = outcome.intent
        of_call = {"call": intent.call, "tool": intent.tool, "what": intent.what, "reason": outcome.reason}
        return ev.ToolInDoubt(**_of(effect, owner), **of_call, usage=log.usage)
    if isinstance(outcome, Escalation):
        return ev.Escalated(**_of(effect, owner), escalation=outcome, usage=log.usage, took=log.took())
    seen = log.seen(outcome, effect)
    found = checks.look(seen)
    remarks = {"faults": found.faults, "doubts": found.doubts}
    result = outcome.model_copy(update={"evidence": behind(outcome, seen.evidence)})
    return ev.ResultReturned(**_of(effect, owner), result=result, **remarks, took=log.took())


def _work(effect: RunSubtask, owner: Owner) -> Work:
    return owner.at(effect.request)[1].work[effect.subtask]


def _specialist(crew: Crew, effect: RunSubtask, owner: Owner) -> Specialist | None:
    """Who is to work: a member of the crew, or one made for the plan that the subtask is part of. Raises NotLent."""
    ask = owner.at(effect.request)[1]
    plan = plan_of(ask, ask.work[effect.subtask].within)
    return specialist_for(crew, plan, effect.specialist, effect.tier)


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
        self.written = {one.digest: _told(one) for one in writes_before(owner.at(effect.request)[1], work)}
        returns = [point for point in self.history if isinstance(point, ToolReturn)]
        self._evidence = [point.reply.text for point in returns if not point.reply.failed]
        self._sources = [source for point in returns for source in point.sources]
        self.before = _elapsed(work) if resumed else 0.0
        self._began = time.monotonic()
        self.usage = sum((point.usage for point in self.history if isinstance(point, Turn)), Usage())

    def took(self) -> float:
        """Seconds that the attempt has taken, those of earlier owners with it."""
        return self.before + time.monotonic() - self._began

    def seen(self, result: Result, effect: RunSubtask) -> checks.Seen:
        """The result beside what its tools said."""
        given = "\n".join([effect.handoff.intent, *(note.text for note in effect.handoff.context)])
        return checks.Seen(result, given, effect.done_when, tuple(self._evidence), tuple(self._sources))

    async def turn(self, turn: Turn) -> None:
        """Keep a model turn, while the tools that it asks for are at work already; before any that writes.

        What writes keeps its intent first, and with it what was noted before.
        """
        self.usage += turn.usage
        self._owner.note(ev.TurnTaken(**_of(self._effect, self._owner), turn=turn.model_dump(mode="json")))
        await self._owner.hold()

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
        """Keep a tool's reply, and with it the turn that asked for it, before the model is told of it."""
        if not reply.failed:
            self._evidence.append(reply.text)
        self._sources += outcome.sources
        event = ev.ToolReturned(
            **_of(self._effect, self._owner),
            reply=reply.model_dump(mode="json"),
            artifacts=outcome.artifacts,
            gaps=outcome.gaps,
            sources=outcome.sources,
        )
        await self._owner.report(event)


def _failed(effect: RunSubtask, owner: Owner, kind: ev.FailureKind, message: str, **more: Any) -> ev.AttemptFailed:
    return ev.AttemptFailed(**_of(effect, owner), kind=kind, message=message, **more)


def _call_failed(effect: RunSubtask, owner: Owner, error: ModelError, *, took: float) -> ev.AttemptFailed:
    """A call failed, or (a breaker, a limit, a budget) was not made: that is no failed call."""
    kind: ev.FailureKind = "timeout" if error.kind == "timeout" else "model"
    tries = error.tries
    if isinstance(error, Withheld):
        kind, tries = "unavailable", 0
    spent = {"usage": error.usage, "failed_calls": tries, "pause": error.pause, "took": took, "partial": error.partial}
    return _failed(effect, owner, kind, str(error), transient=error.transient, **spent)


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
