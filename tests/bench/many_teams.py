"""What a job costs where 100 teams use the bot: an instance for one team beside an instance for 100, in one run."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from bot.command_line.app_manifest import made_for
from bot.slack.installation.records import InstallationRecords, Installed
from bot.slack.installation.token_cipher import TokenCipher
from bot.store.embedded import start_embedded, stop_embedded
from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from tests.bench.child import ChildBroke, child
from tests.bench.finished_jobs import idle
from tests.bench.scenario import REQUEST
from tests.bench.stage import Stage, provider, settings_of
from tests.bench.two_instances import LOOK, NEVER_REACHED, PATIENCE, PEOPLE, TwoInstances, pace, process_of
from tests.store.kit import free_port

Row = Callable[..., None]

TEAMS = 100
JOBS, ROUNDS = 100, 4
LEVEL = 1.1
ACK = 60.0
"""Seconds to acknowledge: on a busy machine Slack's three are no measure of what a job costs."""
KEY = "5Kpw2W6dN0dYb3m5Vx0XkD9gZ1C7yQ4uTt8aLr2sJ3E="


@dataclass(slots=True)
class Installations(TwoInstances):
    """An instance, and all workspaces in which its app is installed."""

    teams: tuple[Workspace, ...] = ()

    async def spread(self, count: int) -> None:
        """So many jobs at once, one workspace after the other, to the last answer."""
        asked: list[tuple[Workspace, str]] = []
        for number in range(count):
            team = self.teams[number % len(self.teams)]
            person = team.person(PEOPLE[number % len(PEOPLE)])
            asked.append((team, await person.say("#general", f"@leadhand {REQUEST}")))
        until = time.monotonic() + PATIENCE
        for team, ts in asked:
            while Stage(team, self.bots[0]).answer("#general", ts) is None:
                if time.monotonic() > until:
                    raise ChildBroke(f"no answer after {PATIENCE:g} s.\n{await self.bots[0].tell()}")
                await asyncio.sleep(LOOK)


async def many_teams(data: Path, row: Row, count: int = TEAMS) -> None:
    """The rows: CPU of a job for one team and for many, and what many cost while nothing happens."""
    async with provider(data, 0) as url, installed(data, url, 1) as one, installed(data, url, count) as many:
        sides = (one, many)
        for side in sides:
            await side.spread(JOBS)  # what is asked once of each workspace is known from now on
            await side.settled()
        rest = [await idle(side) for side in sides]
        used = [[await side.measured(side.spread(JOBS)) for side in sides] for _ in range(ROUNDS)]
        for place, of in enumerate(("bots", "store")):
            # What an instance does for its teams every second is no part of a job: it has a row of its own.
            few, all_ = (
                statistics.median(getattr(each[side], of) - rest[side][place] / 1000 * each[side].wall for each in used)
                / JOBS
                for side in (0, 1)
            )
            title = f"{count} teams: CPU of a job, {('instance', 'store')[place]}"
            row(title, f"{all_ * 1000:.1f} ms", f"<= {LEVEL} x", f"{all_ / few:.2f} x", met=all_ / few <= LEVEL)
        row("  idle CPU a second: of one team, of all", f"{rest[0][0]:.1f}, {rest[1][0]:.1f} ms")
        row("  memory of the instance", f"{one.memory():.0f}, {many.memory():.0f} MB")


@contextlib.asynccontextmanager
async def installed(data: Path, model_url: str, count: int) -> AsyncIterator[Installations]:
    """An instance in HTTP mode, on a store of its own, whose app is installed in so many workspaces."""
    data = Path(tempfile.mkdtemp(dir=data))
    manifest, port, best = data / "app.yml", free_port(), min(pace() for _ in range(200))
    manifest.write_text(yaml.safe_dump(made_for("https://bot.example.com")), encoding="utf-8")
    url = await start_embedded(data)
    try:
        async with contextlib.AsyncExitStack() as stack:
            address = f"http://127.0.0.1:{port}/slack/events"
            first = await Workspace.start(
                manifest, rate_limits=False, request_url=address, retry_scale=0.02, ack_seconds=ACK
            )
            stack.push_async_callback(first.stop)
            teams = [first]
            for number in range(1, count):
                teams.append(await first.open_beside(f"Team {number}", installed=True, rate_limits=False))
                stack.push_async_callback(teams[-1].stop)
            await note_installations(url, teams)
            who = first.identity
            env = {
                **settings_of(first, url, model_url, **NEVER_REACHED),
                "SLACK_BOT_TOKEN": "",
                "SLACK_APP_TOKEN": "",
                "SLACK_CLIENT_ID": who.client_id,
                "SLACK_CLIENT_SECRET": who.client_secret,
                "SLACK_SIGNING_SECRET": who.signing_secret,
                "LEADHAND_TOKEN_KEYS": KEY,
                "LEADHAND_PORT": str(port),
            }
            bot = await stack.enter_async_context(child(data, "tests.bench.bot", env=env))
            await bot.line(PATIENCE)
            yield Installations(first, (bot,), psutil.Process(await process_of(url)), url, best, tuple(teams))
    finally:
        await stop_embedded(data)


async def note_installations(url: str, teams: list[Workspace]) -> None:
    """Keep what the app would keep of its installation in each workspace."""
    store = await Store.connect(url)
    try:
        records = InstallationRecords(store.installations, TokenCipher([KEY]), store.clock)
        for team in teams:
            who = team.identity
            scopes = sorted(team._world.state.app.scopes)
            of = {"team_id": who.team_id, "team_name": who.team_name, "user_id": who.people["ana"]}
            bot = {"bot_token": who.bot_token, "bot_id": who.bot_id, "bot_user_id": who.bot_user_id}
            await records.async_save(Installed(app_id=who.app_id, **of, **bot, bot_scopes=scopes))
    finally:
        await store.close()
