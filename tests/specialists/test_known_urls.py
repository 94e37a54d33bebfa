"""Known URLs are found however they are spelt; what names a host; which queries are in the requester's own words."""

from __future__ import annotations

import math
from itertools import product
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specialists.turns.known_urls import KnownUrls, extract_host, extract_site, find_urls_and_domains
from specialists.turns.requester_words import KIND_BITS, BitBudget, find_free_words

GIVEN_URL = "https://a.example/wiki/Sea_(north)/x-1?q=tide%20table&page=2"


def make_known_urls(*urls: str) -> KnownUrls:
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


@settings(max_examples=50)
@given(spellings())
def test_for_any_spelling_what_goes_on_the_wire_is_what_was_given(url: str) -> None:
    assert make_known_urls(GIVEN_URL, "https://a.example/other").find_known_spelling(url) == GIVEN_URL


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
    there = make_known_urls("https://a.example/x").find_known_spelling(url)
    assert there is None or (place == "path" and words.strip("/") == "x")


@pytest.mark.parametrize(
    "host", ["straße.example", "a\u3002example", "\uff41.example", "x" * 64 + ".example", "a\u200d.example"]
)
def test_a_host_that_can_be_read_in_several_ways_is_none(host: str) -> None:
    assert extract_host(f"https://{host}/x") == ""


def test_a_url_without_its_query_is_the_known_one_with_it() -> None:
    there = make_known_urls("https://a.example/x?d=1", "https://a.example/x?d=2")
    assert there.find_known_spelling("https://a.example/x") == "https://a.example/x?d=1"
    assert there.find_known_spelling("https://a.example/x?d=2") == "https://a.example/x?d=2"
    assert there.find_known_spelling("https://a.example/x?d=3") is None


@pytest.mark.parametrize(
    "text",
    [
        *("notes.md", "main.rs", "report.zip", "setup.py", "build.sh", "node.js", "e.g", "u.s", "3.11", "e.g."),
        *("U.S.A.", "docs/setup.py", "report.zip/sales.csv", "node.js/express", "bob@acme.example", "v1.2.3", "x."),
        *("Python 3.11.7", "p.m.", "README.md, main.go", "C:\\data\\acme.com", "run ./acme.com", "src/lib.rs/x"),
    ],
)
def test_a_file_an_abbreviation_or_a_number_names_nothing(text: str) -> None:
    assert find_urls_and_domains(text) == set()


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
    found = find_urls_and_domains(text)
    assert url in found
    assert {extract_host(one) for one in found} == {host}


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
    assert extract_site(host) == site


REQUEST_TEXTS = ("What does Copper cost per tonne in Q3? Compare C++ and node.js, please.", "don't hurry")


@pytest.mark.parametrize(
    ("query", "sent_query"),
    [
        ("copper COST per tonne", "Copper cost per tonne"),
        ("  tonne,,cost?!  ", "tonne cost"),
        ("c++ node.js", "C++ node.js"),
        ("js node", "js node"),
        ("don't compare", "don't Compare"),
        ("cost\u200bper", "cost per"),
    ],
)
def test_a_query_goes_out_in_the_requesters_spelling(query: str, sent_query: str) -> None:
    found = find_free_words(query, REQUEST_TEXTS)
    assert found.text == sent_query


@pytest.mark.parametrize("query", ["copper price", "184200", "copper cost salaries", "", "?!", "c\u043epper"])
def test_a_word_that_the_requester_did_not_write_is_not_free(query: str) -> None:
    assert find_free_words(query, REQUEST_TEXTS) is None


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["copper", "COST", "per", "tonne", "please"]), min_size=1, max_size=6), st.data())
def test_nothing_of_the_models_spelling_is_left(words: list[str], data: st.DataObject) -> None:
    odd = ["".join(data.draw(st.sampled_from([one.upper(), one.lower()])) for one in word) for word in words]
    glue = data.draw(st.sampled_from([" ", "  ", ", ", " - ", '" "']))
    plain, other = find_free_words(" ".join(words), REQUEST_TEXTS), find_free_words(glue.join(odd), REQUEST_TEXTS)
    assert plain is not None
    assert other == plain


def test_as_many_bits_are_counted_as_choosing_can_say() -> None:
    """All queries that cost at most so many bits are no more than these bits can number."""
    said = ("one two three",)
    series = [words for size in range(1, 6) for words in product(said[0].split(), repeat=size)]
    queries = [find_free_words(" ".join(words), said) for words in series]
    for limit in range(2, 12):
        cheap = [one for one in queries if one is not None and one.bits + KIND_BITS <= limit]
        assert len(cheap) <= 2**limit
    phrase, mixed = find_free_words("two three", said), find_free_words("three two", said)
    assert phrase.bits == pytest.approx(math.log2(6))
    assert mixed.bits == pytest.approx(2 * math.log2(6))


def test_what_was_spent_is_gone() -> None:
    budget = BitBudget(64.0)
    spent = 0
    while budget.spend(10.0):
        spent += 1
    assert spent == int((64 - KIND_BITS) // (10 + KIND_BITS)) == 5
    assert budget.spend(0.0)
