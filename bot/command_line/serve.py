"""`leadhand run`: runs the bot on real Slack, over Socket Mode or HTTP, until it is stopped."""

from __future__ import annotations

import argparse
import contextlib
import gc
import logging
from collections.abc import AsyncIterator, Sequence

from aiohttp import web

from bot.app import load_crews, open_app, open_store
from bot.command_line.console import say
from bot.jobs.shutdown import StopSignal, run_until_stopped
from bot.logs import log_context
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.operation.trace_export import NoCollector, TraceQueue, make_sender
from bot.settings import Settings, SettingsError
from bot.slack.connection import Bolt, NotConnected, SlackConnection, listen_on_http, listen_on_socket_mode

log = logging.getLogger(__name__)

GC_THRESHOLD = 10_000
"""Number of new objects after which the garbage collector runs; Python's default of 700 is low for a server."""


def tune_garbage_collector() -> None:
    """Exclude the objects that exist now from garbage collection, and have the collector run less often.

    With Python's defaults, collection took half of the time of opening a long log. The objects of a job live about as
    long as the job, and few of them are in cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)


async def serve(options: argparse.Namespace, settings: Settings) -> int:
    """Run the bot until SIGTERM or Ctrl-C. Raises SettingsError or StoreError if it cannot start."""
    del options
    await run_until_stopped(lambda stop: _run_bot(settings, stop))
    log.info("stopped")
    return 0


async def _run_bot(settings: Settings, stop: StopSignal) -> None:
    from bot.operation.instrumentation import Instrumentation  # noqa: PLC0415 - metrics are of a bot that stays

    loaded_crews, chosen_model = load_crews(settings), await choose_model_or_fail(settings)
    traces = make_trace_export(settings, chosen_model.provider, loaded_crews.all_names)
    instruments = Instrumentation(traces)
    crews = instruments.wrap_crews(loaded_crews)
    async with instruments.serve_health(settings.operation) as url, open_store(settings) as plain_store:
        store, model = instruments.wrap_store(plain_store), instruments.wrap_model(chosen_model)
        trace_sending = traces.send_in_background(store) if traces is not None else contextlib.nullcontext()
        async with trace_sending, open_app(settings, store, model, crews, instruments=instruments) as app:
            instance_watch = instruments.watch_instance(
                app.instance, app.instance_task, slots=settings.slots, find_token_fault=app.find_token_fault
            )
            with log_context(instance=app.instance.name), instance_watch:
                async with open_slack_connection(app.bolt, settings, app.pages) as connection:
                    stop.is_program_ready = True
                    tune_garbage_collector()
                    instruments.health.is_slack_connected = connection.is_up
                    where = f"{connection}; health and metrics: {url}" if url else f"{connection}"
                    say(f"Leadhand is listening ({where}); model: {model.label}. Ctrl-C stops it.")
                    log.info("started: %d slots, a lease of %g s", settings.slots, settings.lease)
                    await stop.wait()
                    instruments.health.is_stopping = True
                    app.instance.begin_stop()  # now, so that jobs are handed over while the connection closes
                    log.info("stopping: jobs under way: %d", app.instance.owned_job_count)


def make_trace_export(settings: Settings, provider: str, names: frozenset[str]) -> TraceQueue | None:
    """Return the queue that sends traces to the settings' collector; None if none is set. Raises SettingsError."""
    try:
        sender = make_sender(settings.env, provider=provider, names=names)
    except NoCollector as error:
        raise SettingsError(str(error)) from None
    return TraceQueue(sender) if sender is not None else None


async def choose_model_or_fail(settings: Settings) -> ChosenModel:
    """Choose the model of the settings. Raises SettingsError in place of ModelSettingsError."""
    try:
        return await choose_model(settings.env)
    except ModelSettingsError as error:
        raise SettingsError(str(error)) from None


@contextlib.asynccontextmanager
async def open_slack_connection(
    bolt: Bolt, settings: Settings, pages: Sequence[web.RouteDef] = ()
) -> AsyncIterator[SlackConnection]:
    """Connect the bot to Slack: by Socket Mode if there is an app token, otherwise by HTTP, with `pages` for browsers.

    Raises SettingsError if Slack refuses the connection, or the port cannot be used.
    """
    if settings.uses_socket_mode:
        connection = listen_on_socket_mode(bolt, settings.app_token)
    else:
        connection = listen_on_http(bolt, signing_secret=settings.signing_secret, address=settings.http, pages=pages)
    try:
        async with connection as where:
            yield where
    except NotConnected as error:
        raise SettingsError(str(error)) from None
