"""HTTP clients are made in `specialists.outbound` alone. import-linter sees modules; calls are looked at here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKERS = frozenset(
    {
        *("ClientSession", "TCPConnector", "UnixConnector", "ws_connect"),
        *("AsyncClient", "AsyncHTTPTransport", "HTTPTransport", "AsyncConnectionPool", "create_ssl_context"),
        *("DefaultAioHttpClient", "DefaultAsyncHttpxClient", "DefaultHttpxClient"),
        *("DDGS", "PoolManager", "ProxyManager", "HTTPConnection", "HTTPSConnection"),
        *("urlopen", "urlretrieve", "build_opener", "create_default_context"),
    }
)
"""What opens connections, by the names of aiohttp, httpx, httpx2, httpcore, the SDKs, ddgs, urllib3 and urllib."""
TAKES = {
    "AsyncWebClient": "session",
    "AsyncWebhookClient": "session",
    "AsyncAnthropic": "http_client",
    "AsyncOpenAI": "http_client",
}
"""Clients that make one of their own unless they are handed one, and the argument that hands it."""
WHOLE_MODULES = frozenset({"requests", "urllib3", "http.client", "urllib.request", "primp"})
OUTSIDE = ("specialists/outbound/", "bot/workspace/")
"""Where they are made; and the local workspace, a Slack for any app, which calls an app on its own machine."""
OTHER_PROTOCOLS = {"bot/store/"}
"""Redis has TLS of its own."""


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def makers_in(source: str) -> Iterator[str]:
    """Give the line of each place that makes a client, or brings in what makes one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            keywords = {one.arg for one in node.keywords}
            if name in MAKERS or "trust_env" in keywords or (name in TAKES and TAKES[name] not in keywords):
                yield f"{node.lineno}: {name}"
        elif isinstance(node, ast.ImportFrom):
            names = [one.name for one in node.names if one.name in MAKERS]
            if names or node.module in WHOLE_MODULES:
                yield f"{node.lineno}: {node.module} {names}"
        elif isinstance(node, ast.Import):
            if found := [one.name for one in node.names if one.name in WHOLE_MODULES]:
                yield f"{node.lineno}: {found}"
        elif isinstance(node, ast.Assign) and name_of(node.value) in MAKERS:
            yield f"{node.lineno}: {name_of(node.value)} by another name"


MAKER_PATTERN = re.compile(
    "|".join((*MAKERS, *TAKES, "trust_env", *(rf"(?:import|from) {name}" for name in WHOLE_MODULES)))
)
"""What stands in each module that makes one: others need not be read."""


def test_no_module_makes_a_client_of_its_own() -> None:
    found = []
    for top in ("bot", "specialists", "handoff"):
        for file in sorted((ROOT / top).rglob("*.py")):
            path = str(file.relative_to(ROOT))
            source = file.read_text(encoding="utf-8")
            if MAKER_PATTERN.search(source) and not path.startswith((*OUTSIDE, *OTHER_PROTOCOLS)):
                found += [f"{path}:{line}" for line in makers_in(source)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import aiohttp\nasync def f():\n    async with aiohttp.ClientSession() as session: ...",
        "from aiohttp import ClientSession as Session",
        "import httpx\nclient = httpx.AsyncClient(verify=False)",
        "def f():\n    from ssrfguard.httpx import AsyncClient",
        "import aiohttp\nSession = aiohttp.ClientSession",
        "client = AsyncWebClient(token='xoxb-1')",
        "client = anthropic.AsyncAnthropic(api_key='k')",
        "response = urllib.request.urlopen('https://slack.com')",
        "import requests",
        "from urllib import request\nrequest.urlretrieve('https://slack.com')",
        "context = ssl.create_default_context()",
        "session = open_session(trust_env=True)",
    ],
)
def test_each_way_to_make_one_is_seen(source: str) -> None:
    assert MAKER_PATTERN.search(source)
    assert list(makers_in(source))


@pytest.mark.parametrize(
    "source",
    [
        "from aiohttp import web",
        "def f(session: aiohttp.ClientSession) -> None: ...",
        "client = AsyncWebClient(token='xoxb-1', session=open_session())",
        "client = client_for(url, httpx2.AsyncClient)",
    ],
)
def test_what_makes_none_is_let_be(source: str) -> None:
    assert not list(makers_in(source))
