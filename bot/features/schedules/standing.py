"""Puts the schedules of a bot together: their desk, the loop that begins runs, who opens threads, and the talk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.access.channel_settings import ChannelSettings
from bot.features.schedules.loop import ScheduleLoop
from bot.features.schedules.opening import Begin, RunOpener
from bot.features.schedules.service import ScheduleDesk
from bot.features.schedules.talk import ScheduleTalk
from bot.limits.call_limits import CallLimits
from bot.limits.rules import Payer
from bot.slack.show.job_messenger import Messengers
from bot.store.redis.redis_store import Store
from handoff.access.audit_entry import Note
from handoff.contracts import Place, Terms


class StandingWork:
    """The schedules of an instance.

    Args:
        store: Where they are kept.
        messengers: The ways to Slack.
        channels: Who may use the bot where.
        limits: Whose budgets runs are on; a model that reads times is asked on its person's account.
        terms: The settings of calls.
        note: Keeps entries of the audit.
        touch: Is told the owner of a schedule that changed.
    """

    def __init__(
        self,
        store: Store,
        messengers: Messengers,
        channels: ChannelSettings,
        limits: CallLimits,
        terms: Terms,
        *,
        note: Note,
        touch: Callable[[str], None],
    ) -> None:
        people, directory = messengers.people, messengers.directory
        self._limits, self._terms, self._store = limits, terms, store
        self.desk = ScheduleDesk(store, admins=people.admins, note=note, touch=touch)
        self.opener = RunOpener(store, self.desk, messengers.outbox, people, directory, channels, limits)
        self.talk = ScheduleTalk(self.desk, people, directory, self._read_rule)
        self._loop = ScheduleLoop(store, self.desk, channels.quiet_until, team=people.home.team)

    async def run(self, begin: Begin) -> None:
        """Begin what is due until cancelled; `begin` records the requests of runs."""
        self.opener.begin = begin
        await self._loop.run()

    async def _read_rule(self, place: Place, user: str, text: str, zone: str) -> dict[str, Any] | None:
        from bot.supervisor.rule_reader import read_rule  # noqa: PLC0415 - only where none of the forms says when

        model = self._limits.bind(Payer(place.team, place.channel, user, ""))
        return await read_rule(model, text, now=self._store.clock(), zone=zone, terms=self._terms)
