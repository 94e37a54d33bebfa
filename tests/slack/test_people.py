"""Who asks and where: by the names that Slack has for them, and without them where it does not tell."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from bot.slack.send.budget import Budget
from bot.slack.send.web_calls import WebCalls, close_client, make_client
from bot.slack.show import people
from bot.slack.show.people import DIRECT, People
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place, Setting

MANIFEST = Path(__file__).parents[2] / "manifest.yml"


@asynccontextmanager
async def slack(manifest: Path = MANIFEST) -> AsyncIterator[tuple[Workspace, People]]:
    """A workspace, and who looks people up in it."""
    workspace = await Workspace.start(manifest)
    client = make_client(workspace.bot_token, workspace.api_url)
    try:
        yield workspace, People(client, WebCalls(Budget()))
    finally:
        await close_client(client)
        await workspace.stop()


def place(workspace: Workspace, channel: str) -> Place:
    return Place(team=workspace.team_id, channel=channel, thread_ts="1.0")


async def test_names_are_asked_for_once() -> None:
    async with slack() as (workspace, found):
        ana, general = workspace.person("ana"), workspace.channel_id("#general")
        for _ in range(2):
            setting = await found.setting(place(workspace, general), ana.id)
        assert setting == Setting(requester="Ana Duarte", channel="#general", zone="UTC", offset=0)
        methods = [call.method for call in workspace.calls() if call.method.endswith(".info")]
        assert sorted(methods) == ["conversations.info", "users.info"]
        direct = ana.channel("@leadhand").id
        assert (await found.setting(place(workspace, direct), ana.id)).channel == DIRECT


async def test_an_app_without_the_scopes_does_without_names(tmp_path: Path) -> None:
    raw = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    for scope in ("users:read", "channels:read"):
        raw["oauth_config"]["scopes"]["bot"].remove(scope)
    older = tmp_path / "manifest.yml"
    older.write_text(yaml.safe_dump(raw), encoding="utf-8")
    async with slack(older) as (workspace, found):
        general = place(workspace, workspace.channel_id("#general"))
        assert await found.setting(general, workspace.person("ana").id) == Setting()
        assert await found.setting(general, "U0NOBODY") == Setting()


async def test_a_slack_that_is_away_holds_nothing_up() -> None:
    client = make_client("xoxb-1", "http://127.0.0.1:9/api/")
    try:
        looked = People(client, WebCalls(Budget()))
        where = Place(team="T1", channel="C1", thread_ts="1.0")
        assert people.PATIENCE <= 3.0
        assert await looked.setting(where, "U1") == Setting()
    finally:
        await close_client(client)
