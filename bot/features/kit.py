"""The parts of a bot that features use, and that they add to: each feature's `register(kit)` is called at the start."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from slack_bolt.async_app import AsyncApp

from bot.access.channel_settings import ChannelSettings
from bot.jobs.effect_handlers import ThreadOpener
from bot.jobs.job_records import JobRecords
from bot.jobs.job_runner import Effects
from bot.limits.call_limits import CallLimits
from bot.models.chosen_model import ChosenModel
from bot.settings import Settings
from bot.slack.receive.browser_page import RenderQueryPage
from bot.slack.receive.gate import Gate
from bot.slack.receive.router import Router
from bot.slack.receive.services import FeatureServices
from bot.slack.receive.subcommand import SpokenCommand, Subcommand
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show.job_messenger import MessengerFactory
from bot.slack.show.notices import OutageNotices
from bot.slack.views.paging import HomeSection
from bot.supervisor.instance_board import InstanceBoard
from handoff.access.audit_entry import AuditAction
from specialists.crew_set import CrewSet

ServiceT = TypeVar("ServiceT")


@dataclass(slots=True, kw_only=True)
class Kit:
    """The parts of a bot that features use, and the lists that features add to.

    - app: Bolt's app.
    - gate: decides who may use the bot.
    - background: runs work after Slack's event was acknowledged.
    - records: reads and writes the jobs.
    - messengers: send to threads, channels and people.
    - url: the address of the workspace's own pages.
    - The other parts are named as their classes are.
    """

    app: AsyncApp
    gate: Gate
    records: JobRecords
    channels: ChannelSettings
    messengers: MessengerFactory
    limits: CallLimits
    crews: CrewSet
    board: InstanceBoard
    model: ChosenModel
    settings: Settings
    url: str = ""
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    services: FeatureServices = field(default_factory=FeatureServices)
    router: Router = field(init=False)
    outages: OutageNotices = field(init=False)
    sections: list[HomeSection] = field(default_factory=list)
    """The sections of the App Home."""
    effect_wrappers: list[Callable[[Effects], Effects]] = field(default_factory=list)
    """Functions that wrap the effects of jobs, so that a feature is told of each change of a job."""
    background_tasks: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    """Coroutine functions of background tasks, which run as long as the bot does."""
    pages: dict[str, RenderQueryPage] = field(default_factory=dict)
    """Web pages of the bot by their paths, served in HTTP mode."""
    openers: dict[str, ThreadOpener] = field(default_factory=dict)
    """Functions that open threads, by the kind of opening."""

    def __post_init__(self) -> None:
        """Make the router and the outage notices from the other parts."""
        self.router = Router(self.services, self.background)
        self.outages = OutageNotices(self.background)
        self.gate.background = self.background
        self.add_service(JobRecords, lambda: self.records)

    def add_service(self, kind: type[ServiceT], make: Callable[[], ServiceT]) -> ServiceT:
        """Add a service, unless there is one of its class already, and return it."""
        return self.services.find_or_make(kind, make)

    def find_service(self, kind: type[ServiceT]) -> ServiceT:
        """Return a service of another feature, which must be registered before."""
        return self.services.find(kind)

    def add_commands(
        self, subcommands: tuple[Subcommand, ...] = (), spoken_commands: tuple[SpokenCommand, ...] = ()
    ) -> None:
        """Add subcommands and spoken commands to the router."""
        self.router.subcommands += subcommands
        self.router.spoken += spoken_commands
        self.gate.deeds |= {f"/{one.name}": one.deed for one in subcommands}

    def add_deeds(self, deeds: Mapping[str, AuditAction]) -> None:
        """Set the deed that the audit records for clicks, by action_id or its prefix; without one, it is `asked`."""
        self.gate.deeds |= deeds
