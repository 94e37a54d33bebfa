"""A provider's name is data: settings, limits and metrics know it by the same name, whatever wire it speaks."""

from __future__ import annotations

import pytest

from bot.limits.call_limits import CallLimits
from bot.limits.rules import Rules, read_rates
from bot.models.choosing import choose_model
from bot.models.chosen_model import ChosenModel
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.operation.metered import MeteredModel
from bot.operation.metrics import Metrics
from bot.store.redis.redis_store import Store
from specialists.model import Withheld
from tests.models.conftest import ask, connect
from tests.models.limits_desk import ANA
from tests.operation.probe import Samples
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer

WAYS = ["ollama", "host", "anthropic", "openai"]


async def chosen(way: str, server: ProviderServer) -> tuple[ChosenModel, str]:
    """A model that the server plays the provider of, and the provider's name as README has it."""
    host = f"127.0.0.1:{server.port}"
    if way == "ollama":
        return await choose_model({"OLLAMA_HOST": host}), "ollama"
    if way == "host":
        return await choose_model({"OPENAI_BASE_URL": server.openai_url}), host
    if way == "anthropic":
        return await choose_model({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}), "anthropic"
    return connect("responses", server), "openai"


@pytest.mark.parametrize("way", WAYS)
async def test_a_rate_by_the_name_of_the_provider_limits_it_and_metrics_name_it_so(
    way: str, caplog: pytest.LogCaptureFixture, store: Store
) -> None:
    metrics = Metrics()
    async with ProviderServer(lambda _: Reply("Fine."), ollama=("qwen3:8b",)) as server:
        model, name = await chosen(way, server)
        rules = Rules(rates=read_rates(f"{name}: 1 requests"))
        limits = CallLimits(store.counters, MeteredModel(model, metrics), rules, store.clock)
        await limits.reply(ANA, ask())
        with pytest.raises(Withheld, match=f"1 requests a minute for {name}"):
            await limits.reply(ANA, ask(deadline=5.0))
        assert server.stats.calls == 1
        assert Samples(metrics.page()[0].decode()).of("model_calls_total", provider=name, outcome="ok") == 1
        assert not [record for record in caplog.records if "LEADHAND_RATES" in record.message]
        await limits.close()
        await model.close()


async def test_a_rate_that_limits_nothing_says_so_at_the_start(caplog: pytest.LogCaptureFixture, store: Store) -> None:
    rules = Rules(rates=read_rates("olama: 10 requests; rehearsal: 5 requests; 50 requests"))
    await CallLimits(store.counters, RehearsalModel(), rules, store.clock).close()
    (told,) = [record.getMessage() for record in caplog.records]
    assert told == "LEADHAND_RATES names olama, which no call uses; in use are rehearsal"
