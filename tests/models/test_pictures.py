"""Pictures on all three wires: as image blocks to models that see, within limits, and as one line each to others."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from bot.models.model_choice import ModelSettingsError, choose_model
from bot.models.picture_support import (
    ANTHROPIC_LIMITS,
    OPENAI_LIMITS,
    claude_sees_pictures,
    openai_sees_pictures,
    replace_excess_pictures,
)
from bot.models.provider_model import ProviderModel
from bot.models.server_facts import estimate_prompt_tokens
from handoff.contracts import Tier, ToolCall
from specialists.model import ModelCall, ModelMessage, Picture
from tests.models.conftest import CLAUDE, GPT, TOOLS, Pair, ask, open_pair
from tests.models.sample_pictures import picture, png
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.providers.wire import Api, WireRequest

TWO = (picture("plan.png"), picture("roof.png", png(3, 3)))
TIERS: tuple[Tier, ...] = ("fast", "balanced", "deep")
SEEING = dict.fromkeys(TIERS, True)


def showing(*pictures: Picture, text: str = "What is it?", **more: Any) -> ModelCall:
    messages = (ModelMessage(role="user", text=text, pictures=pictures),)
    return ModelCall(purpose="test", system="You are the analyst.", messages=messages, timeout_seconds=20.0, **more)


def all_see(pair: Pair) -> Pair:
    """The same, where somebody said that all models see."""
    pair.model._picture_settings = SEEING
    return pair


def content(request: WireRequest) -> Any:
    """The content of the last message, as it went over the wire."""
    items = request.body["input"] if request.api == "responses" else request.body["messages"]
    return items[-1]["content"]


async def test_pictures_go_out_as_image_blocks_before_the_text(pair: Pair) -> None:
    turn = await all_see(pair).model.reply(showing(*TWO))
    sent = content(pair.server.requests[0])
    data = b64encode(TWO[0].data).decode()
    url = f"data:image/png;base64,{data}"
    assert (
        sent[1]
        == {
            "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
            "responses": {"type": "input_image", "image_url": url, "detail": "auto"},
            "chat": {"type": "image_url", "image_url": {"url": url, "detail": "auto"}},
        }[pair.api]
    )
    assert pair.server.requests[0].messages[0].pictures == TWO
    assert [part["text"] for part in sent if "text" in part] == ["plan.png:", "roof.png:", "What is it?"]
    assert turn.unseen == ()


async def test_a_message_without_pictures_goes_out_as_before(pair: Pair) -> None:
    await all_see(pair).model.reply(ask("Hello"))
    plain = [{"type": "text", "text": "Hello"}] if pair.api == "anthropic" else "Hello"
    assert content(pair.server.requests[0]) == plain


async def test_the_mark_of_the_cache_is_on_the_last_block(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("Yes.")) as pair:
        await all_see(pair).model.reply(showing(*TWO, tools=TOOLS))
    sent = content(pair.server.requests[0])
    marked = [number for number, part in enumerate(sent) if "cache_control" in part]
    assert marked == ([4] if api == "anthropic" else [])


async def test_a_model_that_reads_text_only_gets_a_line_for_each(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("Yes.")) as pair:
        turn = await pair.model.reply(showing(*TWO))
    lines = [f"{name}: not shown to this model, which reads text only" for name in ("plan.png", "roof.png")]
    message = pair.server.requests[0].messages[0]
    assert message.text == "\n".join(lines) + "\n\nWhat is it?"
    assert message.pictures == ()
    assert turn.unseen == tuple(lines)


async def test_each_retry_sends_the_pictures_again(pair: Pair) -> None:
    pair.server.fail_next(Fault("server_error"), Fault("cut_stream"))
    turn = await all_see(pair).model.reply(showing(*TWO))
    assert [request.messages[0].pictures for request in pair.server.requests] == [TWO] * 3
    assert (turn.text, turn.unseen) == ("Hello there, this is the answer.", ())


@pytest.mark.parametrize("kind", ["no_pictures", "no_pictures_500"])
async def test_a_server_that_takes_no_pictures_is_asked_once_without(pair: Pair, kind: FaultKind) -> None:
    pair.server.fail_next(Fault(kind))
    turn = await all_see(pair).model.reply(showing(*TWO))
    again = await pair.model.reply(showing(*TWO))
    assert [bool(request.messages[0].pictures) for request in pair.server.requests] == [True, False, False]
    assert turn.unseen == again.unseen
    assert turn.unseen[0] == "plan.png: not shown to this model, which reads text only"


async def test_one_picture_that_is_refused_blinds_nobody(pair: Pair) -> None:
    pair.server.fail_next(Fault("bad_picture"))
    turn = await all_see(pair).model.reply(showing(TWO[0]))
    again = await pair.model.reply(showing(TWO[1]))
    assert turn.unseen == ("plan.png: not shown to this model, as its server refused the picture",)
    assert again.unseen == ()
    assert pair.server.requests[-1].messages[0].pictures == TWO[1:]


async def test_steps_in_a_schema_keep_the_pictures() -> None:
    step = Reply('{"tool": "look_up", "arguments": {"city": "Bern"}}')
    async with open_pair("chat", lambda _: step, tool_mode="schema") as pair:
        turn = await all_see(pair).model.reply(showing(*TWO, tools=TOOLS))
    assert turn.calls[0].arguments == {"city": "Bern"}
    assert "tools" not in pair.server.requests[0].body
    assert pair.server.requests[0].messages[0].pictures == TWO


async def test_pictures_stay_in_the_first_message_once_tools_replied(pair: Pair) -> None:
    first = showing(*TWO, tools=TOOLS)
    call = ToolCall(id="c1", name="look_up", arguments={})
    later = (ModelMessage(role="assistant", calls=(call,)), ModelMessage(role="user", text="Go on."))
    await all_see(pair).model.reply(
        ModelCall(purpose="t", system="", messages=(*first.messages, *later), tools=TOOLS, timeout_seconds=20.0)
    )
    assert pair.server.requests[0].messages[0].pictures == TWO


def left_out(limits: Any, *pictures: Picture) -> tuple[str, ...]:
    return replace_excess_pictures(showing(*pictures), limits)[1]


def test_limits_of_the_providers() -> None:
    big = picture("big.png", png(padding=4_000_000))
    assert left_out(ANTHROPIC_LIMITS, big, TWO[0]) == (
        "big.png: not shown to this model, as it has 4.0 MB, and 3.75 MB are allowed",
    )
    assert left_out(OPENAI_LIMITS, big) == ()
    wide = picture("wide.png", png(9_000, 1))
    assert left_out(ANTHROPIC_LIMITS, wide) == (
        "wide.png: not shown to this model, as it has 9,000 x 1 pixels, and 8,000 a side are allowed",
    )
    broken = picture("cut.png", png()[:14])
    assert left_out(OPENAI_LIMITS, broken) == ("cut.png: not shown to this model, as the file is broken",)


def test_many_pictures_at_once() -> None:
    many = [picture(f"{number}.png") for number in range(102)]
    assert left_out(ANTHROPIC_LIMITS, *many) == tuple(
        f"{number}.png: not shown to this model, which takes at most 100 pictures at once" for number in (100, 101)
    )
    tall = picture("tall.png", png(1, 2_100))
    assert left_out(ANTHROPIC_LIMITS, tall, *many[:19]) == ()
    assert "and 2,000 a side are allowed" in left_out(ANTHROPIC_LIMITS, tall, *many[:20])[0]
    heavy = [picture(f"{number}.png", png(padding=3_700_000)) for number in range(6)]
    assert left_out(ANTHROPIC_LIMITS, *heavy) == (
        "5.png: not shown to this model, which takes at most 22 MB of pictures at once",
    )


def test_pictures_count_as_tokens() -> None:
    assert (
        estimate_prompt_tokens(showing(picture(data=png(1_500, 750)))) - estimate_prompt_tokens(showing()) == 85 + 1_500
    )


def test_the_providers_own_models_by_name() -> None:
    assert all(map(openai_sees_pictures, (*GPT.values(), "gpt-4o-mini", "gpt-4.1", "o3")))
    assert not any(map(openai_sees_pictures, ("gpt-3.5-turbo", "gpt-4-0613", "o3-mini", "qwen3", "llama-gpt-5")))
    assert all(map(claude_sees_pictures, CLAUDE.values()))
    assert not any(map(claude_sees_pictures, ("claude-2.1", "claude-instant-1", "home")))


async def test_the_setting_says_which_tiers_see() -> None:
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", **{f"LEADHAND_MODEL_{tier.upper()}": "home" for tier in TIERS}}

    async def check_tier_sight(setting: str) -> list[bool | None]:
        model = await choose_model(env | {"LEADHAND_SEES": setting})
        assert isinstance(model, ProviderModel)
        try:
            return [await model.sees_pictures(tier) for tier in TIERS]
        finally:
            await model.close()

    assert await check_tier_sight("") == [None, None, None]
    assert await check_tier_sight("all") == [True, True, True]
    assert await check_tier_sight("none") == [False, False, False]
    assert await check_tier_sight("Balanced, deep") == [False, True, True]
    with pytest.raises(ModelSettingsError, match="LEADHAND_SEES is 'best'"):
        await choose_model(env | {"LEADHAND_SEES": "best"})
