"""The handlers of effects: each runs one type of effect and returns the event that says what happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from bot.jobs.attempt import AttemptServices, FailureCounter, run_attempt
from bot.jobs.job_runner import JobRunner
from bot.jobs.material_texts import load_documents, load_handoff, load_texts
from bot.slack.show.people import FindActor, refuse_any_actor
from bot.slack.show.thread_view import ThreadView
from bot.store.redis.redis_store import Store
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from handoff import effects as ef
from handoff import events as ev
from handoff.access.audit_entry import AuditRecorder, discard_entry
from handoff.briefs.handoff_builder import render_circumstances
from handoff.contracts import DEFAULT_CHANNEL_TERMS, ChannelTerms, Place, Request
from handoff.engine import approvals, retry, thread_messages
from handoff.engine.crew_runs import find_crew_path, find_enclosing_plan, is_answer_unchanged, make_crew_outcome
from handoff.materials.deletions import blank_spans
from handoff.planning import plan_brief
from handoff.planning.adhoc import find_made_specialist
from handoff.state.job_state import Job, RequestState
from specialists.crew import Crew
from specialists.model import Model
from specialists.tools.tables.table_cache import TableCache, find_cache_folder

NO_CREW = Crew("", {})
"""Stands in for a crew that was removed after its subtask was planned."""


ThreadOpener = Callable[[JobRunner, Place, Request], Awaitable[tuple[str, str, bool]]]
"""A function that opens a request's thread. Returns (ts, why, quiet).

`ts` is empty if no thread was opened; then `why` gives the reason, and `quiet` is True if that is no failure.
"""
NO_THREAD_OPENERS: Mapping[str, ThreadOpener] = MappingProxyType({})
FindApprovers = Callable[[str, str], Awaitable[tuple[str, ...] | None]]
"""Returns the approvers for (team, channel): () for those that the crew names, None if there is nobody to ask."""


async def leave_approvers_to_crew(_team: str, _channel: str) -> tuple[str, ...]:
    """Return (): the crew names the approvers."""
    return ()


FindTerms = Callable[[str, str], Awaitable[ChannelTerms]]
"""Returns the terms that (team, channel) sets for requests that begin now."""


async def find_no_terms(_team: str, _channel: str) -> ChannelTerms:
    """Return empty terms: the channel sets none."""
    return DEFAULT_CHANNEL_TERMS


async def find_no_approvers(_team: str, _channel: str) -> tuple[str, ...] | None:
    """Return None: there is nobody who can approve anything."""
    return None


@dataclass(frozen=True, slots=True)
class EffectServices:
    """The parts of an instance that effects need."""

    store: Store
    thread: ThreadView
    crew: Crew
    breakers: FailureCounter
    track_record: TrackRecord
    planning: CrewPlanner
    record_audit: AuditRecorder = discard_entry
    """Writes an audit entry."""
    find_approvers: FindApprovers = leave_approvers_to_crew
    """Returns the ids of the approvers in a channel."""
    find_actor: FindActor = refuse_any_actor
    """Returns a person's present rights in a place."""
    find_terms: FindTerms = find_no_terms
    """Returns the terms that a channel sets."""
    openers: Mapping[str, ThreadOpener] = field(default_factory=lambda: NO_THREAD_OPENERS)
    """The functions that open threads for runs of schedules and typed commands, by the kind of opening."""


@dataclass(frozen=True, slots=True)
class EffectInputs:
    """The inputs of a handler, besides its effect. Calls of `model` are charged to the job."""

    services: EffectServices
    runner: JobRunner
    job: Job
    request: RequestState
    model: Model


async def gather_material(_: ef.GatherMaterial, inputs: EffectInputs) -> ev.Event:
    """Store and read the material of a request: files, earlier messages, links and memories."""
    from bot.jobs.material_gathering import fit_into_log_event  # noqa: PLC0415 - imported only where there is something to read
    from bot.jobs.memory_recall import gather_memories  # noqa: PLC0415 - the same
    from bot.jobs.request_material import gather_linked_material, gather_request_material  # noqa: PLC0415 - the same

    services, runner, job, request = inputs.services, inputs.runner, inputs.job, inputs.request
    request_material = await gather_request_material(job, request, services.thread, services.store, runner.claim.key)
    memories = await gather_memories(job, request, services.thread, services.store, runner.claim.key)
    gathered_material = fit_into_log_event(
        memories
        + request_material
        + await gather_linked_material(request, services.crew, request_material, services.store, runner.claim.key)
    )
    of: dict[str, Any] = {"at": runner.now(), "request": inputs.request.id}
    materials = gathered_material.materials
    if materials:
        audience = await services.thread.find_audience(inputs.job)
        materials = tuple(one.model_copy(update={"audience": one.audience or audience}) for one in materials)
    return ev.MaterialGathered(
        **of, materials=materials, faults=gathered_material.faults, speakers=gathered_material.speakers
    )


async def drop_copies(effect: ef.DropCopies, inputs: EffectInputs) -> ev.Event:
    """Delete our copies of contents that people deleted in Slack, from the store and this machine's table cache.

    Where only a part of a text was deleted, the text is stored again under its digest with that part blanked.
    """
    store, key = inputs.services.store, inputs.runner.claim.key
    replacements = {one.digest: b"" for one in effect.copies if not one.end}
    for digest in {one.digest for one in effect.copies if one.end} - replacements.keys():
        spans = [(one.start, one.end) for one in effect.copies if one.digest == digest]
        with contextlib.suppress(KeyError):  # the store no longer keeps it
            text = (await store.blobs.get(key, digest)).decode("utf-8", "replace")
            replacements[digest] = blank_spans(text, spans).encode()
    await store.blobs.drop(key, replacements)
    await asyncio.to_thread(TableCache(find_cache_folder()).remove_file_entries, replacements)
    return ev.CopiesDropped(at=inputs.runner.now(), count=len(effect.copies))


async def make_plan(effect: ef.MakePlan, inputs: EffectInputs) -> ev.Event:
    """Plan a request, or a subtask that is given to a crew."""
    runner, planning = inputs.runner, inputs.services.planning
    if not effect.within:
        if inputs.request.setting is None:
            question_contacts, contact = planning.question_contacts, planning.contact
            setting_event = await inputs.services.thread.fetch_request_setting(
                inputs.job, inputs.request, question_contacts, contact
            )
            channel_terms = await inputs.services.find_terms(inputs.job.place.team, inputs.job.place.channel)
            await runner.report(
                setting_event.model_copy(
                    update={"setting": setting_event.setting.model_copy(update={"here": channel_terms})}
                )
            )
        job, request = runner.find_request(effect.request)  # as it is committed by now
        excerpt_digests = [one.text for one in plan_brief.list_excerpted_materials(job, request)]
        texts = await load_texts(excerpt_digests, job, request, inputs.services.store, runner.claim.key)
        brief = plan_brief.make_request_brief(job, request, texts)
        event = await planning.make_plan(effect, brief, request, model=inputs.model, now=runner.now)
        if isinstance(event, ev.RequestFailed):
            return event
        return await _add_approvers(event.model_copy(update={"corrected": request.correction_count}), inputs)
    subtask = inputs.request.subtasks[effect.within]
    store, key = inputs.services.store, runner.claim.key
    handoff, pack = await load_handoff(inputs.job, inputs.request, subtask, runner.now(), store, key)
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.within, "attempt": effect.attempt}
    if subtask.state == "pending":  # committed before planning, since only an attempt that has started can fail
        of_start = {"specialist": subtask.specialist, "tier": subtask.tier or "balanced", "pack": pack}
        await runner.report(ev.AttemptStarted(at=runner.now(), **of, **of_start))
    crew = planning.find_by_path(subtask.specialist)
    if crew is None:
        message = f"there is no crew called {subtask.specialist!r} any more"
        return ev.AttemptFailed(at=runner.now(), **of, kind="lost", message=message)
    job, request = runner.find_request(effect.request)  # as it is committed by now
    brief = plan_brief.make_subtask_brief(handoff, job, request, request.subtasks[effect.within])
    return await _add_approvers(
        await crew.make_plan(effect, brief, request, model=inputs.model, now=runner.now), inputs
    )


async def _add_approvers(event: ev.Event, inputs: EffectInputs) -> ev.Event:
    """Set the channel's approvers, if it names any, for the costly parts of a proposed plan."""
    place = inputs.job.place
    if not isinstance(event, ev.PlanProposed):
        return event
    terms = approvals.make_cost_terms(event.terms)
    cost_terms = terms.with_approvers(await inputs.services.find_approvers(place.team, place.channel) or ())
    approval_fields = {"approvers": cost_terms.approvers, "quorum": cost_terms.quorum}
    return (
        event.model_copy(update={"terms": event.terms.model_copy(update=approval_fields)})
        if cost_terms != terms
        else event
    )


def _find_planning(inputs: EffectInputs, within: str) -> CrewPlanner:
    """Return the planning of the crew that runs the subtask `within`.

    Returns that of the request's whole crew for an empty `within`, or if the inner crew was removed.
    """
    outermost = inputs.services.planning
    return outermost.find_by_path(find_crew_path(inputs.request, within)) or outermost


async def revise_plan(effect: ef.RevisePlan, inputs: EffectInputs) -> ev.Event:
    """Have the planner revise a plan that may be wrong."""
    planning = _find_planning(inputs, effect.within)
    return await planning.revise_plan(effect, inputs.job, inputs.request, model=inputs.model, now=inputs.runner.now())


async def run_subtask(effect: ef.RunSubtask, inputs: EffectInputs) -> ev.Event:
    """Have a specialist work on a subtask. The track record leaves out ad-hoc specialists."""
    services, subtask = inputs.services, inputs.request.subtasks[effect.subtask]
    messengers = services.thread.messengers
    crew = services.crew.find_crew(find_crew_path(inputs.request, subtask.within)) or NO_CREW
    contact = getattr(crew, "contact", "")
    attempt = run_attempt(
        effect,
        inputs.runner,
        crew=crew,
        model=inputs.model,
        store=services.store,
        breakers=services.breakers,
        surroundings=AttemptServices(
            services.record_audit,
            await services.find_approvers(inputs.job.place.team, inputs.job.place.channel),
            messengers.make_messenger(inputs.runner.claim, inputs.job, inputs.request, contact)
            if messengers is not None
            else None,
            services.find_actor,
        ),
    )
    if find_made_specialist(find_enclosing_plan(inputs.request, subtask), effect.specialist):
        return await attempt
    return await services.track_record.record_attempt(effect, attempt)


async def open_thread(effect: ef.OpenThread, inputs: EffectInputs) -> ev.Event:
    """Open the thread of a schedule's run, or of a request that was typed as a command."""
    request, runner = inputs.request.spec, inputs.runner
    opener = inputs.services.openers.get(request.opens.partition(":")[0])
    of = {"at": runner.now(), "request": effect.request}
    if opener is None:
        return ev.ThreadOpened.model_validate({**of, "why": "This instance opens no such threads."})
    ts, why, quiet = await opener(runner, inputs.job.place, request)
    return ev.ThreadOpened.model_validate({**of, "ts": ts, "why": why, "quiet": quiet})


async def record_deadline(effect: ef.RecordDeadline, inputs: EffectInputs) -> ev.Event:
    """Record that the time of a request or subtask is up."""
    return ev.DeadlineReached(at=inputs.runner.now(), request=effect.request, subtask=effect.subtask)


async def record_reminder(effect: ef.RemindOfQuestion, inputs: EffectInputs) -> ev.Event:
    """Record that people are reminded of a question. The reminder is posted once this event is committed."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionReminded(at=inputs.runner.now(), **of, to=effect.recipients)


async def record_expiry(effect: ef.ExpireQuestion, inputs: EffectInputs) -> ev.Event:
    """Record that nobody answered a question in time."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionExpired(at=inputs.runner.now(), **of)


async def make_crew_outcome_event(effect: ef.ReportCrewOutcome, inputs: EffectInputs) -> ev.Event:
    """Return the outcome of an inner crew as the event that ends its attempt at the subtask of the outer crew."""
    return make_crew_outcome(inputs.request, inputs.request.subtasks[effect.subtask], inputs.runner.now())


async def perform_role(effect: ef.RoleEffect, inputs: EffectInputs) -> ev.Event:
    """Perform an effect by the supervisor's role that it names, such as the verifier.

    An answer is streamed to the thread while it is written, if it is the first and no verifier reads it.
    """
    from bot.supervisor.roles import RoleInputs, find_role_performer  # noqa: PLC0415 - imported only where a role is called

    request, runner = inputs.request, inputs.runner
    run = (
        request.get_run(effect.within)
        if isinstance(effect, ef.AnswerEffect)
        else request.find_enclosing_run(request.subtasks[effect.subtask])
    )
    channel_terms = request.setting.here if request.setting is not None else DEFAULT_CHANNEL_TERMS
    run = _find_planning(inputs, run.within).with_role_terms(
        run, render_circumstances(runner.now(), request.setting), channel_terms
    )
    on_text = None
    can_stream = isinstance(effect, ef.WriteAnswer) and not effect.faults and not request.run.terms.verifier
    if can_stream and is_answer_unchanged(request, run):
        thread = inputs.services.thread
        on_text = (await thread.begin_answer(runner.claim, inputs.job, request, check_allowed=runner.may_show)).write
    role_inputs = RoleInputs(request, run, inputs.model, runner.now, on_text, _list_earlier_texts(inputs))
    if isinstance(effect, ef.VerifyAnswer) and not effect.is_late:
        role_inputs = replace(
            role_inputs, documents=await load_documents(inputs.job, request, inputs.services.store, runner.claim.key)
        )
    return await find_role_performer(effect.role)(effect, role_inputs)


def _list_earlier_texts(inputs: EffectInputs) -> tuple[str, ...]:
    """Return the texts of earlier requests of the thread, each followed by its answer."""
    before = inputs.job.list_earlier_requests(inputs.request)
    return tuple(text for one in before for text in (one.text, one.run.answer or ""))


async def classify_message(effect: ef.ClassifyMessage, inputs: EffectInputs) -> ev.Event:
    """Find the aim of a message in the thread: by rules, or by the dispatcher where the rules leave doubt."""
    runner, job = inputs.runner, inputs.job
    waiting_message = thread_messages.find_waiting_message(job, effect.message)
    if waiting_message is None:
        return ev.MessageAcknowledged(at=runner.now(), receipt=effect.message)
    names = (
        ()
        if waiting_message.is_mention
        else await inputs.services.thread.list_speaker_names(job, waiting_message.message.user)
    )
    aim = thread_messages.classify_by_rules(job, waiting_message, names)
    if aim is not None:
        return ev.MessageSorted(at=runner.now(), message=effect.message, aim=aim)
    from bot.supervisor.dispatcher import perform  # noqa: PLC0415 - imported only where the rules leave doubt
    from bot.supervisor.roles import RoleInputs  # noqa: PLC0415 - the same

    run = inputs.services.planning.with_role_terms(inputs.request.run, "")
    return await perform(effect, RoleInputs(inputs.request, run, inputs.model, runner.now))


async def acknowledge_message(effect: ef.AcknowledgeMessage, inputs: EffectInputs) -> ev.Event:
    """Show in the thread how a message was understood. If it is a request, add the request to the job first."""
    runner, job = inputs.runner, inputs.job
    waiting_message = thread_messages.find_waiting_message(job, effect.receipt)
    if waiting_message is not None and waiting_message.outcome == "request":
        message, retry_ref = (
            waiting_message.message,
            retry.parse_plain_retry(job, waiting_message.message.text, waiting_message.message.user),
        )
        if retry_ref is not None:  # the earlier request, which it retries, has read the thread
            message = message.model_copy(update={"look_back": ""})
        request_event = ev.RequestAdded(at=message.at, place=job.place, request=message, again=retry_ref)
        ids = (f"follow-up:{job.place.channel}:{waiting_message.message.id}",)
        key = runner.claim.key
        await inputs.services.store.jobs.ingest(
            key, ev.dump_event(request_event), dedupe=ids, user=waiting_message.message.user
        )
        runner.nudge()
    if waiting_message is not None:
        await inputs.services.thread.show_receipt(runner.claim, job, waiting_message)
    return ev.MessageAcknowledged(at=runner.now(), receipt=effect.receipt)


async def post_message(effect: ef.PostMessage, inputs: EffectInputs) -> ev.Event:
    """Post a message in the thread, once."""
    runner = inputs.runner
    sent_message = await inputs.services.thread.post(
        runner.claim, inputs.job, inputs.request, effect.key, check_allowed=runner.may_show
    )
    return ev.Posted(
        at=runner.now(), request=effect.request, key=effect.key, ts=sent_message.ts, fault=sent_message.fault
    )
