"""`leadhand jobs`: what is under way, read from a store that a bot works on."""

from __future__ import annotations

import argparse
import asyncio
import json

import pytest

from bot.command_line import job_list as module
from bot.command_line.job_list import print_jobs
from bot.features.job_controls.lists import JobLists
from bot.settings import Settings
from bot.store.redis.redis_store import Store
from bot.store.values import EVERYBODY, JobKey
from handoff.contracts import Place
from tests.system.brains import connect, plan, provider, subtask
from tests.system.scene import bot_in, eventually, scene_on
from tests.system.test_home import ask_first, keep_job

NOTHING = {"job": "", "user": "", "team": "", "watch": False, "every": 0.05, "json": False, "ids": False}


async def list_jobs(
    capsys: pytest.CaptureFixture[str], url: str, slack: tuple[str, str] | None = None, **more: object
) -> tuple[int, str, str]:
    token, api = slack or ("", "")
    settings = Settings(env={}, redis_url=url, bot_token=token, slack_api_url=api)
    code = await print_jobs(argparse.Namespace(**(NOTHING | more)), settings)
    out, err = capsys.readouterr()
    return code, out, err


async def has_printed(capsys: pytest.CaptureFixture[str], outputs: list[str], words: str) -> bool:
    outputs.append(capsys.readouterr().out)
    return words in "".join(outputs)


async def test_jobs_are_listed_shown_and_watched(
    server_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        scene_on(server_url) as scene,
        provider(planner=plan(subtask("place", "writer")), writer=ask_first) as server,
    ):
        connected = module.Store.connect
        monkeypatch.setattr(
            module.Store, "connect", lambda url, **more: connected(url, **{"prefix": scene.prefix, **more})
        )
        assert await list_jobs(capsys, server_url) == (0, "No job is under way.\n", "")
        async with bot_in(scene.workspace, server_url, prefix=scene.prefix, model=connect("chat", server)):
            assert await list_jobs(capsys, server_url) == (0, "No job is under way.\n", "")
            talk = await scene.ask("Where shall we \x1b[31mmeet?")
            await talk.question()
            _, listed, _ = await list_jobs(capsys, server_url, json=True)
            (job,) = map(json.loads, listed.splitlines())
            assert (job["job"], job["state"], job["user"]) == (talk.key.job, "input_required", scene.person().id)
            assert job["rows"] == [{"state": "input_required", "title": "Do part place", "specialist": "writer"}]
            link = f"{scene.workspace.page_url.split('?')[0]}archives/{talk.channel}/p{talk.ts.replace('.', '')}"
            for name in (talk.key.job.lower(), link):
                code, shown, _ = await list_jobs(capsys, server_url, job=name)
                assert code == 0
                assert f"Job {talk.key.job} in" in shown
                assert f"waits for {scene.person().id}" in shown
                assert "\x1b" not in shown, "what people write moves no cursor"
            here = scene.workspace.bot_token, scene.workspace.api_url

            async def with_names(job: str = "") -> str:
                """What is shown, once Slack told the name in time."""
                _, text, _ = await list_jobs(capsys, server_url, slack=here, **({"job": job} if job else {}))
                return text if "@Ana" in text else ""

            named = await eventually(lambda: with_names(talk.key.job))
            assert f"Job {talk.key.job} in #general" in named
            assert "waits for @Ana" in named
            await eventually(with_names)
            _, ids, _ = await list_jobs(capsys, server_url, slack=here, job=talk.key.job, ids=True)
            assert f"waits for {scene.person().id}" in ids
            watching = asyncio.create_task(list_jobs(capsys, server_url, watch=True))
            seen: list[str] = []
            await eventually(lambda: has_printed(capsys, seen, "input required"))
            await talk.say("Oslo")
            await talk.over()
            await eventually(lambda: has_printed(capsys, seen, "No job is under way"))
            watching.cancel()
            await asyncio.wait({watching})
            assert "No job is under way" in (await list_jobs(capsys, server_url))[1]
            assert talk.key.job in (await list_jobs(capsys, server_url, user=scene.person().id))[1]
        for nothing in ("J0123456789", "nonsense"):
            code, out, err = await list_jobs(capsys, server_url, job=nothing)
            assert (code, out) == (1, "")
            assert "There is no such job" in err
        person, team = scene.person().id, scene.workspace.team_id
        assert talk.key.job in (await list_jobs(capsys, server_url, user=person, team=team))[1]
        assert talk.key.job not in (await list_jobs(capsys, server_url, user=person, team="T0OTHER"))[1]


async def test_who_runs_the_bot_sees_the_jobs_of_all_workspaces_or_of_one(
    store: Store, server_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = module.Store.connect
    monkeypatch.setattr(
        module.Store, "connect", lambda url, **more: connected(url, **{"prefix": store._keys.prefix, **more})
    )
    await store.allow_any_team()
    places = {}
    for team in ("T0NORTH", "T0SOUTH"):
        await store.installations.put(team, "an installation", old_payload="")
        places[team] = Place(team=team, channel="C0000000A", thread_ts="1700000000.000100")
        await keep_job(store, places[team], "U1", f"a request of {team}", over=False)
        await store.homes.record_waits(JobKey(team, places[team].job_id), people=[EVERYBODY], former_people=[])
    for words in ({}, {"user": "U1"}):
        _, out, _ = await list_jobs(capsys, server_url, **words)
        rows = [line.split()[:2] for line in out.splitlines()]
        assert sorted(rows) == sorted([team, place.job_id] for team, place in places.items())
        _, out, _ = await list_jobs(capsys, server_url, team="T0SOUTH", **words)
        assert [line.split()[0] for line in out.splitlines()] == [places["T0SOUTH"].job_id]
    _, out, _ = await list_jobs(capsys, server_url, json=True)
    assert {json.loads(line)["team"] for line in out.splitlines()} == set(places)
    for team, place in places.items():
        code, out, _ = await list_jobs(capsys, server_url, job=place.job_id)
        assert (code, f"a request of {team}" in out) == (0, True)
    assert (await list_jobs(capsys, server_url, job=places["T0NORTH"].job_id, team="T0SOUTH"))[0] == 1
    for number in range(250):
        await store.jobs.ingest(JobKey("T0NORTH", f"J{number}"), "{}", dedupe=())
    await store.jobs.ingest(JobKey("T0SOUTH", "JLAST"), "{}", dedupe=())
    found = await JobLists(store).read_running_heads(["T0SOUTH"])
    assert {head.key.job for head in found} == {places["T0SOUTH"].job_id, "JLAST"}, "however much others have"
