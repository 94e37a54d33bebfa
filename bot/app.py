"""Wires a bot from its parts: a store, a model, crews, Slack, and one instance that runs jobs.

    Slack -> gate -> features -> store -> Instance -> JobRunner -> EffectRunner -> Thread -> outbox -> Slack
                                                                               |
                                                         supervisor and specialists -> Limits -> model

`open_app` connects the parts along these arrows.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.access import channels_file
from bot.access.access_values import ChannelValues
from bot.access.channel_settings import ChannelSettings
from bot.logs import log_context
from bot.models.chosen_model import ChosenModel
from bot.models.named_models import list_provider_model_names, register_named_models
from bot.operation.leftovers import remove_leftovers
from bot.operation.periodic import STORE_CHECK_SECONDS, StoreSettingsCheck, repeat_every
from bot.operation.sandbox_report import probe_and_report_protections
from bot.settings import Settings, SettingsError
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from bot.supervisor.instance_board import InstanceBoard
from specialists.crew import Crew
from specialists.crew_set import CrewSet, find_member_fault
from specialists.files.frontmatter import CrewFault
from specialists.loading import package_toolkits
from specialists.registry import CREWS_FOLDER, CrewError, list_member_names, load_crew
from specialists.tools.extras import describe_missing_packages
from specialists.tools.toolkit import Toolkit, ToolSettings

if TYPE_CHECKING:
    from aiohttp import web

    from bot.jobs.instance import Instance
    from bot.operation.instrumentation import Instrumentation
    from bot.slack.connection import Bolt
    from bot.team_bot import SharedParts, TeamBot
    from bot.teams import InstalledTeams

log = logging.getLogger(__name__)

STUCK_FACTOR = 1.5
"""An effect counts as stuck after this factor times the timeout of a model call, or later if the default is longer."""


def find_manifest() -> Path:
    """Return the path of the app's manifest: beside the packages in a checkout, inside `bot` in an installation."""
    here = Path(__file__).parent
    beside = here.parent / "manifest.yml"
    return beside if beside.exists() else here / "manifest.yml"


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """Open the store of REDIS_URL, or else the embedded one, and check it regularly. Raises StoreError."""
    url = settings.redis_url
    if not url:
        from bot.store.embedded import start_embedded  # noqa: PLC0415 - only for the embedded server

        url = await start_embedded(settings.data)
    store = await Store.connect(url, retention=settings.retention)
    try:
        check = StoreSettingsCheck(store)
        await check.run()
        with repeat_every(STORE_CHECK_SECONDS, check.run):
            yield store
    finally:
        await store.close()


def find_crew_folder(settings: Settings) -> Path:
    """Return the folder of `settings.crew`, which is a name or a path. The folder need not exist."""
    folder, path = CREWS_FOLDER / settings.crew, Path(settings.crew).expanduser()
    return path if not folder.is_dir() and (path.is_dir() or len(path.parts) > 1) else folder


SharedToolkits = tuple[tuple[Toolkit, ...], tuple[CrewFault, ...]]
"""A pair: the toolkits of installed packages, which all crews of a bot share, and the faults in them."""


def _load_package_toolkits(setup: ToolSettings) -> SharedToolkits:
    try:
        return package_toolkits.load_toolkits(setup)
    except package_toolkits.NotInstalled as error:
        raise SettingsError(str(error)) from None


def load_crew_of_settings(
    settings: Settings, shared_toolkits: SharedToolkits | None = None, members: Sequence[Path] = ()
) -> Crew:
    """Load the crew of the settings, with its tools. If `shared_toolkits` is None, they are loaded here.

    `members` are the folders of other crews that become members of this crew.

    Raises SettingsError naming every fault, by file and line.
    """
    setup = ToolSettings(settings.env, settings.data)
    toolkits, faults = shared_toolkits or _load_package_toolkits(setup)
    folder = find_crew_folder(settings)
    try:
        crew = channels_file.require_valid_channel_values(
            load_crew(folder, {}, setup, further_toolkits=toolkits, members=members), folder
        )
        return dataclasses.replace(crew, warnings=(*faults, *crew.warnings))
    except CrewError as error:
        raise SettingsError("\n".join((str(error), *map(str, faults)))) from None


def load_crews(settings: Settings) -> CrewSet:
    """Load all crews of the settings. The first is the default crew; the others become its members if possible.

    Raises SettingsError naming the faults of all crews, by file and line.
    """
    shared_toolkits = _load_package_toolkits(ToolSettings(settings.env, settings.data))
    loaded_crews: list[Crew] = []
    faults: list[str] = []
    members: list[Path] = []
    member_names = list_member_names(find_crew_folder(settings))
    for name in (*dict.fromkeys(one for one in settings.more_crews if one != settings.crew), settings.crew):
        crew_settings = dataclasses.replace(settings, crew=name)
        try:
            crew = load_crew_of_settings(
                crew_settings, shared_toolkits, members if name == settings.crew and not faults else ()
            )
        except SettingsError as error:
            faults.append(str(error))
            continue
        loaded_crews.append(crew)
        if not find_member_fault(crew, member_names, settings.env):
            members.append(find_crew_folder(crew_settings))
    if faults:
        raise SettingsError("\n\n".join(faults))
    try:
        return CrewSet.from_crews(loaded_crews[-1:] + loaded_crews[:-1])
    except ValueError as error:
        raise SettingsError(f"LEADHAND_CREW: {error}.") from None


def read_channel_values(settings: Settings, crews: Sequence[str] = ()) -> Mapping[str, ChannelValues]:
    """Read `channels.yml` in the default crew's folder. `crews` are the names that a channel may choose from.

    Raises SettingsError naming every fault, by file and line.
    """
    file = channels_file.read_channels_file(find_crew_folder(settings), crews)
    if file.faults:
        raise SettingsError("\n".join(str(fault) for fault in file.faults))
    return file.channels


@dataclass(slots=True)
class App:
    """A running bot, without its connection to Slack (Socket Mode or HTTP), which `serve` and `try` add."""

    bolt: Bolt
    instance: Instance
    store: Store
    model: ChosenModel
    instance_task: asyncio.Task[None]
    """The task that runs the instance until it stops."""
    find_token_fault: Callable[[], str]
    """Returns the reason why Slack refuses the bot's token, or "" while Slack accepts it."""
    pages: Sequence[web.RouteDef] = ()
    """The routes of the pages for browsers in HTTP mode."""


@contextlib.asynccontextmanager
async def open_app(
    settings: Settings,
    store: Store,
    model: ChosenModel,
    crew: Crew | CrewSet | None = None,
    *,
    lookup_pauses: Sequence[float] | None = None,
    instruments: Instrumentation | None = None,
    can_ask: bool = True,
) -> AsyncIterator[App]:
    """Run a bot on `store` inside the `with` block. At its end all jobs are released, for other instances to go on.

    `crew` replaces those of the settings. `lookup_pauses` are the seconds before each lookup of a message that may or
    may not be posted. `instruments` collect metrics and traces. `can_ask` is False if nobody could approve something.
    Raises SettingsError if a crew cannot be read, a model is unavailable, or Slack refuses the token.
    """
    # Imported here: commands that only read a store or a crew need neither features nor the job runner.
    from bot.jobs.effect_runner import is_crew_only_elsewhere  # noqa: PLC0415 - see above
    from bot.jobs.effect_tasks import StuckLimits  # noqa: PLC0415 - see above
    from bot.jobs.instance import Instance, make_instance_name  # noqa: PLC0415 - see above
    from bot.limits.call_limits import CallLimits  # noqa: PLC0415 - see above
    from bot.slack.send.lookup import READ_WAIT_SECONDS  # noqa: PLC0415 - see above
    from bot.team_bot import SharedParts, open_token_bot  # noqa: PLC0415 - see above

    crews = await _prepare_crews(model, crew or load_crews(settings))
    channels = make_channel_settings(settings, store, model, crews)
    name = make_instance_name()
    models = list_provider_model_names(model, *crews.by_name.values())
    has_several_teams, rules = settings.uses_oauth_install, settings.rules
    limits = CallLimits(
        store.counters,
        model,
        rules,
        store.clock,
        models,
        channels.apply_channel_budget,
        has_several_teams=has_several_teams,
    )
    if instruments is not None:
        limits.on_wait, limits.on_withheld = (
            instruments.metrics.observe_model_wait,
            instruments.metrics.count_withheld_call,
        )
    board = InstanceBoard(store.board, name, crews.by_name)

    def nudge(key: JobKey) -> None:
        instance.nudge(key)

    shared_parts = SharedParts(
        settings,
        store,
        model,
        crews,
        channels,
        limits,
        board,
        name,
        nudge,
        READ_WAIT_SECONDS if lookup_pauses is None else lookup_pauses,
        instruments,
        has_approvers=can_ask,
    )

    async def release_team(team: str) -> None:
        await instance.release_team(team)

    bots = await (
        _open_installed_teams(shared_parts, release_team)
        if settings.uses_oauth_install
        else open_token_bot(shared_parts)
    )
    stuck_limits = StuckLimits(
        effect_seconds=max(StuckLimits().effect_seconds, STUCK_FACTOR * settings.terms.call_seconds)
    )
    instance = Instance(
        store,
        bots.effects,
        slots=settings.slots,
        lease=settings.lease,
        stuck_limits=stuck_limits,
        name=name,
        belongs_elsewhere=functools.partial(is_crew_only_elsewhere, crews, board),
        find_hold_reason=lambda: bots.token_fault,
        can_reach_team=bots.is_team_reachable,
        has_several_teams=lambda: bots.has_several_teams,
    )
    with log_context(instance=instance.name):
        work = asyncio.create_task(instance.run())
    # Crews share toolkits.
    task_starters = dict.fromkeys(begin for one in crews.by_name.values() for begin in one.background_work)
    watch = (probe_and_report_protections(instruments.metrics),) if instruments is not None else ()
    own_tasks = (*watch, model.warm(), board.write_row_repeatedly())
    bots.start_background_tasks()
    background_tasks = [asyncio.create_task(one) for one in (*own_tasks, *(begin() for begin in task_starters))]
    app = App(bots.bolt, instance, store, model, work, lambda: bots.token_fault, bots.pages)
    try:
        yield app
    finally:
        for task in background_tasks:
            task.cancel()
        await asyncio.gather(*background_tasks, return_exceptions=True)
        await bots.end_background_tasks()
        await _close_app(app, bots, shared_parts)


def make_channel_settings(settings: Settings, store: Store, model: ChosenModel, crews: CrewSet) -> ChannelSettings:
    """Make the channel settings from the form, `channels.yml`, the crews and the environment.

    Raises SettingsError if `channels.yml` has a fault.
    """
    return ChannelSettings(
        store,
        settings.find_channel_values,
        read_channel_values(settings, crews.names),
        crews=crews.descriptions,
        crew_values=channels_file.parse_all_crew_values(crews.by_name),
        models=model.tiers,
    )


async def _open_installed_teams(
    shared_parts: SharedParts, release_team: Callable[[str], Awaitable[None]]
) -> InstalledTeams:
    """Open the bots of all workspaces that installed the app. Raises SettingsError for invalid keys."""
    if fault := describe_missing_packages("oauth", "cryptography"):
        raise SettingsError(f"SLACK_CLIENT_ID is set: {fault}")
    from bot.teams import InstalledTeams  # noqa: PLC0415 - only where workspaces install the app

    bots = InstalledTeams.from_settings(shared_parts, release_team)
    await shared_parts.store.allow_any_team()
    await bots.open_all_bots()
    await remove_leftovers()
    return bots


async def _prepare_crews(model: ChosenModel, crew: Crew | CrewSet) -> CrewSet:
    """Register the models that the crews name, log the warnings about their files, and return the crews.

    Raises SettingsError if one of these models is unavailable.
    """
    crews = CrewSet.from_crews([crew]) if isinstance(crew, Crew) else crew
    if faults := await register_named_models(model, *crews.by_name.values()):
        raise SettingsError("\n".join(map(str, faults)))
    for warning in (each for one in crews.by_name.values() for each in one.all_warnings):
        log.warning("%s", warning)
    return crews


async def _close_app(app: App, bots: TeamBot | InstalledTeams, shared_parts: SharedParts) -> None:
    from bot.jobs.instance import cancel_until_ended  # noqa: PLC0415 - see `open_app`

    try:
        await app.instance.stop()
        await cancel_until_ended(app.instance_task)
        seconds_left = app.instance.compute_seconds_left()
        await asyncio.gather(bots.close(seconds_left), shared_parts.limits.close(seconds_left))
    finally:
        await shared_parts.board.close()
        await shared_parts.crews.close()
        await app.model.close()
