"""The card and the windows of an approval: within Slack's limits, and nothing in them that the call does not say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.features.approvals.actions import render_refusal
from bot.features.approvals.service import DecisionRefused
from bot.features.approvals.view import (
    ApprovalWindowData,
    decode_window_data,
    render_arguments_window,
    render_deny_window,
    render_edit_window,
)
from bot.slack.views.approval import (
    ApprovalRef,
    render_approval,
    render_decided_approval,
    render_deciders,
    render_dropped_approval,
)
from bot.slack.views.argument_blocks import FIELD_PREFIX, format_value, make_fields, read_fields
from bot.slack.views.button_data import decode_data, encode_data
from bot.workspace.blocks import check_message_blocks, check_view
from handoff import events as ev
from handoff.approval_values import Approval, ApprovalTerms, compute_call_digest
from handoff.contracts import Place
from handoff.state.job_state import Job
from handoff.state.state_values import Question, QuestionAnswer, Ruling
from specialists.tools.tool import OutgoingData
from specialists.turns.egress import MAX_SHOWN_CHARACTERS, describe_request
from tests.handoff.kit import ask, job, make_plan_event, make_request_event, make_start_event, subtask
from tests.system.scene import buttons, extract_shown_text

SPOT = ApprovalRef("J0000000001", "1.0", "a", 1, "d" * 64)
HOSTILE: dict[str, Any] = {
    "text": "<!channel> <@U2> *bold* <https://evil.example|Approve> `x` ```y``` :tada: https://evil.example",
    "to\u200bo": "a\u202eb\u200bc",
    "list": [1, {"<@U3>": "&amp;"}],
    "empty": "",
    "none": None,
}


def asking(arguments: dict[str, Any], **more: Any) -> tuple[Job, Question]:
    terms = more.pop("terms", ApprovalTerms())
    of = {"tool": "post", "what": "post it", "arguments": arguments, "digest": compute_call_digest("post", arguments)}
    wanted = ev.ApprovalAsked(
        at=10.0, request="1.0", subtask="a", attempt=1, approval=Approval(call="c", terms=terms, **{**of, **more})
    )
    state = job(make_request_event(), make_plan_event(subtask("a")), make_start_event("a"), wanted)
    question = ask(state).subtasks["a"].question
    assert question is not None
    return state, question


def render_card(arguments: dict[str, Any], until: float | None = None, **more: Any) -> dict[str, Any]:
    state, question = asking(arguments, **more)
    message = render_approval(state, ask(state), "a", question, until)
    return {"text": message.text, "blocks": check_message_blocks(list(message.blocks))}


def render_closed_card(outcome: str, wished_arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    _, question = asking(wished_arguments)
    assert question.approval is not None
    given = {"digest": "d", "arguments": wished_arguments, "users": ("U111",), **more}
    ruling = Ruling(at=99.0, call="c", tool="post", outcome=outcome, **given)
    message = render_decided_approval("Part a", QuestionAnswer(question, "U1", outcome, 99.0, ruling))
    return {"text": message.text, "blocks": check_message_blocks(list(message.blocks))}


def test_a_hostile_argument_stands_there_as_plain_text() -> None:
    card = render_card(HOSTILE, target="<!here> the *board*")
    rich = [block for block in card["blocks"] if block["type"] == "rich_text"]
    assert HOSTILE["text"] in extract_shown_text({"blocks": rich})
    others = json.dumps([block for block in card["blocks"] if block["type"] != "rich_text"])
    assert "evil" not in others
    assert "<!here>" not in others
    assert "a[U+202E]b[U+200B]c" in extract_shown_text(card)
    assert 'empty: \n""' in extract_shown_text(card)
    assert "none: \nnull" in extract_shown_text(card)
    assert '"to[U+200B]o": ' in extract_shown_text(card)
    assert not any(kind in json.dumps(rich) for kind in ('"link"', '"user"', '"broadcast"', '"emoji"'))


def test_a_card_of_a_costly_part_says_what_it_takes_and_names_no_tool() -> None:
    always = ApprovalTerms(mode="always")
    takes = "about 5,000 tokens, and more than 1,000 is asked for first"
    card = render_card(
        {"specialist": "writer", "task": "Draft the note."}, kind="cost", what="Begin 'Part a'", why=takes, terms=always
    )
    assert f"is likely to take {takes}. It begins only if that is approved." in extract_shown_text(card)
    assert "Draft the note." in extract_shown_text(card)
    assert "Tool:" not in extract_shown_text(card)
    assert list(buttons(card)) == ["Approve", "Deny"]


def test_a_button_carries_ids_a_number_and_the_digest_alone() -> None:
    card = render_card({"text": "a secret"})
    for button in buttons(card).values():
        spot = decode_data(button["value"], ApprovalRef)
        assert spot is not None
        assert spot.digest == compute_call_digest("post", {"text": "a secret"})
        assert "secret" not in button["value"]


@pytest.mark.parametrize(
    "value", ["", "{}", "[]", "null", '{"job": 1}', '{"job":"J","request":"1","subtask":"a","number":true,"digest":""}']
)
def test_a_forged_value_is_none_of_ours(value: str) -> None:
    assert decode_data(value, ApprovalRef) is None
    assert decode_window_data(value) is None


def test_a_windows_place_must_fit_its_job() -> None:
    place = Place(team="T", channel="C", thread_ts="1.0")
    own = ApprovalRef(place.job_id, "1.0", "a", 1, "d")
    assert decode_window_data(encode_data(ApprovalWindowData(place, own))) == ApprovalWindowData(place, own)
    assert decode_window_data(encode_data(ApprovalWindowData(place, SPOT))) is None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ["Approve", "Approve similar", "Edit", "Deny"]),
        ({"terms": ApprovalTerms(mode="always")}, ["Approve", "Edit", "Deny"]),
        ({"kind": "egress", "leaves": "words"}, ["Approve", "Approve similar", "Deny"]),
        ({"kind": "cost", "terms": ApprovalTerms(mode="always")}, ["Approve", "Deny"]),
        ({"kind": "sign_in", "terms": ApprovalTerms(mode="always")}, ["Sign in", "Deny"]),
    ],
)
def test_the_buttons_are_those_that_make_sense(more: dict[str, Any], expected: list[str]) -> None:
    assert list(buttons(render_card({"text": "tea"}, **more))) == expected


def test_much_fits_and_a_window_shows_all_of_it() -> None:
    much = {f"argument {n}": "word " * 5_000 for n in range(30)}
    card = render_card(much, leaves="x" * 50_000, kind="egress")
    assert "Show all" in buttons(card)
    assert len(json.dumps(card)) < 30_000
    _, question = asking({"text": "word " * 20_000, "more": "end"})
    assert question.approval is not None
    window = check_view(render_arguments_window(question.approval))
    assert extract_shown_text(window).count("word") == 20_000
    _, question = asking(much)
    assert question.approval is not None
    check_view(render_arguments_window(question.approval))


def test_what_would_leave_and_to_whom_is_shown_word_for_word() -> None:
    card = render_card(
        {"query": "tea"}, kind="egress", target="search.example", leaves="q=tea&x=1", why="a file was read"
    )
    text = extract_shown_text(card)
    assert "Nothing leaves unless that is approved. You are asked because a file was read." in text
    assert "*To:* search.example" in text
    assert "q=tea&x=1" in text
    url = f"https://evil.example/?d=a%20{'x' * MAX_SHOWN_CHARACTERS}"[: MAX_SHOWN_CHARACTERS - len("GET ")]
    longest = describe_request(OutgoingData("evil.example", f"GET {url}"))
    assert longest == f"GET {url}\nIn clear:\nGET {url.replace('%20', ' ')}"
    text = extract_shown_text(render_card({"url": url}, kind="egress", target="evil.example", leaves=longest))
    assert longest in text
    assert "characters in all" not in text.partition("What would leave")[2]


def test_a_card_says_when_it_expires_and_who_may_decide() -> None:
    text = extract_shown_text(
        render_card({"text": "tea"}, until=2_000_000_000.0, terms=ApprovalTerms(approvers=("U222", "S34", "admins")))
    )
    assert "It expires <!date^2000000000" in text
    assert "Waits for <@U222>, <!subteam^S34> or an admin." in text
    assert render_deciders(("U222",)) == "<@U222>"


def test_each_end_is_told_apart() -> None:
    tea = {"text": "tea"}
    assert ":white_check_mark: <@U111> approved this <!date" in extract_shown_text(render_closed_card("approved", tea))
    assert "approved this and similar calls" in extract_shown_text(
        render_closed_card("approved", tea, covers_similar=True)
    )
    edited = extract_shown_text(render_closed_card("edited", tea, arguments={"text": "cake"}))
    assert "cake" in edited
    assert "tea" not in edited
    assert "denied this" in extract_shown_text(render_closed_card("denied", tea, reason="*No* <@U9>"))
    assert "<@U9>" not in extract_shown_text(render_closed_card("denied", tea, reason="*No* <@U9>"))
    expired = extract_shown_text(render_closed_card("expired", tea, users=()))
    assert "Expired" in expired
    assert "That is not a denial." in expired
    _, question = asking(tea)
    dropped = render_dropped_approval("Part a", question)
    assert "ended before anybody decided" in dropped.text
    assert not any(buttons(one) for one in (render_closed_card("approved", tea), {"blocks": list(dropped.blocks)}))


def test_each_refusal_has_its_words() -> None:
    ruling = Ruling(9.0, "c", "post", "denied", "d", {}, ("U111",))
    assert render_refusal(DecisionRefused("late", ruling=ruling)).startswith("<@U111> denied it <!date")
    late = Ruling(9.0, "c", "post", "expired", "d", {}, ())
    assert "This expired" in render_refusal(DecisionRefused("late", ruling=late))
    assert "only <@U222> may decide" in render_refusal(DecisionRefused("not_yours", deciders=("U222",)))
    assert "you made this request" in render_refusal(DecisionRefused("own", deciders=("admins",)))


SCHEMA: dict[str, Any] = {
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "more": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["text", "count"],
}
SAMPLE_ARGUMENTS: dict[str, Any] = {
    "text": "tea",
    "count": 2,
    "share": None,
    "loud": False,
    "tags": ["a", "b c"],
    "note": None,
    "more": [{}],
}


def test_each_argument_gets_a_field_of_its_kind() -> None:
    found = {block["label"]["text"]: block for block in make_fields(SAMPLE_ARGUMENTS, SCHEMA)}
    assert list(found) == list(SAMPLE_ARGUMENTS)
    assert found["loud"]["element"]["type"] == "radio_buttons"
    assert found["loud"]["element"]["initial_option"]["value"] == "false"
    assert (found["tags"]["element"]["initial_value"], found["tags"]["hint"]["text"]) == ("a\nb c", "One a line")
    assert (found["more"]["element"]["initial_value"], found["more"]["hint"]["text"]) == ("[{}]", "JSON")
    assert [name for name, block in found.items() if not block.get("optional")] == ["text", "count"]
    _, question = asking({**SAMPLE_ARGUMENTS, "long": "x" * 4_000})
    assert question.approval is not None
    view = check_view(render_edit_window(question.approval, SCHEMA, "{}"))
    assert f"{FIELD_PREFIX}long" not in [block["block_id"] for block in view["blocks"]]
    assert "Too long for a field, so it stays as it is: long." in extract_shown_text(view)
    check_view(render_deny_window(question.approval, "{}"))


def test_fields_are_read_as_their_kinds() -> None:
    values = {"text": "cake", "count": "1,200", "share": "0.5", "loud": "true", "tags": " b, c\n\nd ", "note": ""}
    assert read_fields(values, {**SAMPLE_ARGUMENTS, "long": "kept"}, SCHEMA) == {
        "text": "cake",
        "count": 1200,
        "share": 0.5,
        "loud": True,
        "tags": ["b, c", "d"],
        "note": None,
        "more": [{}],
        "long": "kept",
    }
    assert read_fields({"text": ""}, SAMPLE_ARGUMENTS, SCHEMA)["text"] == ""


@pytest.mark.parametrize(
    ("name", "value", "expected_text"), [("count", "two", "a whole number"), ("more", "[", "JSON")]
)
def test_a_field_that_cannot_be_read_is_named(name: str, value: str, expected_text: str) -> None:
    with pytest.raises(ValueError, match=expected_text) as raised:
        read_fields({name: value}, SAMPLE_ARGUMENTS, SCHEMA)
    assert raised.value.args[0] == name


def test_nothing_that_is_there_is_hidden() -> None:
    assert format_value("plain\ntext\t.") == "plain\ntext\t."
    assert format_value("a\u200b") == "a[U+200B]"
    assert format_value({"a": 1.5}) == '{"a": 1.5}'
    assert format_value(["a@b", "c d"]) == '["a@b", "c d"]'


def test_a_text_that_fits_the_card_is_shown_whole() -> None:
    text = "\n".join(f"Line {number} of a note that people are to approve." for number in range(40))
    message = render_card({"to": "#sales (C1)", "text": text, "draft": False, "files": []}, target="#sales (C1)")
    told = extract_shown_text(message)
    assert text in told
    assert told.count("#sales (C1)") == 3, "above, among the arguments, and in the small print on similar calls"
    assert "draft: \nfalse" in told
    assert "files: \n[]" in told
    assert "Show all" not in buttons(message)
    long = render_card({"to": "#sales (C1)", "text": text * 2}, target="#sales (C1)")
    assert "Show all" in buttons(long)
