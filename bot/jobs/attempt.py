"""Runs one attempt at a subtask: calls the specialist's runner, and commits its checkpoints to the job's log."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from bot.jobs.job_runner import JobRunner
from bot.jobs.material_texts import add_material_addresses, load_handoff
from bot.jobs.team_sign_ins import TeamSignIns
from bot.slack.show.people import FindActor, refuse_any_actor
from bot.store.redis.redis_store import Store
from bot.store.values import PayloadTooLarge, StoreError
from handoff import events as ev
from handoff.access.audit_entry import AuditEntry, AuditRecorder, discard_entry
from handoff.approval_values import Approval
from handoff.briefs.handoff_builder import join_earlier_requests, join_subtask_sources
from handoff.briefs.provenance import derive_provenance
from handoff.checking import result_checks
from handoff.checking.figures import find_source_lines
from handoff.contracts import Escalation, Handoff, Result, ToolCall, ToolReply, Turn, Usage
from handoff.effects import RunSubtask
from handoff.engine.approvals import find_applicable_ruling, list_precedents
from handoff.engine.crew_runs import find_enclosing_plan, list_earlier_writes
from handoff.materials.material_lists import collect_log_texts
from handoff.state.job_state import SubtaskState
from handoff.state.state_values import (
    ApplicableRuling,
    EarlierWrite,
    Ruling,
    UnknownWrite,
    list_private_sources,
    make_reply_source,
)
from specialists.crew import AdhocNotAllowed, Crew, find_specialist
from specialists.model import CallWithheld, Model, ModelError
from specialists.runner import AttemptEnd, run_specialist
from specialists.sandbox.scratch_folder import get_scratch_folder
from specialists.specialist import Specialist, set_approvers
from specialists.tools.messenger import Messenger
from specialists.tools.tool import FolderWorkbench, ToolOutcome, WorkbenchLost
from specialists.turns import briefing
from specialists.turns.one_call import ToolCrashed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AttemptServices:
    """The people and services that an attempt can reach."""

    record_audit: AuditRecorder = discard_entry
    """Writes to the audit what the attempt sends out."""
    approvers: tuple[str, ...] | None = ()
    """The approvers of the channel; () leaves it to those that the crew names; None: there is nobody to ask."""
    messenger: Messenger | None = None
    """Lets tools reach people outside of the thread."""
    find_actor: FindActor = refuse_any_actor
    """Returns a person's present rights in the place of the job."""


NO_SERVICES = AttemptServices()


class FailureCounter(Protocol):
    """Counts the failures of specialists, as `Breakers` does."""

    async def count_specialist_failure(self, purpose: str) -> None:
        """Count a failure that was no failed model call. `purpose` names the specialist, as in model calls."""


async def run_attempt(
    effect: RunSubtask,
    runner: JobRunner,
    *,
    crew: Crew,
    model: Model,
    store: Store,
    breakers: FailureCounter,
    surroundings: AttemptServices = NO_SERVICES,
) -> ev.Event:
    """Work on a subtask, from its last checkpoint if it has one, and return the event that ends the attempt.

    `crew` is the crew whose plan contains the subtask. Raises Fenced, and StoreError while the store is away.
    """
    job, request = runner.find_request(effect.request)
    subtask = request.subtasks[effect.subtask]
    handoff, pack = await load_handoff(job, request, subtask, runner.now(), store, runner.claim.key)
    if subtask.state == "pending":  # reported first, since only an attempt that has started can fail
        member = crew.specialists.get(effect.specialist)
        start_fields = {"tier": effect.tier, "model": member.model_overrides.name if member is not None else ""}
        runner.report_soon(
            ev.AttemptStarted(
                **_make_attempt_fields(effect, runner), specialist=effect.specialist, **start_fields, pack=pack
            )
        )
    try:
        specialist = _find_specialist(crew, effect, runner)
    except AdhocNotAllowed as error:
        return _make_failure_event(effect, runner, "unavailable", str(error), failed_calls=0, private=False)
    if specialist is None:
        text = f"the crew has no specialist called {effect.specialist!r} any more"
        return _make_failure_event(effect, runner, "lost", text, private=False)
    specialist = set_approvers(specialist, surroundings.approvers or ())
    is_resumed = subtask.state == "in_progress"
    attempt_log = _JobAttemptLog(
        effect,
        runner,
        subtask,
        handoff,
        surroundings,
        known_corrections=request.correction_count,
        is_resumed=is_resumed,
    )
    try:
        async with _open_workbench(effect, runner, handoff, attempt_log, store, surroundings.messenger) as workbench:
            outcome = await run_specialist(
                specialist,
                handoff,
                model=model,
                workbench=workbench,
                log=attempt_log,
                done_when=effect.done_when,
                elapsed_seconds=attempt_log.checkpointed_seconds,
            )
    except WorkbenchLost as error:
        raise error.reason from None  # the owner releases the job; the attempt goes on when the store is back
    except ModelError as error:
        return _make_call_failure(effect, runner, error, seconds=attempt_log.elapsed_seconds(), **attempt_log.privacy)
    except ToolCrashed as error:
        await breakers.count_specialist_failure(specialist.purpose)
        return _make_failure_event(
            effect,
            runner,
            "tool",
            str(error),
            usage=error.usage,
            failed_calls=0,
            took=attempt_log.elapsed_seconds(),
            **attempt_log.privacy,
        )
    if isinstance(outcome, Escalation) and outcome.reason == "timeout":
        # Its model or a tool did not answer until we cut it off.
        await breakers.count_specialist_failure(specialist.purpose)
    if isinstance(outcome, Result):
        outcome = await add_material_addresses(
            outcome, *runner.find_request(effect.request), effect.subtask, store, runner.claim.key
        )
    return _make_end_event(effect, runner, outcome, attempt_log)


@contextlib.asynccontextmanager
async def _open_workbench(
    effect: RunSubtask,
    runner: JobRunner,
    handoff: Handoff,
    log: _JobAttemptLog,
    store: Store,
    messenger: Messenger | None,
) -> AsyncIterator[FolderWorkbench]:
    """Yield a workbench with the files of the handoff and of earlier checkpoints; remove its folder at the end."""
    checkpoint_files = [file for point in log.history if isinstance(point, ev.ToolReturned) for file in point.artifacts]
    folder = get_scratch_folder() / f"attempt-{secrets.token_hex(8)}"
    try:
        yield FolderWorkbench(
            (*handoff.artifacts, *checkpoint_files),
            lambda digest: _call_store(_read_bytes(digest, effect, runner, store)),
            lambda data: _call_store(store.blobs.put(runner.claim.key, data)),
            folder,
            derive_provenance(*runner.find_request(effect.request), _find_subtask(effect, runner)),
            messenger,
            TeamSignIns(store, runner.claim.key.team),
        )
    finally:
        if folder.exists():  # it is created only when a tool asks for a file
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _read_bytes(digest: str, effect: RunSubtask, runner: JobRunner, store: Store) -> bytes:
    """Return the bytes of a digest: a text of the job's own log, or a blob of the store. Raises KeyError."""
    text = collect_log_texts(*runner.find_request(effect.request)).get(digest)
    return text.encode() if text is not None else await store.blobs.get(runner.claim.key, digest)


async def _call_store(call: Awaitable[T]) -> T:
    """Await a store call for a tool. Raises WorkbenchLost if the store is away, so that the tool is not blamed."""
    try:
        return await call
    except PayloadTooLarge:
        raise
    except StoreError as error:
        raise WorkbenchLost(error) from error


def _make_end_event(effect: RunSubtask, runner: JobRunner, outcome: AttemptEnd, log: _JobAttemptLog) -> ev.Event:
    if isinstance(outcome, UnknownWrite):
        of_call = {"call": outcome.call, "tool": outcome.tool, "what": outcome.what, "reason": outcome.reason}
        return ev.ToolInDoubt(**_make_attempt_fields(effect, runner), **of_call, usage=log.usage)
    if isinstance(outcome, Approval):
        return ev.ApprovalAsked(**_make_attempt_fields(effect, runner), approval=outcome)
    if isinstance(outcome, Escalation):
        usage_fields = {"usage": log.usage, "took": log.elapsed_seconds(), **log.privacy}
        return ev.Escalated(**_make_attempt_fields(effect, runner), escalation=outcome, **usage_fields)
    subject = log.make_check_subject(outcome, effect)
    remarks_found = result_checks.run_checks(subject)
    remarks = {"faults": remarks_found.faults, "doubts": remarks_found.doubts, **log.privacy}
    result = outcome.model_copy(update={"evidence": find_source_lines(outcome, subject.evidence)})
    return ev.ResultReturned(
        **_make_attempt_fields(effect, runner),
        result=result,
        **remarks,
        took=log.elapsed_seconds(),
        corrected=log.known_corrections,
    )


def _find_subtask(effect: RunSubtask, runner: JobRunner) -> SubtaskState:
    return runner.find_request(effect.request)[1].subtasks[effect.subtask]


def _find_specialist(crew: Crew, effect: RunSubtask, runner: JobRunner) -> Specialist | None:
    """Return the specialist: a member of the crew, or one made for the subtask's plan; None if there is none.

    In a plan of one subtask the specialist writes the answer itself, so it gets the crew's form for answers and the
    channel's instructions too. Raises AdhocNotAllowed if an ad-hoc specialist needs what the crew does not lend.
    """
    request = runner.find_request(effect.request)[1]
    plan = find_enclosing_plan(request, request.subtasks[effect.subtask])
    specialist = find_specialist(crew, plan, effect.specialist, effect.tier)
    is_only_subtask = plan is not None and len(plan.subtasks) == 1
    channel_instructions = request.setting.here.instructions if request.setting is not None else ""
    answer_form, run = crew.prompts.answer, request.find_enclosing_run(request.subtasks[effect.subtask])
    if specialist is None or not is_only_subtask or not (answer_form or channel_instructions or run.is_first_responder):
        return specialist
    others = [f"- {one.name}: {one.description}" for one in run.members.values() if one.name != specialist.name]
    return replace(
        specialist,
        answer_form=answer_form,
        channel_words=channel_instructions,
        hand_over_targets="\n".join(others) if run.is_first_responder else "",
    )


def _measure_checkpointed_seconds(subtask: SubtaskState) -> float:
    """Return the seconds that the attempt took up to its last checkpoint, without waits for people."""
    return max(0.0, subtask.checkpoints[-1].at - subtask.attempt_started) if subtask.checkpoints else 0.0


def _make_attempt_fields(effect: RunSubtask, runner: JobRunner) -> dict[str, Any]:
    return {
        "at": runner.now(),
        "request": effect.request,
        "subtask": effect.subtask,
        "attempt": effect.attempt,
    }


class _JobAttemptLog:
    """The `AttemptLog` of an attempt: reads its checkpoints from the job, and commits new ones as the job's events."""

    def __init__(
        self,
        effect: RunSubtask,
        runner: JobRunner,
        subtask: SubtaskState,
        handoff: Handoff,
        surroundings: AttemptServices,
        *,
        known_corrections: int,
        is_resumed: bool,
    ) -> None:
        self._surroundings = surroundings
        self._effect = effect
        self._runner = runner
        self._given_notes = [note.text for note in handoff.given]
        self.history = subtask.checkpoints if is_resumed else ()
        self.known_corrections = known_corrections  # how many corrections of the request the handoff contains
        request = runner.find_request(effect.request)[1]
        self.earlier_writes = {
            one.digest: _render_repeated_write_note(one)
            for one in (*request.kept_writes, *list_earlier_writes(request, subtask))
        }
        returns = [point for point in self.history if isinstance(point, ev.ToolReturned)]
        self._evidence = [point.reply.text for point in returns if not point.reply.failed]
        self._sources = [source for point in returns for source in point.sources]
        self._private_sources = list_private_sources(self.history)
        turns = [point for point in self.history if isinstance(point, ev.TurnTaken)]
        self._tool_names = {call.id: call.name for call in (turns[-1].turn.calls if turns else ())}
        if turns:
            self.known_corrections = turns[-1].corrected  # the last model call did not know of later corrections
        self.checkpointed_seconds = _measure_checkpointed_seconds(subtask) if is_resumed else 0.0
        self._began_at = time.monotonic()
        self.usage = sum((point.turn.usage for point in self.history if isinstance(point, ev.TurnTaken)), Usage())

    @property
    def can_ask(self) -> bool:
        """True if there are people who can be asked to approve something."""
        return self._surroundings.approvers is not None

    @property
    def privacy(self) -> dict[str, Any]:
        """Fields for the event that ends the attempt: whether its tools returned private contents, and the sources."""
        return {"private": bool(self._private_sources), "private_sources": tuple(dict.fromkeys(self._private_sources))}

    def elapsed_seconds(self) -> float:
        """Return the seconds that the attempt has taken so far, including those under earlier owners."""
        return self.checkpointed_seconds + time.monotonic() - self._began_at

    def make_check_subject(self, result: Result, effect: RunSubtask) -> result_checks.CheckSubject:
        """Return a result with all that code checks it against: brief, tool replies, evidence and sources."""
        job, request = self._runner.find_request(effect.request)
        subtask = request.subtasks[effect.subtask]
        return result_checks.CheckSubject(
            result,
            join_subtask_sources(request, subtask),
            effect.done_when,
            (*self._evidence, *self._given_notes, *_iterate_evidence_lines(subtask)),
            tuple(self._sources),
            read_earlier_texts=partial(join_earlier_requests, job, request),
            tasks=(request.text, subtask.brief_text),
        )

    def list_known_texts(self) -> Iterator[str]:
        """Yield the texts the specialist was given, the evidence lines of its earlier results, and earlier requests."""
        job, request = self._runner.find_request(self._effect.request)
        subtask = request.subtasks[self._effect.subtask]
        yield from (join_subtask_sources(request, subtask), *self._given_notes, *_iterate_evidence_lines(subtask))
        yield join_earlier_requests(job, request)

    def take_new_messages(self) -> tuple[str, ...]:
        """Return what the requester said since the last call of this method, or since the handoff was made."""
        corrections = self._runner.find_request(self._effect.request)[1].correction_texts
        new_messages, self.known_corrections = corrections[self.known_corrections :], len(corrections)
        return new_messages

    async def keep_turn(self, turn: Turn) -> None:
        """Report a model turn, to be committed within moments. Its tools may start before the commit.

        A tool that writes starts only after the turn is committed: its intent is committed before it starts, and
        commits keep the order of reports.
        """
        self.usage += turn.usage
        self._tool_names = {call.id: call.name for call in turn.calls}
        event = ev.TurnTaken(
            **_make_attempt_fields(self._effect, self._runner), turn=turn, corrected=self.known_corrections
        )
        self._runner.report_soon(event)
        await self._runner.ensure_held()

    async def find_rulings(self, approval: Approval) -> ApplicableRuling:
        """Return earlier approvals and denials that may cover this call, given who may decide now."""
        job, request = self._runner.find_request(self._effect.request)
        users = {user for _, ruling in list_precedents(job, request, approval) for user in ruling.users}
        return find_applicable_ruling(
            job, request, approval, {user: await self._surroundings.find_actor(job.place, user) for user in users}
        )

    def make_intent(
        self, call: ToolCall, *, what: str, key: str, digest: str, ruling: Ruling | None = None
    ) -> ev.ToolStarted:
        """Return the intent of a call that writes, as an event. It is not committed yet."""
        call_fields = {**_make_attempt_fields(self._effect, self._runner), "call": call.id, "tool": call.name}
        users = ruling.users if ruling is not None else ()
        return ev.ToolStarted(**call_fields, what=what, key=key, digest=digest, approved_by=users)

    async def keep_intent(self, intent: ev.ToolStarted) -> None:
        """Commit an intent. Raises CancelledError if the request was stopped meanwhile: the call must not be made."""
        await self._runner.report(intent)
        if intent not in _find_subtask(self._effect, self._runner).open_intents:
            raise asyncio.CancelledError

    async def record_sending(self, tool: str, to: str, *, refusal: str = "", ruling: Ruling | None = None) -> None:
        """Record in the audit that a call sends data out. `refusal` says why it was refused; "" if it was allowed."""
        job, request = self._runner.find_request(self._effect.request)
        entry = AuditEntry(
            at=self._runner.now(),
            team=job.place.team,
            deed="sent_out",
            user=request.spec.user,
            channel=job.place.channel,
            job=job.id,
            request=request.id,
            outcome="refused" if refusal else "done",
            target=f"{tool} {to}".strip(),
            why=refusal,
            approved_by=ruling.users if ruling is not None else (),
        )
        await self._surroundings.record_audit(entry)

    async def keep_reply(self, reply: ToolReply, outcome: ToolOutcome) -> None:
        """Commit a tool's reply, and the turn that called the tool. Await this before the model gets the reply."""
        if not reply.failed:
            self._evidence.append(reply.text)
        self._sources += outcome.sources
        if outcome.private:
            self._private_sources += (
                make_reply_source(self._tool_names.get(reply.call_id, "a tool"), outcome.target, reply.text),
            )
        event = ev.ToolReturned(
            **_make_attempt_fields(self._effect, self._runner),
            reply=reply,
            artifacts=outcome.artifacts,
            gaps=outcome.gaps,
            notes=outcome.notes,
            sources=outcome.sources,
            private=outcome.private,
            target=outcome.target,
        )
        await self._runner.report(event)


def _make_failure_event(
    effect: RunSubtask, runner: JobRunner, kind: ev.FailureKind, message: str, **more: Any
) -> ev.AttemptFailed:
    return ev.AttemptFailed(**_make_attempt_fields(effect, runner), kind=kind, message=message, **more)


def _make_call_failure(
    effect: RunSubtask, runner: JobRunner, error: ModelError, *, seconds: float, **privacy: Any
) -> ev.AttemptFailed:
    """Return the event for a failed model call. A call that a breaker, limit or budget withheld counts as not made."""
    kind: ev.FailureKind = "timeout" if error.kind == "timeout" else "model"
    tries = error.tries
    if isinstance(error, CallWithheld):
        kind, tries = "unavailable", 0
    call_fields = {
        "usage": error.usage,
        "failed_calls": tries,
        "pause": error.pause,
        "took": seconds,
        "partial": error.partial,
    }
    return _make_failure_event(effect, runner, kind, str(error), transient=error.transient, **call_fields, **privacy)


def _iterate_evidence_lines(subtask: SubtaskState) -> Iterator[str]:
    """Yield the evidence lines of the subtask's rejected results."""
    for one in (subtask.rejected_candidate, subtask.best_candidate):
        if one is not None and one.result.evidence:
            yield "\n".join(one.result.evidence)


def _render_repeated_write_note(write: EarlierWrite) -> str:
    """Return the reply to a model that repeats a write which an earlier attempt made, or may have made."""
    return briefing.render_note("written_already" if write.is_confirmed else "maybe_written", words=write.outcome_text)
