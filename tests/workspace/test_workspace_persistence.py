import asyncio
import contextlib
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.manifest import read_manifest
from bot.workspace.refusal import ActionFailed
from bot.workspace.storage import WorkspaceStorage
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace.conftest import Change, Listen

MANIFEST = Path(__file__).parent / "manifest.yml"


async def test_the_next_start_shows_the_same_threads(tmp_path: Path) -> None:
    first = await Workspace.start(MANIFEST, data=tmp_path / "data")
    ana = first.person("ana")
    client = AsyncWebClient(first.bot_token, base_url=first.api_url)
    root = await ana.say("#sales", "root", files=[("a.csv", b"1,2")])
    channel = first.channel_id("#sales")
    posted = await client.chat_postMessage(
        channel=channel, thread_ts=root, text="reply", metadata={"event_type": "x", "event_payload": {"key": "1"}}
    )
    await client.reactions_add(channel=channel, name="eyes", timestamp=root)
    stream = await client.chat_startStream(
        channel=channel,
        thread_ts=root,
        markdown_text="so far",
        recipient_team_id=first.team_id,
        recipient_user_id=ana.id,
    )
    await client.agents_sessions_setStatus(channel_id=channel, thread_ts=root, status="suspended", title="Job")
    gone = await ana.say("#sales", "gone")
    await ana.delete("#sales", gone)
    before = first.messages("#sales")
    ids = {name: first.person(name).id for name in ("ana", "uma", "sol")}
    first.deactivate("cleo")
    first.change_group("reviewers", add=["ana"])
    places = {name: first.channel_id(name) for name in ("leads", "northwind")}
    await client.chat_scheduleMessage(
        channel=first.channel_id("#general"), post_at=int(time.time()) + 300, text="Later!"
    )
    await first.stop()

    second = await Workspace.start(MANIFEST, data=tmp_path / "data")
    try:
        after = second.messages("#sales")
        assert [each["text"] for each in after] == ["root", "reply", "so far"]
        before[2]["streaming"] = False
        assert after == before
        assert second.thread("#sales", root)[1]["ts"] == posted["ts"]
        assert second.thread("#sales", root)[2]["ts"] == stream["ts"]
        assert second.session("#sales", root)["status"] == "suspended"
        assert await second.file(after[0]["files"][0]["id"]) == b"1,2"
        assert second.api_url == first.api_url
        assert (second.bot_token, second.team_id) == (first.bot_token, first.team_id)
        assert {name: second.person(name).id for name in ids} == ids
        assert {name: second.channel_id(name) for name in places} == places
        with pytest.raises(ActionFailed, match="deactivated"):
            await second.person("cleo").say("#general", "x")
        assert second.group_id("reviewers") == first.group_id("reviewers")
        assert second.page_url.partition("token=")[2] == first.page_url.partition("token=")[2]
        assert await second.person("ana").say("#sales", "later") > stream["ts"]
        assert await second.person("sol").say("#northwind", "@testhand again")
        second.clock.advance(600)
        assert (await second.until(lambda: second.messages("#general")))[0]["text"] == "Later!"
    finally:
        await second.stop()


async def test_files_are_served_from_another_port_when_the_last_one_is_taken(tmp_path: Path) -> None:
    first = await Workspace.start(MANIFEST, data=tmp_path)
    await first.person("ana").say("#sales", "", files=[("a.csv", b"1,2")])
    await first.stop()
    port = int(first.api_url.rpartition(":")[2].partition("/")[0])
    taken = await asyncio.start_server(lambda _r, writer: writer.close(), "127.0.0.1", port)
    second = await Workspace.start(MANIFEST, data=tmp_path)
    try:
        file = second.messages("#sales")[0]["files"][0]
        assert second.api_url != first.api_url
        assert file["url_private"].startswith(second.api_url.removesuffix("/api/"))
    finally:
        await second.stop()
        taken.close()


async def test_an_event_nobody_took_is_delivered_after_a_restart(tmp_path: Path, listen: Listen) -> None:
    first = await Workspace.start(MANIFEST, data=tmp_path)
    await first.person("ana").say("@testhand", "anybody?")
    await first.stop()
    second = await Workspace.start(MANIFEST, data=tmp_path)
    seen: list[Any] = []

    def register(app: Any) -> None:
        @app.event("message")
        async def message(event: Any) -> None:
            seen.append(event["text"])

    try:
        await listen(second, register)
        await eventually(lambda: seen == ["anybody?"])
    finally:
        await second.stop()


async def test_records_that_cannot_be_stored_are_stored_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    storage = WorkspaceStorage(tmp_path)
    writing = asyncio.create_task(storage.write_batches())
    with contextlib.closing(sqlite3.connect(tmp_path / "workspace.sqlite3", isolation_level=None)) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
        storage.put("message", "1", lambda: {"text": "early"})
        await eventually(lambda: "the disk is full" in caplog.text)
        other.execute("DROP TRIGGER full")
    storage.put("message", "2", lambda: {"text": "late"})
    await eventually(lambda: [key for key, _ in storage.iterate_records("message")] == ["1", "2"])
    writing.cancel()
    await asyncio.wait({writing})
    storage.close()


async def test_what_holds_tokens_is_private(tmp_path: Path) -> None:
    workspace = await Workspace.start(MANIFEST, data=tmp_path / "data")
    await workspace.stop()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "workspace.sqlite3").stat().st_mode) == 0o600


def test_what_is_wrong_with_a_manifest_is_said(tmp_path: Path, manifest_with: Change) -> None:
    (tmp_path / "bad.yml").write_text("- not a manifest\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is not an app manifest: display_information is missing"):
        read_manifest(tmp_path / "bad.yml")

    def nameless(raw: Any) -> None:
        del raw["features"]["slash_commands"][0]["command"]

    with pytest.raises(ValueError, match="is not an app manifest: KeyError: 'command'"):
        read_manifest(manifest_with(nameless))
