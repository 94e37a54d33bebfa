"""The bot in one workspace: its Slack client, its gate, its features and its threads.

An instance has one bot for the workspace of its token, or one for each workspace that installed the app. No bot knows
anything of another: the parts that they share (`SharedParts`) hold no tokens and no messages, or hold them by team.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.access.channel_settings import ChannelSettings
from bot.features.catalogue import register_all
from bot.features.kit import Kit
from bot.jobs.effect_handlers import find_no_approvers
from bot.jobs.effect_runner import EffectRunner
from bot.jobs.job_records import JobRecords
from bot.jobs.job_runner import Effects
from bot.limits.call_limits import CallLimits
from bot.models.chosen_model import REHEARSAL_PROVIDER, ChosenModel
from bot.operation.audit_log import AuditLog
from bot.operation.leftovers import remove_leftovers
from bot.settings import Settings, SettingsError
from bot.slack.connection import BotAccount, Client, NotConnected, make_bolt, make_checked_client, make_token_monitor
from bot.slack.receive.gate import Gate
from bot.slack.receive.http import make_page_route
from bot.slack.send.lookup import READ_WAIT_SECONDS
from bot.slack.send.shared_outbox import make_shared_outbox
from bot.slack.send.web_calls import close_client
from bot.slack.show.admission import Admission
from bot.slack.show.directory import Directory
from bot.slack.show.job_messenger import MessengerFactory
from bot.slack.show.people import People
from bot.slack.show.thread_view import ThreadView
from bot.store.redis.redis_store import Store
from bot.store.values import ANY_TEAM, JobKey
from bot.supervisor.instance_board import InstanceBoard
from specialists.crew_set import CrewSet

if TYPE_CHECKING:
    from bot.operation.instrumentation import Instrumentation


@dataclass(frozen=True, slots=True)
class SharedParts:
    """The parts that the bots of an instance share.

    `instance_name` is the instance's name; `wake_job_runner` wakes its runner of a job. `lookup_pause_seconds` are the
    seconds before each lookup of a message in doubt. `has_approvers` is False if there is nobody who could approve
    something.
    """

    settings: Settings
    store: Store
    model: ChosenModel
    crews: CrewSet
    channels: ChannelSettings
    limits: CallLimits
    board: InstanceBoard
    instance_name: str
    wake_job_runner: Callable[[JobKey], None]
    lookup_pause_seconds: Sequence[float] = READ_WAIT_SECONDS
    instruments: Instrumentation | None = None
    has_approvers: bool = True


class TeamBot:
    """The bot of one workspace. `start_background_tasks` starts its background tasks, `close` ends them.

    Args:
        shared_parts: The parts that it shares with the instance's other bots.
        client: The Slack client of this bot alone.
        account: The bot's account in the workspace.
        groups: The user groups that the settings of its channels name.
    """

    def __init__(self, shared_parts: SharedParts, client: Client, account: BotAccount, groups: Collection[str]) -> None:
        settings, store, crews, model = (
            shared_parts.settings,
            shared_parts.store,
            shared_parts.crews,
            shared_parts.model,
        )
        self.client, self.account = client, account
        self.proof = make_token_monitor(client, account)
        outbox = make_shared_outbox(
            client,
            store,
            account,
            instance=shared_parts.instance_name,
            is_unlimited=settings.slack_unlimited,
            read_waits=shared_parts.lookup_pause_seconds,
        )
        outbox.calls.on_token_refused = self.proof.request_check
        admins = settings.list_admins(account.home.team, account.home.enterprise)
        people = People(client, outbox.calls, account.home, admins)
        people.add_named_groups([*groups, *crews.addressees])
        messengers = MessengerFactory(outbox, people, Directory(client, outbox.calls, people), account.url)
        by_rules = model.provider == REHEARSAL_PROVIDER
        self.thread = ThreadView(client, outbox, store, people, messengers, model_label=model.label, by_rules=by_rules)
        self.bolt = make_bolt(client, self.proof, signing_secret=settings.signing_secret)
        note, channels, limits = AuditLog(store).record, shared_parts.channels, shared_parts.limits
        self._kit = kit = Kit(
            app=self.bolt,
            gate=Gate(people, channels, claim_first=limits.claim_hourly_mark, clock=store.clock, record_audit=note),
            records=JobRecords(
                store,
                shared_parts.wake_job_runner,
                admins=admins,
                record_audit=note,
                find_groups=people.find_current_groups,
            ),
            channels=channels,
            messengers=messengers,
            limits=limits,
            crews=crews,
            board=shared_parts.board,
            model=model,
            settings=settings,
            url=account.url,
        )
        register_all(kit)
        self.pages = tuple(make_page_route(path, show) for path, show in kit.pages.items())
        effects: Effects = EffectRunner(
            store,
            self.thread,
            model,
            crews,
            limits,
            settings.terms,
            shared_parts.board,
            record_audit=note,
            find_approvers=channels.read_approvers if shared_parts.has_approvers else find_no_approvers,
            find_actor=Admission(people, channels).admit_actor,
            find_terms=channels.read_terms,
            openers=kit.openers,
        )
        for wrap in kit.effect_wrappers:
            effects = wrap(effects)
        if (instruments := shared_parts.instruments) is not None:
            effects, outbox.calls.on_outcome = instruments.wrap_effects(effects), instruments.metrics.count_slack_call
        self.effects = effects
        self._background_tasks: list[asyncio.Task[None]] = []

    @property
    def token_fault(self) -> str:
        """Why Slack refuses the token, and what to do; empty while Slack accepts it."""
        return self.proof.fault

    @property
    def has_several_teams(self) -> bool:
        """False: this bot is the instance's only one."""
        return False

    async def is_team_reachable(self, _team: str) -> bool:
        """Return True: all jobs of the store are of this workspace."""
        return True

    def start_background_tasks(self) -> None:
        """Start the background tasks."""
        self._background_tasks = [
            asyncio.create_task(one)
            for one in (self.proof.check_periodically(), *(begin() for begin in self._kit.background_tasks))
        ]

    async def end_background_tasks(self) -> None:
        """Cancel the background tasks, and wait until they have ended."""
        for task in self._background_tasks:
            task.cancel()
        await asyncio.gather(*self._background_tasks, return_exceptions=True)

    async def close(self, seconds: float) -> None:
        """Wait at most `seconds` for running work, and close the client. The jobs must have been released before."""
        await self.end_background_tasks()
        await asyncio.gather(self._kit.background.close(seconds), self.thread.close(seconds))


async def open_token_bot(shared_parts: SharedParts) -> TeamBot:
    """Open the bot for the token of the settings.

    Raises SettingsError if Slack refuses the token, or the store holds jobs of another workspace.
    """
    settings, store = shared_parts.settings, shared_parts.store
    try:
        client, account = await make_checked_client(settings.bot_token, settings.slack_api_url)
    except NotConnected as error:
        raise SettingsError(str(error)) from None
    try:
        await _require_home_team(store, account.home.team)
        # It also caches the form's values, for store outages.
        groups = await shared_parts.channels.read_groups(account.home.team)
        await remove_leftovers()
        return TeamBot(shared_parts, client, account, groups)
    except BaseException:
        await close_client(client)
        raise


async def _require_home_team(store: Store, team: str) -> None:
    """Raise SettingsError if the store holds another workspace's jobs: each bot would run the other's jobs."""
    owner = await store.claim_home_team(team)
    if owner == ANY_TEAM:
        raise SettingsError(
            "The store holds the jobs of several workspaces, and SLACK_BOT_TOKEN is of one. Set SLACK_CLIENT_ID in its "
            "place, or another REDIS_URL, such as another database of the server: redis://HOST:6379/1."
        )
    if owner != team:
        raise SettingsError(
            f"The store holds the jobs of another workspace ({owner}), and SLACK_BOT_TOKEN is of {team}: a bot would "
            "answer what the other was asked. Give each a REDIS_URL of its own, such as another database of the "
            "server: redis://HOST:6379/1."
        )
