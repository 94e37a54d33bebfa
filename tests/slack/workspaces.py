"""A local workspace for the tests of this folder: with a client of it, and with a real app connected to it."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.bolt_dispatch import AcknowledgingSocketMode
from bot.slack.send.web_calls import BackgroundTasks, close_client, make_client
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, JobKey
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place
from tests.proof_kit import open_workspace
from tests.slack.gates import MemoryGate
from tests.slack.memory_service import MemoryService, listening

MANIFEST = Path(__file__).parents[2] / "manifest.yml"


def manifest_without(folder: Path, *scopes: str) -> Path:
    """The manifest of an app that was installed when it did not ask for these scopes yet."""
    raw = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    for scope in scopes:
        raw["oauth_config"]["scopes"]["bot"].remove(scope)
    (folder / "manifest.yml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    return folder / "manifest.yml"


@asynccontextmanager
async def workspace_and_client(
    manifest: Path = MANIFEST, **options: Any
) -> AsyncIterator[tuple[Workspace, AsyncWebClient]]:
    """A workspace, see `open_workspace`, and a client of it."""
    async with open_workspace(manifest, **options) as workspace:
        client = make_client(workspace.bot_token, workspace.api_url)
        try:
            yield workspace, client
        finally:
            await close_client(client)


@asynccontextmanager
async def owned_thread(store: Store) -> AsyncIterator[tuple[Workspace, AsyncWebClient, Place, Claim]]:
    """A thread of ana's in #general, whose job in the store is ours."""
    async with workspace_and_client() as (workspace, client):
        ts = await workspace.person("ana").say("#general", "hello all")
        place = Place(team=workspace.team_id, channel=workspace.channel_id("#general"), thread_ts=ts)
        await store.jobs.ingest(JobKey(place.team, place.job_id), "{}", dedupe=("1",))
        claim = await store.jobs.claim("me", lease=30, schema=1)
        assert claim is not None
        yield workspace, client, place, claim


class ConnectedApp(NamedTuple):
    """A real app on Socket Mode, with the service that it hands in at."""

    workspace: Workspace
    app: AsyncApp
    gate: MemoryGate
    service: MemoryService
    background: BackgroundTasks


@asynccontextmanager
async def connected_app(*admins: str, **options: Any) -> AsyncIterator[ConnectedApp]:
    """An app that listens to its workspace, with the people of these names as admins."""
    async with workspace_and_client(**options) as (workspace, client):
        quiet = logging.getLogger("quiet-bolt")
        quiet.setLevel(logging.CRITICAL)
        app = AsyncApp(client=client, logger=quiet, process_before_response=True, signing_secret="s")
        named = frozenset(workspace.person(name).id for name in admins)
        gate, service = MemoryGate(client, workspace.team_id, admins=named), MemoryService()
        background = listening(app, gate, service).background
        handler = AcknowledgingSocketMode(app, workspace.app_token, logger=quiet)
        await handler.connect_async()
        await workspace.until(lambda: workspace.connection_count)
        yield ConnectedApp(workspace, app, gate, service, background)
        await background.drain()
        await handler.close_async()
