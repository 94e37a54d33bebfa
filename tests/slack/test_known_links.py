"""Addresses that somebody gave word for word are links; all others are none, whatever their label says."""

import html
import re
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from bot.slack.text.cleaning import clean_markdown, clean_mrkdwn

DOCS = "https://docs.python.org/3/"
JSON = "https://docs.python.org/3/library/json.html#json.dumps"
WIKI = "https://en.wikipedia.org/wiki/Python_(film)"
QUERY = "https://shop.example.com/s?q=tea&page=2"
KNOWN_ADDRESSES = frozenset(
    {DOCS, JSON, WIKI, QUERY, f"{DOCS}_x_", "https://xn--evl-ipa.com/", "https://good.com@evil.com/", "https://a.com./"}
)


@pytest.mark.parametrize(
    ("text", "markdown", "mrkdwn"),
    [
        (f"[docs]({DOCS})", f"[docs]({DOCS})", f"<{DOCS}|docs>"),
        (f"[the *docs*]({DOCS})", f"[the *docs*]({DOCS})", f"<{DOCS}|the *docs*>"),
        (f"See {DOCS}.", f"See [{DOCS}]({DOCS}).", f"See <{DOCS}>."),
        (f"(see {DOCS})", f"(see [{DOCS}]({DOCS}))", f"(see <{DOCS}>)"),
        (f"**{DOCS}**", f"**[{DOCS}]({DOCS})**", f"**<{DOCS}>**"),
        (f'"{DOCS}", said she', f'"[{DOCS}]({DOCS})", said she', f'"<{DOCS}>", said she'),
        (f"<{DOCS}>", f"[{DOCS}]({DOCS})", f"<{DOCS}>"),
        (f"<{DOCS}> and <b>", f"[{DOCS}]({DOCS}) and &lt;b&gt;", f"<{DOCS}> and &lt;b&gt;"),
        (f"[{DOCS}]({DOCS})", f"[{DOCS}]({DOCS})", f"<{DOCS}>"),
        (f"[docs.python.org]({DOCS})", f"[docs.python.org]({DOCS})", f"<{DOCS}|docs.python.org>"),
        (f"[json.dumps]({JSON})", f"[json.dumps]({JSON})", f"<{JSON}|json.dumps>"),
        (QUERY, f"[{QUERY.replace('&', '&amp;')}]({QUERY})", f"<{QUERY.replace('&', '&amp;')}>"),
        (f"[tea]({QUERY})", f"[tea]({QUERY})", f"<{QUERY.replace('&', '&amp;')}|tea>"),
        (WIKI, f"[{WIKI}](https://en.wikipedia.org/wiki/Python_%28film%29)", f"<{WIKI}>"),
        (f"[film]({WIKI})", "[film](https://en.wikipedia.org/wiki/Python_%28film%29)", f"<{WIKI}|film>"),
        (WIKI.replace("_", r"\_"), f"[{WIKI}](https://en.wikipedia.org/wiki/Python_%28film%29)", f"<{WIKI}>"),
        ("https://docs.python.org/3/_x_", "[https://docs.python.org/3/\\_x_](https://docs.python.org/3/_x_)", None),
        (f"| {DOCS} | x |", f"| [{DOCS}]({DOCS}) | x |", f"| <{DOCS}> | x |"),
        (f"{DOCS}を見る", f"[{DOCS}]({DOCS})を見る", f"<{DOCS}>を見る"),
    ],
)
def test_a_known_address_is_a_link(text: str, markdown: str, mrkdwn: str | None) -> None:
    assert clean_markdown(text, known_addresses=KNOWN_ADDRESSES) == markdown
    assert clean_mrkdwn(text, known_addresses=KNOWN_ADDRESSES) == (mrkdwn or f"<{text}>")


@pytest.mark.parametrize(
    "text",
    [
        "https://docs.python.org/3",  # less than what was said
        "https://docs.python.org/3/?d=SECRET",
        "https://docs.python.org/3/SECRET",
        "https://docs.python.org/%33/",
        "https://docs.python.org/3/#SECRET",
        "http://docs.python.org/3/",
        "https://docs.python.org:443/3/",
        "https://DOCS.python.org/3/",
        "https://docs.python.org./3/",
        "https://docs.python.org/3/é",
        "https://user@docs.python.org/3/",
        "https://shop.example.com/s?page=2&q=tea",
        "https://xn--evl-ipa.com/",  # known, and still no link: nobody sees which letters these are
        "https://good.com@evil.com/",
        "https://a.com./",
    ],
)
def test_what_is_not_known_word_for_word_is_no_link(text: str) -> None:
    for whole in (text, f"[docs]({text})", f"<{text}>", f"![docs]({text})"):
        assert "](" not in clean_markdown(whole, known_addresses=KNOWN_ADDRESSES), whole
        assert not re.search("<[^!@#]", clean_mrkdwn(whole, known_addresses=KNOWN_ADDRESSES)), whole


@pytest.mark.parametrize(
    "label",
    [
        "bank.com",
        "https://bank.com/login",
        "the **bank**.com",
        "bank . com",
        "bank\\.com",
        "bank%2Ecom",
        "bank\uff0ecom",
        "bank\u3002com",
        "bank\u200b.com",
        "b\u0430nk.com",  # a Cyrillic letter
        "info@bank.com",
        "docs.python.org.bank.com",
        "www.docs.python.org/3/",
        "docs.python.org/4/",
    ],
)
def test_a_label_that_looks_like_another_address_does_not_hide_where_it_goes(label: str) -> None:
    done = clean_markdown(f"[{label}]({DOCS})", known_addresses=KNOWN_ADDRESSES)
    assert done.endswith(f" ([{DOCS}]({DOCS}))")
    assert clean_mrkdwn(f"[{label}]({DOCS})", known_addresses=KNOWN_ADDRESSES).endswith(f" (<{DOCS}>)")


def test_no_link_is_an_image_and_none_is_escaped() -> None:
    for text in (f"![x]({DOCS})", f"!![x]({DOCS})", f"!{DOCS}", f"!<{DOCS}>", f"Wow!![x]({DOCS})"):
        done = clean_markdown(text, known_addresses=KNOWN_ADDRESSES)
        assert f"]({DOCS})" in done
        assert "![" not in done
    assert clean_markdown(f"[x\\]({DOCS})", known_addresses=KNOWN_ADDRESSES) == f"[x]({DOCS})"
    assert clean_markdown(f"\\{DOCS}", known_addresses=KNOWN_ADDRESSES) == f"\\ [{DOCS}]({DOCS})"


@pytest.mark.parametrize(
    "prose",
    [
        "Call requests.get(url) and then response.json() on it.",
        "Use os.path.join(a, b), np.array([1, 2]) and df.groupby(x).",
        "Both sales.xlsx and notes.docx are there; so are app.js and index.html.",
        "Version 3.11.2 of it, e.g. in section 4.2.",
    ],
)
def test_code_in_prose_stays_as_it_was(prose: str) -> None:
    assert clean_markdown(prose) == prose
    assert clean_markdown(prose, known_addresses=KNOWN_ADDRESSES) == prose


@pytest.mark.parametrize(
    "address",
    [
        "evil.com",
        "evil.md",
        "evil.zip",
        "www.evil.get",
        "evil.get/x",
        "evil.get:80/x",
        "a@evil.get",
        "evil.рф",
        "1.2.3.4/S",
    ],
)
def test_whatever_a_reader_may_link_is_code(address: str) -> None:
    assert clean_markdown(f"See {address} now") == f"See `{address}` now"


def test_an_address_of_numbers_in_brackets_loses_its_scheme_to_code() -> None:
    assert clean_markdown("See http://[2001:db8::1]/?d=S now").startswith("See `http://`[")


MARKS = ("[", "]", "(", ")", "](", "][", "!", "\\", "`", "```\n", "~~~\n", "|", "*", "**", "_", "~", "&amp;", "&", "#")
PIECES = st.sampled_from(
    [
        *(
            *KNOWN_ADDRESSES,
            *MARKS,
            "https://evil.com/?d=1",
            "https://docs.python.org",
            "/3/",
            "evil.com",
            "http",
            "s://",
        ),
        *("[docs](", f"[docs]({DOCS})", f"[bank.com]({JSON})", f"![x]({DOCS})", f"<{QUERY}>", f"[`a`]({DOCS})"),
        *(" ", "\n", "\n\n", "- ", "> ", "é", "を", "\u200b", '"', "'", ":", ".", ",", "x", "[1]: ", "    "),
        *("<https://", ">"),
    ]
)


@settings(max_examples=180, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
@example(f"!{DOCS}")
@example(f"[x\\]({DOCS})")
@example(f"[a]({DOCS}\n[b](https://evil.com)")
def test_a_reader_of_markdown_finds_known_links_only_and_no_picture(text: str) -> None:
    tree = SyntaxTreeNode(
        MarkdownIt("commonmark").enable("table").parse(clean_markdown(text, known_addresses=KNOWN_ADDRESSES))
    )
    targets = [unquote(str(node.attrs["href"])) for node in tree.walk() if node.type == "link"]
    assert {*targets} <= KNOWN_ADDRESSES
    assert not [node for node in tree.walk() if node.type in {"image", "html_inline", "html_block"}]


@settings(max_examples=90, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_a_reader_of_mrkdwn_finds_known_links_only(text: str) -> None:
    done = clean_mrkdwn(text, known_addresses=KNOWN_ADDRESSES)
    targets = [html.unescape(found) for found in re.findall(r"<([^>|]*)(?:\|[^>]*)?>", done)]
    assert {*targets} <= KNOWN_ADDRESSES
    assert done.count("<") == len(targets)
