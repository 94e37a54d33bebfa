"""`leadhand run`: the bot on a Slack that is not its own, both ways in, and what it says when it cannot start."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.store.embedded import is_server_running, stop_embedded
from bot.workspace.workspace_server import Workspace
from tests.command_line.command import CommandResult, Running, environment, leadhand
from tests.patience import patience
from tests.store.kit import free_port, tcp_server

Start = Callable[..., Awaitable[Workspace]]
CONTEXT = "rehearsal (no language model)"


def slack(workspace: Workspace, **more: str) -> dict[str, str]:
    """The settings for a workspace, Socket Mode unless changed."""
    tokens = {"SLACK_BOT_TOKEN": workspace.bot_token, "SLACK_APP_TOKEN": workspace.app_token}
    return {"SLACK_API_URL": workspace.api_url, **tokens, **more}


async def answer(workspace: Workspace) -> dict[str, Any]:
    """Mention the bot as a person would, and wait for the answer."""
    ts = await workspace.person("ana").say("#general", "@leadhand write a short note to the board")

    def find_reply() -> dict[str, Any] | None:
        replies = workspace.thread("#general", ts)[1:]
        return next((reply for reply in replies if CONTEXT in str(reply.get("blocks"))), None)

    message = await workspace.until(find_reply, timeout=patience())
    assert message is not None
    return message


async def test_socket_mode_with_the_embedded_server(workspace: Start, tmp_path: Path) -> None:
    place = await workspace()
    running = await Running.start("run", env=environment(tmp_path, **slack(place)), afresh=True)
    try:
        line = await running.says("listening")
        assert "Socket Mode" in line
        assert CONTEXT in line
        await answer(place)
        assert await running.stop(signal.SIGTERM) == 0
        assert is_server_running(tmp_path), "the store outlives the bot, and the next start adopts it"
    finally:
        await stop_embedded(tmp_path)


async def test_http_mode_with_a_server_of_ones_own(workspace: Start, tmp_path: Path, redis_url: str) -> None:
    port = str(free_port())
    place = await workspace(request_url=f"http://127.0.0.1:{port}/slack/events")
    secret = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": place.signing_secret, "LEADHAND_PORT": port}
    env = environment(tmp_path, **slack(place, **secret, REDIS_URL=redis_url))
    running = await Running.start("run", env=env)
    assert f"HTTP, 127.0.0.1:{port}" in await running.says("listening")
    await answer(place)
    again = await asyncio.to_thread(leadhand, "run", env=env)
    assert again.code == 1
    assert f"127.0.0.1:{port} cannot be had" in again.err
    assert "LEADHAND_PORT" in again.err
    assert await running.stop(signal.SIGINT) == 0
    assert os.listdir(tmp_path) == [], "with a server of one's own, nothing is kept here"  # noqa: PTH208 - no async one


def check_failure(result: CommandResult, *words: str) -> None:
    """The command ended with 1 and one clear line that has these words.

    It may have swept before: of tests that run beside this one, processes are killed.
    """
    assert (result.code, result.out) == (1, "")
    lines = [line for line in result.err.strip().splitlines() if " INFO bot.operation.leftovers: " not in line]
    assert len(lines) == 1, result.err
    assert lines[0].startswith("leadhand: ")
    assert [word for word in words if word not in lines[0]] == []


def test_without_tokens(tmp_path: Path) -> None:
    check_failure(
        leadhand("run", env=environment(tmp_path), afresh=True), "SLACK_BOT_TOKEN is not set", "`leadhand try`"
    )
    env = environment(tmp_path, SLACK_BOT_TOKEN="xoxb-1")
    check_failure(leadhand("run", env=env), "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")


@pytest.mark.parametrize(("arguments", "needless"), [(["run"], "slack_sdk"), (["--help"], "pydantic")])
def test_what_can_be_said_at_once_waits_for_no_import(tmp_path: Path, arguments: list[str], needless: str) -> None:
    imported = leadhand(*arguments, env=environment(tmp_path, PYTHONPROFILEIMPORTTIME="1"), afresh=True).err
    assert "argparse" in imported
    assert needless not in imported


async def test_tokens_that_slack_refuses(workspace: Start, tmp_path: Path, redis_url: str) -> None:
    place = await workspace()
    for name, fault in (("SLACK_BOT_TOKEN", "invalid_auth"), ("SLACK_APP_TOKEN", "invalid_auth")):
        env = environment(tmp_path, **slack(place, **{name: "xoxx-wrong"}, REDIS_URL=redis_url))
        check_failure(await asyncio.to_thread(leadhand, "run", env=env), name, fault, "`leadhand check`")


def test_a_slack_that_is_not_there(tmp_path: Path, redis_url: str) -> None:
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "SLACK_API_URL": "http://127.0.0.1:9/api/"}
    env = environment(tmp_path, **tokens, REDIS_URL=redis_url)
    check_failure(leadhand("run", env=env), "http://127.0.0.1:9/api/ cannot be reached", "SLACK_API_URL")


@pytest.mark.parametrize("url", ["redis://:secret@127.0.0.1:9", "http://:secret@127.0.0.1"])
def test_a_redis_that_is_not_there(tmp_path: Path, url: str) -> None:
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    ended = leadhand("run", env=environment(tmp_path, **tokens, REDIS_URL=url))
    check_failure(ended, "REDIS_URL")
    assert "secret" not in ended.err


def test_a_redis_that_evicts(tmp_path: Path) -> None:
    with tcp_server(tmp_path / "redis", "--maxmemory-policy", "allkeys-lru") as port:
        tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
        ended = leadhand("run", env=environment(tmp_path, **tokens, REDIS_URL=f"redis://127.0.0.1:{port}"))
    check_failure(ended, "maxmemory-policy noeviction")
