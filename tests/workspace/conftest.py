"""A workspace for a test, a client of it, and a Bolt app that listens to it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.patience import patience

MANIFEST = Path(__file__).parent / "manifest.yml"
ExpectRefusal = Callable[[str, Awaitable[Any]], Awaitable[dict[str, Any]]]
Start = Callable[..., Awaitable[Workspace]]
Listen = Callable[..., Awaitable[AsyncApp]]
Clients = Callable[[Workspace], AsyncWebClient]
Change = Callable[[Callable[[dict[str, Any]], None]], Path]


def note_bodies(bodies: list[Any], **listeners: Any) -> Callable[[AsyncApp], None]:
    """A `register` for `listen` that acknowledges and appends what comes in: `note_bodies(bodies, command="/x")`."""

    async def note(ack: Any, body: Any) -> None:
        bodies.append(body)
        await ack()

    def register(app: AsyncApp) -> None:
        for kind, name in listeners.items():
            getattr(app, kind)(name)(note)

    return register


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start workspaces that stop with the test."""
    started: list[Workspace] = []

    async def start(**options: Any) -> Workspace:
        workspace = await Workspace.start(options.pop("manifest", MANIFEST), **{"ack_seconds": patience(3), **options})
        started.append(workspace)
        return workspace

    yield start
    for workspace in started:
        await workspace.stop()


@pytest.fixture
async def workspace(start: Start) -> Workspace:
    return await start(rate_limits=False)


@pytest.fixture
def general(workspace: Workspace) -> str:
    """The id of the channel that everybody is in."""
    return workspace.channel_id("#general")


@pytest.fixture
def client_of(session: aiohttp.ClientSession) -> Clients:
    """The real client, without retries of its own."""

    def make(workspace: Workspace) -> AsyncWebClient:
        return AsyncWebClient(
            workspace.bot_token, base_url=workspace.api_url, session=session, retry_handlers=[], timeout=10
        )

    return make


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        yield session


@pytest.fixture
def client(workspace: Workspace, client_of: Clients) -> AsyncWebClient:
    return client_of(workspace)


@pytest.fixture
def expect_refusal() -> ExpectRefusal:
    """Await a call that must fail with a code; returns the whole answer."""

    async def await_refusal(code: str, call: Awaitable[Any]) -> dict[str, Any]:
        with pytest.raises(SlackApiError) as caught:
            await call
        assert caught.value.response["error"] == code, caught.value.response
        answer: dict[str, Any] = caught.value.response.data
        return answer

    return await_refusal


@pytest.fixture
def manifest_with(tmp_path: Path) -> Change:
    """The manifest with a change."""

    def change(edit: Callable[[dict[str, Any]], None]) -> Path:
        raw = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
        edit(raw)
        path = tmp_path / "changed.yml"
        path.write_text(yaml.safe_dump(raw), encoding="utf-8")
        return path

    return change


@pytest.fixture
async def listen() -> AsyncIterator[Listen]:
    """Connect real Bolt apps by Socket Mode: `await listen(workspace, register)`."""
    handlers: list[AsyncSocketModeHandler] = []

    async def listen(workspace: Workspace, register: Callable[[AsyncApp], None]) -> AsyncApp:
        quiet = logging.getLogger("quiet-bolt")
        quiet.setLevel(logging.CRITICAL)
        client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)
        app = AsyncApp(client=client, logger=quiet)
        register(app)
        handler = AsyncSocketModeHandler(app, workspace.app_token, logger=quiet)
        handlers.append(handler)
        await handler.connect_async()
        return app

    yield listen
    for handler in handlers:
        await handler.close_async()
