"""Outgoing text: what a hostile text must not do in a channel."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.slack.text.cleaning import StreamCleaner, clean_markdown, clean_mrkdwn, render_mention, to_plain_line
from bot.slack.text.stream_cleaner import Markup
from handoff.text.invisible_characters import remove_invisible

Cleaner = Callable[[str], str]

HOSTILE = [
    "<!channel> <!here> <!everyone> <!subteam^S123|x> <!date^1^x|y>",
    "<@U0123ABCD> <#C0123|general>",
    "&lt;!channel&gt; &#60;!here&#62;",
    "[click](https://evil.com/x) ![pixel](https://evil.com/p.png)",
    "[click]( <https://evil.com/x> 'title')",
    "[![a](https://evil.com/a.png)](https://evil.com)",
    "[a][1]\n\n[1]: https://evil.com\n[2]:\nhttps://evil.com",
    "[a]\\\n(https://evil.com) [a\\](https://evil.com) [[a]](https://evil.com)",
    "<https://evil.com|good.com> <mailto:a@evil.com|x> <a href='https://evil.com'>x</a>",
    "evil.com www.evil.com EVIL.COM evil.com/path evil.com:8080 a@evil.com //evil.com",
    "ev\u200bil.com evil\u00ad.com \u202emoc.live\u202c evil.com\U000e0041\U000e0042",
    "evil\\.com https\\://evil.com https:\\/\\/evil.com",
    "`https://evil.com\n` https://evil.com `",
    "\\`https://evil.com\\` \\\\`https://evil.com`",
    "``https://evil.com` https://evil.com",
    "a`https://evil.com`b `a`https://evil.com`b`",
    "> ```\n> x\nhttps://evil.com <!channel>\n> ```\nhttps://evil.com",
    "- ```\n  x\n  ```\nhttps://evil.com",
    "~~~\n```\n~~~\nhttps://evil.com <!here>\n```",
    "````\n```\n````\nhttps://evil.com",
    "```\n<!channel> <@U123>\n",
    "<br>~~~\n```\n~~~\nhttps://evil.com\n```",
    "~~~`\n```\n~~~\nhttps://evil.com\n```",
    "x ~~" + "~" * 3000 + "x\n<br>~" + "~" * 998 + "!~~",
    "x.co:1evil.com tel:1evil.com evil.com:80evil.com",
    "|a|b|\n|-|-|\n|`x | https://evil.com`|y|",
    "@channel @here @everyone",
    "https://good.com!.evil.com https://good.com@evil.com https://good.com\\@evil.com https://good.com.evil.com",
    "https://evil.com#good.com https://evil.com?good.com javascript:alert(1) data:text/html,x",
    "[good.com](https://evil.com) [https://good.com](https://good.com@evil.com/)",
    '**https://evil.com** _evil.com_ ~evil.com~ (evil.com) "evil.com"',
    "http://xn--evl-ipa.com xn--evl-ipa.com evil.xn--p1ai пример.рф",
    "https://good.com/evil.com https://good.com?u=https://evil.com https://good.com%2eevil.com https://good.com%2f@evil.com",
    "https://good.com./evil.com https://evil.com./ https://good.com:443@evil.com https://good.com:x@evil.com/",
    "<https://good.com@evil.com> <https://good.com|https://evil.com> <https://evil.com|https://good.com>",
    "[good.com](https://evil.com/https://good.com) [x](https://good.com\n.evil.com) [x](https://good.com/\\@evil.com)",
    "https://good.com\u200b.evil.com https://good.com\u3002evil.com https://good.com\uff0eevil.com",
    "http://evil.com.:80/ evil.com./x www.evil.newtld",
]
DOCS = "https://good.com/"
KNOWN_ADDRESSES = frozenset({"https://good.com", DOCS, "https://good.com/a_b?c=1&d=2", "http://good.com/(x)"})
CODE = re.compile(r"^```[^`\n]*\n.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
CONTROL = re.compile(r"<[!@#]")


def outside_code(text: str) -> str:
    """What a reader shows as text that only knows ``` on lines of its own and `code` within a line."""
    return CODE.sub(" ", text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("cleaner", [clean_mrkdwn, clean_markdown])
def test_hostile_text_neither_pings_nor_links(text: str, cleaner: Cleaner) -> None:
    done = cleaner(text)
    assert not CONTROL.search(done)
    bare = outside_code(done)
    assert "<" not in bare
    assert "~~~" not in bare
    assert "evil" not in bare or not re.search(r"evil\w*[\\]?\.com|://", bare), bare
    assert "](" not in bare
    assert "]:" not in bare or cleaner is clean_mrkdwn
    assert not re.search(r"@(channel|here|everyone)", bare)
    assert remove_invisible(done) == done


@pytest.mark.parametrize("text", HOSTILE)
def test_allowing_one_host_frees_no_other(text: str) -> None:
    for done in (
        clean_markdown(text, known_addresses=KNOWN_ADDRESSES),
        clean_mrkdwn(text, known_addresses=KNOWN_ADDRESSES),
    ):
        bare = outside_code(done)
        targets = re.findall(r"\]\(([^)]*)\)", bare) + re.findall(r"<([^>|]*)", bare)
        assert set(targets) <= KNOWN_ADDRESSES
        assert not re.search(r"evil\w*\.com", bare), bare


@pytest.mark.parametrize(
    "address", ["1.2.3.4", "10.0.0.1:8080", "1.2.3.4/S", "2001:db8::1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8"]
)
@pytest.mark.parametrize("form", ["see {} now", "http://[{}]/?d=S", "({})", "{}."])
def test_an_address_in_numbers_is_code_like_one_with_a_name(address: str, form: str) -> None:
    for cleaned in (clean_mrkdwn(form.format(address)), clean_markdown(form.format(address))):
        assert f"`{address}`" in cleaned, cleaned


@pytest.mark.parametrize("text", ["at 12:30:45", "std::vector", "300.1.2.3", "version 1.2.3", "1.2.3.4.5", "a::z"])
def test_what_only_looks_like_an_address_in_numbers_stays_text(text: str) -> None:
    assert clean_markdown(text) == text


def test_code_beside_an_underscore_is_code_in_mrkdwn() -> None:
    assert clean_mrkdwn("_`x`_") == "_ `x` _"


def test_the_host_stays_visible() -> None:
    assert clean_mrkdwn("[click here](https://evil.com/very/long)") == "click here (`https://evil.com/very/long`)"
    assert clean_markdown("See https://evil.com/a_b?c=1&d=2.") == "See `https://evil.com/a_b?c=1&d=2`."
    assert clean_markdown("[https://evil.com](https://evil.com)") == "`https://evil.com`"
    assert clean_markdown("![chart](https://evil.com/p.png)") == "chart (`https://evil.com/p.png`)"


def test_a_call_to_everybody_is_told_and_not_made() -> None:
    assert clean_markdown("Ask @here, not @hereabouts.") == "Ask `@here`, not @hereabouts."
    assert clean_mrkdwn("x@channel") == "x `@channel`"


def test_code_stands_apart_from_what_is_before_it() -> None:
    assert clean_mrkdwn("a[good.com](https://evil.com)") == "a `good.com` (`https://evil.com`)"
    assert clean_markdown("`x`[`y`](https://evil.com)") == "`x` `y` (`https://evil.com`)"


def test_markdown_keeps_its_form() -> None:
    text = (
        "# Sales\n\n> a quote\n> > nested\n\n- **up** by 3.5 %\n  1. _twice_\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```python\nif a < b and c > d: print(a & b)\n```\n\nUse `a < b` here."
    )
    assert clean_markdown(text) == text


def test_special_characters_are_escaped_for_each_target() -> None:
    assert clean_markdown("a < b > c & d") == "a &lt; b &gt; c &amp; d"
    assert clean_mrkdwn("`a < b & c`") == "`a &lt; b &amp; c`"
    assert clean_markdown("line<br>break") == "line break"


def test_an_unclosed_fence_is_closed() -> None:
    assert clean_markdown("```sql\nselect 1") == "```sql\nselect 1\n```"


def test_a_limit_counts_what_is_sent() -> None:
    assert len(clean_mrkdwn("&" * 1000, limit=300)) <= 300
    assert clean_mrkdwn("short", limit=300) == "short"
    done = clean_markdown("word " * 500 + "`code", limit=100)
    assert len(done) <= 100
    assert done.endswith("…")


def test_mentions_are_built_from_ids_only() -> None:
    assert render_mention("U0123ABCD") == "<@U0123ABCD>"
    assert render_mention("U1> <!channel") == "U1&gt; &lt;!channel"
    assert render_mention("") == ""


def test_plain_text_is_one_harmless_line() -> None:
    assert to_plain_line("a\n\tb <!channel> @here") == "a b \u2039!channel\u203a \uff20here"
    assert to_plain_line("x" * 200, 50) == "x" * 49 + "…"


PIECES = st.sampled_from(
    [
        *HOSTILE,
        *"` [)!<>\\|&é\n\u200b",
        *("```", "``", "~~~", "](", "- ", "1. ", "    ", "x" * 1100, "word"),
        *("https://", "evil.com", "good.com", "<!channel>", "<br>", "@here"),
        *(
            *KNOWN_ADDRESSES,
            "[docs](https://good.com/)",
            "<https://good.com>",
            "_",
            "*",
            "\\_",
            "é",
            "を",
            "[1]: ",
            '"',
            ".",
        ),
        *(
            "[bank.com](https://good.com)",
            "![x](https://good.com/)",
            "[`a`](https://good.com)",
            "http",
            "s://",
            "[docs](",
        ),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=12).map("".join), st.text(alphabet="ab.:/@`~<>&[]()!|\\\n -*_1#\u200b", max_size=60)
)


@settings(max_examples=180, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 2000), max_size=12), st.sampled_from(["markdown", "mrkdwn"]))
def test_a_stream_equals_the_whole_wherever_it_is_cut(text: str, cuts: list[int], target: Markup) -> None:
    whole = StreamCleaner(known_addresses=KNOWN_ADDRESSES, markup=target).clean_whole(text)
    cleaner = StreamCleaner(known_addresses=KNOWN_ADDRESSES, markup=target)
    at = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    pieces = [cleaner.feed(text[start:end]) for start, end in pairwise(at)]
    assert "".join(pieces) + cleaner.finish() == whole


@settings(max_examples=90, deadline=None)
@given(TEXTS, st.sampled_from([clean_mrkdwn, clean_markdown]))
@example("\\](", clean_markdown)
def test_no_text_gets_a_control_sequence_through(text: str, cleaner: Cleaner) -> None:
    done = cleaner(text)
    assert not CONTROL.search(done)
    assert "<" not in outside_code(done)
    assert "](" not in outside_code(done)


def test_a_stream_gives_out_what_is_settled() -> None:
    cleaner = StreamCleaner()
    assert cleaner.feed("Sales rose by 3") == "Sales rose by "
    assert cleaner.feed(" percent, see [the re") == "3 percent, see "
    assert cleaner.feed("port](https://ev") == ""
    assert cleaner.feed("il.com/x) now ") == "the report (`https://evil.com/x`) now "


WORDS = ("a." * 60_000, "[" * 60_000, "`" * 60_000, "](" * 30_000, "<" * 60_000, "x" * 120_000, "![a](" * 20_000)
LINKS = ("https://" * 8_000, "<https://" * 8_000, f"[x]({DOCS}" * 2_000, "https://a" + ")" * 60_000, "http" * 9_000)


@pytest.mark.parametrize(("texts", "kept_share"), [(WORDS, 1 / 3), (LINKS, 0.0)])
def test_a_huge_text_is_cleaned_in_time(texts: tuple[str, ...], kept_share: float) -> None:
    for text in texts:
        assert len(clean_markdown(text, known_addresses=KNOWN_ADDRESSES)) > len(text) * kept_share
