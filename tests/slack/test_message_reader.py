"""One reader for every message: all that a message holds comes out once, and whose it is stays known."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.slack.receive.markup import to_plain_text
from bot.slack.receive.message_reader import read_message, render_plain_content
from bot.slack.receive.payloads import (
    IncomingMessage,
    MessageEdited,
    MessageShortcut,
    parse_change,
    parse_message,
    parse_shortcut,
)
from bot.slack.receive.thread_text import parse_thread_message
from bot.workspace.typed_text import make_rich_text

BOT = "U0BOT"
Json = dict[str, Any]


def raw(text: str) -> Json:
    return {"type": "raw_text", "text": text}


def rich(*elements: Json) -> Json:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}


def table(*rows: list[Json]) -> Json:
    return {"type": "table", "rows": list(rows)}


CITIES = table([raw("City"), raw("Amount")], [raw("Lisbon"), raw("980")])
FILE = {
    "id": "F7",
    "name": "notes.txt",
    "mimetype": "text/plain",
    "size": 3,
    "url_private": "https://files.slack.com/F7",
}
SHARE: Json = {
    "is_share": True,
    "is_msg_unfurl": True,
    "author_name": "Cleo",
    "author_id": "U9",
    "channel_id": "C7",
    "channel_name": "sales",
    "ts": "1764079261.000100",
    "from_url": "https://x.slack.com/archives/C7/p1764079261000100",
    "text": "pay invoice 4711",
    "fallback": "[November 25th, 2025 6:01 AM] cleo: pay invoice 4711",
    "message_blocks": [{"message": {"blocks": [rich({"type": "text", "text": "pay invoice 4711"})]}}],
    "files": [FILE],
}


def message(text: str = "", **more: Any) -> Json:
    return {
        "type": "message",
        "channel": "C1",
        "channel_type": "channel",
        "user": "U1",
        "ts": "5.1",
        "text": text,
        **more,
    }


def ways(event: Json) -> list[tuple[str, tuple[str, ...]]]:
    """The words and the names of all that comes with a message, by each way in which it can reach the bot."""
    body = {"team_id": "T1", "event_id": "Ev1", "trigger_id": "t", "user": {"id": "U1", "team_id": "T1"}}
    incoming = parse_message({**body, "event": event}, BOT)
    mention = parse_message({**body, "event": {**event, "type": "app_mention"}}, BOT)
    after = {**event, "edited": {"user": "U1", "ts": "6.0"}}
    change = {"subtype": "message_changed", "channel": "C1", "message": after, "previous_message": message("old")}
    edited = parse_change({**body, "event": change}, BOT)
    shortcut = parse_shortcut({**body, "channel": {"id": "C1"}, "message": event})
    heard = parse_thread_message(event)
    assert isinstance(incoming, IncomingMessage)
    assert isinstance(mention, IncomingMessage)
    assert isinstance(edited, MessageEdited)
    assert isinstance(shortcut, MessageShortcut)
    assert heard is not None
    files = tuple(one.name for one in incoming.attachments if one.kind != "message")
    assert files == tuple(one.name for one in mention.attachments if one.kind != "message")
    assert files == tuple(one.name for one in heard.files)
    own = [incoming.text, mention.text, edited.text, shortcut.text.removeprefix(f"@{BOT} ")]
    assert len(set(own)) == 1
    assert to_plain_text(heard.words, BOT).startswith(own[0])
    return [(own[0], files), (to_plain_text(heard.words, BOT), files)]


def test_a_pasted_table_is_a_csv_wherever_slack_puts_it() -> None:
    for said in (
        message("sum it", attachments=[{"id": 1, "blocks": [CITIES], "fallback": "[no preview available]"}]),
        message("sum it", blocks=[rich({"type": "text", "text": "sum it"}), CITIES]),
        message("sum it", blocks=[CITIES]),
    ):
        assert ways(said) == [("sum it", ("pasted-table.csv",))] * 2
        (pasted,) = read_message(said).all_files
        assert (pasted.kind, pasted.text) == ("table", "City,Amount\nLisbon,980\n")


def test_several_tables_have_names_of_their_own() -> None:
    said = message("", blocks=[CITIES, CITIES], attachments=[{"blocks": [CITIES]}, {**SHARE, "blocks": [CITIES]}])
    assert [one.name for one in read_message(said).all_files] == [
        "pasted-table.csv",
        "pasted-table-2.csv",
        "pasted-table-3.csv",
        "notes.txt",
        "pasted-table-4.csv",
    ]
    assert read_message(said).all_files[-1].author == "Cleo", "who wrote what was forwarded pasted it"


def test_cells_of_any_kind_are_read() -> None:
    rows = table(
        [raw("what"), raw('a "quoted", head'), raw("")],
        [
            rich({"type": "user", "user_id": "U2"}, {"type": "text", "text": " & <co>"}),
            rich({"type": "link", "url": "https://x.com/1", "text": "the offer"}),
            rich({"type": "date", "timestamp": 1764079261, "format": "{date}", "fallback": "25 Nov 2025"}),
        ],
        [
            {"type": "raw_number", "value": 1234.5, "text": "1,234.50"},
            rich({"type": "date", "timestamp": 1764079261, "format": "{date}"}),
            rich({"type": "text", "text": "two\nlines"}, {"type": "emoji", "name": "tada"}),
        ],
        [{}],
    )
    (pasted,) = read_message(message("x", blocks=[rows])).tables
    read = list(csv.reader(io.StringIO(render_plain_content(pasted, {"U2": "Ben"}).decode())))
    assert read == [
        ["what", 'a "quoted", head', ""],
        ["@Ben & <co>", "the offer (https://x.com/1)", "25 Nov 2025"],
        ["1234.5", "2025-11-25 14:01 UTC", "two\nlines:tada:"],
        ["", "", ""],
    ]


def test_a_forwarded_message_is_read_with_its_author_place_day_and_files() -> None:
    said = message(f"<@{BOT}> what is this?", attachments=[SHARE])
    own, whole = ways(said)
    assert own == ("what is this?", ("notes.txt",))
    line = (
        "(forwarded message by Cleo in #sales on 2025-11-25 14:01 UTC, "
        "https://x.slack.com/archives/C7/p1764079261000100: pay invoice 4711 [file: notes.txt])"
    )
    assert whole[0].endswith(line)
    assert whole[0].count("4711") == 1, "its text, its blocks and its fallback say the same"
    content = read_message(said)
    assert [(one.name, one.author) for one in content.all_files] == [("notes.txt", "Cleo")]
    brought = content.list_attachments("5.1")
    assert [(one.kind, one.name, one.author) for one in brought] == [
        ("file", "notes.txt", "Cleo"),
        ("message", "forwarded message", "Cleo"),
    ]


def test_what_is_no_message_is_labelled_as_what_it_is() -> None:
    preview = {
        "from_url": "https://news.example.com/a",
        "title": "Trams",
        "text": "They are back.",
        "service_name": "News",
    }
    linked = {**SHARE, "is_share": False}
    said = read_message(message("see", attachments=[preview, linked, {"image_url": "https://x/y.png"}]))
    assert [one.kind for one in said.excerpts] == ["link preview", "linked message", "attachment"]
    assert said.excerpts[0].text == "(preview from <https://news.example.com/a>: Trams\nThey are back.)"
    assert said.excerpts[2].text == "(attached: (nothing of it can be read))"
    assert said.own_words == "see"


def test_a_message_forwarded_in_a_forwarded_message_is_read() -> None:
    inner = {**SHARE, "text": "the root of it", "message_blocks": [], "author_name": "Dee", "files": []}
    outer = {**SHARE, "message_blocks": [{"message": {"attachments": [inner, {"blocks": [CITIES]}]}}]}
    assert [one.name for one in read_message(message("", attachments=[outer])).all_files][-1] == "pasted-table.csv"
    words = read_message(message("", attachments=[outer])).words
    assert "pay invoice 4711" in words
    assert "forwarded message by Dee in #sales" in words
    assert "the root of it" in words


def test_what_is_too_long_or_too_much_is_said() -> None:
    long = {**SHARE, "text": "word " * 6_000, "message_blocks": []}
    assert "(… cut here)" in read_message(message("", attachments=[long])).words
    many = read_message(message("", attachments=[SHARE] * 25)).words
    assert many.count("pay invoice 4711") == 20
    assert "5 more attachments" in many


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "hologram", "text": {"type": "mrkdwn", "text": "from *next* year"}}, "from *next* year"),
        ({"type": "hologram", "blob": 1}, "(a part that I cannot read: hologram)"),
        ({"type": "divider"}, ""),
        ({"type": "markdown", "text": "# Head"}, "# Head"),
        ({"type": "video", "title": {"type": "plain_text", "text": "The talk"}, "alt_text": "x"}, "The talk"),
        ({"type": "table", "rows": []}, "(a part that I cannot read: table)"),
    ],
)
def test_no_block_is_left_out_in_silence(block: Json, words: str) -> None:
    assert read_message(message("", blocks=[block])).own_words == words
    assert read_message(message("hello", blocks=[block])).own_words == ("hello\n" + words).strip()


_TYPED_TEXTS = st.lists(
    st.sampled_from(
        [
            "compare",
            "*these* two",
            "_well_",
            "snake_case",
            "<@U2>",
            "<#C3|sales>",
            "<https://x.com/a_b|the offer>",
            "<http://notes.md|notes.md>",
            "&lt;5 &amp; 6&gt;",
            ":tada:",
            "`code`",
            "~old~",
            "25",
            "これは",
            "\n",
            "\n&gt; quoted",
            "```let x = 1```",
        ]
    ),
    max_size=12,
).map(" ".join)


@settings(deadline=None, max_examples=60)
@given(_TYPED_TEXTS)
def test_what_people_type_is_read_once_though_slack_sends_it_twice(text: str) -> None:
    assert read_message(message(text, blocks=[make_rich_text(text, "b")])).own_words == (text if text.strip() else "")


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12), min_size=1, max_size=6),
    st.integers(1, 4),
)
def test_any_cell_survives_as_a_cell(cells: list[str], width: int) -> None:
    rows = [cells[at : at + width] for at in range(0, len(cells), width)]
    (pasted,) = read_message(message("x", blocks=[table(*[[raw(cell) for cell in row] for row in rows])])).tables
    back = list(csv.reader(io.StringIO(pasted.text)))
    assert len(back) == len(rows)
    assert {len(row) for row in back} == {max(map(len, rows))}
    for row, read in zip(rows, back, strict=True):
        for cell, there in zip(row, read, strict=False):
            assert re.sub(r"\s", "", to_plain_text(there, "")) == re.sub(r"\s", "", to_plain_text(raw_markup(cell), ""))


def raw_markup(text: str) -> str:
    return text.strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
