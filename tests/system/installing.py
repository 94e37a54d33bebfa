"""A bot that workspaces install by OAuth, two workspaces of one app, and the browser of who installs it."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yaml

from bot.app import App, open_app
from bot.command_line.app_manifest import make_manifest
from bot.command_line.serve import open_slack_connection
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import Address, Settings
from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from tests.patience import patience
from tests.store.kit import free_port
from tests.system.scene import Scene, planned_at_once

KEY = "5Kpw2W6dN0dYb3m5Vx0XkD9gZ1C7yQ4uTt8aLr2sJ3E="
OTHER_KEY = "R8m1kE4vXb7QzY2nT6pW0cJ5hL9sD3gA1fU7iO2xN4M="


@dataclass
class Browser:
    """The browser of who installs an app: its bots listen on `port`, and `first` has Slack's pages."""

    first: Workspace
    port: int
    session: aiohttp.ClientSession = field(repr=False)

    async def get(self, path: str, cookie: str = "") -> tuple[int, str, str]:
        """Open a page of the bot's: its status, its text, and the cookie that it sets."""
        address = path if path.startswith("http") else f"http://127.0.0.1:{self.port}{path}"
        headers = {"Cookie": cookie} if cookie else {}
        async with self.session.get(address, headers=headers) as response:
            named = response.headers.get("Set-Cookie", "").partition(";")[0]
            return response.status, await response.text(), named

    async def allow_install(self, label: str) -> tuple[str, str]:
        """Begin at /slack/install and choose on Slack's page: the address to come back to, and the browser's cookie."""
        status, page, cookie = await self.get("/slack/install")
        assert status == 200
        link = next(iter(re.findall(r'href="([^"]+/oauth/v2/authorize[^"]*)"', page)))
        _, consent, _ = await self.get(html.unescape(link))
        ways = re.findall(r'<a href="([^"]+)">([^<]+)<', consent)
        there = next(href for href, text in ways if label in text)
        at = urlsplit(self.first.api_url)
        address = f"{at.scheme}://{at.netloc}{html.unescape(there)}"
        async with self.session.get(address, allow_redirects=False) as response:
            return response.headers["Location"], cookie

    async def install(self, label: str) -> str:
        """Install it where Slack's page says so; the page at the end."""
        address, cookie = await self.allow_install(label)
        status, page, _ = await self.get(address, cookie)
        assert status == 200, page
        return page


@dataclass
class Town(Browser):
    """Two workspaces of one app, which no bot is installed in at first, and a store."""

    second: Workspace
    store: Store
    url: str
    prefix: str

    def settings(self, keys: tuple[str, ...] = (KEY,), **options: Any) -> Settings:
        """The settings of its bots."""
        who = self.first.identity
        return Settings(
            env={},
            client_id=who.client_id,
            client_secret=who.client_secret,
            signing_secret=who.signing_secret,
            token_keys=keys,
            slack_api_url=self.first.api_url,
            http=Address("127.0.0.1", options.pop("port", self.port)),
            **options,
        )

    @asynccontextmanager
    async def bot(self, pace: float = 0.0, **options: Any) -> AsyncIterator[App]:
        """A bot on the store whose model calls take `pace` seconds; `options` are those of `settings`."""
        settings = self.settings(**options)
        store = await Store.connect(self.url, prefix=self.prefix)
        try:
            async with (
                open_app(settings, store, RehearsalModel(pace=pace), planned_at_once(settings)) as app,
                open_slack_connection(app.bolt, settings, app.pages),
            ):
                yield app
        finally:
            await store.close()

    def scene(self, workspace: Workspace) -> Scene:
        """People and threads of one of the workspaces."""
        return Scene(workspace, self.url, self.store, self.prefix)


@asynccontextmanager
async def town_at(url: str, folder: Path, *, organisation: str = "", rotates: bool = False) -> AsyncIterator[Town]:
    """A town whose bots listen on a port of this machine."""
    app = make_manifest("https://bot.example.com")
    app["settings"]["token_rotation_enabled"] = rotates
    manifest = folder / "app.yml"
    manifest.write_text(yaml.safe_dump(app))
    port, prefix = free_port(), f"s{secrets.token_hex(4)}"
    first = await Workspace.start(
        manifest,
        request_url=f"http://127.0.0.1:{port}/slack/events",
        retry_scale=0.02,
        ack_seconds=patience(3),
        is_installed=False,
        organisation=organisation,
    )
    second = await first.start_further_workspace("Second")
    store = await Store.connect(url, prefix=prefix)
    session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
    try:
        yield Town(first, port, session, second, store, url, prefix)
    finally:
        await session.close()
        await second.stop()
        await first.stop()
        await store.close()
