"""Fields of a chat completion that only its provider knows go back to it with the next turn, and to no other model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.chat_reply import merge_fields
from handoff.contracts import Tier, ToolReply, Turn
from specialists.model import ModelCall, ModelError, ModelMessage
from specialists.tools.tool import ToolSpec
from tests.models.conftest import HOME, Pair, ask, paired
from tests.models.test_compatible_servers import chunks, completion
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest

TOOLS = (ToolSpec("look_up", "Looks a city up.", {"type": "object", "properties": {"city": {"type": "string"}}}),)
SIGNATURE = {"google": {"thought_signature": "c2lnbmVkIGJ5IEdlbWluaQ=="}}
DETAILS = [
    {"type": "reasoning.text", "text": "Bern first, then Rome.", "signature": "c2ln", "format": "x-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "aGlkZGVu", "id": "rs_1", "format": "x-v1", "index": 1},
]
FIELDS: dict[str, Any] = {"reasoning_content": "Bern first, then Rome.", "reasoning_details": DETAILS}


def calls(*, signed: bool = True) -> list[dict[str, Any]]:
    """Two parallel calls, of which the first is signed, as Gemini does it."""
    more = {"extra_content": SIGNATURE} if signed else {}
    bern = {"name": "look_up", "arguments": '{"city": "Bern"}'}
    rome = {"name": "look_up", "arguments": '{"city": "Rome"}', "note": "beside the arguments"}
    return [
        {"id": "a", "type": "function", "function": bern, **more},
        {"id": "b", "type": "function", "function": rome},
    ]


def streamed() -> Reply:
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


async def next_turn(pair: Pair, turn: Turn, tier: Tier = "balanced") -> dict[str, Any]:
    """Take the turn after this one; the assistant's message as the server got it."""
    replies = tuple(ToolReply(call_id=call.id, text="sunny") for call in turn.calls)
    messages = (
        ModelMessage(role="user", text="Weather?"),
        ModelMessage(role="assistant", text=turn.text, calls=turn.calls, thoughts=turn.thoughts),
        ModelMessage(role="tool", replies=replies),
    )
    await pair.model.reply(ModelCall(purpose="test", system="", messages=messages, tools=TOOLS, tier=tier))
    message: dict[str, Any] = pair.server.requests[-1].body["messages"][1]
    return message


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


@pytest.mark.parametrize("reply", [whole(), streamed()], ids=["whole", "streamed"])
async def test_what_only_the_provider_knows_comes_back_as_it_was(reply: Reply) -> None:
    async with paired("chat", strict(reply)) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        assert turn.thoughts[0] == {"provider": HOME, "model": "gpt-6.1-terra"}
        sent = await next_turn(pair, Turn.model_validate_json(turn.model_dump_json()))
    assert sent == {"role": "assistant", "content": "", "tool_calls": calls(), **FIELDS}


async def test_another_model_gets_none_of_it() -> None:
    async with paired(
        "chat", lambda request: whole() if len(request.body["messages"]) == 2 else Reply("Sunny.")
    ) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        sent = await next_turn(pair, turn, tier="deep")
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
    def brain(request: WireRequest) -> Reply | Fault:
        if len(request.body["messages"]) == 2:
            return whole()
        refuses = set(FIELDS) & set(request.body["messages"][1])
        return Fault("in_own_words", body={"error": {"message": words}}) if refuses else Reply("Sunny.")

    async with paired("chat", brain) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        for _ in range(2):
            await next_turn(pair, turn)
    assert pair.server.stats.calls == 4, "learnt once"


async def test_a_server_that_misses_one_is_not_taken_for_one_that_refuses_it() -> None:
    async with paired(
        "chat", strict(completion("tool_calls", content=None, tool_calls=calls(signed=False), **FIELDS))
    ) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
        for _ in range(2):
            with pytest.raises(ModelError, match="missing a thought_signature"):
                await next_turn(pair, turn)
    assert pair.server.requests[-1].body["messages"][1]["reasoning_content"] == FIELDS["reasoning_content"]


async def test_a_plain_reply_keeps_nothing() -> None:
    reply = completion(
        "tool_calls", content=None, tool_calls=calls(signed=False)[:1], annotations=[], reasoning="", audio=None
    )
    async with paired("chat", lambda _: reply) as pair:
        assert (await pair.model.reply(ask(tools=TOOLS))).thoughts == ()


async def test_endless_reasoning_is_not_kept() -> None:
    rows = (range(start, start + 3_000) for start in range(0, 60_000, 3_000))
    deltas = [{"reasoning_content": " ".join(str(number * number) for number in row)} for row in rows]
    async with paired("chat", lambda _: chunks(*deltas, {"tool_calls": calls()[1:]}, finish="tool_calls")) as pair:
        turn = await pair.model.reply(ask("Weather?", tools=TOOLS))
    assert len(turn.calls) == 1
    assert "reasoning_content" not in json.dumps(turn.thoughts)


TEXT = st.text(max_size=30)
ITEM = st.fixed_dictionaries({"type": st.sampled_from(["a", "b"]), "text": TEXT}, optional={"signature": TEXT})


@given(
    fields=st.dictionaries(st.sampled_from(["one", "two"]), st.one_of(TEXT, st.booleans(), st.integers())),
    nested=TEXT,
    items=st.lists(ITEM, max_size=4),
    size=st.integers(1, 7),
)
def test_any_cutting_of_a_stream_adds_up_to_the_whole(
    fields: dict[str, Any], nested: str, items: list[dict[str, Any]], size: int
) -> None:
    listed = [{**item, "index": index} for index, item in enumerate(items)]
    right = {**fields, "deep": {"in": {"it": nested}}, "details": listed}
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
