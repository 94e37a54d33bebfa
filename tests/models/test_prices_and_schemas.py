"""Costs without the price list in memory, and schemas in strict form."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import genai_prices
import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel, Field

from bot.models.prices import Prices
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.strict_schema import strict_schema
from bot.models.wire import Tokens
from handoff.contracts import Finding
from specialists.model import ModelCall, ModelMessage
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import Api
from tests.system.brains import connect

MODELS = {
    "anthropic": ["claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"],
    "openai": ["gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol"],
}


@pytest.mark.parametrize("provider", sorted(MODELS))
async def test_costs_agree_with_the_list_for_any_mix_of_tokens(provider: str) -> None:
    prices = Prices(MODELS[provider], provider=provider)
    assert prices.cost(MODELS[provider][0], Tokens(1000, 10)) is None  # nothing is known yet
    await prices.ready()
    for model in MODELS[provider]:
        for tokens in (Tokens(1000, 10), Tokens(900_000, 500, 300_000, 1000), Tokens(150_000, 1), Tokens(7, 3, 7)):
            usage = genai_prices.Usage(
                input_tokens=tokens.input,
                output_tokens=tokens.output,
                cache_read_tokens=tokens.read,
                cache_write_tokens=tokens.written,
            )
            expected = genai_prices.calc_price(usage, model, provider_id=provider).total_price
            assert prices.cost(model, tokens) == pytest.approx(float(expected))


async def test_an_unknown_model_has_no_price() -> None:
    prices = Prices(["my-own-model"], provider="openai")
    await prices.ready()
    assert prices.cost("my-own-model", Tokens(1000, 10)) is None
    nameless = Prices(["gpt-6-luna"])
    await nameless.ready()
    assert nameless.cost("gpt-6-luna", Tokens(1000, 10)) is None


def test_heavy_modules_are_imported_by_nobody_who_does_not_use_them() -> None:
    code = (
        "import sys, bot.models.choosing; print([name for name in "
        "('anthropic', 'openai', 'genai_prices', 'aiohttp', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class _Inner(BaseModel):
    kind: str = "x"


class _Outer(BaseModel):
    score: int = Field(ge=0, le=100, description="How sure.")
    inner: _Inner | None = None
    tags: list[str] = Field(default=[], max_length=3)


def test_all_properties_are_required_and_no_others_allowed() -> None:
    given = _Outer.model_json_schema()
    before = str(given)
    strict = strict_schema(given)
    assert str(given) == before
    jsonschema.Draft202012Validator.check_schema(strict)
    assert strict["required"] == ["score", "inner", "tags"]
    assert strict["$defs"]["_Inner"]["required"] == ["kind"]
    jsonschema.validate({"score": 500, "inner": None, "tags": []}, strict)
    wrongs: list[dict[str, Any]] = [{"score": 5, "inner": None}, {"score": 5, "inner": None, "tags": [], "more": 1}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, strict)


def test_limits_move_into_the_description_and_defaults_go() -> None:
    strict = strict_schema(_Outer.model_json_schema())
    assert strict["properties"]["score"] == {
        "type": "integer",
        "description": "How sure. {minimum: 0, maximum: 100}",
    }
    assert "maxItems: 3" in strict["properties"]["tags"]["description"]
    assert not _words(strict) & {"default", "title", "minimum", "maximum", "maxItems"}
    assert strict_schema(Finding.model_json_schema())["properties"]["severity"]["enum"][0] == "info"


def _words(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        return set(schema).union(*(_words(value) for value in schema.values()))
    return set().union(*(_words(value) for value in schema)) if isinstance(schema, list) else set()


@pytest.mark.parametrize("api", ["anthropic", "responses"])
async def test_a_model_says_beforehand_what_tokens_of_a_tier_cost(api: Api) -> None:
    async with ProviderServer(lambda _: Reply("ok")) as server:
        model = connect(api, server)
        assert model.price("deep", 1000, 10) is None, "nothing is known yet"
        await model.warm()
        call = ModelCall(purpose="t", system="", messages=(ModelMessage(role="user", text="hi"),), tier="deep")
        turn = await model.reply(call)
        expected = model.price("deep", turn.usage.tokens_in, turn.usage.tokens_out)
        assert expected is not None
        assert expected == pytest.approx(turn.usage.cost)
        fast, deep = model.price("fast", 1000, 10), model.price("deep", 1000, 10)
        assert fast is not None
        assert deep is not None
        assert 0 < fast < deep
        await model.close()


def test_the_rehearsal_costs_nothing() -> None:
    assert RehearsalModel().price("deep", 1000, 10) == 0.0
