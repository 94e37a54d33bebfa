"""What a model thought, and fields that only its provider knows, go back to it unchanged, and to no other model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.chat_completions import merge_fields
from handoff.contracts import Tier, ToolCall, ToolReply, Turn
from specialists.model import ModelCall, ModelError, ModelMessage
from tests.models.chat_replies import chunks, completion
from tests.models.conftest import HOME, TOOLS, Pair, ask, open_pair, take_turn
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import Api, WireRequest

THINKING: tuple[Api, ...] = ("anthropic", "responses")
CALL = ToolCall(id="call_1", name="look_up", arguments={"city": "Bern"})

BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"},  # a display that omits it is no empty thought
    {"type": "redacted_thinking", "data": "aGlkZGVu"},
    {"type": "text", "text": "I will look."},
    {"type": "thinking", "thinking": "Bern, then.", "signature": "bW9yZQ"},
    {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {"city": "Bern"}},
]
ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "aGlkZGVu"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I will look.", "annotations": []}],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"city": "Bern"}'},
]


def messages_stream() -> Reply:
    """A streamed message of `BLOCKS`, each part as the API streams it."""
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(BLOCKS):
        empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}
        deltas: dict[str, list[dict[str, Any]]] = {
            "thinking": [
                {"type": "thinking_delta", "thinking": block.get("thinking")},
                {"type": "signature_delta", "signature": block.get("signature")},
            ],
            "text": [{"type": "text_delta", "text": block.get("text")}],
            "tool_use": [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"city": ', '"Bern"}')],
        }
        start = block | empty.get(block["type"], {})
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas.get(block["type"], [])]
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]
    return Reply(raw=tuple(events))


def responses_stream() -> Reply:
    """A streamed response of `ITEMS`."""
    response = {"id": "r", "object": "response", "status": "completed", "output": ITEMS, "error": None}
    return Reply(
        raw=(
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            *({"type": "response.output_item.done", "output_index": n, "item": i} for n, i in enumerate(ITEMS)),
            {"type": "response.completed", "response": response},
        )
    )


SIGNATURE = {"google": {"thought_signature": "c2lnbmVkIGJ5IEdlbWluaQ=="}}
DETAILS = [
    {"type": "reasoning.text", "text": "Bern first, then Rome.", "signature": "c2ln", "format": "x-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "aGlkZGVu", "id": "rs_1", "format": "x-v1", "index": 1},
]
FIELDS: dict[str, Any] = {"reasoning_content": "Bern first, then Rome.", "reasoning_details": DETAILS}


def calls(*, is_signed: bool = True) -> list[dict[str, Any]]:
    """Two parallel calls, of which the first is signed, as Gemini does it."""
    more = {"extra_content": SIGNATURE} if is_signed else {}
    bern = {"name": "look_up", "arguments": '{"city": "Bern"}'}
    rome = {"name": "look_up", "arguments": '{"city": "Rome"}', "note": "beside the arguments"}
    return [
        {"id": "a", "type": "function", "function": bern, **more},
        {"id": "b", "type": "function", "function": rome},
    ]


def make_streamed_reply() -> Reply:
    """The reply of `whole`, in the parts in which servers send it."""
    text, encrypted = DETAILS
    pieces = ("Bern first, ", "then Rome.")
    return chunks(
        {"role": "assistant", "content": "", "reasoning_content": None},
        *({"reasoning_content": piece} for piece in pieces),
        *({"reasoning_details": [{**text, "text": piece, "signature": ""}]} for piece in pieces),
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "c2ln"}]},
        {"reasoning_details": [encrypted]},
        *({"tool_calls": [{"index": index, **call}]} for index, call in enumerate(calls())),
        finish="tool_calls",
    )


def whole() -> Reply:
    return completion("tool_calls", content=None, tool_calls=calls(), **FIELDS)


def strict(reply: Reply) -> Any:
    """A server that refuses a turn of its own model without what it sent with it, in Gemini's words."""

    def brain(request: WireRequest) -> Reply | Fault:
        earlier = [one for one in request.body["messages"] if one["role"] == "assistant"]
        if not earlier:
            return reply
        if earlier[0]["tool_calls"][0].get("extra_content") != SIGNATURE:
            words = "Function call is missing a thought_signature in functionCall parts."
            return Fault(
                "in_own_words", body=[{"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}]
            )
        return Reply("Sunny.")

    return brain


def brain(request: WireRequest) -> Reply:
    if request.messages[-1].replies:
        return Reply("Sunny.")
    return {"anthropic": messages_stream, "responses": responses_stream, "chat": whole}[request.api]()


async def next_turn(
    pair: Pair, turn: Turn, tier: Tier = "balanced", calls: tuple[ToolCall, ...] = (), **more: Any
) -> list[dict[str, Any]]:
    """Take the turn after this one; the messages that the server got for it, of whichever kind."""
    calls = calls or turn.calls
    messages = (
        ModelMessage(role="user", text="Weather?"),
        ModelMessage(role="assistant", text=turn.text, calls=calls, thoughts=turn.thoughts),
        ModelMessage(role="tool", replies=tuple(ToolReply(call_id=call.id, text="sunny") for call in turn.calls)),
    )
    await pair.model.reply(ModelCall(purpose="t", system="", messages=messages, tools=TOOLS, tier=tier, **more))
    body = pair.server.requests[-1].body
    sent: list[dict[str, Any]] = body.get("messages") or body["input"]
    return sent


async def test_blocks_and_items_come_back_as_they_were() -> None:
    for api, parts in zip(THINKING, (BLOCKS, ITEMS), strict=True):
        async with open_pair(api, brain, is_own_server=api == "responses") as pair:
            turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
            assert (turn.text, turn.calls, turn.stop) == ("I will look.", (CALL,), "tool_use")
            assert turn.thoughts == ({"provider": pair.model.provider, "model": pair.model.tiers["balanced"]}, *parts)
            kept = Turn.model_validate_json(turn.model_dump_json())
            sent = await next_turn(pair, kept, tool_choice="required")
            last = pair.server.requests[-1].body
        if api == "anthropic":
            assert sent[1] == {"role": "assistant", "content": BLOCKS}
            assert "tool_choice" not in last  # a forced call is an error while a model thinks
        else:
            assert sent[1:4] == ITEMS
            assert last["include"] == ["reasoning.encrypted_content"]


async def test_another_models_thoughts_are_left_out_and_its_words_and_calls_told() -> None:
    for api in THINKING:
        async with open_pair(api, brain) as pair:
            turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
            sent = await next_turn(pair, turn, tier="deep")
            assert "thinking" not in str(sent)
            assert "reasoning" not in str(sent)
            assert pair.server.requests[-1].messages[1] == ModelMessage(
                role="assistant", text="I will look.", calls=(CALL,)
            ) or pair.server.requests[-1].messages[1:3] == (
                ModelMessage(role="assistant", text="I will look."),
                ModelMessage(role="assistant", calls=(CALL,)),
            )


async def test_thoughts_that_do_not_fit_the_calls_any_more_are_left_out() -> None:
    async with open_pair("anthropic", brain) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        other = CALL.model_copy(update={"id": "call_2"})
        sent = await next_turn(pair, turn, calls=(other,))
    assert "thinking" not in str(sent)


async def test_thoughts_that_are_refused_are_sent_no_more() -> None:
    def refuses(request: WireRequest) -> Reply | Fault:
        told = str(request.body)
        thinks = "'type': 'thinking'" in told or "'type': 'reasoning'" in told
        return Fault("no_thoughts") if thinks else brain(request)

    for api in THINKING:
        async with open_pair(api, refuses) as pair:
            turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
            for _ in range(2):
                await next_turn(pair, turn)
        assert pair.server.stats.calls == 4  # learnt once


async def test_a_turn_without_thoughts_keeps_none(api: Api) -> None:
    assert (await take_turn(api, Reply("Looking.", (CALL,), "tool_use"), ask(tools=TOOLS))).thoughts == ()


@pytest.mark.parametrize("reply", [whole(), make_streamed_reply()], ids=["whole", "streamed"])
async def test_what_only_the_provider_knows_comes_back_as_it_was(reply: Reply) -> None:
    async with open_pair("chat", strict(reply)) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        assert turn.thoughts[0] == {"provider": HOME, "model": "gpt-6.1-terra"}
        sent = await next_turn(pair, Turn.model_validate_json(turn.model_dump_json()))
    assert sent[1] == {"role": "assistant", "content": "", "tool_calls": calls(), **FIELDS}


async def test_another_model_gets_none_of_it() -> None:
    async with open_pair("chat", brain) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        sent = (await next_turn(pair, turn, tier="deep"))[1]
    assert set(sent) == {"role", "content", "tool_calls"}
    assert all(set(call) == {"id", "type", "function"} for call in sent["tool_calls"])
    assert all(set(call["function"]) == {"name", "arguments"} for call in sent["tool_calls"])


REFUSALS = [
    "Unknown name \"reasoning_details\" at 'messages[1]': Cannot find field.",
    "'messages.1' : the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
    "messages.1.assistant.reasoning_content: Extra inputs are not permitted",
    "Additional properties are not allowed ('extra_content' was unexpected) - 'messages.1.tool_calls.0'",
]  # fmt: skip


@pytest.mark.parametrize("words", REFUSALS)
async def test_a_server_that_refuses_them_is_asked_once(words: str) -> None:
    def refuses(request: WireRequest) -> Reply | Fault:
        named = set(FIELDS) & set(request.body["messages"][1])
        return Fault("in_own_words", body={"error": {"message": words}}) if named else brain(request)

    async with open_pair("chat", refuses) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        for _ in range(2):
            await next_turn(pair, turn)
    assert pair.server.stats.calls == 4, "learnt once"


async def test_a_server_that_misses_one_is_not_taken_for_one_that_refuses_it() -> None:
    async with open_pair(
        "chat", strict(completion("tool_calls", content=None, tool_calls=calls(is_signed=False), **FIELDS))
    ) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        for _ in range(2):
            with pytest.raises(ModelError, match="missing a thought_signature"):
                await next_turn(pair, turn)
    assert pair.server.requests[-1].body["messages"][1]["reasoning_content"] == FIELDS["reasoning_content"]


async def test_a_plain_reply_keeps_nothing() -> None:
    reply = completion(
        "tool_calls", content=None, tool_calls=calls(is_signed=False)[:1], annotations=[], reasoning="", audio=None
    )
    assert (await take_turn("chat", reply, ask(tools=TOOLS))).thoughts == ()


async def test_endless_reasoning_is_not_kept() -> None:
    rows = (range(start, start + 3_000) for start in range(0, 60_000, 3_000))
    deltas = [{"reasoning_content": " ".join(str(number * number) for number in row)} for row in rows]
    reply = chunks(*deltas, {"tool_calls": calls()[1:]}, finish="tool_calls")
    turn = await take_turn("chat", reply, ask("Weather?", tools=TOOLS))
    assert len(turn.calls) == 1
    assert "reasoning_content" not in json.dumps(turn.thoughts)


TEXT = st.text(max_size=30)
ITEM = st.fixed_dictionaries({"type": st.sampled_from(["a", "b"]), "text": TEXT}, optional={"signature": TEXT})


@given(
    fields=st.dictionaries(st.sampled_from(["one", "two"]), st.one_of(TEXT, st.booleans(), st.integers())),
    nested_text=TEXT,
    items=st.lists(ITEM, max_size=4),
    size=st.integers(1, 7),
)
def test_any_cutting_of_a_stream_adds_up_to_the_whole(
    fields: dict[str, Any], nested_text: str, items: list[dict[str, Any]], size: int
) -> None:
    listed = [{**item, "index": index} for index, item in enumerate(items)]
    right = {**fields, "deep": {"in": {"it": nested_text}}, "details": listed}
    found: dict[str, Any] = {}
    for one in _parts(right, size):
        merge_fields(found, json.loads(json.dumps(one)))
    found.setdefault("details", [])
    assert found == right


def _parts(whole: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Cut the texts of an object into pieces, each in a part of its own."""
    cut: list[dict[str, Any]] = []
    for key, value in whole.items():
        if isinstance(value, str):
            cut += [{key: value[start : start + size]} for start in range(0, max(1, len(value)), size)]
        elif isinstance(value, dict):
            cut += [{key: one} for one in _parts(value, size)]
        elif isinstance(value, list):
            for item in value:
                once = {name: item[name] for name in ("type", "index")}
                rest = {name: each for name, each in item.items() if name not in once}
                cut += [{key: [once | one]} for one in _parts(rest, size)]
        else:
            cut.append({key: value})
    return cut
