"""A gate for tests of listeners without a store: settings and marks are kept in memory."""

import time
from typing import cast

from slack_sdk.web.async_client import AsyncWebClient

from bot.access.access_values import ChannelValues
from bot.access.channel_settings import ChannelSettings
from bot.access.person_facts import HomeWorkspace
from bot.features.channel_settings.actions import SettingsForm
from bot.slack.receive.gate import Gate
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import WebCalls
from bot.slack.show.people import People
from bot.store.redis.redis_store import Store
from bot.store.values import StoreError
from handoff.access.audit_entry import AuditEntry


class MemorySettings:
    """`AdminSettings` in memory, and the clock of a store; `away` as the store can be."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, str]] = {}
        self.away = False

    @property
    def settings(self) -> "MemorySettings":
        return self

    def clock(self) -> float:
        return time.time()

    async def put(self, team: str, name: str, payload: str, *, old_payload: str | None = None) -> bool:
        self._there()
        rows = self.rows.setdefault(team, {})
        if old_payload is not None and rows.get(name, "") != old_payload:
            return False
        rows[name] = payload
        return True

    async def read_team(self, team: str) -> dict[str, str]:
        self._there()
        return dict(self.rows.get(team, {}))

    def _there(self) -> None:
        if self.away:
            raise StoreError("the store is away")


class MemoryGate(Gate):
    """A gate whose marks and notes can be looked at."""

    def __init__(
        self, client: AsyncWebClient, team: str, *, admins: frozenset[str] = frozenset(), **env: object
    ) -> None:
        self.memory_settings, self.marks, self.audit_entries = MemorySettings(), set[str](), list[AuditEntry]()
        self.everywhere = ChannelValues.model_validate(env)
        self.file: dict[str, ChannelValues] = {}
        self.settings = ChannelSettings(cast("Store", self.memory_settings), lambda _: self.everywhere, self.file)
        self.people = People(client, WebCalls(CallBudget()), HomeWorkspace(team), admins)

        async def first(mark: str) -> bool:
            new = mark not in self.marks
            self.marks.add(mark)
            return new

        async def record(entry: AuditEntry) -> None:
            self.audit_entries.append(entry)

        self.form = SettingsForm(self.settings, self.people, clock=time.time, record_audit=record)
        super().__init__(self.people, self.settings, claim_first=first, clock=time.time, record_audit=record)
