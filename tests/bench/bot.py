"""The bot under measurement, in a process of its own: real Bolt, real store, real SDK, the bench's crew."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.app import open_store, running
from bot.command_line.serve import keep_what_is_loaded, open_slack_connection
from bot.jobs.shutdown import wait_for_stop
from bot.models.choosing import choose_model
from bot.settings import read_settings
from specialists.registry import load_crew
from tests.bench.scenario import CREW, lookups


async def main() -> None:
    """Serve until SIGTERM; says `ready` on standard output once connected."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, tell_tasks)
    settings = read_settings()
    model = await choose_model(settings.env)
    await model.warm()
    crew = load_crew(Path(os.environ.get("BENCH_CREW", CREW)), lookups())
    async with (
        open_store(settings) as store,
        running(settings, store, model, crew) as app,
        open_slack_connection(app.bolt, settings),
    ):
        keep_what_is_loaded()
        print("ready", flush=True)
        await wait_for_stop()


def tell_tasks() -> None:
    """What every task is waiting for, on standard error: asked for when a job gets no answer."""
    for task in asyncio.all_tasks():
        print(f"{task.get_name()}:", " > ".join(waits(task.get_coro())), file=sys.stderr)


def waits(coroutine: Any) -> Iterator[str]:
    """Where a coroutine is, and what it awaits, down to the last."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is None:
            yield type(coroutine).__name__
        else:
            yield f"{frame.f_code.co_qualname} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)


if __name__ == "__main__":
    asyncio.run(main())
