"""`leadhand jobs`: what is under way, read from a store that a bot works on."""

from __future__ import annotations

import argparse
import asyncio
import json

import pytest

from bot.command_line import job_list as module
from bot.command_line.job_list import job_list
from bot.settings import Settings, SettingsError
from tests.system.brains import connect, provider
from tests.system.scene import bot_in, eventually, scene_on
from tests.system.test_home import WORDS, ask_first

NOTHING = {"job": "", "user": "", "team": "", "watch": False, "every": 0.05, "json": False, "ids": False}


async def list_jobs(
    capsys: pytest.CaptureFixture[str], url: str, slack: tuple[str, str] | None = None, **more: object
) -> tuple[int, str, str]:
    token, api = slack or ("", "")
    settings = Settings(env={}, redis_url=url, bot_token=token, slack_api_url=api)
    code = await job_list(argparse.Namespace(**(NOTHING | more)), settings)
    out, err = capsys.readouterr()
    return code, out, err


async def printed(capsys: pytest.CaptureFixture[str], seen: list[str], words: str) -> bool:
    seen.append(capsys.readouterr().out)
    return words in "".join(seen)


async def test_jobs_are_listed_shown_and_watched(
    server_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene_on(server_url) as scene, provider(**WORDS, writer=ask_first) as server:
        connected = module.RedisStore.connect
        monkeypatch.setattr(
            module.RedisStore, "connect", lambda url, **more: connected(url, **{"prefix": scene.prefix, **more})
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
            _, named, _ = await list_jobs(capsys, server_url, slack=here, job=talk.key.job)
            assert f"Job {talk.key.job} in #general" in named
            assert "waits for @Ana" in named
            assert "@Ana" in (await list_jobs(capsys, server_url, slack=here))[1]
            _, ids, _ = await list_jobs(capsys, server_url, slack=here, job=talk.key.job, ids=True)
            assert f"waits for {scene.person().id}" in ids
            watching = asyncio.create_task(list_jobs(capsys, server_url, watch=True))
            seen: list[str] = []
            await eventually(lambda: printed(capsys, seen, "input required"))
            await talk.say("Oslo")
            await talk.over()
            await eventually(lambda: printed(capsys, seen, "No job is under way"))
            watching.cancel()
            await asyncio.wait({watching})
            assert "No job is under way" in (await list_jobs(capsys, server_url))[1]
            assert talk.key.job in (await list_jobs(capsys, server_url, user=scene.person().id))[1]
        for nothing in ("J0123456789", "nonsense"):
            code, out, err = await list_jobs(capsys, server_url, job=nothing)
            assert (code, out) == (1, "")
            assert "There is no such job" in err
        await scene.store.share()
        with pytest.raises(SettingsError, match="--team T0123ABCD"):
            await list_jobs(capsys, server_url)
        person, team = scene.person().id, scene.workspace.team_id
        assert talk.key.job in (await list_jobs(capsys, server_url, user=person, team=team))[1]
        assert talk.key.job not in (await list_jobs(capsys, server_url, user=person, team="T0OTHER"))[1]
