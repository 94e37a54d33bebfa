"""`leadhand setup` and `leadhand manifest`: from nothing to a bot that can run, against the strict local workspace."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from bot.command_line.app_manifest import CREATE_APP_URL
from bot.settings import SettingsError
from bot.settings_file import write_settings
from bot.workspace.workspace_server import Workspace
from tests.command_line.command import PATIENCE, ROOT, CommandResult, environment, leadhand, leadhand_inside

Start = Callable[..., Awaitable[Workspace]]


async def set_up(place: Workspace, tmp_path: Path, *options: str, afresh: bool = False, **more: str) -> CommandResult:
    env = environment(
        tmp_path / "data", SLACK_API_URL=place.api_url, LEADHAND_SETTINGS=str(tmp_path / "it.env"), **more
    )
    return await asyncio.to_thread(leadhand, "setup", "--no-browser", *options, env=env, afresh=afresh)


async def test_from_nothing_to_a_bot_that_can_run(workspace: Start, tmp_path: Path) -> None:
    place, path = await workspace(), tmp_path / "settings" / "it.env"
    tokens = ("--bot-token", place.bot_token, "--app-token", place.app_token, "--admins", "U0000000A")
    path.parent.mkdir()
    path.write_text("# ours\nLEADHAND_SLOTS=3\n", encoding="utf-8")
    ended = await set_up(place, path.parent, *tokens, LEADHAND_MODEL="rehearsal", afresh=True)
    assert ended.code == 0, f"{ended.out}\n{ended.err}"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["# ours", "LEADHAND_SLOTS=3"], "what stood there stays"
    assert f"SLACK_BOT_TOKEN={place.bot_token}" in lines
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert place.bot_token not in ended.out
    assert f"Start it: LEADHAND_SETTINGS={path} leadhand run" in ended.out
    assert "Create the app" not in ended.out, "a token that works belongs to an app"
    again = await set_up(place, path.parent, LEADHAND_MODEL="rehearsal")
    assert (again.code, "nothing was written" in again.out) == (0, True), again.err
    assert path.read_text(encoding="utf-8").splitlines() == lines


async def test_a_wrong_answer_is_named_and_nothing_is_written(workspace: Start, tmp_path: Path) -> None:
    wrong: dict[tuple[str, ...], str] = {
        (): "SLACK_BOT_TOKEN is not set, and nobody is here to ask: give it as --bot-token.",
        ("--bot-token", "xoxp-1"): "--bot-token: That is no bot token: it begins with xoxb-",
        ("--bot-token", "xoxb-nobody"): "--bot-token: Slack says invalid_auth",
        ("--bot-token", ""): "--bot-token: That is no bot token",
        ("--model-key", "key"): "That is no key of Anthropic",
        ("--http", "http://bot.example"): "Slack posts to an address such as https://bot.example.com",
    }
    place = await workspace()
    for options, words in wrong.items():
        ended = await set_up(place, tmp_path, *options, LEADHAND_MODEL="rehearsal")
        assert (ended.code, words in ended.err) == (1, True), ended.err
        assert ("Create the app" in ended.out) == (not options), "no next step before what was given is proved"
    ended = await set_up(place, tmp_path, LEADHAND_MODEL="rehearsal", SLACK_BOT_TOKEN="xoxb-revoked")
    assert (ended.code, "SLACK_BOT_TOKEN: Slack says invalid_auth" in ended.err) == (1, True), ended.err
    assert not (tmp_path / "it.env").exists()


async def test_the_address_of_http_mode_is_also_where_sign_ins_end(workspace: Start, tmp_path: Path) -> None:
    place = await workspace()
    tokens = ("--bot-token", place.bot_token, "--signing-secret", place.signing_secret)
    ended = await set_up(
        place, tmp_path, "--http", "https://bot.example.com/lead/", *tokens, LEADHAND_MODEL="rehearsal"
    )
    lines = (tmp_path / "it.env").read_text(encoding="utf-8").splitlines()
    assert "LEADHAND_URL=https://bot.example.com/lead" in lines
    assert "sign-ins end at https://bot.example.com/lead/signed-in" in ended.out + ended.err


async def test_an_app_without_all_scopes_is_told_which_it_lacks(tmp_path: Path) -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yml").read_text(encoding="utf-8"))
    manifest["oauth_config"]["scopes"]["bot"].remove("files:read")
    poor = tmp_path / "manifest.yml"
    poor.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    place = await Workspace.start(poor)
    try:
        ended = await set_up(place, tmp_path, "--bot-token", place.bot_token, LEADHAND_MODEL="rehearsal")
    finally:
        await place.stop()
    assert (ended.code, "missing files:read: update the app" in ended.err) == (1, True), ended.err


async def test_it_asks_at_a_terminal_and_asks_again_for_what_is_wrong(workspace: Start, tmp_path: Path) -> None:
    place = await workspace()
    env = environment(tmp_path / "data", SLACK_API_URL=place.api_url, LEADHAND_SETTINGS=str(tmp_path / "it.env"))
    keys, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "setup", "--no-browser"),
        cwd=ROOT,
        env=env,
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    os.close(theirs)
    assert process.stdout is not None
    said = ""
    async with asyncio.timeout(PATIENCE):
        for line in ("xoxb-wrong", place.bot_token, place.app_token, "", ""):
            said += (await process.stdout.readuntil(b"   > ")).decode()
            os.write(keys, f"{line}\n".encode())
        said += (await process.stdout.read()).decode()
    os.close(keys)
    assert "Slack says invalid_auth" in said
    assert "It opens a connection." in said
    assert f"SLACK_APP_TOKEN={place.app_token}" in (tmp_path / "it.env").read_text(encoding="utf-8")


def test_a_value_with_spaces_is_quoted_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "it.env"
    write_settings(path, {"LEADHAND_ADMINS": "U1, U2"})
    assert path.read_text(encoding="utf-8") == 'LEADHAND_ADMINS="U1, U2"\n'


def test_a_value_with_a_line_break_is_refused_and_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "it.env"
    write_settings(path, {"LEADHAND_SLOTS": "3"})
    with pytest.raises(SettingsError, match="LEADHAND_ADMINS has a line break"):
        write_settings(path, {"LEADHAND_ADMINS": "U1,\nU2"})
    assert path.read_text(encoding="utf-8") == "LEADHAND_SLOTS=3\n"


def test_the_manifest_is_made_for_the_way_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(tmp_path)

    def print_manifest(*options: str) -> str:
        ended = leadhand_inside("manifest", *options, env=env, capture=capsys)
        assert ended.code == 0, ended.err
        return ended.out

    shipped = (ROOT / "manifest.yml").read_text(encoding="utf-8")
    assert print_manifest() == shipped
    assert json.loads(print_manifest("--json")) == yaml.safe_load(shipped)
    http = json.loads(print_manifest("--json", "--http", "https://bot.example.com/"))
    url = "https://bot.example.com/slack/events"
    assert http["settings"]["socket_mode_enabled"] is False
    assert http["settings"]["event_subscriptions"]["request_url"] == url
    assert http["settings"]["interactivity"]["request_url"] == url
    assert http["features"]["slash_commands"][0]["url"] == url
    assert http["oauth_config"]["redirect_urls"] == ["https://bot.example.com/slack/oauth_redirect"]
    link = print_manifest("--link").strip()
    assert json.loads(unquote(link.removeprefix(CREATE_APP_URL))) == yaml.safe_load(shipped)
