"""A machine that reaches nothing but by a proxy: all that leaves over HTTP goes that way, with the authority it names.

The hosts end in `.test` or `.example`: no DNS knows them, so that whatever goes past the proxy reaches nobody.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from aiohttp import web

from bot.command_line.check import _check_bot
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import OPENAI_TIERS
from bot.models.openai_chat import OpenAIChat
from bot.models.provider_model import ProviderModel
from bot.operation.trace_export import make_sender
from bot.settings import read_settings
from bot.slack.send.web_calls import close_client, make_client
from specialists.crew import Crew
from specialists.mcp import tool_lock
from specialists.mcp.oauth_requests import send_request
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.server_connection import ServerConnection, ServerUnreachable
from specialists.mcp.server_sign_in import ServerSignIn
from specialists.mcp.tool_lock import ToolLock, make_locked_tool
from specialists.registry import load_crew
from specialists.tools.code.code_tools import code_toolkit
from specialists.tools.tool import FolderWorkbench
from specialists.tools.tool_sign_in import SignInFailed
from specialists.tools.toolkit import ToolSettings
from specialists.tools.web.fetch import FetchFailed, FetchSettings, download_page
from specialists.tools.web.search import SearchFailed, SearchSettings, search_web
from tests.code.conftest import caller
from tests.code.demo_repository import build
from tests.code.local_forge import TOKEN, local_forge
from tests.mcp_servers.harbour import Harbour, make_tool_entry
from tests.mcp_servers.oauth_server import TIDES, HeldSignIns, oauth_server
from tests.outbound.connect_proxy import Authority, ConnectProxy
from tests.own_tools import all_tools
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest
from tests.specialists.local_web import serving
from tests.specialists.test_open_ticket import tracker
from tests.system.brains import QUICK, make_rehearsal_brain, plan, result, subtask, tool_call
from tests.system.scene import SAMPLE, Scene, scene_on

PAGE = """\
---
name: keeper
description: Looks things up, writes them down and files them.
tools: [web_search, read_pull_request, publish_document, open_ticket]
mcpServers: [port]
model: fast
---
You are the keeper."""
HITS = {"web": {"results": [{"title": "Tides", "url": "https://a.example/1", "description": "Rose by 4872 mm"}]}}
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("web_search", {"query": "tides"}),
    ("read_pull_request", {"link": "shop#7"}),
    ("mcp__port__look", {}),
    ("publish_document", {"title": "Tides", "markdown": "# Tides\n\nHigh at noon."}),
    ("open_ticket", {"title": "The tide is late", "body": "Since noon."}),
)


def keeper(request: WireRequest) -> Reply:
    """One call after the other, then what they brought."""
    replies = [reply.text for message in request.messages for reply in message.replies]
    if len(replies) < len(CALLS):
        name, arguments = CALLS[len(replies)]
        return tool_call(name, **arguments)
    return result("Said: " + " / ".join(" ".join(reply.split())[:300] for reply in replies))


async def brave(request: web.Request) -> web.Response:
    assert request.headers["X-Subscription-Token"] == "brave-key"
    return web.json_response(HITS)


def crew_in(folder: Path) -> Crew:
    """A crew that needs everything outside."""
    server = {"type": "http", "url": "https://mcp.test/mcp", "headers": {"Authorization": "Bearer tide"}}
    ours = {"readOnly": ["look"], "local": True}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"port": {**server, "leadhand": ours}}}))
    accepted = ToolLock().with_server(
        "port", [make_locked_tool(make_tool_entry("look")), make_locked_tool(make_tool_entry("note"))]
    )
    tool_lock.write_lock(folder / tool_lock.FILE_NAME, accepted)
    (folder / "keeper.md").write_text(PAGE)
    env = {
        "LEADHAND_REPOSITORIES": "shop=https://forge.test/acme/shop",
        "GITHUB_API_URL": "https://forge.test/api/v3",
        "GITHUB_TOKEN": TOKEN,
        "GITLAB_URL": "https://desk.test",
        "GITLAB_TOKEN": "ghp_of-a-test",
        "LEADHAND_TICKETS": "gitlab:acme/web/shop",
        "BRAVE_API_KEY": "brave-key",
    }
    settings = ToolSettings(env, folder / "data")
    return load_crew(folder, all_tools(settings), settings)


def model() -> ChosenModel:
    return ProviderModel(OpenAIChat("key", "https://models.test/v1"), OPENAI_TIERS, provider="home", retry_policy=QUICK)


@pytest.fixture
async def scene(server_url: str) -> AsyncIterator[Scene]:
    async with scene_on(server_url) as made:
        yield made


# The SDKs' transport hands aiohttp the proxy's password in a way that aiohttp is about to drop.
@pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The 'proxy_auth' parameter is deprecated:DeprecationWarning")
async def test_a_whole_job_goes_by_the_proxy_alone(scene: Scene, proxy: ConnectProxy, tmp_path: Path) -> None:
    port = int(scene.workspace.api_url.rsplit(":", 1)[1].split("/")[0])
    await proxy.route("slack.test", port)
    scene.workspace.set_public_url("https://slack.test")
    words: dict[str, Any] = {"planner": lambda _: plan(subtask("note", "keeper")), "keeper": keeper}
    async with (
        ProviderServer(make_rehearsal_brain(**words)) as models,
        serving(brave) as search_site,
        local_forge() as forge,
        tracker() as desk,
        oauth_server() as tides,
    ):
        tides.access.add("tide")
        for host, at in (
            ("models.test", int(models.url.rsplit(":", 1)[1])),
            ("api.search.brave.com", search_site.port),
            ("forge.test", forge.site.port),
            ("desk.test", desk.site.port),
            ("mcp.test", int(tides.base.rsplit(":", 1)[1])),
        ):
            await proxy.route(host, at)
        async with scene.bot(model(), crew=crew_in(tmp_path)):
            talk = await scene.ask("Note when the water is high", files=[("sales.csv", SAMPLE.read_bytes())])
            for number in (1, 2):  # the search, as an attachment is in view, and the ticket
                card = await talk.question(number)
                await scene.person().click(talk.channel, card["ts"], "approval:approve")
            job = await talk.over(patience=90)
        said = talk.join_bot_texts()
        (issue,) = desk.issues
    assert issue["title"] == "The tide is late"
    assert "Rose by 4872 mm" in said
    assert "Whole euros" in said
    assert TIDES in said
    assert talk.files() == ["Tides.docx"]
    assert [one.name for one in job.requests[0].materials if one.name == "sales.csv"], "the attachment was fetched"
    assert all(proxy.has_reached(host) for host in proxy.hosts), proxy.request_lines
    assert not any("127.0.0.1" in line for line in proxy.request_lines)


async def test_a_sign_in_asks_its_server_by_the_proxy(proxy: ConnectProxy) -> None:
    async with oauth_server() as server:
        await proxy.route("mcp.test", int(server.base.rsplit(":", 1)[1]))
        server.base = "https://mcp.test"
        way = ServerSignIn(ServerConfig("tides", "http", url=server.url, uses_oauth=True), "crew")
        link = await way.begin(HeldSignIns(), "U_ANA")
    assert link.startswith("https://mcp.test/authorize?")
    assert "/.well-known/oauth-authorization-server" in server.paths
    assert "/register" in server.paths


async def test_git_clones_by_the_proxy(proxy: ConnectProxy, tmp_path: Path) -> None:
    async with local_forge() as forge:
        await proxy.route("forge.test", forge.site.port)
        forge.serve(build(tmp_path / "source"), tmp_path / "served.git")
        forge_env = {"GITHUB_API_URL": "https://forge.test/api/v3", "GITHUB_TOKEN": TOKEN}
        env = {**os.environ, **forge_env, "LEADHAND_REPOSITORIES": "shop=https://forge.test/acme/shop"}
        call = caller(code_toolkit(ToolSettings(env, tmp_path / "data")))
        found = await call("search_code", repository="shop", pattern="discount")
    assert not found.failed, found.text
    assert proxy.request_lines
    assert set(proxy.request_lines) == {"CONNECT forge.test:443 HTTP/1.1"}


PAGE_TEXT = "<html><title>Tides</title><body><main><p>High at noon.</p></main></body></html>"


async def page(_: web.Request) -> web.Response:
    return web.Response(text=PAGE_TEXT, content_type="text/html")


async def fetch_body(url: str, resolver: Any = None) -> bytes:
    async def follows(_: str, __: str) -> bool:
        return True

    found = await download_page(url, FetchSettings(resolver=resolver), lambda _: "", follows)
    return found.body


def public(*_: object, **__: object) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443))]


def inside(*_: object, **__: object) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 443))]


def unknown(*_: object, **__: object) -> list[Any]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_a_page_whose_name_is_public_here_is_asked_of_the_proxy(proxy: ConnectProxy, scheme: str) -> None:
    async with serving(page) as site:
        await proxy.route("tides.example", site.port)
        assert await fetch_body(f"{scheme}://tides.example/high", public) == PAGE_TEXT.encode()
        first = "CONNECT tides.example:443" if scheme == "https" else "GET http://tides.example/high"
        assert [line.rpartition(" ")[0] for line in proxy.request_lines] == [first]


@pytest.mark.parametrize(
    ("url", "resolver", "words"),
    [
        ("https://tides.example/", inside, "may not be fetched"),
        ("https://tides.example/", unknown, "cannot be looked up here"),
        ("https://10.0.0.7/", None, "may not be fetched"),
        ("https://169.254.169.254/latest/meta-data", None, "may not be fetched"),
        ("https://[::ffff:10.0.0.7]/", None, "may not be fetched"),
        ("https://127.0.0.1/", None, "may not be fetched"),
        ("https://tides.example:8443/", public, "may not be fetched"),
    ],
)
async def test_what_is_not_public_here_is_never_asked_of_the_proxy(
    proxy: ConnectProxy, url: str, resolver: Any, words: str
) -> None:
    async with serving(page) as site:
        await proxy.route("tides.example", site.port)
        with pytest.raises(FetchFailed, match=words):
            await fetch_body(url, resolver)
        assert proxy.request_lines == []


async def test_a_name_that_only_the_proxy_knows_is_asked_for_where_the_operator_says_so(
    proxy: ConnectProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_PROXY_RESOLVES", "on")
    async with serving(page) as site:
        await proxy.route("tides.example", site.port)
        assert await fetch_body("https://tides.example/", unknown) == PAGE_TEXT.encode()
        with pytest.raises(FetchFailed, match="may not be fetched"):
            await fetch_body("https://tides.example/", inside)
        with pytest.raises(FetchFailed, match="may not be fetched"):
            await fetch_body("https://10.0.0.7/")


async def test_the_keyless_search_asks_by_the_proxy_too(proxy: ConnectProxy) -> None:
    with pytest.raises(SearchFailed, match="did not answer"):
        await search_web("tides", 1, SearchSettings(timeout=30))
    assert proxy.has_reached("wikipedia.org"), proxy.request_lines


async def test_traces_go_by_the_proxy_over_plain_http_with_its_password(proxy: ConnectProxy) -> None:
    asked: list[str] = []

    async def collect(request: web.Request) -> web.Response:
        asked.append(str(request.headers.get("Proxy-Authorization")))
        return web.Response()

    async with serving(collect) as site:
        await proxy.route("otel.test", site.port)
        sender = make_sender({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel.test:4318"})
        assert sender is not None
        assert await sender.probe_collector() == ""
    assert asked == ["None"], "the proxy keeps its password to itself"
    assert proxy.request_lines == ["POST http://otel.test:4318/v1/traces HTTP/1.1"]


MEND = "its certificate is not trusted: .*SSL_CERT_FILE .*Behind a proxy"


async def test_a_certificate_of_nobody_is_told_with_what_to_do(
    proxy: ConnectProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The authority is that of another proxy."""
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", str(Authority(other).file))
    async with serving(brave) as site:
        for host in ("slack.test", "api.search.brave.com", "mcp.test", "tides.example", "models.test"):
            await proxy.route(host, site.port)
        settings = read_settings({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_API_URL": "https://slack.test/api/"})
        slack = [str(one) async for one in _check_bot(settings)]
        assert re.search(MEND, slack[0]), slack
        with pytest.raises(SearchFailed, match=MEND):
            await search_web("tides", 1, SearchSettings("brave", "brave-key"))
        with pytest.raises(FetchFailed, match=MEND):
            await fetch_body("https://tides.example/", public)
        connection = ServerConnection(ServerConfig("port", "http", url="https://mcp.test/mcp"), tmp_path, "")
        with pytest.raises(ServerUnreachable, match=MEND):
            await connection.list_tools()
        await connection.close()
        with pytest.raises(SignInFailed, match=MEND):
            await send_request(httpx2.Request("GET", "https://mcp.test/a"), "https://mcp.test/mcp")


@pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")
async def test_a_proxy_that_refuses_is_told_with_what_to_do(
    proxy: ConnectProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SearchFailed, match=r"the proxy refuses the connection \(403\): allow the host"):
        await search_web("tides", 1, SearchSettings("brave", "brave-key"))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(SearchFailed, match="the proxy wants a user and a password"):
        await search_web("tides", 1, SearchSettings("brave", "brave-key"))
    with pytest.raises(FetchFailed, match="the proxy wants a user and a password"):
        await fetch_body("https://tides.example/", public)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with pytest.raises(SearchFailed, match="the proxy does not answer"):
        await search_web("tides", 1, SearchSettings("brave", "brave-key"))


async def test_a_host_of_no_proxy_is_reached_directly_by_all(
    proxy: ConnectProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Slack SDK would take the proxy all the same: it reads no `NO_PROXY`."""
    monkeypatch.setenv("NO_PROXY", "slack.test")
    client = make_client("xoxb-1", "https://slack.test/api/")
    with pytest.raises(aiohttp.ClientConnectorDNSError):
        await client.auth_test()
    await close_client(client)
    assert proxy.request_lines == []


async def test_a_server_that_is_a_program_learns_the_way_out(
    proxy: ConnectProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "intra.test")
    harbour = Harbour(tmp_path)
    harbour.has("environment", readOnly=["environment"])
    toolkit = harbour.toolkit()
    (one,) = toolkit.tools
    said = (await one.run(one.arguments.model_validate({}), FolderWorkbench.make_in_memory((), tmp_path))).text
    assert toolkit.close is not None
    await toolkit.close()
    seen = json.loads(said.partition("\n")[2])
    assert seen["HTTPS_PROXY"] == proxy.url
    assert seen["NO_PROXY"] == "intra.test"
    assert seen["SSL_CERT_FILE"] == str(proxy.authority.file)
    assert "SLACK_BOT_TOKEN" not in seen
