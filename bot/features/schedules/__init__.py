"""The schedules feature: people describe a schedule, confirm it, and each run starts in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.access.channel_settings import ChannelSettings
from bot.features.home.service import HomeDesk
from bot.features.kit import Kit
from bot.features.requests.service import RequestDesk
from bot.features.schedules.actions import ScheduleClicks
from bot.features.schedules.commands import SCHEDULE_USAGES, match_words, schedule, spoken_schedule
from bot.features.schedules.loop import ScheduleLoop
from bot.features.schedules.opening import Begin, RunOpener
from bot.features.schedules.service import OPENER, ScheduleDesk
from bot.features.schedules.talk import ScheduleTalk
from bot.features.schedules.view import render_home_part
from bot.limits.call_limits import CallLimits
from bot.limits.rules import Payer
from bot.slack.receive.subcommand import SpokenCommand, Subcommand
from bot.slack.show.job_messenger import Messengers
from bot.slack.views.paging import HomePart, HomeSection
from bot.store.redis.redis_store import Store
from handoff.access.audit_entry import AuditRecorder
from handoff.contracts import Place, Terms

COMMANDS = (Subcommand("schedule", SCHEDULE_USAGES, schedule, "words", text_after=""),)
SPOKEN = (SpokenCommand("schedule", match_words, spoken_schedule, files=True, typed="schedule"),)


def register(kit: Kit) -> None:
    """Register the commands, the form, the App Home section, and what starts runs and opens their threads."""
    of, requests = kit.records, kit.find(RequestDesk)

    def service() -> InstanceSchedules:
        touch, terms = kit.find(HomeDesk).mark_changed, kit.settings.terms
        return InstanceSchedules(of.store, kit.messengers, kit.channels, kit.limits, terms, note=of.note, touch=touch)

    async def part_of(team: str, user: str, page: int) -> HomePart:
        return render_home_part(await talk.desk.list_schedules(team, user), user, page)

    standing = kit.offer(InstanceSchedules, service)
    talk = kit.offer(ScheduleTalk, lambda: standing.talk)
    kit.add(COMMANDS, SPOKEN)
    kit.openers[OPENER] = standing.opener.open
    kit.beside.append(lambda: standing.run(requests.record_request))
    kit.sections.append(HomeSection("schedules", part_of))
    ScheduleClicks(talk, requests, kit.services, kit.background).register(kit.router)


class InstanceSchedules:
    """The schedules of an instance.

    Args:
        store: The store of the schedules.
        messengers: Send to threads, channels and people.
        channels: The settings of channels, which say who may use the bot.
        limits: Charges runs, and the model that reads times, to the owner of a schedule.
        terms: The settings of model calls.
        note: Stores entries of the audit.
        touch: Is called with the owner of a schedule that changed.
    """

    def __init__(
        self,
        store: Store,
        messengers: Messengers,
        channels: ChannelSettings,
        limits: CallLimits,
        terms: Terms,
        *,
        note: AuditRecorder,
        touch: Callable[[str], None],
    ) -> None:
        people, directory = messengers.people, messengers.directory
        self._limits, self._terms, self._store = limits, terms, store
        self.desk = ScheduleDesk(store, admins=people.admins, note=note, touch=touch)
        self.opener = RunOpener(store, self.desk, messengers.outbox, people, directory, channels, limits)
        self.talk = ScheduleTalk(self.desk, people, directory, self._read_rule)
        self._loop = ScheduleLoop(store, self.desk, channels.find_quiet_end, team=people.home.team)

    async def run(self, begin: Begin) -> None:
        """Start due runs until cancelled; `begin` records the requests of runs."""
        self.opener.begin = begin
        await self._loop.run()

    async def _read_rule(self, place: Place, user: str, text: str, zone: str) -> dict[str, Any] | None:
        from bot.supervisor.rule_reader import read_rule  # noqa: PLC0415 - only where none of the forms says when

        model = self._limits.bind(Payer(place.team, place.channel, user, ""))
        return await read_rule(model, text, now=self._store.clock(), zone=zone, terms=self._terms)
