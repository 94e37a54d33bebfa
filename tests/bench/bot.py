"""The bot under measurement, in a process of its own: real Bolt, real store, real SDK, the bench's crew."""

from __future__ import annotations

import asyncio
import os

from bot.app import open_app, open_store
from bot.command_line.serve import open_slack_connection, tune_garbage_collector
from bot.jobs.shutdown import wait_for_stop
from bot.models.model_choice import choose_model
from bot.settings import read_settings
from tests.bench.scenario import CREWS


async def main() -> None:
    """Serve until SIGTERM; says `ready` on standard output once connected."""
    settings = read_settings()
    model = await choose_model(settings.env)
    await model.warm()
    crew = CREWS[os.environ.get("BENCH_CREW", "six")]()
    async with (
        open_store(settings) as store,
        open_app(settings, store, model, crew) as app,
        open_slack_connection(app.bolt, settings),
    ):
        tune_garbage_collector()
        print("ready", flush=True)
        await wait_for_stop()


if __name__ == "__main__":
    asyncio.run(main())
