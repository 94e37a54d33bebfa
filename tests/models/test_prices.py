"""What calls cost: by the list, which is never in memory, and as long as it is not read yet."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import genai_prices
import pytest

from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import LimitRules, SpendingBudget
from bot.models import prices
from bot.models.prices import Prices
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.models.wire import TokenCounts
from bot.store.counters import Counter
from bot.store.redis.redis_store import Store
from specialists.model import CallWithheld
from tests.models.conftest import ANA, CLAUDE, GPT, ServerScript, ask, connect, open_pair
from tests.models.price_lists import failing_price_list, held_price_list
from tests.patience import eventually, patience
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import Api

MODELS = {"anthropic": [*CLAUDE.values()], "openai": [*GPT.values()]}
FINE = Reply("Fine.", tokens_out=400)
DOLLARS = LimitRules(budgets={"day": SpendingBudget(micro_dollars=1_000_000)})
SPENDING_COUNTER = Counter("day:T1/all:micros", "day", 1)


@pytest.mark.parametrize("provider", sorted(MODELS))
async def test_costs_agree_with_the_list_for_any_mix_of_tokens(provider: str) -> None:
    prices = Prices(MODELS[provider], provider=provider)
    assert prices.compute_cost(MODELS[provider][0], TokenCounts(1000, 10)) is None  # nothing is known yet
    await prices.wait_until_ready()
    for model in MODELS[provider]:
        for tokens in (
            TokenCounts(1000, 10),
            TokenCounts(900_000, 500, 300_000, 1000),
            TokenCounts(150_000, 1),
            TokenCounts(7, 3, 7),
        ):
            usage = genai_prices.Usage(
                input_tokens=tokens.input,
                output_tokens=tokens.output,
                cache_read_tokens=tokens.cache_read,
                cache_write_tokens=tokens.cache_written,
            )
            expected = genai_prices.calc_price(usage, model, provider_id=provider).total_price
            assert prices.compute_cost(model, tokens) == pytest.approx(float(expected))


async def test_an_unknown_model_has_no_price() -> None:
    prices = Prices(["my-own-model"], provider="openai")
    await prices.wait_until_ready()
    assert prices.compute_cost("my-own-model", TokenCounts(1000, 10)) is None
    nameless = Prices(["gpt-6-luna"])
    await nameless.wait_until_ready()
    assert nameless.compute_cost("gpt-6-luna", TokenCounts(1000, 10)) is None


def test_heavy_modules_are_imported_by_nobody_who_does_not_use_them() -> None:
    code = (
        "import sys, bot.models.model_choice; print([name for name in "
        "('anthropic', 'openai', 'genai_prices', 'aiohttp', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("api", ["anthropic", "responses"])
async def test_a_call_costs_what_the_list_says_and_a_model_says_it_beforehand(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("Hello", tokens_out=250, cached_tokens=40)) as pair:
        assert pair.model.compute_price("deep", 1000, 10) is None, "nothing is known yet"
        await pair.model.warm()
        turn = await pair.model.reply(ask("x" * 1000, tier="deep"))
        fast, deep = (pair.model.compute_price(tier, 1000, 10) or 0.0 for tier in ("fast", "deep"))
    assert 0 < fast < deep
    usage = genai_prices.Usage(input_tokens=turn.usage.tokens_in, output_tokens=250, cache_read_tokens=40)
    provider = "anthropic" if api == "anthropic" else "openai"
    price = genai_prices.calc_price(usage, turn.usage.model, provider_id=provider).total_price
    assert turn.usage.cost == pytest.approx(float(price))
    assert float(price) > 0


def test_the_rehearsal_costs_nothing() -> None:
    assert RehearsalModel().compute_price("deep", 1000, 10) == 0.0


async def test_the_cost_of_a_call_waits_for_the_prices_however_long_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_price_list(tmp_path, monkeypatch)
    monkeypatch.setattr(prices, "LOOKUP_SECONDS", 100_000.0)
    loop = asyncio.get_running_loop()
    async with open_pair("responses", lambda _: FINE) as pair:
        await pair.model._connect()
        call = asyncio.create_task(pair.model.reply(ask(timeout_seconds=100_000.0)))

        async def is_answered() -> bool:
            return pair.server.stats.calls == 1 and await held.has_started()

        assert await eventually(is_answered)
        time, began = loop.time, loop.time()
        monkeypatch.setattr(loop, "time", lambda: began + 100 * (time() - began))
        await asyncio.sleep(30.0)  # which pass in a blink
        ended = loop.time() - time()
        monkeypatch.setattr(loop, "time", lambda: ended + time())
        assert not call.done()
        held.release()
        turn = await call
        assert turn.usage.cost is not None
        assert turn.usage.cost == pytest.approx(
            pair.model.compute_price("balanced", turn.usage.tokens_in, turn.usage.tokens_out)
        )
        assert turn.usage.duration < 20, "the wait for its price is no part of a call"


async def test_a_reply_is_not_lost_for_a_price_that_does_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_price_list(tmp_path, monkeypatch)
    async with open_pair("responses", lambda _: FINE) as pair:
        await pair.model._connect()
        turn = await pair.model.reply(ask(timeout_seconds=1.0))
        assert (turn.text, turn.usage.cost) == ("Fine.", None)


async def test_no_call_passes_by_a_budget_in_dollars_while_prices_are_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    held = held_price_list(tmp_path, monkeypatch)
    async with open_pair("responses", lambda _: FINE) as pair:
        await pair.model._connect()
        said = ServerScript(lambda: FINE)
        limits = CallLimits(store.counters, pair.model, DOLLARS, store.clock)
        limits.on_wait = said.note_wait
        with pytest.raises(CallWithheld, match="prices of models are still being looked up") as caught:
            await limits.reply(ANA, ask(timeout_seconds=0.2))
        assert (caught.value.reason, caught.value.transient) == ("budget", True)
        call = asyncio.create_task(limits.reply(ANA, ask(timeout_seconds=100.0)))
        assert await eventually(held.has_started)
        await asyncio.sleep(0.05)
        assert pair.server.stats.calls == 0, "its cost is unknown"
        held.release()
        turn = await call
        await limits.close()
        assert turn.usage.cost
        assert said.waits[0] > 0.05, "the wait is part of the call's deadline"
        assert await store.counters.read_spending([SPENDING_COUNTER]) == [round(turn.usage.cost * 1_000_000)]


async def test_a_lookup_that_failed_is_made_again_by_a_later_call_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lookups = failing_price_list(tmp_path, monkeypatch, failures=1)
    async with open_pair("anthropic", lambda _: FINE) as pair:
        assert (await pair.model.reply(ask())).usage.cost is None
        assert (await pair.model.reply(ask())).usage.cost is not None
        await pair.model.reply(ask())
    assert lookups() == 2
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "no memory left" in warning.getMessage()
    lookups = failing_price_list(tmp_path, monkeypatch, failures=1000)
    async with open_pair("anthropic", lambda _: FINE) as pair:
        for _ in range(prices.MAX_LOOKUPS + 2):
            await pair.model.reply(ask())
    assert lookups() == 2 + prices.MAX_LOOKUPS


async def test_a_lookup_ends_with_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = held_price_list(tmp_path, monkeypatch)
    async with ProviderServer(lambda _: FINE) as server:
        model = connect("responses", server)
        warming = asyncio.create_task(model.warm())
        assert await eventually(held.has_started)
        await model.close()
        async with asyncio.timeout(patience()):
            await asyncio.wait({warming})
