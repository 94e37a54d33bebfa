"""Names of models and providers are data: on the wire, in prices, limits and metrics; and effort and temperature."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.command_line.check import _check_models
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import LimitRules, parse_rates
from bot.models import prices
from bot.models.chosen_model import ChosenModel
from bot.models.model_choice import ModelSettingsError, choose_model
from bot.models.named_models import (
    explain_unavailable_model,
    list_provider_model_names,
    register_named_models,
    strip_provider,
)
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.operation.metering import MeteredModel
from bot.operation.metrics import Metrics
from bot.settings import read_settings
from bot.store.redis.redis_store import Store
from bot.supervisor.crew_planner import CrewPlanner
from bot.supervisor.track_record import TrackRecord
from handoff.contracts import Plan, Subtask, Terms
from handoff.engine.ladder import FailureSituation, choose_recovery_step
from handoff.planning.plan_check import find_plan_faults
from specialists.crew import Crew
from specialists.model import CallWithheld, ModelError
from specialists.registry import CrewError, load_crew
from tests.models.conftest import ANA, ask, connect, effort_of, open_pair
from tests.operation.probe import Samples
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.server import ProviderServer
from tests.providers.wire import Api

CLAUDE, GPT = "claude-opus-5-5", "gpt-6.1-sol"
PAGE = "---\nname: {name}\ndescription: Does {name} work.\ntools: []\n{keys}\n---\nYou are {name}.\n"


def crew(folder: Path, **keys: str) -> Crew:
    for name, said in keys.items():
        (folder / f"{name}.md").write_text(PAGE.format(name=name, keys=said))
    return load_crew(folder, {})


async def test_a_named_model_is_called_and_billed_by_its_own_name(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def list_prices(
        *arguments: str,
    ) -> prices.ModelPrices:  # its own child process takes seconds, and has tests of its own
        dollars = {"claude-opus-5-5": 15.0, "gpt-6.1-sol": 10.0}
        none = dict.fromkeys(("output", "read", "written"))
        return {name: {"input": [(-1, dollars.get(name, 1.0))], **none} for name in arguments[2:]}

    monkeypatch.setattr(prices, "_PRICES_CACHE", {})
    monkeypatch.setattr(prices, "_load_prices", list_prices)
    async with open_pair(api, lambda _: Reply("Yes."), is_own_server=True) as pair:
        name = CLAUDE if api == "anthropic" else GPT
        assert await pair.model.register_models([f"{pair.model.provider}/{name}"]) == {}
        await pair.model.warm()
        turn = await pair.model.reply(ask(tier="fast", model=f"{pair.model.provider}/{name}", effort="high"))
        costs = [pair.model.compute_price("fast", 1_000_000, 0, *named) for named in ((), (name,))]
    assert (pair.server.requests[0].model, turn.usage.model) == (name, name)
    assert effort_of(pair.server.requests[0]) == "high"
    assert costs == {"chat": [None, None], "anthropic": [1.0, 15.0], "responses": [1.0, 10.0]}[api]


@pytest.mark.parametrize(
    ("wished_name", "provider", "served", "expected_text"),
    [
        ("claude-opus-5-5", "anthropic", (), ""),
        ("anthropic/claude-opus-5-5", "anthropic", (), ""),
        ("gpt-6.1-sol", "anthropic", (), "one of openai's, and this instance works with anthropic"),
        ("openai/gpt-6.1-sol", "anthropic", (), "set LEADHAND_MODEL=openai"),
        ("claude-opus-5-5", "openai", (), "set LEADHAND_MODEL=anthropic"),
        ("mistral/large-3", "openai", (), "one of mistral's"),
        ("ft:gpt-6-luna:acme", "openai", (), ""),
        ("qwen3:9b", "ollama", ("qwen3:8b", "phi4"), "(did you mean qwen3:8b?)"),
        ("ollama/qwen3:8b", "ollama", ("qwen3:8b",), ""),
        ("qwen3:8b", "ollama", (), ""),
        ("openai/gpt-6-luna", "openrouter.ai", ("openai/gpt-6-luna",), ""),
        ("claude-opus-5-5", "127.0.0.1:8080", ("llama-8b",), "which 127.0.0.1:8080 does not serve"),
        ("claude-opus-5-5", "rehearsal", (), ""),
    ],
)
def test_a_model_that_the_provider_does_not_have_is_refused_in_words(
    wished_name: str, provider: str, served: tuple[str, ...], expected_text: str
) -> None:
    fault = explain_unavailable_model(wished_name, provider, served)
    assert (expected_text in fault) if expected_text else not fault


def test_only_the_providers_own_name_is_taken_off() -> None:
    assert strip_provider("openai", "openai/gpt-6-luna") == "gpt-6-luna"
    assert strip_provider("openrouter.ai", "openai/gpt-6-luna") == "openai/gpt-6-luna"


async def test_a_start_refuses_it_with_file_and_line(tmp_path: Path) -> None:
    there = crew(tmp_path, ann=f"model: {GPT}", bob="model: fast")
    model = await choose_model({"LEADHAND_MODEL": "anthropic", "ANTHROPIC_API_KEY": "k"})
    [fault] = await register_named_models(model, there)
    assert str(fault).startswith(f"{tmp_path / 'ann.md'}:5: model names {GPT}, one of openai's")
    assert await register_named_models(RehearsalModel(), there) == ()
    async with ProviderServer(lambda _: Reply("Fine."), ollama=("qwen3:8b",)) as server:
        home = await choose_model({"OLLAMA_HOST": f"127.0.0.1:{server.port}"})
        [fault] = await register_named_models(home, there)
        assert "ollama does not serve" in fault.text
        await home.close()
        settings = read_settings({"OLLAMA_HOST": f"127.0.0.1:{server.port}"})
        told = {one.subject: one async for one in _check_models(settings, (there,))}["models that specialists name"]
        assert (told.note, "ann.md:5: " in told.fault) == (GPT, True)


async def test_limits_and_metrics_know_it_by_its_real_name(
    tmp_path: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics()
    there = crew(tmp_path, ann=f"model: openai/{GPT}")
    rules = LimitRules(rates=parse_rates(f"{GPT}: 1 requests"))
    async with open_pair("responses", lambda _: Fault("not_found"), is_own_server=True) as pair:
        limits = CallLimits(
            store.counters,
            MeteredModel(pair.model, metrics),
            rules,
            store.clock,
            named_models=list_provider_model_names(pair.model, there),
        )
        call = ask(model=f"openai/{GPT}", timeout_seconds=2.0)
        with pytest.raises(ModelError, match="at `model` in crew files"):
            await limits.reply(ANA, call)
        with pytest.raises(ModelError, match=f"1 requests a minute for {GPT}"):
            await limits.reply(ANA, call)
        assert any(GPT in line for line in await limits.describe_usage(ANA))
        await limits.close()
    assert Samples(metrics.render()[0].decode()).of("model_calls_total", model=GPT) == 1
    assert not [record for record in caplog.records if "LEADHAND_RATES" in record.message]


def test_it_stays_on_its_model_the_ladder_goes_on_to_the_fallback(tmp_path: Path) -> None:
    there = crew(tmp_path, ann=f"model: {CLAUDE}\nfallback: bob\neffort: low\ntemperature: 0.2", bob="model: fast")
    wish = there.specialists["ann"].model_overrides
    assert (wish.name, wish.effort, wish.temperature) == (CLAUDE, "low", 0.2)
    members = {one.name: one for one in CrewPlanner(there, RehearsalModel(), TrackRecord(), Terms())._members}
    now = FailureSituation(
        "ann", members["ann"].tier, tiers=members["ann"].tiers, fallback="bob", steps_taken=("refine",)
    )
    assert choose_recovery_step("bad_reply", now).step == "fallback"
    part = Subtask(id="a", title="Sum", intent="Write down what 3 tins cost.", specialist="ann", tier="deep")
    [fault] = find_plan_faults(Plan(goal="x", subtasks=(part,)), members)
    assert "may have: balanced" in fault


@pytest.mark.parametrize(
    ("keys", "line", "expected_text"),
    [
        ("model: balenced", 5, "(did you mean balanced?)"),
        ("model: [fast]", 5, "model must be a tier"),
        (f"model: {CLAUDE}\neffort: hihg", 6, "effort takes low, medium, high (did you mean high?)"),
        ("model: fast\ntemperature: 3", 6, "a number from 0 to 2"),
        ("model: fast\ntemperature: true", 6, "a number from 0 to 2"),
    ],
)
def test_what_cannot_be_meant_is_a_fault(tmp_path: Path, keys: str, line: int, expected_text: str) -> None:
    with pytest.raises(CrewError) as error:
        crew(tmp_path, ann=keys)
    [fault] = error.value.faults
    assert fault.line == line
    assert expected_text in fault.text


async def test_tiers_think_as_the_operator_says(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("Yes.")) as pair:
        pair.model._efforts = {"deep": "high"}
        for tier in ("fast", "deep"):
            await pair.model.reply(ask(tier=tier))
    assert [effort_of(one) for one in pair.server.requests] == [None, "high"]
    with pytest.raises(ModelSettingsError, match="LEADHAND_EFFORT is 'deep most'"):
        await choose_model({"LEADHAND_MODEL": "anthropic", "ANTHROPIC_API_KEY": "k", "LEADHAND_EFFORT": "deep most"})


async def choose_served_model(way: str, server: ProviderServer) -> tuple[ChosenModel, str]:
    """A model that the server plays the provider of, and the provider's name as README has it."""
    host = f"127.0.0.1:{server.port}"
    if way == "ollama":
        return await choose_model({"OLLAMA_HOST": host}), "ollama"
    if way == "host":
        return await choose_model({"OPENAI_BASE_URL": server.openai_url}), host
    if way == "anthropic":
        return await choose_model({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}), "anthropic"
    return connect("responses", server), "openai"


@pytest.mark.parametrize("way", ["ollama", "host", "anthropic", "openai"])
async def test_a_rate_by_the_name_of_the_provider_limits_it_and_metrics_name_it_so(
    way: str, caplog: pytest.LogCaptureFixture, store: Store
) -> None:
    metrics = Metrics()
    async with ProviderServer(lambda _: Reply("Fine."), ollama=("qwen3:8b",)) as server:
        model, name = await choose_served_model(way, server)
        rules = LimitRules(rates=parse_rates(f"{name}: 1 requests"))
        limits = CallLimits(store.counters, MeteredModel(model, metrics), rules, store.clock)
        await limits.reply(ANA, ask())
        with pytest.raises(CallWithheld, match=f"1 requests a minute for {name}"):
            await limits.reply(ANA, ask(timeout_seconds=5.0))
        assert server.stats.calls == 1
        assert Samples(metrics.render()[0].decode()).of("model_calls_total", provider=name, outcome="ok") == 1
        assert not [record for record in caplog.records if "LEADHAND_RATES" in record.message]
        await limits.close()
        await model.close()


async def test_a_rate_that_limits_nothing_says_so_at_the_start(caplog: pytest.LogCaptureFixture, store: Store) -> None:
    rules = LimitRules(rates=parse_rates("olama: 10 requests; rehearsal: 5 requests; 50 requests"))
    await CallLimits(store.counters, RehearsalModel(), rules, store.clock).close()
    (told,) = [record.getMessage() for record in caplog.records]
    assert told == "LEADHAND_RATES names olama, which no call uses; in use are rehearsal"
