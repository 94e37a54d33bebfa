"""Manifests as Slack takes them, its older forms too, and what is said of them at start."""

import json
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp, AsyncAssistant
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.manifest import read_manifest
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace.conftest import Change, Listen, Start


def assistant(raw: dict[str, Any]) -> None:
    """Make the app one that was declared an agent in the older form."""
    del raw["features"]["agent_view"]
    raw["features"]["assistant_view"] = {"assistant_description": "Helps.", "suggested_prompts": []}
    events = raw["settings"]["event_subscriptions"]["bot_events"]
    raw["settings"]["event_subscriptions"]["bot_events"] = [*events, "assistant_thread_started", "link_shared"]


def test_json_may_be_indented_with_tabs_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    raw = {"display_information": {"name": "Tabs"}, "oauth_config": {"scopes": {"bot": ["chat:write"]}}}
    path.write_text("\ufeff" + json.dumps(raw, indent="\t"), encoding="utf-8")
    assert read_manifest(path).name == "Tabs"


@pytest.mark.parametrize(("name", "kind"), [("manifest.json", "JSON"), ("manifest.yml", "YAML")])
def test_what_cannot_be_read_is_named_by_its_kind(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.write_text('{"display_information": {"name": "x",}, [}', encoding="utf-8")
    with pytest.raises(ValueError, match=f"is not valid {kind}"):
        read_manifest(path)


async def test_an_assistant_thread_starts_greets_and_answers(
    start: Start, manifest_with: Change, listen: Listen
) -> None:
    workspace = await start(manifest=manifest_with(assistant), rate_limits=False)
    older, unsent = workspace.manifest_notes
    assert older.startswith("features.assistant_view is the older form of an agent")
    assert unsent == "The app subscribes to events that this workspace never sends: link_shared."
    heard: list[Any] = []

    def register(app: AsyncApp) -> None:
        threads = AsyncAssistant()

        @threads.thread_started
        async def greet_thread(say: Any, set_suggested_prompts: Any, payload: Any) -> None:
            heard.append(payload["assistant_thread"])
            await say("How can I help?")
            await set_suggested_prompts(prompts=[{"title": "Hi", "message": "Say hi"}])

        @threads.user_message
        async def message(payload: Any, say: Any, set_status: Any, get_thread_context: Any) -> None:
            await set_status("is typing...")
            context = await get_thread_context()
            await say(f"{payload['text']} in {context.channel_id}?")

        app.use(threads)

    await listen(workspace, register)
    ana = workspace.person("ana")
    await ana.say("#sales", "numbers")
    await ana.open_home("messages")
    await eventually(lambda: heard)
    root = heard[0]["thread_ts"]
    assert heard[0].pop("context")["channel_id"] == workspace.channel_id("#sales")
    assert heard[0] == {"user_id": ana.id, "channel_id": ana.dm, "thread_ts": root}
    await workspace.until(lambda: workspace.prompts(ana.dm, root))
    ts = await ana.say("@testhand", "the weather")
    thread = await workspace.until(lambda: found if len(found := workspace.thread(ana.dm, root)) == 4 else None)
    assert [each["text"] for each in thread] == [
        "New Assistant Thread",
        "How can I help?",
        "the weather",
        f"the weather in {workspace.channel_id('#sales')}?",
    ]
    assert thread[2]["ts"] == ts
    await ana.say(ana.dm, "and tomorrow", thread_ts=root)
    await workspace.until(lambda: len(workspace.thread(ana.dm, root)) == 6)
    await ana.say(ana.dm, "something else")
    await eventually(lambda: len(heard) == 2)
    assert heard[1]["thread_ts"] != root


async def test_an_agent_of_today_gets_plain_messages_and_no_assistant_threads(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    ana = workspace.person("ana")
    await ana.open_home("messages")
    await ana.say("@testhand", "hello")
    assert [each["text"] for each in workspace.messages(ana.dm)] == ["hello"]
    assert workspace.manifest_notes == []
    assert (await client.auth_test())["ok"]
