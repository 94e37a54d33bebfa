"""A server that wants a sign-in, through the whole bot: card, link, paste, and the job goes on with the token."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from bot.features.sign_in.page import LANDING_PATH
from bot.settings import Address
from bot.slack.show import admission
from specialists.crew import Crew
from specialists.mcp import tool_lock
from specialists.mcp.tool_lock import ToolLock, make_locked_tool
from specialists.registry import load_crew
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL
from specialists.tools.toolkit import ToolSettings
from tests.mcp_servers.harbour import make_tool_entry
from tests.mcp_servers.oauth_server import TIDES, OAuthServer, oauth_server
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.store.kit import free_port
from tests.system.brains import connect, plan, provider, result, subtask, tool_call
from tests.system.scene import Json, Scene, Talk, buttons, extract_shown_text, scene_on

PAGE = """\
---
name: keeper
description: Looks at the tides.
mcpServers: [tides]
model: fast
---
You are the keeper."""
SIGN_IN, PASTE = "approval:sign_in", "sign_in:paste"


def crew_of(server: OAuthServer, folder: Path) -> Crew:
    """A crew whose keeper has the server's tools."""
    ours = {"readOnly": ["look"], "local": True, "auth": "oauth"}
    file = {"mcpServers": {"tides": {"type": "http", "url": server.url, "leadhand": ours}}}
    (folder / ".mcp.json").write_text(json.dumps(file), encoding="utf-8")
    accepted = ToolLock().with_server(
        "tides", [make_locked_tool(make_tool_entry("look")), make_locked_tool(make_tool_entry("note"))]
    )
    tool_lock.write_lock(folder / tool_lock.FILE_NAME, accepted)
    (folder / "keeper.md").write_text(PAGE)
    (folder / "crew.yml").write_text("make: {tools: [mcp__tides__look], at_most: 1, fallback: keeper}\n")
    return load_crew(folder, {}, ToolSettings({}, folder / "data"))


def keeper(request: WireRequest) -> Reply:
    """Looks, once more if the server does not take the sign-in, then says what came of it."""
    replies = [reply.text for message in request.messages for reply in message.replies]
    if len(replies) < 2 and not any(TIDES in reply or "denied" in reply for reply in replies):
        return tool_call("mcp__tides__look")
    return result("Said: " + " / ".join(" ".join(reply.split()) for reply in replies))


@asynccontextmanager
async def run_keeper(scene: Scene, folder: Path, **options: Any) -> AsyncIterator[OAuthServer]:
    """Run a bot whose keeper has the tools of a server that wants a sign-in; `options` are those of the bot."""
    words = {"planner": lambda _: plan(subtask("note", "keeper")), "keeper": keeper}
    async with (
        oauth_server() as server,
        provider(**words) as models,
        scene.bot(connect("chat", models), crew=crew_of(server, folder), **options),
    ):
        yield server


async def card(talk: Talk, words: str) -> Json:
    """The first message with these words, once it is there."""
    return await talk.wait_until_seen(
        lambda: next((one for one in talk.words() if words in extract_shown_text(one)), None)
    )


async def link_of(scene: Scene, talk: Talk, message: Json) -> tuple[Json, str]:
    """Press "Sign in", and give the direct message that follows, with the link in it."""
    ana = scene.person()
    before = len(scene.workspace.messages(ana.dm))
    await ana.click(talk.channel, message["ts"], SIGN_IN)
    sent = await talk.wait_until_seen(lambda: scene.workspace.messages(ana.dm)[before:])
    return sent[0], str(buttons(sent[0])["Open the sign-in page"]["url"])


async def test_a_person_signs_in_by_a_link_and_the_job_goes_on(
    scene: Scene, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with run_keeper(scene, tmp_path) as server:
        talk = await scene.ask("When is the water high?")
        message = await card(talk, "needs somebody to sign in to tides (`127.0.0.1`)")
        assert server.paths == [], "nothing is asked of it before somebody wants to sign in"
        ana, ben = scene.person(), scene.person("ben")
        await ben.click(talk.channel, message["ts"], SIGN_IN)
        await talk.wait_until_seen(lambda: ben.ephemerals(talk.channel))
        assert "only" in extract_shown_text(ben.ephemerals(talk.channel)[-1])
        direct, link = await link_of(scene, talk, message)
        landed = await server.browser(link)
        await ana.click(ana.dm, direct["ts"], PASTE)
        view = str(ana.views()[-1]["id"])
        for wrong in ("https://evil.example/?code=1&state=2", f"{LOCAL_RETURN_URL}?code=1&state=2"):
            assert not await ana.submit(view, {"text": wrong})
        assert (server.forms, server.calls) == ([], [])
        await ana.submit(view, {"text": landed})
        job = await talk.over()
        token = server.calls[0][1]
        assert server.calls == [("look", token)]
        assert TIDES in talk.join_bot_texts()
        closed = await card(talk, "signed in")
        assert "Sign in" not in json.dumps(closed["blocks"][-1])

        again = await scene.ask("And once more?")
        await again.over()
        assert server.calls == [("look", token)] * 2
        assert "needs somebody to sign in" not in json.dumps(again.words())

        server.revoke()
        third = await scene.ask("And after it was taken back?")
        direct, link = await link_of(scene, third, await card(third, "needs somebody to sign in"))
        await ana.click(ana.dm, direct["ts"], PASTE)
        await ana.submit(str(ana.views()[-1]["id"]), {"text": await server.browser(link)})
        await third.over()
        assert "no longer accepts the sign-in" in third.join_bot_texts()
        assert [one for one, _ in server.calls] == ["look"] * 3
        assert server.calls[2][1] != token
    entries = [one for each in (talk, again, third) for one in await scene.store.jobs.read_log(each.key)]
    kept = " ".join(one.payload for one in entries) + json.dumps([talk.replies(), third.replies()]) + caplog.text
    assert '"sign_in"' in kept
    secrets = [form[key] for form in server.forms for key in ("code", "code_verifier", "refresh_token") if key in form]
    assert not [one for one in (token, *server.access, *server.refresh, *secrets) if one in kept]
    assert job.requests[0].subtasks["note"].question_answers[0].ruling is not None


@pytest.fixture
async def by_http(server_url: str) -> AsyncIterator[tuple[Scene, Json]]:
    """A scene whose bot is reached by HTTP, and the bot's options."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with scene_on(server_url, request_url=f"{url}/slack/events") as made:
        secret = made.workspace.signing_secret
        address = Address("127.0.0.1", port)
        yield made, {"app_token": "", "signing_secret": secret, "http": address, "public_url": url}


async def seen_in(browser: httpx.AsyncClient, address: str) -> tuple[int, str]:
    """Open an address as a browser does: the status, and the page."""
    answer = await browser.get(address)
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return answer.status_code, answer.text


async def test_in_http_mode_the_browser_ends_on_our_page_and_the_job_goes_on(
    by_http: tuple[Scene, Json], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.WARNING, logger="httpx")  # of the browser that stands here for a person's
    scene, options = by_http
    lands = f"{options['public_url']}{LANDING_PATH}"
    async with run_keeper(scene, tmp_path, **options) as server, httpx.AsyncClient(trust_env=False) as browser:
        talk = await scene.ask("When is the water high?")
        message = await card(talk, "needs somebody to sign in")
        direct, link = await link_of(scene, talk, message)
        assert "Close it: the thread goes on" in extract_shown_text(direct)
        landed = await server.browser(link)
        assert landed.startswith(f"{lands}?")
        for wrong, code, told in (
            (lands, 410, "was used, or is older"),
            (f"{lands}?code=1&state=2", 410, "was used, or is older"),
            (f"{landed}&state=3", 400, "is not whole"),
            (f"{landed}&iss=https://evil.example/<b>", 400, "not from the page that the link leads to"),
        ):
            status, page = await seen_in(browser, wrong)
            assert (status, "You are signed in" in page, told in page) == (code, False, True), page
            assert "<b>" not in page
        assert (await browser.head(landed)).status_code == 405
        assert (server.forms, server.calls) == ([], [])
        status, page = await seen_in(browser, landed)
        assert (status, "<h1>You are signed in.</h1>" in page, "You can close this tab." in page) == (
            200,
            True,
            True,
        )
        assert "Ana Duarte asked for this sign-in, in Slack. If that is not you, revoke it" in page
        brought = [value for values in parse_qs(urlsplit(landed).query).values() for value in values]
        assert not [one for one in (*brought, *server.access, *server.refresh) if one in page]
        await talk.over()
        assert TIDES in talk.join_bot_texts()
        assert [form["redirect_uri"] for form in server.forms] == [lands]
        status, page = await seen_in(browser, landed)
        assert (status, "was used, or is older" in page) == (410, True)
        assert len(server.forms) == 1

        server.revoke()
        again = await scene.ask("And after it was taken back?")
        direct, link = await link_of(scene, again, await card(again, "needs somebody to sign in"))
        ana = scene.person()
        await ana.click(ana.dm, direct["ts"], PASTE)
        view = str(ana.views()[-1]["id"])
        assert not await ana.submit(view, {"text": f"{LOCAL_RETURN_URL}?code=1&state=2"})
        assert await ana.submit(view, {"text": await server.browser(link)}), "where the page is not reached"
        await again.over()
    entries = [one for each in (talk, again) for one in await scene.store.jobs.read_log(each.key)]
    kept = " ".join(one.payload for one in entries) + json.dumps([talk.replies(), again.replies()]) + caplog.text
    secrets = [form[key] for form in server.forms for key in ("code", "code_verifier") if key in form]
    assert not [one for one in (*server.access, *server.refresh, *secrets) if one in kept]


async def test_a_page_says_so_where_a_sign_in_is_refused_or_not_needed_any_more(
    by_http: tuple[Scene, Json], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "GROUPS_CACHE_SECONDS", 0.0)
    scene, options = by_http
    ana, lands = scene.person(), f"{options['public_url']}{LANDING_PATH}"
    async with run_keeper(scene, tmp_path, **options) as server, httpx.AsyncClient(trust_env=False) as browser:
        talk = await scene.ask("When is the water high?")
        message = await card(talk, "needs somebody to sign in")
        _, link = await link_of(scene, talk, message)
        state = parse_qs(urlsplit(link).query)["state"][0]
        status, page = await seen_in(browser, f"{lands}?error=access_denied&state={state}")
        assert (status, "the page said “access_denied”" in page) == (400, True)
        _, link = await link_of(scene, talk, message)
        await ana.click(talk.channel, message["ts"], "approval:deny")
        await ana.submit(str(ana.views()[-1]["id"]), {"text": "not from here"})
        await talk.over()
        status, page = await seen_in(browser, await server.browser(link))
        assert (status, "Nothing waits for this sign-in any more" in page) == (409, True)
        again = await scene.ask("And once more?")
        _, link = await link_of(scene, again, await card(again, "needs somebody to sign in"))
        landed = await server.browser(link)
        scene.workspace.deactivate("ana")
        status, page = await seen_in(browser, landed)
        assert (status, "You may not sign in for this any more." in page) == (403, True)
    assert server.forms == [], "no code is used for what nobody waits for"
