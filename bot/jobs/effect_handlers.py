"""The handlers of effects: each runs one type of effect and returns the event that says what happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from bot.jobs.attempt import AttemptSurroundings, run_attempt
from bot.jobs.job_runner import JobRunner
from bot.jobs.material_texts import build_handoff, load_documents, load_texts
from bot.limits.breakers import Breakers
from bot.slack.show.people import FindActor, find_no_actor
from bot.slack.show.thread import ThreadView
from bot.store.redis.redis_store import Store
from bot.supervisor.planning import Planning
from bot.supervisor.track_record import TrackRecord
from handoff import effects as ef
from handoff import events as ev
from handoff.access.audit_entry import AuditRecorder, discard_entry
from handoff.briefs.context import render_circumstances
from handoff.contracts import DEFAULT_CHANNEL_TERMS, ChannelTerms, Place, Request
from handoff.engine import approvals, retry, thread_messages
from handoff.engine.nested import find_crew_path, find_enclosing_plan, is_read_unchanged, make_crew_outcome
from handoff.materials.deletions import blank_spans
from handoff.planning import plan_brief
from handoff.planning.adhoc import find_made_specialist
from handoff.state.job_state import Job, RequestState
from specialists.crew import Crew
from specialists.model import Model
from specialists.tools.tables.table_cache import TableCache, find_cache_folder

NO_CREW = Crew("", {})
"""Stands in for a crew that was removed after its subtask was planned."""


Opener = Callable[[JobRunner, Place, Request], Awaitable[tuple[str, str, bool]]]
"""Opens a request's thread. Returns (ts, why, quiet).

`ts` is empty if no thread was opened; then `why` gives the reason, and `quiet` is True if that is no failure.
"""
NO_OPENERS: Mapping[str, Opener] = MappingProxyType({})
FindApprovers = Callable[[str, str], Awaitable[tuple[str, ...] | None]]
"""Returns the approvers for (team, channel): () for those that the crew names, None if there is nobody to ask."""


async def leave_approvers_to_crew(_team: str, _channel: str) -> tuple[str, ...] | None:
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
    breakers: Breakers
    track_record: TrackRecord
    planning: Planning
    record_audit: AuditRecorder = discard_entry
    """Writes an audit entry."""
    find_approvers: FindApprovers = leave_approvers_to_crew
    """Returns the ids of the approvers in a channel."""
    find_actor: FindActor = find_no_actor
    """Returns a person's present rights in a place."""
    find_terms: FindTerms = find_no_terms
    """Returns the terms that a channel sets."""
    openers: Mapping[str, Opener] = field(default_factory=lambda: NO_OPENERS)
    """By kind, the functions that open the threads of schedules' runs and typed commands."""


@dataclass(frozen=True, slots=True)
class HandlerInputs:
    """The inputs of a handler, besides its effect. Calls of `model` are charged to the job."""

    services: EffectServices
    runner: JobRunner
    job: Job
    ask: RequestState
    model: Model


async def gather_material(_: ef.GatherMaterial, inputs: HandlerInputs) -> ev.Event:
    """Store and read the material of a request: files, earlier messages, links and memories."""
    from bot.jobs.gathering import fit_into_event  # noqa: PLC0415 - imported only where there is something to read
    from bot.jobs.memory_recall import gather_memories  # noqa: PLC0415 - the same
    from bot.jobs.request_material import gather_linked_material, gather_request_material  # noqa: PLC0415 - the same

    services, runner, job, ask = inputs.services, inputs.runner, inputs.job, inputs.ask
    read = await gather_request_material(job, ask, services.thread, services.store, runner.claim.key)
    told = await gather_memories(job, ask, services.thread, services.store, runner.claim.key)
    found = fit_into_event(
        told + read + await gather_linked_material(ask, services.crew, read, services.store, runner.claim.key)
    )
    of: dict[str, Any] = {"at": runner.now(), "request": inputs.ask.id}
    materials = found.materials
    if materials:
        audience = await services.thread.find_audience(inputs.job)
        materials = tuple(one.model_copy(update={"audience": one.audience or audience}) for one in materials)
    return ev.MaterialGathered(**of, materials=materials, faults=found.faults, speakers=found.speakers)


async def drop_copies(effect: ef.DropCopies, inputs: HandlerInputs) -> ev.Event:
    """Delete our copies of what people deleted in Slack, from the store and from this machine's table cache.

    Where only a part of a text was deleted, the text is stored again under its digest with that part blanked.
    """
    store, key = inputs.services.store, inputs.runner.claim.key
    whole = {one.digest: b"" for one in effect.copies if not one.end}
    for digest in {one.digest for one in effect.copies if one.end} - whole.keys():
        spans = [(one.start, one.end) for one in effect.copies if one.digest == digest]
        with contextlib.suppress(KeyError):  # the store no longer keeps it
            text = (await store.blobs.get(key, digest)).decode("utf-8", "replace")
            whole[digest] = blank_spans(text, spans).encode()
    await store.blobs.drop(key, whole)
    await asyncio.to_thread(TableCache(find_cache_folder()).remove_files, whole)
    return ev.CopiesDropped(at=inputs.runner.now(), count=len(effect.copies))


async def make_plan(effect: ef.MakePlan, inputs: HandlerInputs) -> ev.Event:
    """Plan a request, or a subtask that is given to a crew."""
    runner, planning = inputs.runner, inputs.services.planning
    if not effect.within:
        if inputs.ask.setting is None:
            asked, contact = planning.question_contacts, planning.contact
            found = await inputs.services.thread.fetch_request_setting(inputs.job, inputs.ask, asked, contact)
            here = await inputs.services.find_terms(inputs.job.place.team, inputs.job.place.channel)
            await runner.report(found.model_copy(update={"setting": found.setting.model_copy(update={"here": here})}))
        job, ask = runner.find_request(effect.request)  # as it is committed by now
        shown = [one.text for one in plan_brief.list_excerpted_materials(job, ask)]
        texts = await load_texts(shown, job, ask, inputs.services.store, runner.claim.key)
        brief = plan_brief.make_request_brief(job, ask, texts)
        event = await planning.make_plan(effect, brief, ask, model=inputs.model, now=runner.now)
        if isinstance(event, ev.RequestFailed):
            return event
        return await _add_approvers(event.model_copy(update={"corrected": ask.correction_count}), inputs)
    work = inputs.ask.work[effect.within]
    store, key = inputs.services.store, runner.claim.key
    handoff, pack = await build_handoff(inputs.job, inputs.ask, work, runner.now(), store, key)
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.within, "attempt": effect.attempt}
    if work.state == "pending":  # committed before planning, since only an attempt that has started can fail
        of_start = {"specialist": work.specialist, "tier": work.tier or "balanced", "pack": pack}
        await runner.report(ev.AttemptStarted(at=runner.now(), **of, **of_start))
    crew = planning.find_inner(work.specialist)
    if crew is None:
        message = f"there is no crew called {work.specialist!r} any more"
        return ev.AttemptFailed(at=runner.now(), **of, kind="lost", message=message)
    job, ask = runner.find_request(effect.request)  # as it is committed by now
    brief = plan_brief.make_subtask_brief(handoff, job, ask, ask.work[effect.within])
    return await _add_approvers(await crew.make_plan(effect, brief, ask, model=inputs.model, now=runner.now), inputs)


async def _add_approvers(event: ev.Event, inputs: HandlerInputs) -> ev.Event:
    """Set the channel's approvers, if it names any, for the costly parts of a proposed plan."""
    place = inputs.job.place
    if not isinstance(event, ev.PlanProposed):
        return event
    terms = approvals.make_cost_terms(event.terms)
    named = terms.with_approvers(await inputs.services.find_approvers(place.team, place.channel) or ())
    who = {"approvers": named.approvers, "quorum": named.quorum}
    return event.model_copy(update={"terms": event.terms.model_copy(update=who)}) if named != terms else event


def _find_planning(inputs: HandlerInputs, within: str) -> Planning:
    """Return the planning of the crew that runs the subtask `within`.

    Returns that of the request's whole crew for an empty `within`, or if the inner crew was removed.
    """
    outermost = inputs.services.planning
    return outermost.find_inner(find_crew_path(inputs.ask, within)) or outermost


async def revise_plan(effect: ef.RevisePlan, inputs: HandlerInputs) -> ev.Event:
    """Have the planner revise a plan that may be wrong."""
    planning = _find_planning(inputs, effect.within)
    return await planning.revise_plan(effect, inputs.job, inputs.ask, model=inputs.model, now=inputs.runner.now())


async def run_subtask(effect: ef.RunSubtask, inputs: HandlerInputs) -> ev.Event:
    """Have a specialist work on a subtask. The track record leaves out specialists that were made for one plan."""
    services, work = inputs.services, inputs.ask.work[effect.subtask]
    messengers = services.thread.messengers
    crew = services.crew.find_crew(find_crew_path(inputs.ask, work.within)) or NO_CREW
    contact = getattr(crew, "contact", "")
    attempt = run_attempt(
        effect,
        inputs.runner,
        crew=crew,
        model=inputs.model,
        store=services.store,
        breakers=services.breakers,
        surroundings=AttemptSurroundings(
            services.record_audit,
            await services.find_approvers(inputs.job.place.team, inputs.job.place.channel),
            messengers.make_messenger(inputs.runner.claim, inputs.job, inputs.ask, contact)
            if messengers is not None
            else None,
            services.find_actor,
        ),
    )
    if find_made_specialist(find_enclosing_plan(inputs.ask, work), effect.specialist):
        return await attempt
    return await services.track_record.record_attempt(effect, attempt)


async def open_thread(effect: ef.OpenThread, inputs: HandlerInputs) -> ev.Event:
    """Open the thread of a schedule's run, or of a request that was typed as a command."""
    request, runner = inputs.ask.request, inputs.runner
    opener = inputs.services.openers.get(request.opens.partition(":")[0])
    of = {"at": runner.now(), "request": effect.request}
    if opener is None:
        return ev.ThreadOpened.model_validate({**of, "why": "This instance opens no such threads."})
    ts, why, quiet = await opener(runner, inputs.job.place, request)
    return ev.ThreadOpened.model_validate({**of, "ts": ts, "why": why, "quiet": quiet})


async def record_deadline(effect: ef.ReachDeadline, inputs: HandlerInputs) -> ev.Event:
    """Record that the time of a request or subtask is up."""
    return ev.DeadlineReached(at=inputs.runner.now(), request=effect.request, subtask=effect.subtask)


async def record_reminder(effect: ef.RemindOfQuestion, inputs: HandlerInputs) -> ev.Event:
    """Record that people are reminded of a question. The reminder is posted once this event is committed."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionReminded(at=inputs.runner.now(), **of, to=effect.to)


async def record_expiry(effect: ef.ExpireQuestion, inputs: HandlerInputs) -> ev.Event:
    """Record that nobody answered a question in time."""
    of: dict[str, Any] = {"request": effect.request, "subtask": effect.subtask, "number": effect.number}
    return ev.QuestionExpired(at=inputs.runner.now(), **of)


async def return_crew_outcome(effect: ef.HandUp, inputs: HandlerInputs) -> ev.Event:
    """Return the outcome of an inner crew as that of its subtask in the outer crew."""
    return make_crew_outcome(inputs.ask, inputs.ask.work[effect.subtask], inputs.runner.now())


async def perform_role(effect: ef.RoleEffect, inputs: HandlerInputs) -> ev.Event:
    """Have the role of the supervisor that the effect names perform it.

    A first answer that no verifier holds back is streamed to the thread while it is written.
    """
    from bot.supervisor.roles import RoleInputs, find_role  # noqa: PLC0415 - imported only where a role is called

    ask, runner = inputs.ask, inputs.runner
    run = (
        ask.get_run(effect.within)
        if isinstance(effect, ef.AnswerEffect)
        else ask.find_enclosing_run(ask.work[effect.subtask])
    )
    here = ask.setting.here if ask.setting is not None else DEFAULT_CHANNEL_TERMS
    run = _find_planning(inputs, run.within).with_role_terms(run, render_circumstances(runner.now(), ask.setting), here)
    on_text = None
    first = isinstance(effect, ef.WriteAnswer) and not effect.faults and not ask.run.terms.verifier
    if first and is_read_unchanged(ask, run):
        thread = inputs.services.thread
        on_text = (await thread.begin_answer(runner.claim, inputs.job, ask, allowed=runner.may_show)).write
    case = RoleInputs(ask, run, inputs.model, runner.now, on_text, _list_earlier_texts(inputs))
    if isinstance(effect, ef.VerifyAnswer) and not effect.late:
        case = replace(case, documents=await load_documents(inputs.job, ask, inputs.services.store, runner.claim.key))
    return await find_role(effect.role)(effect, case)


def _list_earlier_texts(inputs: HandlerInputs) -> tuple[str, ...]:
    """Return the texts of earlier requests of the thread, each followed by its answer."""
    before = inputs.job.list_earlier_requests(inputs.ask)
    return tuple(text for one in before for text in (one.text, one.run.answer or ""))


async def sort_message(effect: ef.SortMessage, inputs: HandlerInputs) -> ev.Event:
    """Find the aim of a message in the thread: by rules, or by the dispatcher where the rules leave doubt."""
    runner, job = inputs.runner, inputs.job
    one = thread_messages.find_waiting_message(job, effect.message)
    if one is None:
        return ev.MessageAcknowledged(at=runner.now(), receipt=effect.message)
    names = () if one.mentioned else await inputs.services.thread.list_speaker_names(job, one.message.user)
    aim = thread_messages.classify_by_rules(job, one, names)
    if aim is not None:
        return ev.MessageSorted(at=runner.now(), message=effect.message, aim=aim)
    from bot.supervisor.dispatcher import perform  # noqa: PLC0415 - imported only where the rules leave doubt
    from bot.supervisor.roles import RoleInputs  # noqa: PLC0415 - the same

    run = inputs.services.planning.with_role_terms(inputs.ask.run, "")
    return await perform(effect, RoleInputs(inputs.ask, run, inputs.model, runner.now))


async def acknowledge_message(effect: ef.Acknowledge, inputs: HandlerInputs) -> ev.Event:
    """Show people what became of a message. If it turned out to be a request, add the request to the job first."""
    runner, job = inputs.runner, inputs.job
    one = thread_messages.find_waiting_message(job, effect.receipt)
    if one is not None and one.outcome == "request":
        message, again = one.message, retry.parse_plain_retry(job, one.message.text, one.message.user)
        if again is not None:  # the earlier request, which it retries, has read the thread
            message = message.model_copy(update={"look_back": ""})
        added = ev.RequestAdded(at=message.at, place=job.place, request=message, again=again)
        ids = (f"follow-up:{job.place.channel}:{one.message.id}",)
        key = runner.claim.key
        await inputs.services.store.jobs.ingest(key, ev.dump_event(added), dedupe=ids, user=one.message.user)
        runner.nudge()
    if one is not None:
        await inputs.services.thread.show_receipt(runner.claim, job, one)
    return ev.MessageAcknowledged(at=runner.now(), receipt=effect.receipt)


async def post_message(effect: ef.Post, inputs: HandlerInputs) -> ev.Event:
    """Post a message in the thread, once."""
    runner = inputs.runner
    sent = await inputs.services.thread.post(runner.claim, inputs.job, inputs.ask, effect.key, allowed=runner.may_show)
    return ev.Posted(at=runner.now(), request=effect.request, key=effect.key, ts=sent.ts, fault=sent.fault)
