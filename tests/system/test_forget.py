"""Forgetting: asked in a window, erased in the store at once, taken back in Slack, with a receipt; whatever dies."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.features.erasure import actions as forget_window
from bot.slack.show import notices
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from tests.patience import patience
from tests.system.brains import Gate, connect, in_turn, plan, provider, result, subtask, tool_call
from tests.system.scene import Scene, Talk, eventually, extract_shown_text, scene_on
from tests.system.test_schedules_whole import save_schedule, schedules

CANARY = "zanzibar"


@pytest.fixture
async def scene(server_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr("bot.features.erasure.service.LAST_CALL_SECONDS", 0.3)
    monkeypatch.setattr("bot.features.erasure.service.POLL_SECONDS", 0.1)
    monkeypatch.setattr("bot.features.erasure.service.TAKEOVER_SECONDS", 1.0)
    async with scene_on(server_url) as made:
        yield made


async def window(scene: Scene, text: str, who: str = "ana") -> dict[str, Any]:
    """The window that a command opens."""
    answer = await scene.command(f"forget {text}", who=who)
    assert answer["text"] == forget_window.CONFIRM_TEXT, answer["text"]
    return (await scene.workspace.until(lambda: scene.person(who).views()))[-1]


async def forget(scene: Scene, text: str, who: str = "ana") -> dict[str, Any]:
    view = await window(scene, text, who)
    assert await scene.person(who).submit(view["id"])
    return view


async def receipt(scene: Scene, who: str = "ana") -> str:
    """The receipt in somebody's direct messages."""
    person = scene.person(who)

    def there() -> str:
        said = [
            extract_shown_text(one)
            for one in scene.workspace.messages(person.dm)
            if one["user"] == scene.workspace.bot_user_id
        ]
        return next((text for text in said if "Forgotten" in text), "")

    return await scene.workspace.until(there, timeout=patience())


async def keys_of(scene: Scene, key: JobKey) -> set[str]:
    store = scene.store
    assert isinstance(store, Store)
    names = await store._server.run_command("KEYS", f"{scene.prefix}:*{key.job}*")
    return {name.decode().rpartition(f"{key.job}:")[2] for name in names if b":seen:" not in name}


async def everything(scene: Scene) -> bytes:
    """All that the store holds of this scene, as bytes."""
    store = scene.store
    assert isinstance(store, Store)
    names = await store._server.run_command("KEYS", f"{scene.prefix}:*")
    return b"".join([await store._server.run_command("DUMP", name) or b"" for name in names])


def brain() -> dict[str, Any]:
    document = tool_call("publish_document", title=f"About {CANARY}", markdown=f"# {CANARY}\n\nText.")
    return {
        "planner": in_turn(plan(subtask("a", "writer", intent=f"Write of {CANARY}"), goal=f"All of {CANARY}")),
        "writer": in_turn(document, result(f"It is in {CANARY}.")),
    }


async def ask_with_table(scene: Scene, who: str = "ana") -> Talk:
    table = (f"{CANARY}.csv", f"place,visits\n{CANARY},3\n".encode())
    return await scene.ask(f"tell me about {CANARY}", files=[table], who=who)


async def test_a_job_is_forgotten_in_the_store_and_in_slack(scene: Scene) -> None:
    async with provider(**brain()) as server, scene.bot(connect("chat", server)):
        talk = await ask_with_table(scene)
        await talk.over()
        await talk.wait_until_seen(talk.files)
        made = {file["id"] for message in talk.replies() for file in message.get("files") or ()}
        view = await window(scene, talk.key.job)
        text = json.dumps(view["blocks"])
        assert "the record of" in text
        assert "messages and files" in text
        assert await keys_of(scene, talk.key) >= {"head", "log", "files", "out"}, "nothing yet"
        assert await scene.person().submit(view["id"])
        told = await receipt(scene)
        assert await keys_of(scene, talk.key) == {"gone"}
        assert talk.replies() == []
        assert not made & scene.workspace._world.state.files.keys()
        assert "Deleted in Slack:* 3 messages and 1 file" in told.replace("*Deleted", "Deleted"), told
        assert "What I cannot erase" in told
        assert await scene.store.schedules.list_due() == []
        kept = await everything(scene)
    assert CANARY.encode() not in kept
    lines = [json.loads(line) async for line in scene.store.audit.read()]
    assert [one["deed"] for one in lines] == ["asked", "ended", "forgot"]
    assert CANARY not in json.dumps(lines)


async def test_what_is_late_does_not_bring_it_back_and_a_new_mention_begins_anew(scene: Scene) -> None:
    async with scene.bot():
        for text in ("", "@nobody", "JX", "everything"):
            assert (await scene.command(f"forget {text}"))["text"] != forget_window.CONFIRM_TEXT
        assert scene.person().views() == [], "what names nothing opens no window"
        talk = await scene.ask("what can you do?")
        await talk.over()
        await forget(scene, talk.key.job)
        await receipt(scene)
        await scene.person().edit(talk.channel, talk.ts, "@leadhand and what can you not do?")
        await scene.barrier()
        assert await keys_of(scene, talk.key) == {"gone"}
        for command in ("status", "trace", "cancel"):
            assert (await scene.command(f"{command} {talk.key.job}"))["text"] == notices.JOB_FORGOTTEN
        assert (await scene.command(f"forget {talk.key.job}"))["text"] == notices.JOB_FORGOTTEN
        new = await talk.say("@leadhand what can you do?")
        job = await talk.over()
        assert [request.id for request in job.requests] == [new]
        assert len(talk.replies()) == 2, "its card and its answer"


async def test_work_under_way_is_stopped_and_posts_nothing_more(scene: Scene) -> None:
    gate = Gate(result(f"It is in {CANARY}."))
    words = {**brain(), "writer": gate}
    async with provider(**words) as server, scene.bot(connect("chat", server)) as app:
        talk = await ask_with_table(scene)
        await gate.arrival_event.wait()
        view = await window(scene, talk.key.job)
        assert "Under way" in json.dumps(view["blocks"])
        await scene.person().submit(view["id"])
        await receipt(scene)
        gate.open()
        await eventually(lambda: app.instance.owned_job_count == 0, 10)
        await scene.barrier()
        assert await keys_of(scene, talk.key) == {"gone"}
        assert talk.replies() == []


async def _is_gone(scene: Scene, key: JobKey) -> bool:
    return await scene.store.jobs.read_forget_time(key) is not None


async def test_a_job_that_was_begun_anew_meanwhile_is_left_alone(scene: Scene) -> None:
    """Whoever goes on after a crash must not take the new job of the thread for the old one."""
    async with scene.bot():
        talk = await scene.ask("what can you do?")
        await talk.over()
        for _ in range(12):
            scene.workspace.faults.add("chat.delete", "server_error_before")
        await forget(scene, talk.key.job)
        await eventually(lambda: _is_gone(scene, talk.key), 10)
        new = await talk.say("@leadhand what can you do?")
        await talk.over()
    scene.workspace.faults.clear()
    async with scene.bot():
        await receipt(scene)
        assert [message["ts"] > new for message in talk.replies()] == [True, True], "the new ones stay"
        assert await scene.store.jobs.read_head(talk.key) is not None


async def test_all_of_a_persons_jobs_but_those_that_others_asked_for_things_in(scene: Scene) -> None:
    async with scene.bot(admins=frozenset({scene.person("cleo").id})):
        own = [await scene.ask("what can you do?") for _ in range(2)]
        shared = await scene.ask("what can you do?")
        others = await scene.ask("what can you do?", who="ben")
        for talk in (*own, shared, others):
            await talk.over()
        await shared.say("@leadhand what can you do?", who="ben")
        await shared.over(2)
        await save_schedule(scene, "every day at 9 list our rooms")
        assert (
            "You can have a job forgotten if nobody else" in (await scene.command(f"forget {shared.key.job}"))["text"]
        )
        assert "You can have a job forgotten if nobody else" in (await scene.command("forget @ben"))["text"]
        view = await forget(scene, "me")
        text = json.dumps(view["blocks"])
        assert all(talk.key.job in text for talk in (*own, shared))
        assert "1 schedule. They no longer run." in text
        told = await receipt(scene)
        assert "Forgotten: 2 jobs that you asked for" in told
        assert "*Removed:* 1 schedule." in told
        assert await schedules(scene) == ()
        assert shared.key.job in told
        for talk in own:
            assert await keys_of(scene, talk.key) == {"gone"}
        for talk in (shared, others):
            assert await scene.store.jobs.read_head(talk.key) is not None
            assert talk.words()
        team = scene.workspace.team_id
        ana, ben = scene.person("ana").id, scene.person("ben").id
        assert [head.key for head in await scene.store.jobs.read_heads_asked_by(team, ana)] == [shared.key]
        await forget(scene, "@ben", who="cleo")
        assert "Forgotten: 1 job of" in await receipt(scene, "cleo")
        assert [head.key for head in await scene.store.jobs.read_heads_asked_by(team, ben)] == [shared.key]
        await forget(scene, shared.key.job, who="cleo")
        await eventually(lambda: _is_gone(scene, shared.key), 10)
    refused = [json.loads(line) async for line in scene.store.audit.read() if '"refused"' in line]
    assert [(one["deed"], one["user"]) for one in refused] == [("forgot", ana), ("forgot", ana)]
