"""A reply that is whole is whole whatever its server calls the end, and whole tool calls count."""

from __future__ import annotations

from typing import Any

import pytest

from specialists.model import ModelError
from specialists.tools.tool import ToolSpec
from tests.models.conftest import ask, paired
from tests.models.test_compatible_servers import chunks, completion, part
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import Api

TOOLS = (ToolSpec("look_up", "Looks a city up.", {"type": "object", "properties": {"city": {"type": "string"}}}),)
DONE = ["end", "<|eot_id|>", "end_turn", "STOP", "tool_use", "complete", "finished", "eos", "stop_token", "OTHER"]
CUT = ["MAX_TOKENS", "max_output_tokens", "token_limit", "length"]
REFUSED = ["SAFETY", "content_filtered", "RECITATION", "guardrail_intervened"]
BROKEN = [None, "error", "aborted", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL", "cancelled", "preempted"]


def reply_of(
    api: Api, word: str | None, *, text: str = "", arguments: str | None = None, streamed: bool = False
) -> Reply:
    """A reply that ends with a word, with a text or a tool call of these arguments."""
    if api == "chat":
        function = {"name": "look_up", "arguments": arguments}
        calls = {} if arguments is None else {"tool_calls": [{"index": 0, "id": "a", "function": function}]}
        if not streamed:
            return completion(word, content=text, **calls)
        base = {"choices": [{"index": 0, "delta": {"content": text, **calls}, "finish_reason": None}]}
        return Reply(raw=(base, {"choices": [{"index": 0, "delta": {}, "finish_reason": word}]}))
    if api == "anthropic":
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if arguments is not None:
            blocks.append({"type": "tool_use", "id": "a", "name": "look_up", "input": arguments})
        return Reply(raw={"type": "message", "role": "assistant", "content": blocks, "stop_reason": word, "usage": {}})
    items: list[dict[str, Any]] = (
        [{"type": "message", "content": [{"type": "output_text", "text": text}]}] if text else []
    )
    if arguments is not None:
        items.append({"type": "function_call", "call_id": "a", "name": "look_up", "arguments": arguments})
    if word in CUT or word in REFUSED:
        return Reply(
            raw={"object": "response", "status": "incomplete", "incomplete_details": {"reason": word}, "output": items}
        )
    return Reply(raw={"object": "response", "status": word, "output": items})


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("word", DONE)
async def test_a_whole_reply_is_whole_whatever_its_end_is_called(api: Api, word: str, *, streamed: bool) -> None:
    text = "" if word == "tool_use" else "The answer."
    arguments = '{"city": "Bern"}' if word == "tool_use" else None
    async with paired(api, lambda _: reply_of(api, word, text=text, arguments=arguments, streamed=streamed)) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert (turn.text, turn.stop, len(turn.calls)) == (text, "tool_use" if arguments else "end", 1 if arguments else 0)
    assert pair.server.stats.calls == 1


@pytest.mark.parametrize("word", [*DONE, *CUT])
async def test_whole_tool_calls_count_whatever_the_stop_reason(api: Api, word: str) -> None:
    async with paired(api, lambda _: reply_of(api, word, text="I look.", arguments='{"city": "Bern"}')) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert (turn.stop, [call.arguments for call in turn.calls]) == ("tool_use", [{"city": "Bern"}])


@pytest.mark.parametrize("arguments", ['{"city": "Be', "{", "", "{}"])
@pytest.mark.parametrize("word", CUT)
async def test_a_call_that_a_limit_cut_off_is_none(api: Api, word: str, arguments: str) -> None:
    async with paired(api, lambda _: reply_of(api, word, text="I look.", arguments=arguments)) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert (turn.stop, turn.calls, turn.text) == ("max_tokens", (), "I look.")


@pytest.mark.parametrize("word", REFUSED)
async def test_a_refusal_makes_no_calls(api: Api, word: str) -> None:
    async with paired(api, lambda _: reply_of(api, word, text="No.", arguments='{"city": "Bern"}')) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert (turn.stop, turn.calls) == ("refused", ())


@pytest.mark.parametrize("word", BROKEN)
async def test_a_reply_that_broke_off_is_none(api: Api, word: str | None) -> None:
    async with paired(api, lambda _: reply_of(api, word, text="The ans")) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    kind = "bad_reply" if word else "unavailable"
    assert (caught.value.kind, pair.server.stats.calls) == (kind, 2)


async def test_an_unknown_end_of_nothing_is_no_reply(api: Api) -> None:
    async with paired(api, lambda _: reply_of(api, "finished")) as pair:
        with pytest.raises(ModelError) as caught:
            await pair.model.reply(ask())
    assert caught.value.kind == "bad_reply"


async def test_an_empty_word_in_every_chunk_says_nothing_of_a_stream_that_broke_off() -> None:
    events = tuple(
        {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": ""}]}
        for piece in ("The ", "ans", "wer.")
    )
    async with paired("chat", lambda _: Reply(raw=events)) as pair:
        assert (await pair.model.reply(ask())).text == "The answer.", "[DONE] came"
        pair.server.fail_next(Fault("cut_stream", after=2))  # without an error, as a proxy ends it that gave up
        assert (await pair.model.reply(ask())).text == "The answer."
    assert pair.server.stats.calls == 3


@pytest.mark.parametrize("ids", [{}, {"id": ""}, {"id": None}, {"id": "call_0"}])
@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("pieces", [1, 3])
async def test_parallel_calls_under_one_index_are_calls_of_their_own(
    ids: dict[str, Any], index: int | None, pieces: int
) -> None:
    deltas = []
    for arguments in ('{"city": "Bern"}', '{"city": "Rome"}', '{"city": "Bonn {}"}'):
        size = -(-len(arguments) // pieces)
        cut = [arguments[start : start + size] for start in range(0, len(arguments), size)]
        first, *rest = [part(index, one, **ids) for one in cut]
        for one in rest:
            del one["tool_calls"][0]["function"]["name"]
        deltas += [first, *rest]
    async with paired("chat", lambda _: chunks(*deltas, finish="tool_calls")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert [call.arguments["city"] for call in turn.calls] == ["Bern", "Rome", "Bonn {}"]
    assert len({call.id for call in turn.calls}) == 3


async def test_a_name_that_every_part_repeats_begins_no_new_call() -> None:
    deltas = [part(0, piece) for piece in ('{"city": "a}', "{b", '"', "}", "")]
    async with paired("chat", lambda _: chunks(*deltas, finish="tool_calls")) as pair:
        turn = await pair.model.reply(ask(tools=TOOLS))
    assert [call.arguments for call in turn.calls] == [{"city": "a}{b"}]
