"""What servers at home and gateways do differently, as their replies look on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specialists.model import ModelError
from specialists.tools.tool import ToolSpec
from tests.models.conftest import Heard, ask, paired
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest

TOOLS = (ToolSpec("look_up", "Looks a city up.", {"type": "object", "properties": {"city": {"type": "string"}}}),)
SCHEMA = {"type": "object", "properties": {"goal": {"type": "string", "maxLength": 9}}}


def completion(finish: str | None = "stop", **message: Any) -> Reply:
    """A whole reply, without the counts of tokens."""
    return Reply(raw={"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]})


def called(*functions: dict[str, Any], **more: Any) -> Reply:
    """A reply that calls tools."""
    calls = [{"type": "function", **more, "function": {"name": "look_up", **function}} for function in functions]
    return completion("tool_calls", content=None, tool_calls=calls)


def chunks(*deltas: dict[str, Any], finish: str = "stop") -> Reply:
    """A stream of these deltas."""
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    ends = [*((delta, None) for delta in deltas), ({}, finish)]
    return Reply(
        raw=tuple(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in ends)
    )


def part(index: int | None, arguments: Any, **more: Any) -> dict[str, Any]:
    """A delta with a part of a tool call."""
    place = {} if index is None else {"index": index}
    return {"tool_calls": [{**place, **more, "function": {"name": "look_up", "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<think>\nA {plan}.\n</think>\n\nThe answer.", "The answer."),
        ("\n<thinking>One.</thinking>\n<think>Two.</think>The answer.", "The answer."),
        ("A {plan}, as its template opened the tag.\n</think>\n\nThe answer.", "The answer."),
        ("<think>Cut off in the mid", ""),
        ("Put it in <think> tags, then\n</think>\nends them.", "Put it in <think> tags, then\n</think>\nends them."),
        ("`</think>` ends them.", "`</think>` ends them."),
    ],
)
async def test_thinking_is_no_part_of_the_reply(said: str, text: str) -> None:
    async with paired("chat", lambda _: completion(content=said)) as pair:
        assert (await pair.model.reply(ask())).text == text


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
async def test_thinking_is_not_streamed(heard: Heard, pieces: tuple[str, ...], heard_text: str) -> None:
    reply = chunks({"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces))
    async with paired("chat", lambda _: reply) as pair:
        turn = await pair.model.reply(ask(on_text=heard[1]))
    assert "".join(heard[0]) == turn.text == heard_text


async def test_a_text_in_parts_is_read() -> None:
    parts = [{"type": "thinking", "thinking": [{"text": "Hm."}]}, {"type": "text", "text": "The answer."}]
    async with paired("chat", lambda _: completion("eos_token", content=parts)) as pair:
        turn = await pair.model.reply(ask())
    assert (turn.text, turn.stop, turn.usage.tokens_in, turn.usage.cost) == ("The answer.", "end", 0, None)


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ({"city": "Bern"}, {"city": "Bern"}),
        (None, {}),
        ('{"city": "Bern"}</tool_call>', {"city": "Bern"}),
        ('{"city": "Bern"}}', {"city": "Bern"}),
        (json.dumps('{"city": "Bern"}'), {"city": "Bern"}),
        ('{"city": "\\ud83d"}', {"city": "\ufffd"}),
    ],
)
async def test_arguments_are_read_as_servers_write_them(arguments: Any, read: dict[str, Any]) -> None:
    async with paired("chat", lambda _: called({"arguments": arguments}, id="a")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert turn.calls[0].arguments == read
    assert turn.model_dump_json()


@pytest.mark.parametrize("arguments", ['{"city": "Be', '{"city": "Bern"}{"city": "Rome"}', '["Bern"]', '{"a":' * 90])
async def test_arguments_that_are_cut_or_doubled_or_endless_are_none(arguments: str) -> None:
    if arguments.startswith('{"a":{'):
        arguments += "1" + "}" * 90
    async with paired("chat", lambda _: called({"arguments": arguments}, id="a")) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(tools=TOOLS))
    assert caught.value.kind == "bad_reply"


@pytest.mark.parametrize("ids", [{}, {"id": ""}, {"id": "call_0"}])
async def test_every_call_has_an_id_of_its_own(ids: dict[str, str]) -> None:
    reply = called({"arguments": '{"city": "Bern"}'}, {"arguments": '{"city": "Rome"}'}, **ids)
    async with paired("chat", lambda _: reply) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    names = {call.id for call in turn.calls}
    assert len(names) == 2
    assert not names & {"", "None"}


@pytest.mark.parametrize(
    "parts",
    [
        (part(0, '{"city": "Bern"}', id="a"), part(0, '{"city": "Rome"}', id="b")),
        (part(None, '{"city": "Bern"}'), part(None, '{"city": "Rome"}')),
        (part(0, '{"city": ', id="a"), part(0, '"Bern"}', id="a"), part(1, {"city": "Rome"}, id="a")),
    ],
)
async def test_streamed_calls_are_told_apart(heard: Heard, parts: tuple[dict[str, Any], ...]) -> None:
    async with paired("chat", lambda _: chunks(*parts, finish="tool_calls")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS, on_text=heard[1]))
    assert [(call.name, call.arguments) for call in turn.calls] == [
        ("look_up", {"city": "Bern"}),
        ("look_up", {"city": "Rome"}),
    ]
    assert len({call.id for call in turn.calls}) == 2


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "Slow down"}, "rate_limited"),
        ({"code": 402, "message": "Buy more"}, "quota"),
        ({"code": "context_length_exceeded", "message": "Too long"}, "too_long"),
        ("all slots are busy", "unavailable"),
    ],
)
async def test_an_error_inside_a_success_is_that_error(error: Any, kind: str) -> None:
    async with paired("chat", lambda _: Reply(raw={"error": error})) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    assert caught.value.kind == kind


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_server_without_schemas_is_told_the_schema_in_words(heard: Heard, *, streamed: bool) -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("no_schemas") if "response_format" in request.body else Reply('{"goal": "g"}')

    async with paired("chat", brain) as pair:
        for _ in range(2):
            call = ask(answer_schema=SCHEMA, on_text=heard[1] if streamed else None)
            assert (await pair.model.reply(call)).text == '{"goal": "g"}'
    assert pair.server.stats.calls == 4  # learnt once: without limits, then without schemas
    system = pair.server.requests[-1].system
    assert system.startswith("You are the analyst.")
    assert json.loads(system[system.index("{") :])["required"] == ["goal"]


async def test_a_server_that_counts_nothing_in_streams_is_not_asked_to(heard: Heard) -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        return Fault("no_usage_in_streams") if "stream_options" in request.body else Reply("Fine.")

    async with paired("chat", brain) as pair:
        turn = await pair.model.reply(ask(on_text=heard[1]))
    assert (turn.text, "".join(heard[0]), turn.usage.tokens_in) == ("Fine.", "Fine.", 0)


async def test_a_server_whose_context_is_smaller_than_the_limit_sets_its_own() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        limited = {"max_tokens", "max_completion_tokens"} & set(request.body)
        return Fault("small_context") if limited else Reply("Fine.")

    async with paired("chat", brain) as pair:
        turns = [await pair.model.reply(ask(max_tokens=8192)) for _ in range(2)]
    assert [turn.text for turn in turns] == ["Fine.", "Fine."]
    assert pair.server.stats.calls == 4  # learnt once


async def test_a_model_that_cannot_call_tools_is_named_so() -> None:
    async with paired("chat", lambda _: Fault("no_tools"), tool_mode="native") as pair:
        with pytest.raises(ModelError, match=r"does not support tools\. Name one that can call tools") as caught:
            await pair.model.reply(ask(tools=TOOLS))
    assert (caught.value.kind, pair.server.stats.calls) == ("bad_request", 1)


@pytest.mark.parametrize(("count", "tokens"), [(-5, 0), (None, 0), ("12", 0), (10**30, 100_000_000), (7, 7)])
async def test_a_servers_counts_are_believed_within_reason(count: Any, tokens: int) -> None:
    reply = completion(content="Fine.")
    assert isinstance(reply.raw, dict)
    reply.raw["usage"] = {"prompt_tokens": count, "completion_tokens": count}
    async with paired("chat", lambda _: reply) as pair:
        turn = await pair.model.reply(ask())
    assert (turn.usage.tokens_in, turn.usage.tokens_out) == (tokens, tokens)


async def test_half_a_character_is_no_reason_to_fail() -> None:
    async with paired("chat", lambda _: completion(content="Fine \ud83d.")) as pair:
        turn = await pair.model.reply(ask())
    assert ascii(turn.text) == r"'Fine \ufffd.'"  # ascii: a report of pytest-xdist cannot carry the half
    assert turn.model_dump_json()


async def test_a_call_that_its_deadline_cut_off_was_made_all_the_same() -> None:
    async with paired("chat", lambda _: Fault("hang")) as pair:
        await pair.model.warm()
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask(deadline=0.2))
    assert (caught.value.kind, caught.value.usage.calls, caught.value.tries) == ("timeout", 1, 1)
