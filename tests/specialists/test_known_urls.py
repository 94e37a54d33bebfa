"""Known URLs are found however they are spelt, and are asked for as they were given; and what names a host."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specialists.turns.known_urls import KnownUrls, find_urls, host_of, site_of

GIVEN = "https://a.example/wiki/Sea_(north)/x-1?q=tide%20table&page=2"


def known(*urls: str) -> KnownUrls:
    found = KnownUrls()
    for url in urls:
        found.add(url)
    return found


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """Any spelling of the given URL that asks for the same."""
    scheme = draw(st.sampled_from(["https", "http", "HTTPS", "hTTp"]))
    host = "".join(draw(st.sampled_from([one, one.upper()])) for one in "a.example")
    port = draw(st.sampled_from(["", ":443" if scheme.lower() == "https" else ":80"]))
    encoded = [draw(st.sampled_from([one, f"%{ord(one):02x}", f"%{ord(one):02X}"])) for one in "wiki/Sea_(north)/x-1"]
    query = [draw(st.sampled_from([quote(one, safe="=&"), f"%{ord(one):02X}"])) for one in "q=tide table&page=2"]
    slashes = "/" * draw(st.integers(0, 3))
    fragment = draw(st.sampled_from(["", "#", "#salary-184200"]))
    www = draw(st.sampled_from(["", "www.", "WWW."]))
    return f"{scheme}://{www}{host}{port}/{''.join(encoded)}{slashes}?{''.join(query)}{fragment}"


@given(spellings())
def test_for_any_spelling_what_goes_on_the_wire_is_what_was_given(url: str) -> None:
    assert known(GIVEN, "https://a.example/other").find_given(url) == GIVEN


@given(st.text(min_size=1, max_size=60), st.sampled_from(["path", "query", "host", "user", "port"]))
def test_what_says_anything_more_is_not_known(words: str, place: str) -> None:
    told = quote(words, safe="")
    url = {
        "path": f"https://a.example/{told}",
        "query": f"https://a.example/x?d={told}",
        "host": f"https://d{words.encode().hex()[:50]}.a.example/x",
        "user": f"https://u{told}@a.example/x",
        "port": f"https://a.example:{1000 + len(words)}/x",
    }[place]
    there = known("https://a.example/x").find_given(url)
    assert there is None or (place == "path" and words.strip("/") == "x")


@pytest.mark.parametrize(
    "host", ["straße.example", "a\u3002example", "\uff41.example", "x" * 64 + ".example", "a\u200d.example"]
)
def test_a_host_that_can_be_read_in_several_ways_is_none(host: str) -> None:
    assert host_of(f"https://{host}/x") == ""


def test_a_url_without_its_query_is_the_known_one_with_it() -> None:
    there = known("https://a.example/x?d=1", "https://a.example/x?d=2")
    assert there.find_given("https://a.example/x") == "https://a.example/x?d=1"
    assert there.find_given("https://a.example/x?d=2") == "https://a.example/x?d=2"
    assert there.find_given("https://a.example/x?d=3") is None


@pytest.mark.parametrize(
    "text",
    [
        *("notes.md", "main.rs", "report.zip", "setup.py", "build.sh", "node.js", "e.g", "u.s", "3.11", "e.g."),
        *("U.S.A.", "docs/setup.py", "report.zip/sales.csv", "node.js/express", "bob@acme.example", "v1.2.3", "x."),
        *("Python 3.11.7", "p.m.", "README.md, main.go", "C:\\data\\acme.com", "run ./acme.com", "src/lib.rs/x"),
    ],
)
def test_a_file_an_abbreviation_or_a_number_names_nothing(text: str) -> None:
    assert find_urls(text) == set()


@pytest.mark.parametrize(
    ("text", "host", "url"),
    [
        ("see acme.com", "acme.com", "https://acme.com"),
        ("(https://www.acme.com/x).", "acme.com", "https://www.acme.com/x"),
        ("acme.com/prices, please", "acme.com", "https://acme.com/prices"),
        ("docs.rs/serde", "docs.rs", "https://docs.rs/serde"),
        ("https://notes.md/", "notes.md", "https://notes.md/"),
        ("http://127.0.0.1:8000/x", "127.0.0.1:8000", "http://127.0.0.1:8000/x"),
        ("Acme.co.uk: what do they sell?", "acme.co.uk", "https://Acme.co.uk"),
        ("bücher.example/neu", "xn--bcher-kva.example", "https://bücher.example/neu"),
    ],
)
def test_a_person_names_a_host_by_writing_an_address(text: str, host: str, url: str) -> None:
    found = find_urls(text)
    assert url in found
    assert {host_of(one) for one in found} == {host}


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("a.example", "a.example"),
        ("x.y.a.example:8443", "a.example"),
        ("x.acme.co.uk", "acme.co.uk"),
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_hosts_of_one_owner_are_one_site(host: str, site: str) -> None:
    assert site_of(host) == site
