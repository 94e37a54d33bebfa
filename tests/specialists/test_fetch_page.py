"""fetch_page against real servers on loopback, well and ill meaning."""

from __future__ import annotations

import asyncio
import gzip
import socket
import sys
import zlib
from typing import Any

import pytest
from aiohttp import web

from specialists.tools.tool import ToolOutcome
from specialists.tools.web import web_tools as web_toolkit
from specialists.tools.web.fetch import FetchSettings
from tests.child_in_process import run_children_here
from tests.patience import patience
from tests.specialists.local_web import Site, serving
from tests.specialists.scripted_model import EmptyBench, call_tool

PARAGRAPH = "The tide at the pier rose by 4872 mm between noon and six, as the harbour office noted that day."
PAGE = f"""<!doctype html><html><head><title>Tides of the  harbour</title></head><body><nav>Home | About</nav>
<article><h1>Tides of the harbour</h1><p>{PARAGRAPH}</p><p>See the <a href="/table">table of tides</a> for the rest of
the year, which the same office keeps.</p><table><tr><th>hour</th><th>mm</th></tr><tr><td>12</td><td>310</td></tr>
</table><script>steal()</script></article></body></html>"""


@pytest.fixture(autouse=True)
def _pages_are_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    run_children_here(monkeypatch, web_toolkit)


async def fetch(url: str, start: int = 0, *, follows: bool = True, **settings: Any) -> ToolOutcome:
    tool = web_toolkit.tools(fetch=FetchSettings(**settings))[1]
    return await call_tool(tool, EmptyBench(follows=follows), url=url, start=start)


def answering(body: bytes | str, media_type: str = "text/html", status: int = 200, **headers: str) -> Any:
    async def handler(_request: web.Request) -> web.Response:
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(body=raw, status=status, headers={"Content-Type": media_type, **headers})

    return handler


async def read(body: bytes | str, media_type: str = "text/html; charset=utf-8", **more: Any) -> ToolOutcome:
    async with serving(answering(body, media_type, **more)) as site:
        return await fetch(site.url("/page"), allow_hosts=(site.host,))


async def test_a_page_becomes_text_with_title_address_and_a_warning() -> None:
    async with serving(answering(PAGE)) as site:
        outcome = await fetch(site.url("/tides"), allow_hosts=(site.host,))
    assert not outcome.failed
    lines = outcome.text.splitlines()
    assert lines[0].startswith("Untrusted text from the web")
    assert lines[1] == "Title: Tides of the harbour"
    assert lines[2] == f"Address: {site.url('/tides')}"
    assert PARAGRAPH in outcome.text
    assert f"[table of tides]({site.url('/table')})" in outcome.text
    assert "| 12 | 310 |" in outcome.text
    assert "steal" not in outcome.text
    assert outcome.sources == (site.url("/tides"),)


@pytest.mark.parametrize("media_type", ["text/plain", "application/json", "text/markdown", "application/atom+xml"])
async def test_plain_texts_come_as_they_are(media_type: str) -> None:
    outcome = await read('{"tide": 4872}', media_type)
    assert '{"tide": 4872}' in outcome.text
    assert not outcome.failed


async def test_charsets_are_read_and_unseen_characters_dropped() -> None:
    assert "Käse" in (await read("Käse".encode("latin-1"), "text/plain; charset=iso-8859-1")).text
    assert "Käse" in (await read("Käse", "text/plain; charset=no-such")).text
    assert "base64" in (await read("base64", "text/plain; charset=base64")).text
    head, body = "<meta charset=iso-8859-1><title>Café</title>", "Déjà vu, voilà. " * 30
    page = f"<html><head>{head}</head><body><p>{body}</p></body></html>"
    told = await read(page.encode("latin-1"), "text/html")
    assert "Title: Café" in told.text
    assert "Déjà vu, voilà." in told.text
    hidden = "a\u200bb\u202ec\U000e0041d\x00e"
    assert "abcde" in (await read(hidden, "text/plain")).text


async def test_a_charset_that_takes_minutes_to_read_is_none() -> None:
    slow = b"a" * 200_000 + b"-" + b"zz9" * 200_000
    assert (await read(slow, "text/plain; charset=punycode")).text
    assert (await read(b"<html><meta charset=punycode><p>" + slow, "text/html")).text


@pytest.mark.parametrize(
    ("body", "media_type", "status", "expected_words"),
    [
        ("%PDF-1.7", "application/pdf", 200, "a PDF, which cannot be read here"),
        ("x", "image/png", 200, "leads to image/png"),
        ("x", "application/octet-stream", 200, "not to a page of text"),
        ("gone", "text/html", 404, "The page answered 404 (Not Found)."),
        ("<html><body><script>app()</script></body></html>", "text/html", 200, "no readable text"),
    ],
)
async def test_what_is_no_page_of_text_is_told(body: str, media_type: str, status: int, expected_words: str) -> None:
    outcome = await read(body, media_type, status=status)
    assert outcome.failed
    assert expected_words in outcome.text


async def test_a_long_page_is_read_in_parts() -> None:
    text = "".join(f"line {number:05}\n" for number in range(2_000))
    async with serving(answering(text, "text/plain")) as site:
        first = await fetch(site.url(), allow_hosts=(site.host,))
        second = await fetch(site.url(), 10_000, allow_hosts=(site.host,))
        beyond = await fetch(site.url(), 99_999, allow_hosts=(site.host,))
    assert "[characters 0 to 10,000 of 21,999; call again with start=10000 to read on]" in first.text
    assert "line 00000" in first.text
    assert "[characters 10,000 to 20,000 of 21,999" in second.text
    assert "line 01000" in second.text
    assert "line 00000" not in second.text
    assert beyond.failed


async def test_redirects_are_followed_where_they_may_be_and_not_for_ever() -> None:
    leads = {"/old": "new?x=1", "/open": "https://evil.example/?d=salaries", "/again": "/again"}

    async def handler(request: web.Request) -> web.Response:
        if request.path in leads:
            raise web.HTTPFound(leads[request.path])
        return web.Response(text="here now", content_type="text/plain")

    async with serving(handler) as site:
        followed = await fetch(site.url("/old"), allow_hosts=(site.host,))
        refused = await fetch(site.url("/open"), follows=False, allow_hosts=(site.host,))
        circle = await fetch(site.url("/again"), allow_hosts=(site.host,))
    assert f"Address: {site.url('/new?x=1')}" in followed.text
    assert refused.failed
    assert refused.text.startswith("The page redirects to https://evil.example/?d=salaries, which was not opened.")
    assert circle.text == "The page redirects more than 5 times, so it was not read."
    assert site.seen_paths == ["/old", "/new?x=1", "/open", *["/again"] * 6]


def loopback_forms(site: Site) -> list[str]:
    port = site.port
    forms = [
        "localhost", "localhost.", "127.0.0.1", "127.1", "127.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
        "0.0.0.0", "[::]", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.2",  # noqa: S104  # asked for, not bound
        "①②⑦.⓪.⓪.①", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", socket.gethostname(),
    ]  # fmt: skip
    return [f"http://{form}:{port}/" for form in forms] + [
        f"http://example.com@127.0.0.1:{port}/", f"http://127.0.0.1:{port}#@example.com/",
        f"http:\\\\127.0.0.1:{port}\\", f"//127.0.0.1:{port}/", f"http://127.0.0.1:{port}\t/", f" http://127.0.0.1:{port}/",
    ]  # fmt: skip


async def test_nothing_local_is_reached_however_it_is_written() -> None:
    """The port is allowed, so that only the address stands in the way."""
    async with serving(answering("secret", "text/plain")) as site:
        for url in loopback_forms(site):
            outcome = await fetch(url, timeout=5.0, allow_hosts=(f"192.0.2.1:{site.port}",))
            assert outcome.failed, url
            assert "secret" not in outcome.text, url
        assert site.seen_paths == []


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://2852039166/", "http://0xa9fea9fe/",
        "http://[::ffff:169.254.169.254]/", "http://168.63.129.16/", "http://[::ffff:168.63.129.16]/",
        "http://[64:ff9b::a83f:8110]/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/",
        "http://100.64.0.1/", "http://[fe80::1]/", "http://[fc00::1]/", "http://224.0.0.1/", "http://255.255.255.255/",
        "file:///etc/passwd", "ftp://192.0.2.1/", "gopher://127.0.0.1:6379/_INFO", "data:text/plain,secret",
        "javascript:alert(1)", "http://8.8.8.8:22/", "https://8.8.8.8:8443/", "http://user:pw@8.8.8.8/",
        "http://", "nonsense", "http://exa mple.com/", "http://" + "a" * 300 + ".com/",
    ],
)  # fmt: skip
async def test_addresses_schemes_and_ports_that_are_not_the_public_web_are_refused(url: str) -> None:
    outcome = await fetch(url, timeout=5.0)
    assert outcome.failed
    assert outcome.text.startswith("This address may not be fetched: ")


async def test_a_redirect_to_what_is_local_is_refused() -> None:
    goals = ["http://127.0.0.2:{port}/", "http://127.0.0.3/", "http://[::1]:{port}/", "http://169.254.169.254/",
             "http://168.63.129.16/", "file:///etc/passwd", "//127.0.0.2:{port}/"]  # fmt: skip

    async def handler(request: web.Request) -> web.Response:
        if request.path == "/":
            raise web.HTTPFound(goals[int(request.query["to"])].format(port=request.url.port))
        return web.Response(text="secret")

    async with serving(handler) as site:
        for number, goal in enumerate(goals):
            outcome = await fetch(site.url(f"/?to={number}"), timeout=5.0, allow_hosts=(site.host,))
            assert outcome.failed, goal
            assert outcome.text.startswith("This address may not be fetched: "), goal
        assert site.seen_paths == [f"/?to={number}" for number in range(len(goals))]


async def test_a_name_that_leads_to_what_is_local_is_refused() -> None:
    def resolver(_host: str, port: int, **_options: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", port))]

    def half(_host: str, port: int, **_options: Any) -> list[Any]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, ("93.184.216.34", port)), (*kind, ("10.0.0.1", port))]

    for answers in (resolver, half):
        outcome = await fetch("http://innocent.example/", resolver=answers)
        assert outcome.failed
        assert outcome.text.startswith("This address may not be fetched: ")


async def test_a_name_is_looked_up_once_and_that_address_is_used() -> None:
    asked = []

    async with serving(answering("pinned", "text/plain")) as site:

        def resolver(host: str, port: int, **_options: Any) -> list[Any]:
            asked.append(host)
            address = "127.0.0.1" if len(asked) == 1 else "127.0.0.2"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        url = f"http://moving.example:{site.port}/"
        outcome = await fetch(url, resolver=resolver, allow_hosts=(site.host,))
    assert "pinned" in outcome.text
    assert asked == ["moving.example"]


async def test_a_name_server_that_hangs_does_not_hold_the_fetch() -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def resolver(*_: Any, **_options: Any) -> list[Any]:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(patience(600))
        return []

    outcome = await fetch("http://slow.example/", resolver=resolver, timeout=0.2)
    release.set()
    assert outcome.text == "The page took longer than 0.2 s, so it was not read."


async def test_a_gzip_bomb_is_cut_at_the_limit() -> None:
    squeezer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(squeezer.compress(b"a" * 1_000_000) for _ in range(200)) + squeezer.flush()
    await read("what reads a text is loaded", "text/plain")
    before = _peak()
    outcome = await read(bomb, "text/plain", **{"Content-Encoding": "gzip"})
    assert _peak() - before < 60_000_000
    assert outcome.text.endswith("[the page is larger than the limit; its end is missing]")


async def test_gzip_is_read_and_other_encodings_are_not() -> None:
    assert "squeezed" in (await read(gzip.compress(b"squeezed"), "text/plain", **{"Content-Encoding": "gzip"})).text
    two, padding = gzip.compress(b"squeezed ") + gzip.compress(b"twice"), b"\0" * 512
    assert "squeezed twice" in (await read(two + padding, "text/plain", **{"Content-Encoding": "gzip"})).text
    outcome = await read(b"anything", "text/plain", **{"Content-Encoding": "br"})
    assert outcome.text == "The page comes in an encoding that was not asked for (br)."
    assert (await read(b"no gzip", "text/plain", **{"Content-Encoding": "gzip"})).failed


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    while request.transport is not None:
        await response.write(b"drip ")
        await asyncio.sleep(0.01)
    return response


async def test_a_page_that_never_ends_is_left() -> None:
    async with serving(endless) as site:
        outcome = await fetch(site.url(), timeout=0.5, allow_hosts=(site.host,))
    assert outcome.text == "The page took longer than 0.5 s, so it was not read."


async def test_a_fast_endless_page_is_cut() -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        while request.transport is not None:
            await response.write(b"x" * 65_536)
        return response

    async with serving(flood) as site:
        outcome = await fetch(site.url(), allow_hosts=(site.host,))
    assert outcome.text.endswith("its end is missing]")


async def test_a_server_that_is_not_there_or_hangs_up_is_a_clear_failure() -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport
        request.transport.close()
        return web.Response()

    async with serving(hang_up) as site:
        assert "The page cannot be reached" in (await fetch(site.url(), allow_hosts=(site.host,))).text
    assert "The page cannot be reached" in (await fetch(site.url(), allow_hosts=(site.host,))).text


async def test_without_its_extra_the_tool_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    outcome = await fetch("https://example.com/")
    assert outcome.failed
    assert "pip install 'leadhand[web]'" in outcome.text


def _peak() -> int:
    import resource  # noqa: PLC0415  # POSIX only

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
