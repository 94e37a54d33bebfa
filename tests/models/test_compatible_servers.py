"""What servers at home and gateways do differently, as their replies look on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specialists.model import ModelError
from tests.models.chat_replies import chunks, completion
from tests.models.conftest import TOOLS, TextListener, ask, catch_failures, open_pair, take_turn, take_turns
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest

SCHEMA = {"type": "object", "properties": {"goal": {"type": "string", "maxLength": 9}}}
IN_TAGS = {
    "<think>\nA {plan}.\n</think>\n\nThe answer.": "The answer.",
    "\n<thinking>One.</thinking>\n<think>Two.</think>The answer.": "The answer.",
    "A {plan}, as its template opened the tag.\n</think>\n\nThe answer.": "The answer.",
    "<think>Cut off in the mid": "",
    "Put it in <think> tags, then\n</think>\nends them.": "Put it in <think> tags, then\n</think>\nends them.",
    "`</think>` ends them.": "`</think>` ends them.",
}


async def test_thinking_is_no_part_of_the_reply() -> None:
    turns = await take_turns("chat", [completion(content=said) for said in IN_TAGS])
    assert [turn.text for turn in turns] == [*IN_TAGS.values()]


@pytest.mark.parametrize(
    ("pieces", "heard_text"),
    [
        (("<thi", "nk>a ", "secret</thi", "nk>", "\n\n", "The an", "swer"), "The answer"),
        ((" ", "<b>", "bold</b>"), " <b>bold</b>"),
        (("<", "5 rows"), "<5 rows"),
        (("<thi",), "<thi"),
        (("<think>a secret",), ""),
    ],
)
async def test_thinking_is_not_streamed(text_listener: TextListener, pieces: tuple[str, ...], heard_text: str) -> None:
    reply = chunks({"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces))
    turn = await take_turn("chat", reply, ask(on_text=text_listener[1]))
    assert "".join(text_listener[0]) == turn.text == heard_text


async def test_a_text_in_parts_is_read() -> None:
    parts = [{"type": "thinking", "thinking": [{"text": "Hm."}]}, {"type": "text", "text": "The answer."}]
    turn = await take_turn("chat", completion("eos_token", content=parts))
    assert (turn.text, turn.stop, turn.usage.tokens_in, turn.usage.cost) == ("The answer.", "end", 0, None)


async def test_an_error_inside_a_success_is_that_error() -> None:
    errors: dict[str, Any] = {
        "rate_limited": {"code": 429, "message": "Slow down"},
        "quota": {"code": 402, "message": "Buy more"},
        "too_long": {"code": "context_length_exceeded", "message": "Too long"},
        "unavailable": "all slots are busy",
    }
    failures = await catch_failures("chat", [Reply(raw={"error": error}) for error in errors.values()])
    assert [failure.kind for failure in failures] == [*errors]


async def test_a_server_without_schemas_is_told_the_schema_in_words(text_listener: TextListener) -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("no_schemas") if "response_format" in request.body else Reply('{"goal": "g"}')

    async with open_pair("chat", brain) as pair:
        for listen in (None, text_listener[1]):
            assert (await pair.model.reply(ask(answer_schema=SCHEMA, on_text=listen))).text == '{"goal": "g"}'
    assert pair.server.stats.calls == 4  # learnt once: without limits, then without schemas
    system = pair.server.requests[-1].system
    assert system.startswith("You are the analyst.")
    assert json.loads(system[system.index("{") :])["required"] == ["goal"]


LEARNT: list[tuple[FaultKind, set[str], int]] = [
    ("no_usage_in_streams", {"stream_options"}, 3),
    ("wants_new_limit", {"max_tokens"}, 3),
    ("small_context", {"max_tokens", "max_completion_tokens"}, 4),
]


@pytest.mark.parametrize(("fault", "refused", "calls"), LEARNT)
async def test_what_a_server_cannot_take_is_left_out_from_then_on(
    text_listener: TextListener, fault: FaultKind, refused: set[str], calls: int
) -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault(fault) if refused & set(request.body) else Reply("Fine.")

    async with open_pair("chat", brain) as pair:
        turns = [await pair.model.reply(ask(max_tokens=55, on_text=text_listener[1])) for _ in range(2)]
    assert [turn.text for turn in turns] == ["Fine.", "Fine."]
    assert "".join(text_listener[0]) == "Fine." * 2
    assert pair.server.stats.calls == calls  # learnt once
    assert pair.server.requests[-1].body.get("max_completion_tokens") == (55 if fault == "wants_new_limit" else None)


async def test_a_model_that_cannot_call_tools_is_named_so() -> None:
    async with open_pair("chat", lambda _: Fault("no_tools"), tool_mode="native") as pair:
        with pytest.raises(ModelError, match=r"does not support tools\. Name one that can call tools") as caught:
            await pair.model.reply(ask(tools=TOOLS))
    assert (caught.value.kind, pair.server.stats.calls) == ("bad_request", 1)


async def test_a_servers_counts_are_believed_within_reason() -> None:
    counts = {"-5": 0, "null": 0, '"12"': 0, str(10**30): 100_000_000, "7": 7}
    replies = [completion(content="Fine.") for _ in counts]
    for reply, count in zip(replies, map(json.loads, counts), strict=True):
        assert isinstance(reply.raw, dict)
        reply.raw["usage"] = {"prompt_tokens": count, "completion_tokens": count}
    turns = await take_turns("chat", replies)
    believed = [(turn.usage.tokens_in, turn.usage.tokens_out) for turn in turns]
    assert believed == [(count, count) for count in counts.values()]


async def test_half_a_character_is_no_reason_to_fail() -> None:
    turn = await take_turn("chat", completion(content="Fine \ud83d."))
    assert ascii(turn.text) == r"'Fine \ufffd.'"  # ascii: a report of pytest-xdist cannot carry the half
    assert turn.model_dump_json()
