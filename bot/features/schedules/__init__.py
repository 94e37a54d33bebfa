"""The schedules feature: people describe a schedule, confirm it, and each run starts in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.access.channel_settings import ChannelSettings
from bot.features.home.service import HomeService
from bot.features.kit import Kit
from bot.features.requests.service import RequestService
from bot.features.schedules.actions import ScheduleClicks
from bot.features.schedules.commands import SCHEDULE_USAGES, match_schedule, run_schedule_command, run_spoken_schedule
from bot.features.schedules.drafts import ScheduleDrafts
from bot.features.schedules.loop import ScheduleLoop
from bot.features.schedules.run_opener import RecordRequest, RunOpener
from bot.features.schedules.service import OPENING_KIND, ScheduleService
from bot.features.schedules.view import render_home_part
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import Payer
from bot.slack.receive.subcommand import SpokenCommand, Subcommand
from bot.slack.show.job_messenger import MessengerFactory
from bot.slack.views.paging import HomeList, HomeSection
from bot.store.redis.redis_store import Store
from handoff.access.audit_entry import AuditRecorder
from handoff.contracts import Place, Terms

COMMANDS = (Subcommand("schedule", SCHEDULE_USAGES, run_schedule_command, "words", text_after=""),)
SPOKEN_COMMANDS = (
    SpokenCommand("schedule", match_schedule, run_spoken_schedule, allows_files=True, slash_words="schedule"),
)


def register(kit: Kit) -> None:
    """Register the commands, the form, the App Home section, the schedule loop, and the opener of runs' threads."""
    records, requests = kit.records, kit.find_service(RequestService)

    def make_service() -> ScheduleRuntime:
        mark_changed, terms = kit.find_service(HomeService).mark_changed, kit.settings.terms
        return ScheduleRuntime(
            records.store,
            kit.messengers,
            kit.channels,
            kit.limits,
            terms,
            record_audit=records.record_audit,
            on_change=mark_changed,
        )

    async def render_part(team: str, user: str, page: int) -> HomeList:
        return render_home_part(await drafts.service.list_schedules(team, user), user, page)

    runtime = kit.add_service(ScheduleRuntime, make_service)
    drafts = kit.add_service(ScheduleDrafts, lambda: runtime.drafts)
    kit.add_commands(COMMANDS, SPOKEN_COMMANDS)
    kit.openers[OPENING_KIND] = runtime.opener.open_thread
    kit.background_tasks.append(lambda: runtime.run(requests.record_request))
    kit.sections.append(HomeSection("schedules", render_part))
    ScheduleClicks(drafts, requests, kit.services, kit.background).register(kit.router)


class ScheduleRuntime:
    """The parts of the feature that one instance runs: service, drafts, opener of threads and loop.

    Args:
        store: The store of the schedules.
        messengers: Makes messengers, and has the outbox, people and directory.
        channels: The settings of channels, which say who may use the bot.
        limits: Charges runs, and the model that reads times, to the owner of a schedule.
        terms: The settings of model calls.
        record_audit: Stores entries of the audit.
        on_change: Is called with the owner of a schedule that changed.
    """

    def __init__(
        self,
        store: Store,
        messengers: MessengerFactory,
        channels: ChannelSettings,
        limits: CallLimits,
        terms: Terms,
        *,
        record_audit: AuditRecorder,
        on_change: Callable[[str], None],
    ) -> None:
        people, directory = messengers.people, messengers.directory
        self._limits, self._terms, self._store = limits, terms, store
        self.service = ScheduleService(store, admins=people.admins, record_audit=record_audit, on_change=on_change)
        self.opener = RunOpener(store, self.service, messengers.outbox, people, directory, channels, limits)
        self.drafts = ScheduleDrafts(self.service, people, directory, self._ask_model_for_rule)
        self._loop = ScheduleLoop(store, self.service, channels.find_quiet_end, team=people.home.team)

    async def run(self, record_request: RecordRequest) -> None:
        """Start due runs until cancelled; `record_request` records the requests of runs."""
        self.opener.record_request = record_request
        await self._loop.run()

    async def _ask_model_for_rule(self, place: Place, user: str, text: str, zone: str) -> dict[str, Any] | None:
        from bot.supervisor.rule_reader import parse_schedule_rule  # noqa: PLC0415 - only where none of the forms says when

        model = self._limits.bind(Payer(place.team, place.channel, user, ""))
        return await parse_schedule_rule(model, text, now=self._store.clock(), zone=zone, terms=self._terms)
