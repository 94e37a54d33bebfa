"""Opens the thread of a schedule's run: checks whether it may run, posts the first line, and records the request.

A new owner may repeat every step: the outbox posts the line only once, and a repeated request is dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.access.access_ruling import AccessRefusal, find_access_refusal
from bot.access.channel_settings import ChannelSettings
from bot.features.schedules.loop import GRACE_SECONDS
from bot.features.schedules.rights import MAX_FAILED, RunRefusal, find_halt
from bot.features.schedules.rule_times import find_next_time
from bot.features.schedules.schedule import LastRun, Schedule
from bot.features.schedules.service import ScheduleService
from bot.features.schedules.view import render_not_run, render_run_line
from bot.limits.call_limits import CallLimits
from bot.limits.rules import Payer
from bot.slack.receive.channel_reader import ChannelReader
from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.other_places import OutsideSender
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.show.admission import describe_channel_fault, find_unreadable_reason
from bot.slack.show.directory import Directory
from bot.slack.show.notices import send_direct_once
from bot.slack.show.people import People
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.contracts import ChannelSpan, Place, Request
from specialists.tools.messenger import Addressee

if TYPE_CHECKING:
    from bot.jobs.job_runner import JobRunner

NOTICE_KEY = "schedule:word"
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
    """The run whose thread a request opens. `is_on_demand` means that a person started it outside of its times."""

    owner: str
    schedule: str
    due: float
    is_on_demand: bool


def make_line_key(key: JobKey) -> str:
    """Return the outbox key of a run's first line. It names the run, as the whole channel is searched for it."""
    return f"schedule:line:{key.job}"


def parse_run_ref(opens: str) -> RunRef:
    """Parse the text that `bot.features.schedules.service.make_run_place` wrote."""
    _, owner, schedule, due, mark = opens.split(":", 4)
    return RunRef(owner, schedule, float(due), bool(mark))


class RunOpener:
    """Opens threads for runs; an instance has one. `begin` records requests, and is set later."""

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
        self._store, self._desk, self._outbox = store, service, outbox
        self._people, self._directory, self._channels, self._limits = people, directory, channels, limits
        self._reader = ChannelReader(outbox.client, outbox.calls, people, bot_user=outbox.lookup.bot_user_id)
        self.begin: RecordRequest | None = None

    async def open_thread(self, runner: JobRunner, place: Place, request: Request) -> tuple[str, str, bool]:
        """Open the thread of a run. Returns its `ts` or "", why there is none, and whether that is expected."""
        run = parse_run_ref(request.opens)
        one = await self._desk.read(place.team, run.owner, run.schedule)
        if (known := await self._find_run_outcome(one, runner.claim.key, place)) is not None:
            return known
        if one is None or (one.state != "on" and not run.is_on_demand):
            return "", REMOVED_TEXT, True
        one, failures = await self._settle_last_run(one)
        now, trace = runner.now(), runner.claim.key.job
        spans = tuple(ChannelSpan(channel=each, since=_find_read_start(one, run.due), until=now) for each in one.reads)
        last = LastRun(due=run.due, at=now, trace=trace, since=_find_read_start(one, run.due))
        if not (await self._store.outbox.messages(runner.claim.key)).get(make_line_key(runner.claim.key)):
            halt = (
                RunRefusal("its last three runs failed")
                if failures >= MAX_FAILED
                else await self._find_halt(one, place)
            )
            if halt is not None:
                await self._report_halt(runner, one, halt, last, failures)
                return "", f"It did not run: {halt.reason}.", False
            if one.only_if_new and not run.is_on_demand and await self._is_unchanged(spans):
                why = NOTHING_NEW_TEXT.format(where=", ".join(f"<#{each}>" for each in one.reads))
                await self._record_run(one, last.model_copy(update={"outcome": "quiet", "why": why}), failures)
                return "", why, True
        line = render_run_line(one, run.due, is_late=now - run.due > GRACE_SECONDS, is_on_demand=run.is_on_demand)
        try:
            sent = await OutsideSender(self._outbox, runner.claim, place).post(
                one.channel, make_line_key(runner.claim.key), line
            )
        except OutcomeUnknown as error:
            sent = SentMessage("", str(error))
        if not sent.ts:
            await self._report_halt(runner, one, RunRefusal(sent.fault, pauses_schedule=False), last, failures)
            return "", f"The line on top could not be posted: {sent.fault}.", False
        there = Place(team=place.team, channel=one.channel, thread_ts=sent.ts)
        await self._record_request(one, there, spans, now)
        await self._record_run(one, last.model_copy(update={"job": there.job_id, "thread_ts": sent.ts}), failures)
        return sent.ts, "", False

    async def _find_run_outcome(
        self, schedule: Schedule | None, key: JobKey, place: Place
    ) -> tuple[str, str, bool] | None:
        """Return the result of `open_thread` if an earlier owner started the run before it was lost; otherwise None."""
        if schedule is not None and schedule.last is not None and schedule.last.trace == key.job:
            return schedule.last.thread_ts, schedule.last.why, schedule.last.outcome == "quiet"
        line = (await self._store.outbox.messages(key)).get(make_line_key(key)) if schedule is None else None
        if line is None or not line.ts:
            return None
        there = place.model_copy(update={"thread_ts": line.ts})
        handed_in = await self._store.jobs.head(JobKey(there.team, there.job_id)) is not None
        return (line.ts, "", False) if handed_in else None

    async def _record_request(
        self, schedule: Schedule, thread: Place, spans: tuple[ChannelSpan, ...], now: float
    ) -> None:
        text = f"{schedule.crew}: {schedule.asks}" if schedule.crew else schedule.asks
        more = {"attachments": schedule.files, "schedule": schedule.id, "reads": spans}
        request = Request(id=thread.thread_ts, user=schedule.owner, text=text, at=now, **more)
        if self.begin is None:
            raise RuntimeError("nobody records requests")
        await self.begin(thread, request, dedupe=(f"opened:{thread.job_id}",))

    async def _record_run(self, schedule: Schedule, last: LastRun, failures: int) -> None:
        await self._desk.record_run(schedule, last, failures=failures)
        if (
            find_next_time(schedule.rule, schedule.zone, self._store.clock(), schedule.until) is None
            and schedule.state == "on"
        ):
            await self._desk.remove_finished(schedule)

    async def _report_halt(
        self, runner: JobRunner, schedule: Schedule, halt: RunRefusal, last: LastRun, failures: int
    ) -> None:
        """Tell the owner once, and pause the schedule if the cause is lasting or this was the third failure."""
        failed = failures + (0 if halt.pauses_schedule else 1)
        pauses = halt.pauses_schedule or failed >= MAX_FAILED
        word = render_not_run(schedule, halt.reason, is_paused=pauses)
        await send_direct_once(self._outbox, runner.claim, schedule.owner, NOTICE_KEY, word, allowed=runner.may_show)
        await self._desk.record_run(
            schedule, last.model_copy(update={"outcome": "failed", "why": halt.reason}), failures=failed
        )
        if pauses:
            await self._desk.pause_failing(schedule, halt.reason)

    async def _settle_last_run(self, schedule: Schedule) -> tuple[Schedule, int]:
        """Look up how the last run ended. Returns the schedule with that, and its number of failures in a row."""
        last = schedule.last
        head = await self._store.jobs.head(JobKey(schedule.team, last.job)) if last and last.job else None
        if last is None or last.outcome or head is None:
            return schedule, schedule.failures
        state = head.fields.get("state", "")
        if state == "failed":
            settled = last.model_copy(update={"outcome": "failed", "why": "its request failed"})
            return schedule.model_copy(update={"last": settled}), schedule.failures + 1
        return schedule, 0 if state in {"completed", "cancelled"} else schedule.failures

    async def _find_halt(self, schedule: Schedule, place: Place) -> RunRefusal | None:
        """Look up the owner's rights, the channel and the budgets. Returns why the run may not start, or None."""
        direct = schedule.channel.startswith("D")
        return find_halt(
            ruling=await self._find_refusal(schedule, is_direct=direct),
            channel="" if direct else await self._explain_channel_fault(schedule.channel, schedule.owner),
            budget=await self._find_used_up_budget(schedule, place),
            reads=await self._explain_unreadable(schedule),
        )

    async def _find_refusal(self, schedule: Schedule, *, is_direct: bool) -> AccessRefusal | None:
        access = await self._channels.read_access(schedule.team, schedule.channel)
        self._people.add_named_groups(access.groups)
        facts = await self._people.find_facts(schedule.owner)
        groups = await self._people.find_groups(schedule.owner) if access.groups else ()
        if groups is None:
            return "unknown"
        admin = schedule.owner in self._people.admins
        return find_access_refusal(access, schedule.owner, facts, groups=groups, is_direct=is_direct, is_admin=admin)

    async def _explain_channel_fault(self, channel: str, owner: str) -> str:
        found = await self._directory.find_addressee(channel, owner)
        return "" if isinstance(found, Addressee) else describe_channel_fault(channel, found)

    async def _find_used_up_budget(self, schedule: Schedule, place: Place) -> str:
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

    async def _is_unchanged(self, spans: tuple[ChannelSpan, ...]) -> bool:
        """Return True if there are no new messages in any channel; False if Slack does not tell."""
        news = [await self._reader.has_new_messages(span) for span in spans]
        return bool(news) and not any(new or new is None for new in news)


def _find_read_start(schedule: Schedule, due: float) -> float:
    """Return the time from which a run reads channels: the last run that did not fail, or else one interval ago."""
    if schedule.last is not None:
        since = schedule.last.since if schedule.last.outcome == "failed" else schedule.last.at
    else:
        later = find_next_time(schedule.rule, schedule.zone, due)
        since = due - (later - due if later is not None else FIRST_LOOK_BACK_SECONDS)
    return max(since, due - MAX_LOOK_BACK_SECONDS)
