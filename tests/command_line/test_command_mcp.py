"""`leadhand mcp`: what a server offers is shown, and counts once somebody said yes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.app import load_crew_of_settings
from bot.command_line import console, mcp_servers
from bot.settings import Settings, SettingsError
from tests.command_line.command import environment, leadhand
from tests.mcp_servers.harbour import PATH, TEXT, Harbour, make_tool_entry
from tests.mcp_servers.oauth_server import oauth_server

Run = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
def harbour(tmp_path: Path) -> Harbour:
    (tmp_path / "crew").mkdir()
    page = "---\nname: keeper\ndescription: Keeps notes.\nmodel: fast\nmcpServers: [port]\n---\nYou keep notes."
    (tmp_path / "crew" / "keeper.md").write_text(page)
    return Harbour(tmp_path / "crew")


@pytest.fixture
def settings(harbour: Harbour) -> Settings:
    return Settings(env=PATH, crew=str(harbour.folder), data=harbour.folder.parent / "data")


@pytest.fixture
def run(settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command where nobody sits; gives its code and what it said."""
    monkeypatch.setattr(mcp_servers, "is_interactive", lambda: False)

    async def ran(deed: str, *servers: str, yes: bool = False) -> tuple[int, str]:
        options = argparse.Namespace(deed=deed, servers=list(servers), yes=yes)
        return await mcp_servers.manage_mcp_servers(options, settings), capsys.readouterr().out

    return ran


async def test_from_nothing_accepted_to_a_change_that_is_refused(
    harbour: Harbour, settings: Settings, run: Run
) -> None:
    offered = (make_tool_entry("look", annotations={"readOnlyHint": True}), make_tool_entry("note", TEXT))
    lock = harbour.folder / "mcp.lock"
    harbour.has(*offered)
    lock.unlink()
    with pytest.raises(SettingsError, match="the server port yet; run `leadhand mcp accept port`"):
        load_crew_of_settings(settings)

    code, said = await run("accept")
    assert code == 1
    assert "+ look  (its server calls it read-only)" in said
    assert "Nobody is there to say yes" in said
    assert not lock.exists()

    code, said = await run("accept", "port", yes=True)
    assert code == 0, said
    assert "accepted, 2 tools; 2 of them may write, and ask before each call" in said
    assert 'only read: look. If you know so too, put "leadhand": {"readOnly": [...]}' in said
    assert [tool.access for tool in load_crew_of_settings(settings).specialists["keeper"].tools] == ["write", "write"]
    assert "as it was accepted, 2 tools" in (await run("accept"))[1]

    harbour.says(offered[0], make_tool_entry("note", TEXT, description="Notes it, and \x1b[2Jsends it on."))
    code, said = await run("accept")
    assert code == 1
    assert "-description: Does note." in said
    assert "+description: Notes it, and \\u{1b}[2Jsends it on." in said


async def test_what_is_not_there_is_said(harbour: Harbour, run: Run) -> None:
    with pytest.raises(SettingsError, match=r"There is no server prot; there are port\."):
        await run("accept", "prot")
    (harbour.folder / ".mcp.json").write_text('{"mcpServers": {"port": {"command": "no-such-program"}}}')
    code, said = await run("accept")
    assert code == 1
    assert "port: it cannot be reached: the program no-such-program is not there" in said
    (harbour.folder / ".mcp.json").unlink()
    with pytest.raises(SettingsError, match=r"docs/tools\.md says what goes into it"):
        await run("list")


def test_the_command_lists_what_may_write(harbour: Harbour, tmp_path: Path) -> None:
    env = environment(tmp_path / "data", LEADHAND_CREW=str(harbour.folder), LEADHAND_MODEL="rehearsal")
    assert leadhand("mcp", "list", env=env).out.splitlines()[1:] == [
        "    mcp__port__look: read",
        "    mcp__port__note: write, asks",
    ]
    assert leadhand("mcp", env=env).code == 2


async def test_who_accepts_a_server_that_wants_a_sign_in_signs_in_at_the_terminal(
    harbour: Harbour, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with oauth_server() as server:
        file = {"mcpServers": {"tides": {"type": "http", "url": server.url, "leadhand": {"auth": "oauth"}}}}
        (harbour.folder / ".mcp.json").write_text(json.dumps(file))
        code, said = await run("accept", "tides", yes=True)
        assert code == 1
        assert "tides: somebody has to sign in to it, and nobody sits at this terminal." in said
        pasted = ["nonsense", ""]

        async def person(_: str) -> str | None:
            link = next(line for line in capsys.readouterr().out.splitlines()[::-1] if line.startswith(server.base))
            return pasted.pop(0) or await server.browser(link)

        monkeypatch.setattr(console, "is_interactive", lambda: True)
        monkeypatch.setattr(console, "ask_person", person)
        code, said = await run("accept", "tides", yes=True)
    assert code == 0, said
    assert not pasted, "what was wrong was asked for once more"
    assert "accepted, 2 tools" in said
    assert not server.calls
