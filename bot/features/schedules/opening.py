"""Opens the thread of a schedule's run: checks whether it may run, posts the first line, and records the request.

A new owner may repeat every step: the outbox posts the line only once, and a repeated request is dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.access.access_ruling import RulingReason, find_access_refusal
from bot.access.channel_settings import ChannelSettings
from bot.features.schedules.loop import GRACE
from bot.features.schedules.rights import MOST_FAILED, Halt, find_halt
from bot.features.schedules.rule_times import next_time
from bot.features.schedules.schedule import LastRun, Schedule
from bot.features.schedules.service import ScheduleDesk
from bot.features.schedules.view import render_not_run, render_run_line
from bot.limits.call_limits import CallLimits
from bot.limits.rules import Payer
from bot.slack.receive.channel_reader import ChannelReader
from bot.slack.send.lookup import OutcomeUnknown
from bot.slack.send.other_places import OtherPlaces
from bot.slack.send.outbox import Outbox, SentMessage
from bot.slack.show.admission import channel_words, find_unreadable_reason
from bot.slack.show.directory import Directory
from bot.slack.show.notices import send_direct
from bot.slack.show.people import People
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from handoff.contracts import ChannelSpan, Place, Request
from specialists.tools.messenger import Addressee

if TYPE_CHECKING:
    from bot.jobs.job_runner import JobRunner

WORD = "schedule:word"
"""The outbox key of the message to the owner that a run did not start."""
FIRST_LOOK_BACK = 7 * 86_400.0
MOST_LOOK_BACK = 31 * 86_400.0
"""Maximum seconds of a channel's past that a run reads. The first run reads one interval of its rule, or a week."""
REMOVED = "The schedule was removed or paused before this run began."
NOTHING_NEW = "Nothing new was said in {where} since the last run, and it is to run only if something changed."

Begin = Callable[..., Awaitable[bool]]
"""A function that records a request at a place, such as `RequestDesk.record_request`."""


@dataclass(frozen=True, slots=True)
class RunRef:
    """The run whose thread a request opens. `asked_for` means that a person started it outside of its times."""

    owner: str
    schedule: str
    due: float
    asked_for: bool


def line_key(key: JobKey) -> str:
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
        desk: ScheduleDesk,
        outbox: Outbox,
        people: People,
        directory: Directory,
        channels: ChannelSettings,
        limits: CallLimits,
    ) -> None:
        self._store, self._desk, self._outbox = store, desk, outbox
        self._people, self._directory, self._channels, self._limits = people, directory, channels, limits
        self._reader = ChannelReader(outbox.client, outbox.calls, people, bot_user=outbox.lookup.bot_user_id)
        self.begin: Begin | None = None

    async def open(self, runner: JobRunner, place: Place, request: Request) -> tuple[str, str, bool]:
        """Open the thread of a run. Returns its `ts` or "", why there is none, and whether that is expected."""
        run = parse_run_ref(request.opens)
        one = await self._desk.read(place.team, run.owner, run.schedule)
        if (known := await self._find_run_outcome(one, runner.claim.key, place)) is not None:
            return known
        if one is None or (one.state != "on" and not run.asked_for):
            return "", REMOVED, True
        one, failures = await self._settle_last_run(one)
        now, trace = runner.now(), runner.claim.key.job
        spans = tuple(ChannelSpan(channel=each, since=_find_read_start(one, run.due), until=now) for each in one.reads)
        last = LastRun(due=run.due, at=now, trace=trace, since=_find_read_start(one, run.due))
        if not (await self._store.outbox.messages(runner.claim.key)).get(line_key(runner.claim.key)):
            halt = Halt("its last three runs failed") if failures >= MOST_FAILED else await self._find_halt(one, place)
            if halt is not None:
                await self._report_halt(runner, one, halt, last, failures)
                return "", f"It did not run: {halt.why}.", False
            if one.only_if_new and not run.asked_for and await self._is_unchanged(spans):
                why = NOTHING_NEW.format(where=", ".join(f"<#{each}>" for each in one.reads))
                await self._record_run(one, last.model_copy(update={"outcome": "quiet", "why": why}), failures)
                return "", why, True
        line = render_run_line(one, run.due, late=now - run.due > GRACE, asked_for=run.asked_for)
        try:
            sent = await OtherPlaces(self._outbox, runner.claim, place).post(
                one.channel, line_key(runner.claim.key), line
            )
        except OutcomeUnknown as error:
            sent = SentMessage("", str(error))
        if not sent.ts:
            await self._report_halt(runner, one, Halt(sent.fault, pauses=False), last, failures)
            return "", f"The line on top could not be posted: {sent.fault}.", False
        there = Place(team=place.team, channel=one.channel, thread_ts=sent.ts)
        await self._record_request(one, there, spans, now)
        await self._record_run(one, last.model_copy(update={"job": there.job_id, "thread_ts": sent.ts}), failures)
        return sent.ts, "", False

    async def _find_run_outcome(self, one: Schedule | None, key: JobKey, place: Place) -> tuple[str, str, bool] | None:
        """Return the result of `open` if an earlier owner started the run before it was lost; otherwise None."""
        if one is not None and one.last is not None and one.last.trace == key.job:
            return one.last.thread_ts, one.last.why, one.last.outcome == "quiet"
        line = (await self._store.outbox.messages(key)).get(line_key(key)) if one is None else None
        if line is None or not line.ts:
            return None
        there = place.model_copy(update={"thread_ts": line.ts})
        handed_in = await self._store.jobs.head(JobKey(there.team, there.job_id)) is not None
        return (line.ts, "", False) if handed_in else None

    async def _record_request(self, one: Schedule, there: Place, spans: tuple[ChannelSpan, ...], now: float) -> None:
        text = f"{one.crew}: {one.asks}" if one.crew else one.asks
        more = {"attachments": one.files, "schedule": one.id, "reads": spans}
        request = Request(id=there.thread_ts, user=one.owner, text=text, at=now, **more)
        if self.begin is None:
            raise RuntimeError("nobody records requests")
        await self.begin(there, request, dedupe=(f"opened:{there.job_id}",))

    async def _record_run(self, one: Schedule, last: LastRun, failures: int) -> None:
        await self._desk.record_run(one, last, failures=failures)
        if next_time(one.rule, one.zone, self._store.clock(), one.until) is None and one.state == "on":
            await self._desk.remove_finished(one)

    async def _report_halt(self, runner: JobRunner, one: Schedule, halt: Halt, last: LastRun, failures: int) -> None:
        """Tell the owner once, and pause the schedule if the cause is lasting or this was the third failure."""
        failed = failures + (0 if halt.pauses else 1)
        pauses = halt.pauses or failed >= MOST_FAILED
        word = render_not_run(one, halt.why, paused=pauses)
        await send_direct(self._outbox, runner.claim, one.owner, WORD, word, allowed=runner.may_show)
        await self._desk.record_run(
            one, last.model_copy(update={"outcome": "failed", "why": halt.why}), failures=failed
        )
        if pauses:
            await self._desk.stop(one, halt.why)

    async def _settle_last_run(self, one: Schedule) -> tuple[Schedule, int]:
        """Look up how the last run ended. Returns the schedule with that, and its number of failures in a row."""
        last = one.last
        head = await self._store.jobs.head(JobKey(one.team, last.job)) if last and last.job else None
        if last is None or last.outcome or head is None:
            return one, one.failures
        state = head.fields.get("state", "")
        if state == "failed":
            settled = last.model_copy(update={"outcome": "failed", "why": "its request failed"})
            return one.model_copy(update={"last": settled}), one.failures + 1
        return one, 0 if state in {"completed", "cancelled"} else one.failures

    async def _find_halt(self, one: Schedule, place: Place) -> Halt | None:
        """Look up the owner's rights, the channel and the budgets. Returns why the run may not start, or None."""
        direct = one.channel.startswith("D")
        return find_halt(
            ruling=await self._find_refusal(one, direct=direct),
            channel="" if direct else await self._find_owner_trouble(one.channel, one.owner),
            budget=await self._find_used_up_budget(one, place),
            reads=await self._find_unreadable_channel(one),
        )

    async def _find_refusal(self, one: Schedule, *, direct: bool) -> RulingReason | None:
        access = await self._channels.read_access(one.team, one.channel)
        self._people.add_named_groups(access.groups)
        facts = await self._people.facts(one.owner)
        groups = await self._people.find_groups(one.owner) if access.groups else ()
        if groups is None:
            return "unknown"
        admin = one.owner in self._people.admins
        return find_access_refusal(access, one.owner, facts, groups=groups, direct=direct, admin=admin)

    async def _find_owner_trouble(self, channel: str, owner: str) -> str:
        found = await self._directory.find(channel, owner)
        return "" if isinstance(found, Addressee) else channel_words(channel, found)

    async def _find_used_up_budget(self, one: Schedule, place: Place) -> str:
        limit = await self._limits.find_used_up_budget(Payer(place.team, one.channel, one.owner, place.job_id))
        return f"{limit.budget_phrase} is used up" if limit is not None else ""

    async def _find_unreadable_channel(self, one: Schedule) -> str:
        """Return why the owner may not read a channel, or have it quoted where the schedule runs; "" if they may."""
        for channel in one.reads:
            if words := await find_unreadable_reason(self._directory, channel, one.owner, one.channel):
                return words
        return ""

    async def _is_unchanged(self, spans: tuple[ChannelSpan, ...]) -> bool:
        """Return True if there are no new messages in any channel; False if Slack does not tell."""
        news = [await self._reader.has_new_messages(span) for span in spans]
        return bool(news) and not any(new or new is None for new in news)


def _find_read_start(one: Schedule, due: float) -> float:
    """Return the time from which a run reads channels: the last run that did not fail, or else one interval ago."""
    if one.last is not None:
        since = one.last.since if one.last.outcome == "failed" else one.last.at
    else:
        later = next_time(one.rule, one.zone, due)
        since = due - (later - due if later is not None else FIRST_LOOK_BACK)
    return max(since, due - MOST_LOOK_BACK)
