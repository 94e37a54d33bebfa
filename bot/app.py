"""Puts the parts together: a store, a model, a crew, Slack, and one instance that runs jobs.

    Slack -> gate -> features -> store -> Instance -> JobRunner -> EffectRunner -> Thread -> outbox -> Slack
                                                                               |
                                                         supervisor and specialists -> Limits -> model

`running` wires a bot along these arrows.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.access import channels_file, crew_values
from bot.access.access_values import ChannelValues
from bot.access.channel_settings import ChannelSettings
from bot.features.catalogue import register_all
from bot.features.kit import Kit
from bot.jobs.effect_handlers import nobody_to_ask
from bot.jobs.effect_runner import EffectRunner
from bot.jobs.instance import Instance, cancel, new_name
from bot.jobs.job_records import JobRecords
from bot.jobs.job_runner import Effects
from bot.jobs.tasks import Bounds
from bot.limits.call_limits import CallLimits
from bot.logs import about
from bot.models.chosen_model import REHEARSAL, ChosenModel
from bot.models.named_models import names_at, take_on
from bot.operation.audit_log import AuditLog
from bot.operation.periodic import CHECK_SECONDS, StoreCheck, every
from bot.operation.sweeping import sweep
from bot.operation.wall_watch import report_walls
from bot.settings import Settings, SettingsError
from bot.slack.connection import Bolt, BotAccount, Client, NotConnected, make_bolt, proven_client, token_proof
from bot.slack.receive.gate import Gate
from bot.slack.receive.own_page import ShowPage
from bot.slack.send.lookup import LOOKS
from bot.slack.send.shared_outbox import shared_outbox
from bot.slack.send.web_calls import Background, close_client
from bot.slack.show.admission import Admission
from bot.slack.show.directory import Directory
from bot.slack.show.job_messenger import Messengers
from bot.slack.show.people import People
from bot.slack.show.thread import Thread
from bot.slack.token_proof import TokenProof
from bot.store.interface import JobKey, Store
from bot.supervisor.instance_board import InstanceBoard
from specialists.crew import Crew
from specialists.files.frontmatter import CrewFault
from specialists.loading import package_toolkits
from specialists.registry import CREWS, CrewError, load_crew, member_names
from specialists.several_crews import Crews, why_no_member
from specialists.tools.catalogue import all_toolkits
from specialists.tools.toolkit import Toolkit, ToolSettings

if TYPE_CHECKING:
    from bot.operation.instrumentation import Instrumentation
    from bot.store.redis.redis_store import RedisStore
    from specialists.tools.web.search import SearchSettings

log = logging.getLogger(__name__)

STUCK = 1.5
"""Work counts as stuck after so many times the seconds that one call of a role may take, if that is long."""


def manifest_path() -> Path:
    """Return the path of the app's manifest: beside the packages in a checkout, inside `bot` in an installation."""
    here = Path(__file__).parent
    beside = here.parent / "manifest.yml"
    return beside if beside.exists() else here / "manifest.yml"


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[RedisStore]:
    """Open the store of REDIS_URL, else the embedded one. Raises StoreError if it must not be used."""
    from bot.store.redis.redis_store import RedisStore  # noqa: PLC0415 - redis is imported when a store is opened

    url = settings.redis_url
    if not url:
        from bot.store.embedded import start_embedded  # noqa: PLC0415 - only for the embedded server

        url = await start_embedded(settings.data)
    store = await RedisStore.connect(url, retention=settings.retention)
    try:
        check = StoreCheck(store)
        await check.run()
        with every(CHECK_SECONDS, check.run):
            yield store
    finally:
        await store.close()


def crew_folder(settings: Settings) -> Path:
    """Return the folder of the crew of the settings, which may not be there."""
    folder, path = CREWS / settings.crew, Path(settings.crew).expanduser()
    return path if not folder.is_dir() and (path.is_dir() or len(path.parts) > 1) else folder


Around = tuple[tuple[Toolkit, ...], tuple[CrewFault, ...]]
"""The toolkits that the crews of a bot share, and what is wrong with those that packages bring."""


def _around(settings: Settings, setup: ToolSettings) -> Around:
    own = all_toolkits(search_settings(settings), settings=setup)
    packages, faults = package_toolkits.read({tool.name: tool for kit in own for tool in kit.tools}, setup)
    return (*own, *packages), tuple(faults)


def open_crew(settings: Settings, around: Around | None = None, members: Sequence[Path] = ()) -> Crew:
    """Load the crew of the settings, with its tools; `around` are toolkits that it shares, made anew unless given.

    `members` are the folders of crews that are inside it though they lie elsewhere.

    Raises SettingsError naming every fault, by file and line.
    """
    setup = ToolSettings(settings.env, settings.data)
    toolkits, faults = around or _around(settings, setup)
    folder = crew_folder(settings)
    try:
        crew = crew_values.checked(load_crew(folder, {}, setup, around=toolkits, members=members), folder)
        return dataclasses.replace(crew, warnings=(*faults, *crew.warnings))
    except CrewError as error:
        raise SettingsError("\n".join((str(error), *map(str, faults)))) from None


def open_crews(settings: Settings) -> Crews:
    """Load all crews of the settings: the first is the usual one, and has the others as members where they can be.

    Raises SettingsError naming every fault of all of them, by file and line.
    """
    around = _around(settings, ToolSettings(settings.env, settings.data))
    found: list[Crew] = []
    faults: list[str] = []
    members: list[Path] = []
    taken = member_names(crew_folder(settings))
    for name in (*dict.fromkeys(one for one in settings.more_crews if one != settings.crew), settings.crew):
        of_crew = dataclasses.replace(settings, crew=name)
        try:
            crew = open_crew(of_crew, around, members if name == settings.crew and not faults else ())
        except SettingsError as error:
            faults.append(str(error))
            continue
        found.append(crew)
        if not why_no_member(crew, taken, settings.env):
            members.append(crew_folder(of_crew))
    if faults:
        raise SettingsError("\n\n".join(faults))
    try:
        return Crews.of(found[-1:] + found[:-1])
    except ValueError as error:
        raise SettingsError(f"LEADHAND_CREW: {error}.") from None


def open_channels(settings: Settings, crews: Sequence[str] = ()) -> Mapping[str, ChannelValues]:
    """Read the settings of channels beside the usual crew; `crews` are those that a channel may choose from.

    Raises SettingsError naming every fault, by file and line.
    """
    file = channels_file.read(crew_folder(settings), crews)
    if file.faults:
        raise SettingsError("\n".join(str(fault) for fault in file.faults))
    return file.channels


def search_settings(settings: Settings) -> SearchSettings | None:
    """Choose the service that searches the web: the one whose key is set; None for the keyless one."""
    brave, tavily = settings.env.get("BRAVE_API_KEY", ""), settings.env.get("TAVILY_API_KEY", "")
    if not (brave or tavily):
        return None
    from specialists.tools.web.search import SearchSettings  # noqa: PLC0415 - only where a key is set

    return SearchSettings(provider="brave" if brave else "tavily", key=brave or tavily)


@dataclass(slots=True)
class App:
    """A running bot, without its connection to Slack (Socket Mode or HTTP), which `serve` and `try` add."""

    bolt: Bolt
    instance: Instance
    store: Store
    model: ChosenModel
    thread: Thread
    work: asyncio.Task[None]
    """The task of the instance: it ends when the instance does."""
    token: TokenProof
    pages: Mapping[str, ShowPage] = field(default_factory=dict)
    """Pages of our own for people's browsers, by their paths."""


@contextlib.asynccontextmanager
async def running(
    settings: Settings,
    store: Store,
    model: ChosenModel,
    crew: Crew | Crews | None = None,
    *,
    looks: Sequence[float] = LOOKS,
    instruments: Instrumentation | None = None,
    can_ask: bool = True,
) -> AsyncIterator[App]:
    """Run a bot on `store` inside the `with` block. At its end all jobs are released, for other instances to go on.

    `crew` is the one, or those, of the settings unless given; `looks` are those of `Outbox`; `instruments` count what
    happens; `can_ask` says if there are people who can approve something.
    Raises SettingsError if the crew cannot be read, or Slack does not take the token.
    """
    crews = await _ready(model, crew or open_crews(settings))
    client, account, channels, named = await _connected(settings, store, model, crews)
    # The kernel, from Slack and the model up.
    name = new_name()
    proof = token_proof(client, account)
    outbox = shared_outbox(client, store, account, who=name, unlimited=settings.slack_unlimited, looks=looks)
    outbox.calls.token_refused = proof.suspect
    people = People(client, outbox.calls, account.home)
    people.name_groups([*named, *crews.asked])
    messengers = Messengers(outbox, people, Directory(client, outbox.calls, people), settings.admins, account.url)
    by_rules = model.provider == REHEARSAL
    thread = Thread(client, outbox, store, people, messengers, model_label=model.label, by_rules=by_rules)
    metrics = instruments.metrics if instruments is not None else None
    models = names_at(model, *crews.by_name.values())
    limits = CallLimits(store.counters, model, settings.rules, store.clock, metrics, models, channels.rules_in)
    note = AuditLog(store).note
    board = InstanceBoard(store.board, name, crews.by_name)
    bolt = make_bolt(client, proof, signing_secret=settings.signing_secret)

    def nudge(key: JobKey) -> None:
        instance.nudge(key)

    # What people do.
    kit = Kit(
        app=bolt,
        gate=Gate(people, channels, first=limits.first_in_an_hour, clock=store.clock, note=note),
        records=JobRecords(store, nudge, admins=settings.admins, note=note, groups_of=people.groups_of),
        channels=channels,
        messengers=messengers,
        limits=limits,
        crews=crews,
        board=board,
        model=model,
        settings=settings,
        url=account.url,
    )
    register_all(kit)
    # What jobs do.
    runs = EffectRunner(
        store,
        thread,
        model,
        crews,
        limits,
        settings.terms,
        board,
        note=note,
        approvers_in=channels.approvers_in if can_ask else nobody_to_ask,
        standing=Admission(people, channels).standing,
        terms_in=channels.terms_in,
        openers=kit.openers,
    )
    effects: Effects = runs
    for wrap in kit.around:
        effects = wrap(effects)
    if instruments is not None:
        effects, outbox.calls.seen = instruments.effects(effects), instruments.metrics.slack_called
    bounds = Bounds(effect=max(Bounds().effect, STUCK * settings.terms.call_seconds))
    instance = Instance(
        store,
        effects,
        slots=settings.slots,
        lease=settings.lease,
        bounds=bounds,
        name=name,
        elsewhere=runs.elsewhere,
        hold=lambda: proof.fault,
    )
    with about(instance=instance.name):
        work = asyncio.create_task(instance.run())
    begins = dict.fromkeys(begin for one in crews.by_name.values() for begin in one.beside)  # crews share toolkits
    watch = (report_walls(instruments.metrics),) if instruments is not None else ()
    own = (*watch, model.warm(), proof.run(), board.run())
    beside = [asyncio.create_task(one) for one in (*own, *(begin() for begin in (*kit.beside, *begins)))]
    app = App(bolt, instance, store, model, thread, work, proof, kit.pages)
    try:
        yield app
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await _end(app, kit.background, limits, crews, board)


async def _connected(
    settings: Settings, store: Store, model: ChosenModel, crews: Crews
) -> tuple[Client, BotAccount, ChannelSettings, frozenset[str]]:
    """Return the client of the bot's token, its account, and the settings of channels with the user groups they name.

    Raises SettingsError where Slack does not take the token, or the store or `channels.yml` is not for us.
    """
    file = open_channels(settings, crews.names)
    try:
        client, account = await proven_client(settings.bot_token, settings.slack_api_url)
    except NotConnected as error:
        raise SettingsError(str(error)) from None
    channels = ChannelSettings(
        store,
        settings.in_channel,
        file,
        admins=settings.admins,
        crews=crews.described,
        of_crews=crew_values.of_crews(crews.by_name),
        models=model.tiers,
    )
    try:
        await _check_home(store, account.home.team)
        named = await channels.groups(account.home.team)  # what the form set is known from now on, store or not
        await sweep()
    except BaseException:
        await close_client(client)
        raise
    return client, account, channels, named


async def _ready(model: ChosenModel, crew: Crew | Crews) -> Crews:
    """Return the crews of a bot with the models that they name, and log what people should know of their files.

    Raises SettingsError if one of these models cannot be had.
    """
    crews = Crews.of([crew]) if isinstance(crew, Crew) else crew
    if faults := await take_on(model, *crews.by_name.values()):
        raise SettingsError("\n".join(map(str, faults)))
    for warning in (each for one in crews.by_name.values() for each in one.every_warning):
        log.warning("%s", warning)
    return crews


async def _check_home(store: Store, team: str) -> None:
    """Raise SettingsError if another workspace's jobs are in the store: each bot would take the other's."""
    owner = await store.home(team)
    if owner != team:
        raise SettingsError(
            f"The store holds the jobs of another workspace ({owner}), and SLACK_BOT_TOKEN is of {team}: a bot would "
            "answer what the other was asked. Give each a REDIS_URL of its own, such as another database of the "
            "server: redis://HOST:6379/1."
        )


async def _end(app: App, background: Background, limits: CallLimits, crews: Crews, board: InstanceBoard) -> None:
    try:
        await app.instance.stop()
        await cancel(app.work)
        seconds = app.instance.time_left()
        await asyncio.gather(background.drain(seconds), app.thread.close(seconds), limits.close(seconds))
    finally:
        await board.close()
        await crews.close()
        await app.model.close()
