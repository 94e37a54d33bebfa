"""One attempt at a subtask: calls the specialist's runner, and keeps its checkpoints in the job's log."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bot.jobs.job_runner import JobRunner
from bot.limits.breakers import Breakers
from bot.store.interface import Store
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
from specialists.toolkits.tool import ToolOutcome
from specialists.toolkits.workbench import FolderWorkbench
from specialists.turns import briefing
from specialists.turns.checkpoint import Checkpoint, InDoubt, Intent, PersonSaid, ToolReturn
from specialists.turns.dialogue import Model, ModelError, ToolReply, Turn, Withheld
from specialists.turns.one_call import ToolBroke


async def run_attempt(
    effect: RunSubtask,
    runner: JobRunner,
    *,
    crew: Crew,
    model: Model,
    store: Store,
    breakers: Breakers,
) -> ev.Event:
    """Work on a subtask, from its last checkpoint if it has one, and return how the attempt ended.

    `crew` is the one whose plan the subtask is part of.
    """
    work = _work(effect, runner)
    if work.state == "pending":  # first of all: only an attempt that has started can fail
        runner.report_soon(
            ev.AttemptStarted(**_of(effect, runner), specialist=effect.specialist, tier=effect.tier, pack=effect.pack)
        )
    try:
        specialist = _specialist(crew, effect, runner)
    except NotLent as error:
        return _failed(effect, runner, "unavailable", str(error), failed_calls=0)
    if specialist is None:
        text = f"the crew has no specialist called {effect.specialist!r} any more"
        return _failed(effect, runner, "lost", text)
    log = _Log(effect, runner, work, resumed=work.state == "in_progress")
    try:
        async with _workbench(effect, runner, log, store) as workbench:
            outcome = await run(
                specialist,
                effect.handoff,
                model=model,
                workbench=workbench,
                log=log,
                done_when=effect.done_when,
                elapsed=log.before,
            )
    except ModelError as error:
        return _call_failed(effect, runner, error, took=log.took())
    except ToolBroke as error:
        await breakers.specialist_failed(specialist.purpose)
        return _failed(effect, runner, "tool", str(error), usage=error.usage, failed_calls=0, took=log.took())
    if isinstance(outcome, Escalation) and outcome.reason == "timeout":
        await breakers.specialist_failed(specialist.purpose)  # its model or a tool was silent until we cut it off
    return _ended(effect, runner, outcome, log)


@contextlib.asynccontextmanager
async def _workbench(effect: RunSubtask, runner: JobRunner, log: _Log, store: Store) -> AsyncIterator[FolderWorkbench]:
    """Give the attempt a workbench of its own, with the files made before, and remove its folder at the end."""
    made = [file for point in log.history if isinstance(point, ToolReturn) for file in point.artifacts]
    folder = Path(tempfile.gettempdir()) / f"leadhand-{secrets.token_hex(8)}"
    try:
        yield FolderWorkbench(
            (*effect.handoff.artifacts, *made),
            lambda digest: store.get_blob(runner.claim.key, digest),
            lambda data: store.put_blob(runner.claim.key, data),
            folder,
            origin(*runner.find(effect.request), _work(effect, runner)),
        )
    finally:
        if folder.exists():  # it is made once a tool asks for a file
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _ended(effect: RunSubtask, runner: JobRunner, outcome: End, log: _Log) -> ev.Event:
    if isinstance(outcome, InDoubt):
        intent = outcome.intent
        of_call = {"call": intent.call, "tool": intent.tool, "what": intent.what, "reason": outcome.reason}
        return ev.ToolInDoubt(**_of(effect, runner), **of_call, usage=log.usage)
    if isinstance(outcome, Escalation):
        return ev.Escalated(**_of(effect, runner), escalation=outcome, usage=log.usage, took=log.took())
    seen = log.seen(outcome, effect)
    found = checks.look(seen)
    remarks = {"faults": found.faults, "doubts": found.doubts}
    result = outcome.model_copy(update={"evidence": behind(outcome, seen.evidence)})
    return ev.ResultReturned(**_of(effect, runner), result=result, **remarks, took=log.took())


def _work(effect: RunSubtask, runner: JobRunner) -> Work:
    return runner.find(effect.request)[1].work[effect.subtask]


def _specialist(crew: Crew, effect: RunSubtask, runner: JobRunner) -> Specialist | None:
    """Return the specialist: a member of the crew, or one made for the subtask's plan. Raises NotLent."""
    ask = runner.find(effect.request)[1]
    plan = plan_of(ask, ask.work[effect.subtask].within)
    return specialist_for(crew, plan, effect.specialist, effect.tier)


def _elapsed(work: Work) -> float:
    """Return the seconds that the attempt took up to its last checkpoint, without time in which nobody worked."""
    return max(0.0, work.checkpoints[-1].at - work.attempt_started) if work.checkpoints else 0.0


def _of(effect: RunSubtask, runner: JobRunner) -> dict[str, Any]:
    return {
        "at": runner.now(),
        "request": effect.request,
        "subtask": effect.subtask,
        "attempt": effect.attempt,
    }


class _Log:
    """The log of an attempt: its checkpoints, read from the job and written as the job's events."""

    def __init__(self, effect: RunSubtask, runner: JobRunner, work: Work, *, resumed: bool) -> None:
        self._effect = effect
        self._runner = runner
        self.history = [_restored(point) for point in work.checkpoints] if resumed else []
        self.written = {one.digest: _note_of(one) for one in writes_before(runner.find(effect.request)[1], work)}
        returns = [point for point in self.history if isinstance(point, ToolReturn)]
        self._evidence = [point.reply.text for point in returns if not point.reply.failed]
        self._sources = [source for point in returns for source in point.sources]
        self.before = _elapsed(work) if resumed else 0.0
        self._began = time.monotonic()
        self.usage = sum((point.usage for point in self.history if isinstance(point, Turn)), Usage())

    def took(self) -> float:
        """Return the seconds that the attempt has taken, under earlier owners too."""
        return self.before + time.monotonic() - self._began

    def seen(self, result: Result, effect: RunSubtask) -> checks.Seen:
        """Put the result beside what its tools said, for the free checks."""
        given = "\n".join([effect.handoff.intent, *(note.text for note in effect.handoff.context)])
        return checks.Seen(result, given, effect.done_when, tuple(self._evidence), tuple(self._sources))

    async def turn(self, turn: Turn) -> None:
        """Commit a model turn soon: the tools that it asks for start meanwhile.

        A tool that writes is not started before the turn is committed: its intent is, and reports keep their order.
        """
        self.usage += turn.usage
        self._runner.report_soon(ev.TurnTaken(**_of(self._effect, self._runner), turn=turn.model_dump(mode="json")))
        await self._runner.ensure_held()

    async def started(self, intent: Intent) -> None:
        """Commit an intent. Raises CancelledError if the request was stopped meanwhile: the attempt is about to be."""
        event = ev.ToolStarted(
            **_of(self._effect, self._runner),
            call=intent.call,
            tool=intent.tool,
            what=intent.what,
            key=intent.key,
            digest=intent.digest,
        )
        await self._runner.report(event)
        if event not in _work(self._effect, self._runner).intents:
            raise asyncio.CancelledError

    async def tool(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Commit a tool's reply, and the turn that asked for it, before the model is told of it."""
        if not reply.failed:
            self._evidence.append(reply.text)
        self._sources += outcome.sources
        event = ev.ToolReturned(
            **_of(self._effect, self._runner),
            reply=reply.model_dump(mode="json"),
            artifacts=outcome.artifacts,
            gaps=outcome.gaps,
            sources=outcome.sources,
        )
        await self._runner.report(event)


def _failed(effect: RunSubtask, runner: JobRunner, kind: ev.FailureKind, message: str, **more: Any) -> ev.AttemptFailed:
    return ev.AttemptFailed(**_of(effect, runner), kind=kind, message=message, **more)


def _call_failed(effect: RunSubtask, runner: JobRunner, error: ModelError, *, took: float) -> ev.AttemptFailed:
    """Return the failure of a model call; one that a breaker, a limit or a budget held back counts as no call."""
    kind: ev.FailureKind = "timeout" if error.kind == "timeout" else "model"
    tries = error.tries
    if isinstance(error, Withheld):
        kind, tries = "unavailable", 0
    spent = {"usage": error.usage, "failed_calls": tries, "pause": error.pause, "took": took, "partial": error.partial}
    return _failed(effect, runner, kind, str(error), transient=error.transient, **spent)


def _note_of(write: Written) -> str:
    """Return what a model is told that wants to repeat a write of an earlier attempt, certain or possible."""
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
