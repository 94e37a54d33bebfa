"""A message or a file that is deleted in Slack takes the bot's copies with it; the log keeps that there was a file."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handoff import events as ev
from specialists.tools.tables.table_cache import TableCache, find_cache_folder, make_entry_key
from tests.patience import eventually
from tests.system.scene import Scene, Talk, scene_on

CANARY = "zanzibar"
TABLE = f"place,visits\n{CANARY},3\n{CANARY} East,4\n".encode()


@pytest.fixture
async def scene(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    async with scene_on(server_url) as made:
        yield made


async def list_dropped_copies(talk: Talk) -> list[ev.CopiesDropped]:
    found = await talk.of(ev.CopiesDropped)
    job = await talk.job()
    return found if job is not None and not job.copies_to_delete else []


async def materials(talk: Talk) -> list[ev.Material]:
    return [one for event in await talk.of(ev.MaterialGathered) for one in event.materials]


async def read_kept_bytes(talk: Talk, digest: str) -> bytes:
    try:
        return await talk.scene.store.blobs.get(talk.key, digest)
    except KeyError:
        return b""


def file_in(talk: Talk, ts: str) -> str:
    thread = talk.scene.workspace.thread(talk.channel, talk.ts)
    return next(str(one["files"][0]["id"]) for one in thread if one["ts"] == ts)


async def test_a_deleted_file_takes_its_copies_and_cached_tables(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("how many visits were there in all?", files=[(f"{CANARY}.csv", TABLE)])
        await talk.over()
        (table,) = await materials(talk)
        assert table.file is not None
        assert await read_kept_bytes(talk, table.file.id) == TABLE
        cache = TableCache(find_cache_folder())
        assert await asyncio.to_thread(cache.find_entry, make_entry_key(table.file.id, table.name)) is not None
        await scene.person().delete_file(file_in(talk, talk.ts))
        await eventually(lambda: list_dropped_copies(talk), 20)
        assert await read_kept_bytes(talk, table.file.id) == b""
        assert await asyncio.to_thread(cache.find_entry, make_entry_key(table.file.id, table.name)) is None
        job = await talk.job()
        assert job is not None
        assert [(one.name, one.file) for one in job.latest_request.materials] == [(f"{CANARY}.csv", None)]
        assert len(await talk.of(ev.FileDeleted)) == 1
        await talk.say("@leadhand and by place?")
        await talk.over(2)
        assert CANARY in talk.join_bot_texts() or "attach" in talk.join_bot_texts().lower(), (
            "it says so, and does not break"
        )


async def test_a_deleted_message_of_the_thread_takes_its_lines_and_its_file(scene: Scene) -> None:
    ana, ben = scene.person("ana"), scene.person("ben")
    channel = scene.workspace.channel_id("#general")
    root = await ana.say(channel, "We talk about the trip.")
    said = await ben.say(channel, f"It goes to {CANARY}.", thread_ts=root, files=[("list.csv", TABLE)])
    other = await ana.say(channel, "Bring boots.", thread_ts=root)
    async with scene.bot():
        talk = scene.thread(channel, root)
        await ana.say(channel, "@leadhand what was said about boots?", thread_ts=root)
        await talk.over()
        thread = next(one for one in await materials(talk) if one.kind == "thread")
        file = next(one for one in await materials(talk) if one.file is not None)
        assert file.file is not None
        assert CANARY.encode() in await read_kept_bytes(talk, thread.text)
        await ben.delete(channel, said)
        await eventually(lambda: list_dropped_copies(talk), 20)
        text = (await read_kept_bytes(talk, thread.text)).decode()
        assert CANARY not in text
        assert "Bring boots." in text
        assert len(text) == thread.size
        assert await read_kept_bytes(talk, file.file.id) == b""
        await ana.delete(channel, root)  # it has replies: a tombstone
        await eventually(lambda: _no_trip(talk, thread.text), 20)
        assert "Bring boots." in (await read_kept_bytes(talk, thread.text)).decode()
    assert other


async def _no_trip(talk: Talk, digest: str) -> bool:
    return b"the trip" not in await read_kept_bytes(talk, digest)
