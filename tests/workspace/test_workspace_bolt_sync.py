"""Bolt for Python as most apps use it: synchronous, with the Socket Mode client that slack_sdk brings along."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

from bot.workspace.workspace_server import Workspace

BUTTON = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}


@pytest.fixture
async def connect(workspace: Workspace) -> AsyncIterator[Callable[[Callable[[App], None]], Any]]:
    """Connect a synchronous Bolt app: `await connect(register)`. Its own threads do its work, never the test's loop."""
    handlers: list[SocketModeHandler] = []

    async def connect(register: Callable[[App], None]) -> SocketModeHandler:
        def start() -> SocketModeHandler:
            quiet = logging.getLogger("quiet-bolt")
            quiet.setLevel(logging.CRITICAL)
            app = App(client=WebClient(workspace.bot_token, base_url=workspace.api_url), logger=quiet)
            register(app)
            handler = SocketModeHandler(app, workspace.app_token, logger=quiet, trace_enabled=False)
            handlers.append(handler)
            handler.connect()  # type: ignore[no-untyped-call]
            return handler

        return await asyncio.to_thread(start)

    yield connect
    for handler in handlers:
        await asyncio.to_thread(handler.close)  # type: ignore[arg-type]


async def test_the_default_client_hears_mentions_clicks_and_commands(workspace: Workspace, connect: Any) -> None:
    def register(app: App) -> None:
        @app.event("app_mention")
        def mention(event: Any, say: Any) -> None:
            blocks = [{"type": "actions", "elements": [BUTTON]}]
            say(text="I hear you", thread_ts=event["ts"], blocks=blocks)

        @app.action("go")
        def click(ack: Any, body: Any, say: Any) -> None:
            ack()
            say(text=f"pressed by {body['user']['name']}", thread_ts=body["message"]["thread_ts"])

        @app.command("/testhand")
        def command(ack: Any, command: Any) -> None:
            ack(f"You said {command['text']}")

    handler = await connect(register)
    assert handler.client.is_connected()
    assert workspace.connection_count == 1
    ana = workspace.person("ana")
    ts = await ana.say("#general", "@testhand hello")
    answer = (await workspace.until(lambda: workspace.thread("#general", ts)[1:]))[0]
    assert answer["text"] == "I hear you"
    await ana.click("#general", answer["ts"], "go")
    await workspace.until(lambda: len(workspace.thread("#general", ts)) == 3)
    assert workspace.thread("#general", ts)[2]["text"] == "pressed by ana"
    await ana.command("#general", "/testhand", "status")
    assert ana.ephemerals("#general")[0]["text"] == "You said status"
