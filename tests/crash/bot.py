"""Bots that are killed: each dies at the passage that it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import open_app
from bot.command_line.serve import open_slack_connection
from bot.settings import Settings
from bot.store.redis.redis_store import Store
from specialists.tools.tool import Tool
from tests.crash.points import Passages
from tests.crash.proxies import watch_model, watched_slack, watched_store, watched_tools
from tests.crash.scenarios import SCENARIOS, PlayedModel, Scenario, make_office
from tests.nursery.forks import serve


@dataclass(frozen=True)
class Start:
    """A bot to be started.

    `crash_at` names the passage at which it dies, none if empty. `later` is by how many seconds the store's clock is
    ahead for it, so that it need not wait for an earlier bot's lease and calls. `passages` is the file
    for names, and `far_side` that for what its tools write.
    """

    scenario: str
    bot_token: str
    app_token: str
    api_url: str
    store_url: str
    prefix: str
    passages: str
    far_side: str
    crash_at: str = ""
    later: float = 0.0


async def work(
    start: Start,
    scenarios: Mapping[str, Scenario] = SCENARIOS,
    wrap: Callable[[dict[str, Tool], Path], dict[str, Tool]] = lambda tools, _: tools,
) -> None:
    """Be that bot, until killed. `wrap` may put other tools in place of those of its crew."""
    passages = Passages(Path(start.passages), start.crash_at)
    settings = Settings(
        env={},
        bot_token=start.bot_token,
        app_token=start.app_token,
        slack_api_url=start.api_url,
        slack_unlimited=True,
        terms=scenarios[start.scenario].terms,
    )
    store = await Store.connect(start.store_url, prefix=start.prefix, clock_offset_ms=round(start.later * 1000))
    model = watch_model(PlayedModel(scenarios[start.scenario]), passages)
    far_side = Path(start.far_side)
    crew = make_office(far_side, lambda tools: watched_tools(wrap(tools, far_side), passages))
    with watched_slack(passages):
        async with (
            watched_store(store, passages) as watched,
            open_app(settings, watched, model, crew, lookup_pauses=(0.0,)) as app,
            open_slack_connection(app.bolt, settings),
        ):
            await asyncio.Event().wait()


def life(start: dict[str, Any]) -> int:
    """Be the bot of a `Start`, until killed."""
    asyncio.run(work(Start(**start)))
    return 0


if __name__ == "__main__":
    serve(life)
