"""A reply that is whole is whole whatever its server calls the end, and whole tool calls count."""

from __future__ import annotations

from typing import Any

from handoff.contracts import ToolCall
from tests.models.chat_replies import completion, event
from tests.models.conftest import TOOLS, TextListener, ask, catch_failure, catch_failures, open_pair, take_turns
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import Api

DONE_WORDS = ["end", "<|eot_id|>", "end_turn", "STOP", "tool_use", "complete", "finished", "eos", "stop_token", "OTHER"]
CUT_WORDS = ["MAX_TOKENS", "max_output_tokens", "token_limit", "length"]
REFUSAL_WORDS = ["SAFETY", "content_filtered", "RECITATION", "guardrail_intervened"]
BROKEN_WORDS = [
    None,
    "error",
    "aborted",
    "insufficient_system_resource",
    "MALFORMED_FUNCTION_CALL",
    "cancelled",
    "preempted",
]
BERN = '{"city": "Bern"}'
CALL = ask(tools=TOOLS)
LOOKING = (ToolCall(id="c", name="look_up", arguments={"city": "Zürich"}),)


def reply_of(
    api: Api, word: str | None, *, text: str = "", arguments: str | None = None, is_streamed: bool = False
) -> Reply:
    """A reply that ends with a word, with a text or a tool call of these arguments."""
    if api == "chat":
        function = {"name": "look_up", "arguments": arguments}
        calls = {} if arguments is None else {"tool_calls": [{"index": 0, "id": "a", "function": function}]}
        if not is_streamed:
            return completion(word, content=text, **calls)
        return Reply(raw=(event({"content": text, **calls}), event({}, word)))
    if api == "anthropic":
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if arguments is not None:
            blocks.append({"type": "tool_use", "id": "a", "name": "look_up", "input": arguments})
        return Reply(raw={"type": "message", "role": "assistant", "content": blocks, "stop_reason": word, "usage": {}})
    items: list[dict[str, Any]] = [{"type": "message", "content": [{"type": "output_text", "text": text}]}][: len(text)]
    if arguments is not None:
        items.append({"type": "function_call", "call_id": "a", "name": "look_up", "arguments": arguments})
    if word in CUT_WORDS or word in REFUSAL_WORDS:
        cut = {"status": "incomplete", "incomplete_details": {"reason": word}}
        return Reply(raw={"object": "response", **cut, "output": items})
    return Reply(raw={"object": "response", "status": word, "output": items})


async def test_a_whole_reply_is_whole_whatever_its_end_is_called(api: Api) -> None:
    texts = [word for word in DONE_WORDS if word != "tool_use"]
    for streamed in (False, True)[: 1 + (api == "chat")]:
        replies = [reply_of(api, word, text="The answer.", is_streamed=streamed) for word in texts]
        turns = await take_turns(api, [*replies, reply_of(api, "tool_use", arguments=BERN, is_streamed=streamed)], CALL)
        told = [(turn.text, turn.stop, len(turn.calls), turn.usage.calls) for turn in turns]
        assert told == [*[("The answer.", "end", 0, 1)] * len(texts), ("", "tool_use", 1, 1)]


async def test_whole_tool_calls_count_whatever_the_stop_reason(api: Api) -> None:
    replies = [reply_of(api, word, text="I look.", arguments=BERN) for word in (*DONE_WORDS, *CUT_WORDS)]
    for turn in await take_turns(api, [*replies, Reply(calls=LOOKING, stop="end")], CALL):
        assert (turn.stop, len(turn.calls), len(turn.calls[0].arguments)) == ("tool_use", 1, 1)


async def test_a_call_that_a_limit_cut_off_is_none(api: Api, text_listener: TextListener) -> None:
    cut = [(word, arguments) for word in CUT_WORDS for arguments in ('{"city": "Be', "{", "", "{}")]
    replies = [reply_of(api, word, text="I look.", arguments=arguments) for word, arguments in cut]
    streamed = Reply("I look.", LOOKING, "max_tokens", cut_arguments='{"city": "Zü')
    for turn in await take_turns(api, [*replies, streamed], ask(tools=TOOLS, on_text=text_listener[1])):
        assert (turn.stop, turn.calls, turn.text, turn.usage.calls) == ("max_tokens", (), "I look.", 1)


async def test_a_refusal_makes_no_calls(api: Api, text_listener: TextListener) -> None:
    replies = [reply_of(api, word, text="No.", arguments=BERN) for word in REFUSAL_WORDS]
    for turn in await take_turns(
        api, [*replies, Reply("No.", stop="refused")], ask(tools=TOOLS, on_text=text_listener[1])
    ):
        assert (turn.stop, turn.calls) == ("refused", ())


async def test_a_reply_that_broke_off_is_asked_for_once_more_and_then_is_none(api: Api) -> None:
    replies = [reply_of(api, word, text="The ans") for word in BROKEN_WORDS]
    failures = await catch_failures(api, [*replies, Reply("The ans", stop=None)])
    kinds = ["bad_reply" if word else "unavailable" for word in (*BROKEN_WORDS, None)]
    assert [(one.kind, one.transient, one.usage.calls) for one in failures] == [(kind, True, 2) for kind in kinds]


async def test_an_unknown_end_of_nothing_is_no_reply(api: Api) -> None:
    assert (await catch_failure(api, reply_of(api, "finished"))).kind == "bad_reply"


async def test_an_empty_word_in_every_chunk_says_nothing_of_a_stream_that_broke_off() -> None:
    events = tuple(event({"content": piece}, "") for piece in ("The ", "ans", "wer."))
    async with open_pair("chat", lambda _: Reply(raw=events)) as pair:
        assert (await pair.model.reply(ask())).text == "The answer.", "[DONE] came"
        pair.server.fail_next(Fault("cut_stream", after=2))  # without an error, as a proxy ends it that gave up
        assert (await pair.model.reply(ask())).text == "The answer."
    assert pair.server.stats.calls == 3
