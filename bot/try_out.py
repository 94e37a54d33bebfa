"""`leadhand try`: the real bot in a Slack on this machine, with a page, or for one job in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import logging
import sys
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from bot.app import App, manifest_path, open_store, running
from bot.models.choosing import ChosenModel, ModelSettingsError, choose_model
from bot.one_job import do_one_job
from bot.serve import connected, until_told
from bot.settings import Settings, SettingsError
from bot.workspace.server import Workspace

SAMPLE = Path(__file__).parent.parent / "specialists" / "samples" / "sales.csv"
PACE = "0.4"
"""Seconds a call of the rehearsal model takes here, so that people can see the plan move."""


async def try_out(options: argparse.Namespace, settings: Settings) -> int:
    """Start everything and keep it up until Ctrl-C, or do the one job of `--ask`. Returns the exit code."""
    if options.ask is not None:
        return await _one_job(options, settings)
    if options.file or options.json:
        raise SettingsError("--file and --json go with --ask.")
    with _log_to(settings.data / "leadhand.log"):
        return await _page(options, settings)


async def _page(options: argparse.Namespace, settings: Settings) -> int:
    say("Starting the embedded Redis-compatible server, the local workspace and the bot ...")
    settings = _paced(settings)
    data = settings.data / "workspace"
    async with _workspace(data, options.port) as workspace, _bot(settings, workspace) as app:
        workspace.notice(f"Answers come from: {app.model.label}")
        say(f"Model:     {app.model.label}")
        say(f"Page:      {workspace.page_url}")
        say(f"Try this:  attach {SAMPLE}")
        say("           and write: @leadhand why did churn rise? draft a short note to the board")
        say("Ctrl-C stops all of it; the threads are kept.")
        if not options.no_browser:
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(workspace.page_url)
        await until_told()
        say("\nStopping ...")
    await _stop_server(settings)
    return 0


async def _one_job(options: argparse.Namespace, settings: Settings) -> int:
    files = [_readable(path) for path in options.file]
    with tempfile.TemporaryDirectory(prefix="leadhand-try-") as folder:
        apart = dataclasses.replace(settings, data=Path(folder), redis_url="")
        try:
            async with _workspace(None, 0) as workspace, _bot(apart, workspace) as app:
                return await do_one_job(workspace, app, options, files)
        finally:
            await _stop_server(apart)


@contextlib.asynccontextmanager
async def _workspace(data: Path | None, port: int) -> AsyncIterator[Workspace]:
    try:
        workspace = await Workspace.start(manifest_path(), data=data, port=port)
    except OSError as error:
        raise SettingsError(
            f"The page's port {port} cannot be used ({error.strerror or error}); is it running already? "
            "Choose another with --port, or --port 0 for any."
        ) from None
    try:
        yield workspace
    finally:
        await workspace.stop()


@contextlib.asynccontextmanager
async def _bot(settings: Settings, workspace: Workspace) -> AsyncIterator[App]:
    settings = dataclasses.replace(
        settings,
        bot_token=workspace.bot_token,
        app_token=workspace.app_token,
        slack_api_url=workspace.api_url,
    )
    model = await _model(settings)
    async with open_store(settings) as store, running(settings, store, model) as app, connected(app.bolt, settings):
        yield app


async def _model(settings: Settings) -> ChosenModel:
    try:
        return await choose_model(settings.env)
    except ModelSettingsError as error:
        raise SettingsError(str(error)) from None


async def _stop_server(settings: Settings) -> None:
    """Stop the embedded server of this data folder; what it holds is on disk."""
    if settings.redis_url:
        return
    from handoff.store.embedded import stop_embedded  # noqa: PLC0415 - only for the embedded server

    await stop_embedded(settings.data)


def _paced(settings: Settings) -> Settings:
    pace = settings.env.get("LEADHAND_REHEARSAL_PACE", PACE)
    return dataclasses.replace(settings, env={**settings.env, "LEADHAND_REHEARSAL_PACE": pace})


def _readable(path: Path) -> Path:
    """The file, if it can be attached. Raises SettingsError, naming what is wrong with it."""
    if not path.exists():
        raise SettingsError(f"--file {path}: there is no such file.")
    if not path.is_file():
        raise SettingsError(f"--file {path}: this is not a file.")
    try:
        with path.open("rb") as stream:
            stream.read(1)
    except OSError as error:
        raise SettingsError(f"--file {path}: {error.strerror}.") from None
    return path


@contextlib.contextmanager
def _log_to(path: Path) -> Iterator[None]:
    """Send the log to a file, so that the terminal stays readable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers = [handler]
    try:
        yield
    finally:
        root.handlers = before
        handler.close()


def say(text: str) -> None:
    """One line to the terminal, at once."""
    print(text, file=sys.stdout, flush=True)  # noqa: T201
