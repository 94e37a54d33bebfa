"""Opens the thread of a schedule's run: checks whether it may run, posts the first line, and records the request.

A new owner may repeat every step: the outbox posts the line only once, and a repeated request is dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.access.access_rules import AccessRefusal, find_access_refusal
from bot.access.channel_settings import ChannelSettings
from bot.features.schedules.loop import GRACE_SECONDS
from bot.features.schedules.rule_times import find_next_time
from bot.features.schedules.schedule import LastRun, Schedule
from bot.features.schedules.schedule_checks import MAX_FAILED_RUNS, RunRefusal, find_run_refusal
from bot.features.schedules.service import ScheduleService
from bot.features.schedules.view import render_run_line, render_run_refusal
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import Payer
from bot.slack.receive.channel_reader import ChannelReader
from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.send.outside_sender import OutsideSender
from bot.slack.show.admission import describe_channel_fault, find_unreadable_reason
from bot.slack.show.directory import Directory
from bot.slack.show.notices import send_direct_message_once
from bot.slack.show.people import People
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.contracts import ChannelSpan, Place, Request
from specialists.tools.messenger import Addressee

if TYPE_CHECKING:
    from bot.jobs.job_runner import JobRunner

NOT_RUN_NOTICE_KEY = "schedule:word"
"""The outbox key of the message to the owner that a run did not start."""
FIRST_LOOK_BACK_SECONDS = 7 * 86_400.0
MAX_LOOK_BACK_SECONDS = 31 * 86_400.0
"""Maximum seconds of a channel's past that a run reads. The first run reads one interval of its rule, or a week."""
REMOVED_TEXT = "The schedule was removed or paused before this run began."
NOTHING_NEW_TEXT = "Nothing new was said in {where} since the last run, and it is to run only if something changed."

RecordRequest = Callable[..., Awaitable[bool]]
"""A function that records a request at a place, such as `RequestService.record_request`."""


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run of a schedule, as `Request.opens` names it. `is_on_demand`: a person started it outside of its times."""

    owner: str
    schedule_id: str
    due: float
    is_on_demand: bool


def make_first_line_key(key: JobKey) -> str:
    """Return the outbox key of a run's first line. It has the job's id, since the whole channel is searched for it."""
    return f"schedule:line:{key.job}"


def parse_run_ref(opens: str) -> RunRef:
    """Parse the text that `bot.features.schedules.service.make_run_place` wrote."""
    _, owner, schedule, due, mark = opens.split(":", 4)
    return RunRef(owner, schedule, float(due), bool(mark))


class RunOpener:
    """Opens threads for runs, one per instance. `begin`, which records requests, must be set before the first run."""

    def __init__(
        self,
        store: Store,
        service: ScheduleService,
        outbox: Outbox,
        people: People,
        directory: Directory,
        channels: ChannelSettings,
        limits: CallLimits,
    ) -> None:
        self._store, self._service, self._outbox = store, service, outbox
        self._people, self._directory, self._channels, self._limits = people, directory, channels, limits
        self._reader = ChannelReader(outbox.client, outbox.calls, people, bot_user=outbox.lookup.bot_user_id)
        self.record_request: RecordRequest | None = None

    async def open_thread(self, runner: JobRunner, place: Place, request: Request) -> tuple[str, str, bool]:
        """Open the thread of a run. Returns (ts, why, quiet) as a `ThreadOpener`; `ts` is "" if it does not start."""
        run = parse_run_ref(request.opens)
        schedule = await self._service.read(place.team, run.owner, run.schedule_id)
        if (earlier_outcome := await self._find_run_outcome(schedule, runner.claim.key, place)) is not None:
            return earlier_outcome
        if schedule is None or (schedule.state != "on" and not run.is_on_demand):
            return "", REMOVED_TEXT, True
        schedule, failures = await self._settle_last_run(schedule)
        now, trace = runner.now(), runner.claim.key.job
        spans = tuple(
            ChannelSpan(channel=each, since=_find_read_start(schedule, run.due), until=now) for each in schedule.reads
        )
        last = LastRun(due=run.due, at=now, trace=trace, since=_find_read_start(schedule, run.due))
        if not (await self._store.outbox.read_messages(runner.claim.key)).get(make_first_line_key(runner.claim.key)):
            halt = (
                RunRefusal("its last three runs failed")
                if failures >= MAX_FAILED_RUNS
                else await self._find_run_refusal(schedule, place)
            )
            if halt is not None:
                await self._report_run_refusal(runner, schedule, halt, last, failures)
                return "", f"It did not run: {halt.reason}.", False
            if schedule.only_if_new and not run.is_on_demand and await self._has_no_news(spans):
                why = NOTHING_NEW_TEXT.format(where=", ".join(f"<#{each}>" for each in schedule.reads))
                await self._record_run(schedule, last.model_copy(update={"outcome": "quiet", "why": why}), failures)
                return "", why, True
        line = render_run_line(schedule, run.due, is_late=now - run.due > GRACE_SECONDS, is_on_demand=run.is_on_demand)
        try:
            sent_message = await OutsideSender(self._outbox, runner.claim, place).post(
                schedule.channel, make_first_line_key(runner.claim.key), line
            )
        except OutcomeUnknown as error:
            sent_message = SentMessage("", str(error))
        if not sent_message.ts:
            await self._report_run_refusal(
                runner, schedule, RunRefusal(sent_message.fault, pauses_schedule=False), last, failures
            )
            return "", f"The line on top could not be posted: {sent_message.fault}.", False
        thread = Place(team=place.team, channel=schedule.channel, thread_ts=sent_message.ts)
        await self._record_request(schedule, thread, spans, now)
        await self._record_run(
            schedule, last.model_copy(update={"job": thread.job_id, "thread_ts": sent_message.ts}), failures
        )
        return sent_message.ts, "", False

    async def _find_run_outcome(
        self, schedule: Schedule | None, key: JobKey, place: Place
    ) -> tuple[str, str, bool] | None:
        """Return the result of `open_thread` if an earlier owner started the run before it was lost; otherwise None."""
        if schedule is not None and schedule.last is not None and schedule.last.trace == key.job:
            return schedule.last.thread_ts, schedule.last.why, schedule.last.outcome == "quiet"
        line = (await self._store.outbox.read_messages(key)).get(make_first_line_key(key)) if schedule is None else None
        if line is None or not line.ts:
            return None
        thread = place.model_copy(update={"thread_ts": line.ts})
        is_recorded = await self._store.jobs.read_head(JobKey(thread.team, thread.job_id)) is not None
        return (line.ts, "", False) if is_recorded else None

    async def _record_request(
        self, schedule: Schedule, thread: Place, spans: tuple[ChannelSpan, ...], now: float
    ) -> None:
        text = f"{schedule.crew}: {schedule.asks}" if schedule.crew else schedule.asks
        more = {"attachments": schedule.files, "schedule": schedule.id, "reads": spans}
        request = Request(id=thread.thread_ts, user=schedule.owner, text=text, at=now, **more)
        if self.record_request is None:
            raise RuntimeError("nobody records requests")
        await self.record_request(thread, request, dedupe=(f"opened:{thread.job_id}",))

    async def _record_run(self, schedule: Schedule, last: LastRun, failures: int) -> None:
        await self._service.record_run(schedule, last, failures=failures)
        if (
            find_next_time(schedule.rule, schedule.zone, self._store.clock(), schedule.until) is None
            and schedule.state == "on"
        ):
            await self._service.remove_finished(schedule)

    async def _report_run_refusal(
        self, runner: JobRunner, schedule: Schedule, refusal: RunRefusal, last: LastRun, failures: int
    ) -> None:
        """Record a run as failed and tell the owner once.

        Pauses the schedule if the cause is lasting, or this was the third failure in a row.
        """
        failure_count = failures + (0 if refusal.pauses_schedule else 1)
        pauses = refusal.pauses_schedule or failure_count >= MAX_FAILED_RUNS
        notice = render_run_refusal(schedule, refusal.reason, is_paused=pauses)
        await send_direct_message_once(
            self._outbox, runner.claim, schedule.owner, NOT_RUN_NOTICE_KEY, notice, check_allowed=runner.may_show
        )
        await self._service.record_run(
            schedule, last.model_copy(update={"outcome": "failed", "why": refusal.reason}), failures=failure_count
        )
        if pauses:
            await self._service.pause_failing(schedule, refusal.reason)

    async def _settle_last_run(self, schedule: Schedule) -> tuple[Schedule, int]:
        """Look up how the last run ended. Returns the schedule with that, and its number of failures in a row."""
        last = schedule.last
        head = await self._store.jobs.read_head(JobKey(schedule.team, last.job)) if last and last.job else None
        if last is None or last.outcome or head is None:
            return schedule, schedule.failures
        state = head.fields.get("state", "")
        if state == "failed":
            settled_run = last.model_copy(update={"outcome": "failed", "why": "its request failed"})
            return schedule.model_copy(update={"last": settled_run}), schedule.failures + 1
        return schedule, 0 if state in {"completed", "cancelled"} else schedule.failures

    async def _find_run_refusal(self, schedule: Schedule, place: Place) -> RunRefusal | None:
        """Look up the owner's rights, the channel and the budgets. Returns why the run may not start, or None."""
        direct = schedule.channel.startswith("D")
        return find_run_refusal(
            access_refusal=await self._find_access_refusal(schedule, is_direct=direct),
            channel_fault="" if direct else await self._explain_channel_fault(schedule.channel, schedule.owner),
            budget=await self._describe_used_up_budget(schedule, place),
            unreadable_reason=await self._explain_unreadable(schedule),
        )

    async def _find_access_refusal(self, schedule: Schedule, *, is_direct: bool) -> AccessRefusal | None:
        access = await self._channels.read_effective_values(schedule.team, schedule.channel)
        self._people.add_named_groups(access.groups)
        facts = await self._people.find_facts(schedule.owner)
        groups = await self._people.find_groups(schedule.owner) if access.groups else ()
        if groups is None:
            return "unknown"
        admin = schedule.owner in self._people.admins
        return find_access_refusal(access, schedule.owner, facts, groups=groups, is_direct=is_direct, is_admin=admin)

    async def _explain_channel_fault(self, channel: str, owner: str) -> str:
        addressee = await self._directory.find_addressee(channel, owner)
        return "" if isinstance(addressee, Addressee) else describe_channel_fault(channel, addressee)

    async def _describe_used_up_budget(self, schedule: Schedule, place: Place) -> str:
        limit = await self._limits.find_used_up_budget(
            Payer(place.team, schedule.channel, schedule.owner, place.job_id)
        )
        return f"{limit.budget_phrase} is used up" if limit is not None else ""

    async def _explain_unreadable(self, schedule: Schedule) -> str:
        """Return why the owner may not read a channel, or have it quoted where the schedule runs; "" if they may."""
        for channel in schedule.reads:
            if words := await find_unreadable_reason(self._directory, channel, schedule.owner, schedule.channel):
                return words
        return ""

    async def _has_no_news(self, spans: tuple[ChannelSpan, ...]) -> bool:
        """Return True if no channel has new messages; False if Slack does not answer, or there are no channels."""
        news = [await self._reader.has_new_messages(span) for span in spans]
        return bool(news) and not any(new or new is None for new in news)


def _find_read_start(schedule: Schedule, due: float) -> float:
    """Return the time from which a run reads channels: the last run that did not fail, or else one interval ago.

    It is at most `MAX_LOOK_BACK_SECONDS` before `due`.
    """
    if schedule.last is not None:
        since = schedule.last.since if schedule.last.outcome == "failed" else schedule.last.at
    else:
        later = find_next_time(schedule.rule, schedule.zone, due)
        since = due - (later - due if later is not None else FIRST_LOOK_BACK_SECONDS)
    return max(since, due - MAX_LOOK_BACK_SECONDS)
