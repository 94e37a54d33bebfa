from typing import Any

import pytest

from bot.workspace.typed_text import make_rich_text


def text(words: str, **style: bool) -> Any:
    return {"type": "text", "text": words, **({"style": style} if style else {})}


def section(*elements: Any, kind: str = "section") -> Any:
    return {"type": f"rich_text_{kind}", "elements": list(elements)}


PLAIN = [
    "2*3*4 and snake_case_name, a ~ b ~ c",
    "* not bold*",
    "at 10:30:20",
    "5 &lt; 6 &amp;&amp; 7 &gt; 6",
    "```",
    "**",
]
MEANT_CASES = [
    ("*bold*", [section(text("bold", bold=True))]),
    ("_*both*_ here", [section(text("both", italic=True, bold=True), text(" here"))]),
    ("~gone~ `*code*`", [section(text("gone", strike=True), text(" "), text("*code*", code=True))]),
    ("hi <@U1>!", [section(text("hi "), {"type": "user", "user_id": "U1"}, text("!"))]),
    ("<#C1>", [section({"type": "channel", "channel_id": "C1"})]),
    ("<!here>", [section({"type": "broadcast", "range": "here"})]),
    ("<https://x.example/?a=1&amp;b=2>", [section({"type": "link", "url": "https://x.example/?a=1&b=2"})]),
    (":tada: :+1:", [section({"type": "emoji", "name": "tada"}, text(" "), {"type": "emoji", "name": "+1"})]),
    ("a\n&gt; b\n&gt; c\nd", [section(text("a")), section(text("b\nc"), kind="quote"), section(text("d"))]),
    (
        "see\n```\nx = *1* &lt; 2\n```\nend",
        [section(text("see")), section(text("x = *1* < 2"), kind="preformatted"), section(text("end"))],
    ),
]


@pytest.mark.parametrize("typed_text", PLAIN)
def test_what_means_nothing_stays_as_it_is(typed_text: str) -> None:
    shown = typed_text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert make_rich_text(typed_text, "b")["elements"] == [section(text(shown))]


@pytest.mark.parametrize(("typed_text", "elements"), MEANT_CASES)
def test_what_people_type_becomes_what_they_meant(typed_text: str, elements: Any) -> None:
    assert make_rich_text(typed_text, "b") == {"type": "rich_text", "block_id": "b", "elements": elements}
