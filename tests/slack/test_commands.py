"""Which words are commands, which are mistyped ones, and which job they are about. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.catalogue import SPOKEN_COMMANDS, SUBCOMMANDS
from bot.features.home.actions import decode_job_id
from bot.slack.receive.action import read_action
from bot.slack.receive.job_references import parse_job_reference
from bot.slack.receive.payload_reader import read_payload
from bot.slack.receive.payloads import Click
from bot.slack.receive.router import match_spoken_commands
from bot.slack.receive.subcommand import compute_edit_distance, guess_subcommand
from bot.slack.views.button_data import encode_data
from bot.slack.views.home import render_help_text
from bot.slack.views.paging import decode_turn, render_page_buttons, select_page
from bot.slack.views.question import ANSWER_PREFIX, AnswerChoice
from handoff.contracts import Place

PLACE = Place(team="T1", channel="C0123", thread_ts="1700000000.000100")
LINK = "https://x.slack.com/archives/C0123/p1700000000000100"
INSIDE = "https://x.slack.com/archives/C0123/p1700000009000100?thread_ts=1700000000.000100"


@pytest.mark.parametrize(
    "words",
    [
        PLACE.job_id,
        f"`{PLACE.job_id.lower()}`",
        LINK,
        f"<{LINK}>",
        f"<{LINK}|that thread>".replace(" ", "-"),
        f"{INSIDE}&cid=C0123",
        f"<{INSIDE}&amp;cid=C0123>",
        "C0123/1700000000.000100",
    ],
)
def test_a_job_is_named_by_its_id_and_by_links_to_its_thread(words: str) -> None:
    assert parse_job_reference("T1", words) == (PLACE.job_id, "")
    assert parse_job_reference("T1", f"{words}  from prices ") == (PLACE.job_id, "from prices")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "J123",
        "JOKEOFTHEDAY",
        "https://x.slack.com/archives/C0123",
        "https://x.slack.com/archives/C0123/p12x",
        "https://x.slack.com/files/C0123/p1700000000000100",
        "https://[::1/archives/C0123/p1700000000000100",
        "C0123/yesterday",
        "from prices",
    ],
)
def test_what_names_no_job_is_left_as_words(words: str) -> None:
    assert parse_job_reference("T1", words) == ("", words)


def test_a_link_into_another_workspace_names_no_job_of_ours() -> None:
    assert parse_job_reference("T2", LINK)[0] != PLACE.job_id


@pytest.mark.parametrize("text", ["status", "Status!", " help ", "stop.", "cancel"])
def test_a_command_is_said_alone(text: str) -> None:
    assert [one.name for one, _ in match_spoken_commands(SPOKEN_COMMANDS, text)]
    assert not list(match_spoken_commands(SPOKEN_COMMANDS, text, has_files=True)), "with a file it is a request"


@pytest.mark.parametrize(
    "text",
    [
        "status of our suppliers?",
        "help me write a letter",
        "stop the leak in the report",
        "what is the status",
        "cancel my subscription to the newsletter, in friendly words",
        "status " * 10_000,
        "",
    ],
)
def test_a_request_is_never_taken_for_one_of_our_commands(text: str) -> None:
    ours = {"status", "cancel", "help"}
    assert not [one.name for one, _ in match_spoken_commands(SPOKEN_COMMANDS, text) if one.name in ours]


def test_names_of_commands_are_told_apart() -> None:
    names = [one.name for one in SUBCOMMANDS]
    assert len(set(names)) == len(names)
    assert all(one.name == one.name.lower() and " " not in one.name for one in SUBCOMMANDS)
    assert len({one.name for one in SPOKEN_COMMANDS}) == len(SPOKEN_COMMANDS)


def test_pages_hold_whatever_number_is_asked_for() -> None:
    rows = list(range(25))
    assert select_page(rows, 3).rows == tuple(range(20, 25))
    for asked, got in ((-5, 1), (0, 1), (99, 3), (10**12, 3)):
        assert select_page(rows, asked).number == got
    assert render_page_buttons(select_page(rows[:10], 1), "jobs") == []
    row, foot = render_page_buttons(select_page(rows, 2), "jobs", "done")
    assert [(one["text"]["text"], decode_turn(one["value"])) for one in row["elements"]] == [
        ("Newer", decode_turn('{"word": "jobs", "rest": "done", "page": 1}')),
        ("Older", decode_turn('{"word": "jobs", "rest": "done", "page": 3}')),
    ]
    assert foot["elements"][0]["text"] == "11 to 20 of 25"
    assert all(
        len(one["value"]) < 2000 for one in render_page_buttons(select_page(rows, 2), "jobs", "ä" * 9000)[0]["elements"]
    )


@pytest.mark.parametrize("value", ["", "[]", "{}", '{"word": "jobs"}', '{"word": 1, "rest": 2, "page": "x"}'])
def test_a_strange_button_turns_no_page(value: str) -> None:
    assert decode_turn(value) is None


@pytest.mark.parametrize("value", ["", "[1]", "null", '{"job": 5}', '{"word": "mine"}'])
def test_only_a_button_that_names_a_job_is_about_one(value: str) -> None:
    assert decode_job_id(value) == ""


def test_a_click_in_a_home_is_judged_where_its_job_is() -> None:
    value = encode_data(AnswerChoice(PLACE.job_id, "1", "", 1, 0))
    who = {"team": {"id": "T1"}, "user": {"id": "U1", "team_id": "T1"}, "trigger_id": "9.9"}
    action = {"action_id": "answer:0", "value": value}
    body = {"type": "block_actions", "view": {"type": "home", "id": "V1"}, "actions": [action], **who}
    click = read_payload(body, "UB0T")
    assert isinstance(click, Click)
    assert (decode_job_id(click.value), click.in_home, click.trigger_id) == (PLACE.job_id, True, "9.9")
    seen = read_action(body, replace(click, place=PLACE, message_ts=PLACE.thread_ts), {ANSWER_PREFIX: "answered"})
    assert seen is not None
    assert (seen.kind, seen.place.channel, seen.thread, seen.deed) == ("click", PLACE.channel, PLACE, "answered")


def test_help_gives_requests_and_says_which_need_a_file() -> None:
    text = render_help_text([], [], examples=["What stands out? (sales.csv)", "Greet <@U0000000A>"])
    assert "“What stands out?” with a file such as `sales.csv`" in text
    assert "<@U0000000A>" not in text


NAMES = [one.name for one in SUBCOMMANDS]


@pytest.mark.parametrize(
    ("typed_text", "subcommand"),
    [
        ("staus", "status"),
        ("Status?!", "status"),
        ("satus J123", "status"),
        ("cancle it", "cancel"),
        ("job", "jobs"),
        ("hlep", "help"),
        ("shedul new", "schedule"),
        ("setings", "settings"),
        ("memroy add this", "memory"),
    ],
)
def test_a_near_word_with_little_behind_it_is_a_subcommand(typed_text: str, subcommand: str) -> None:
    assert guess_subcommand(typed_text, NAMES) == subcommand


@pytest.mark.parametrize(
    "typed_text",
    [
        "",
        "why did churn rise in March?",
        "dance",
        "hello",
        "quote prices",
        "place the order",
        "trade prices of last year, please",
        "crews of our ships and what they cost",
        "summarise #sales",
        "?",
    ],
)
def test_everything_else_is_a_request(typed_text: str) -> None:
    assert guess_subcommand(typed_text, NAMES) == ""


def test_a_job_behind_the_word_says_that_a_subcommand_was_meant() -> None:
    assert guess_subcommand("rety J0123456789 from prices and all", NAMES, names_job=True) == "retry"
    assert guess_subcommand("why J0123456789 did not end", NAMES, names_job=True) == ""


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_a_distance_is_one(one: str, other: str) -> None:
    found = compute_edit_distance(one, other)
    assert found == compute_edit_distance(other, one)
    assert (found == 0) == (one == other)
    assert abs(len(one) - len(other)) <= found <= max(len(one), len(other))
