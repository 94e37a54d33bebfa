"""What is sent can be read from an approval's card or its window, all of it and exactly: whatever the arguments are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.features.approvals.view import render_arguments_window, render_edit_window
from bot.slack.views.argument_blocks import FIELD_PREFIX, make_fields, parse_value, read_fields, render_arguments
from bot.workspace.blocks import check_message_blocks, check_view
from handoff.approval_values import compute_call_digest
from handoff.text.invisible_characters import remove_invisible, spell_out, undo_spell_out
from tests.slack.test_approval_views import asking, render_card
from tests.system.scene import buttons, extract_shown_text

PIECES = (
    *"\u0336\u0301\u20e0\u200b\u202e\u2066\ufeff\u00a0\u2003\u2028\u2800\u0000\r\x1b\U000e0041",
    *("[U+200B]", "[57 blank lines]", "[2 spaces]", "[", "]", "[U+005B]", "[3 U+00A0]", '"', "5", "tea", "é"),
    *(one * count for one in (" ", "\n", "\t", "\u00a0", " \n", "\u200b") for count in (1, 4, 5, 17, 60)),
)
LOOKALIKES = ("5", "true", "null", "[]", "{}", "x, y", '["x", "y"]', "", " ", '"tea"', "1e5", "NaN", "-0")
texts = st.one_of(st.text(max_size=12), st.lists(st.sampled_from(PIECES), max_size=5).map("".join))
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.sampled_from(LOOKALIKES),
)
nested_values = st.one_of(plain, st.lists(plain, max_size=3), st.dictionaries(texts, plain, max_size=3))
values = st.one_of(plain, st.lists(nested_values, max_size=3), st.dictionaries(texts, nested_values, max_size=3))
arguments = st.dictionaries(st.one_of(st.sampled_from(["text", "to", "amount"]), texts), values, max_size=6)


def read_from(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Read arguments from blocks as a person does: a name in bold before each, then its text or its pieces."""
    found: dict[str, list[str]] = {}
    name = ""
    for element in (each for block in blocks if block["type"] == "rich_text" for each in block["elements"]):
        bold, plain = _read_element(element)
        if bold:
            name = bold.rsplit(" (", 1)[0] if bold.endswith(" characters):") else bold.rstrip().removesuffix(":")
            found[name] = []
        if plain is not None:
            found[name].append(plain)
    return {_name(label): parse_value("".join(pieces)) for label, pieces in found.items()}


def _read_element(element: dict[str, Any]) -> tuple[str, str | None]:
    texts = element["elements"]
    bold = "".join(one["text"] for one in texts if one.get("style"))
    plain = [one["text"] for one in texts if not one.get("style")]
    return bold, "".join(plain) if plain else None


def _name(label: str) -> str:
    return str(json.loads(undo_spell_out(label))) if label.startswith('"') else label


@settings(max_examples=60, deadline=None)
@given(arguments)
@example({"n": 5, "s": "5", "yes": True, "word": "true", "nothing": None, "none": "null"})
@example({"list": ["x", "y"], "row": "x, y", "empty": [], "object": {}, "text": ""})
@example({"am\u200bount": "5", "amount": "1000000", "amount:\n10 EUR\nto": "mallory", "note\u202eX": "y"})
@example({"text": "a" + "\n" * 58 + "b" + " " * 2_000 + "c", "end": "x\n", "start": " x"})
def test_all_that_is_sent_is_read_back_from_the_card_or_its_window(sent_arguments: dict[str, Any]) -> None:
    blocks, cut = render_arguments(sent_arguments)
    if not cut and sent_arguments:
        assert compute_call_digest("t", read_from(check_message_blocks(blocks))) == compute_call_digest(
            "t", sent_arguments
        )
    _, question = asking(sent_arguments)
    assert question.approval is not None
    window = check_view(render_arguments_window(question.approval)) if sent_arguments else {"blocks": []}
    assert compute_call_digest("t", read_from(window["blocks"])) == compute_call_digest("t", sent_arguments)
    told = extract_shown_text({"blocks": blocks})
    assert remove_invisible(told) == told, "nothing on it hides, or turns round what others say"


@settings(max_examples=60, deadline=None)
@given(texts)
def test_what_is_spelt_out_is_read_back_and_nothing_is_out_of_sight(text: str) -> None:
    told = spell_out(text)
    assert undo_spell_out(told) == text
    assert remove_invisible(told) == told
    assert "\n\n\n\n\n" not in told
    assert " " * 17 not in told


def plainly(one: Any) -> str:
    (block,), _ = render_arguments({"n": one})
    return extract_shown_text({"blocks": [block]})


@pytest.mark.parametrize(
    "group",
    [
        (5, "5", 5.0, "5.0", True, "true", None, "null", 0, False, "", " "),
        ([], {}, "[]", "{}", [[]], [None], [""]),
        (["x", "y"], "x, y", '["x", "y"]', ["x, y"]),
        ("a\u200bb", "a[U+200B]b", "ab", "a\u200cb"),
        ("pay 10", "p\u0336a\u0336y\u0336 10", "pay\u20e0 10", "pay 10" + "\u0301" * 9),
        ("a\n\n\n\n\n\nb", "a\n[5 blank lines]\nb", "a\n\n\n\n\nb"),
    ],
)
def test_no_two_values_look_alike(group: tuple[Any, ...]) -> None:
    assert len({plainly(one) for one in group}) == len(group)


def test_marks_that_strike_words_out_or_cover_other_lines_are_spelt_out() -> None:
    assert plainly("1\u03360\u0336 EUR") == "n: \n1[U+0336]0[U+0336] EUR"
    assert plainly("a" + "\u0301" * 5) == "n: \na" + "[U+0301]" * 5
    assert plainly("cafe\u0301, Vie\u0323\u0302t") == "n: \ncafe\u0301, Vie\u0323\u0302t"


def test_words_are_not_pushed_out_of_sight_and_the_card_says_so() -> None:
    card = render_card({"text": f"Pay 10 EUR.{chr(10) * 58}To mallory.{' ' * 2_000}All of it."})
    told = extract_shown_text(card)
    assert "Pay 10 EUR.\n[57 blank lines]\nTo mallory.[2,000 spaces]All of it." in told
    assert "stand in [brackets] above" in told
    assert "in [brackets]" not in extract_shown_text(render_card({"text": "tea"}))


def test_an_argument_beyond_what_a_card_holds_is_named() -> None:
    card = render_card({f"name{n}": n for n in range(14)})
    assert "… and 2 more arguments: \nname12, name13" in extract_shown_text(card)
    assert "Show all" in buttons(card)


SCHEMA: dict[str, Any] = {
    "properties": {
        "text": {"type": "string"},
        "assignee": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["text"],
}


def _in_fields(view: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for block in view["blocks"]:
        if block["type"] == "input":
            element = block["element"]
            chosen = (element.get("initial_option") or {}).get("value", "")
            yield block["block_id"].removeprefix(FIELD_PREFIX), element.get("initial_value") or chosen


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(["text", "assignee", "count", "tags", "more", "other"]), values))
@example({"text": "a\u200b", "assignee": None, "tags": [], "count": "5", "more": "", "other": {}})
def test_a_window_that_nobody_changes_changes_nothing(sent_arguments: dict[str, Any]) -> None:
    untouched = dict(_in_fields({"blocks": make_fields(sent_arguments, SCHEMA)}))
    assert compute_call_digest("t", read_fields(untouched, sent_arguments, SCHEMA)) == compute_call_digest(
        "t", sent_arguments
    )


def test_a_window_shows_what_its_fields_hide() -> None:
    _, question = asking({"text": "a\u200bb", "assignee": None, "more": []})
    assert question.approval is not None
    view = check_view(render_edit_window(question.approval, SCHEMA, "{}"))
    told = {block["block_id"].removeprefix(FIELD_PREFIX): block for block in view["blocks"] if block["type"] == "input"}
    assert told["text"]["element"]["initial_value"] == "a[U+200B]b"
    assert told["assignee"]["hint"]["text"] == "As it stands: null"
    assert read_fields({"text": "c[U+200B]d", "assignee": "ben"}, {"text": "x", "assignee": None}, SCHEMA) == {
        "text": "c\u200bd",
        "assignee": "ben",
    }
