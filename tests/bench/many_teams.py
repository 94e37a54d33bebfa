"""What a job costs where 100 teams use the bot: an instance for one team beside an instance for 100, in one run."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import AsyncIterator
from pathlib import Path

import yaml

from bot.command_line.app_manifest import make_manifest
from bot.slack.installation.records import InstallationRecords, SlackInstallation, TokenCipher
from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from tests.bench.scenario import REQUEST
from tests.bench.stage import NEVER_REACHED, Stage, open_provider, settings_of, start_bots, tell_level
from tests.proof_kit import open_store_server, open_workspace, row
from tests.store.kit import free_port
from tests.system.installing import KEY

TEAMS = 100
JOBS, ROUNDS = 100, 4
LEVEL = 1.1
ACK = 60.0
"""Seconds to acknowledge: on a busy machine Slack's three are no measure of what a job costs."""


async def many_teams(data: Path) -> None:
    """The rows: CPU of a job for one team and for many, and what many cost while nothing happens."""
    async with open_provider(data, 0) as url, _install(data, url, 1) as one, _install(data, url, TEAMS) as many:
        sides = (one, many)
        for side in sides:
            await side.jobs(REQUEST, JOBS)  # what is asked once of each workspace is known from now on
        rest = [await side.idle() for side in sides]
        used = [[await side.jobs(REQUEST, JOBS) for side in sides] for _ in range(ROUNDS)]
        for place, (name, of) in enumerate((("instance", "bots"), ("store", "store"))):
            # What an instance does for its teams every second is no part of a job: it has a row of its own.
            few, all_ = (
                statistics.median(getattr(each[side], of) - rest[side][place] / 1000 * each[side].wall for each in used)
                / JOBS
                for side in (0, 1)
            )
            tell_level(f"{TEAMS} teams: CPU of a job, {name}", f"{all_ * 1000:.1f} ms", all_ / few, LEVEL)
        row("  idle CPU a second: of one team, of all", f"{rest[0][0]:.1f}, {rest[1][0]:.1f} ms")
        row("  memory of the instance", f"{one.memory():.0f}, {many.memory():.0f} MB")


@contextlib.asynccontextmanager
async def _install(data: Path, model_url: str, count: int) -> AsyncIterator[Stage]:
    """An instance in HTTP mode, on a store of its own, whose app is installed in so many workspaces."""
    manifest, port = data / f"app-{count}.yml", free_port()
    manifest.write_text(yaml.safe_dump(make_manifest("https://bot.example.com")), encoding="utf-8")
    options = {"request_url": f"http://127.0.0.1:{port}/slack/events", "retry_scale": 0.02, "ack_seconds": ACK}
    async with (
        open_store_server(data) as url,
        open_workspace(manifest, **options) as first,
        contextlib.AsyncExitStack() as stack,
    ):
        teams = [first]
        for number in range(1, count):
            teams.append(await first.start_further_workspace(f"Team {number}", is_installed=True, rate_limits=False))
            stack.push_async_callback(teams[-1].stop)
        await _keep_installations(url, teams)
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
        yield await stack.enter_async_context(start_bots(data, url, tuple(teams), env))


async def _keep_installations(url: str, teams: list[Workspace]) -> None:
    """Keep what the app would keep of its installation in each workspace."""
    store = await Store.connect(url)
    records = InstallationRecords(store.installations, TokenCipher([KEY]), store.clock)
    for team in teams:
        who = team.identity
        scopes = sorted(team._world.state.app.scopes)
        of = {"team_id": who.team_id, "team_name": who.team_name, "user_id": who.people["ana"]}
        bot = {"bot_token": who.bot_token, "bot_id": who.bot_id, "bot_user_id": who.bot_user_id}
        await records.async_save(SlackInstallation(app_id=who.app_id, **of, **bot, bot_scopes=scopes))
    await store.close()
