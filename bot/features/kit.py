"""What a feature is given, and what it adds to the bot: `register(kit)` of each is called once, at the start."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from slack_bolt.async_app import AsyncApp

from bot.access.channel_settings import ChannelSettings
from bot.jobs.effect_handlers import Opener
from bot.jobs.job_records import JobRecords
from bot.jobs.job_runner import Effects
from bot.limits.call_limits import CallLimits
from bot.models.chosen_model import ChosenModel
from bot.settings import Settings
from bot.slack.receive.gate import Gate
from bot.slack.receive.own_page import ShowPage
from bot.slack.receive.router import Router
from bot.slack.receive.services import FeatureServices
from bot.slack.receive.subcommand import SpokenCommand, Subcommand
from bot.slack.send.web_calls import Background
from bot.slack.show.job_messenger import Messengers
from bot.slack.show.notices import OutageNotices
from bot.slack.views.paging import HomeSection
from bot.supervisor.instance_board import InstanceBoard
from handoff.access.audit_entry import Deed
from specialists.several_crews import Crews

S = TypeVar("S")


@dataclass(slots=True, kw_only=True)
class Kit:
    """The parts of a bot that features stand on, and what they add to it.

    - app, gate, background: Bolt's app, who gets in, and what is done after Slack was told "received".
    - records: the jobs. `messengers`: the ways to Slack. The other parts are named as their classes are.
    - url: the address of the workspace's own pages.
    """

    app: AsyncApp
    gate: Gate
    records: JobRecords
    channels: ChannelSettings
    messengers: Messengers
    limits: CallLimits
    crews: Crews
    board: InstanceBoard
    model: ChosenModel
    settings: Settings
    url: str = ""
    background: Background = field(default_factory=Background)
    services: FeatureServices = field(default_factory=FeatureServices)
    router: Router = field(init=False)
    outages: OutageNotices = field(init=False)
    sections: list[HomeSection] = field(default_factory=list)
    """The sections of everybody's home."""
    around: list[Callable[[Effects], Effects]] = field(default_factory=list)
    """Wrap the effects of jobs, and so see how jobs change."""
    beside: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    """Tasks that run as long as the bot does."""
    pages: dict[str, ShowPage] = field(default_factory=dict)
    """Pages of our own for people's browsers, by their paths: shown in HTTP mode."""
    openers: dict[str, Opener] = field(default_factory=dict)
    """What opens threads, by the kind of opening."""

    def __post_init__(self) -> None:
        """Make what stands on the other parts."""
        self.router = Router(self.services, self.background)
        self.outages = OutageNotices(self.background)
        self.gate.background = self.background
        self.offer(JobRecords, lambda: self.records)

    def offer(self, kind: type[S], make: Callable[[], S]) -> S:
        """Add a service, unless there is one of its class already, and return it."""
        return self.services.offer(kind, make)

    def find(self, kind: type[S]) -> S:
        """Return the service of another feature, which has to be registered before this one."""
        return self.services.find(kind)

    def add(self, subcommands: tuple[Subcommand, ...] = (), spoken: tuple[SpokenCommand, ...] = ()) -> None:
        """Add commands."""
        self.router.subcommands += subcommands
        self.router.spoken += spoken
        self.gate.deeds |= {f"/{one.name}": one.deed for one in subcommands}

    def note_deeds(self, deeds: Mapping[str, Deed]) -> None:
        """Tell the audit what clicks would do, by the action_id or its beginning; else it is `asked`."""
        self.gate.deeds |= deeds
