"""What is asked of the providers' own servers, what of compatible ones, and what is left out once it was refused."""

from __future__ import annotations

from typing import Any

import pytest

from handoff.contracts import Tier, ToolCall
from tests.models.conftest import TOOLS, ask, effort_of, open_pair
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.providers.wire import Api, WireRequest

CALL_REPLY = Reply(calls=(ToolCall(id="c", name="look_up", arguments={"city": "Bern"}),), stop="tool_use")


async def test_the_providers_own_models_think_as_hard_as_their_tier(api: Api) -> None:
    tiers: dict[Tier, str] = {"fast": "low", "balanced": "medium", "deep": "high"}
    async with open_pair(api, lambda _: Reply("Yes."), is_own_server=True) as pair:
        for tier in tiers:
            await pair.model.reply(ask(tier=tier, answer_schema={"type": "object", "properties": {}}))
    assert [effort_of(request) for request in pair.server.requests] == [*tiers.values()]
    assert all(request.answer_schema is not None for request in pair.server.requests)
    assert not any("temperature" in request.body for request in pair.server.requests)


async def test_a_compatible_server_draws_no_lots_and_hears_nothing_of_effort_unless_it_is_asked_to(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("Yes.")) as pair:
        await pair.model.reply(ask())
        await pair.model.reply(ask(effort="low", temperature=0.7))
    sent = [(effort_of(request), request.body["temperature"]) for request in pair.server.requests]
    assert sent == [(None, 0), ("low", 0.7)]


async def test_a_call_can_be_forced(api: Api) -> None:
    async with open_pair(api, lambda _: CALL_REPLY) as pair:
        await pair.model.reply(ask(tools=TOOLS))
        await pair.model.reply(ask(tools=TOOLS, tool_choice="required"))
        await pair.model.reply(ask(tool_choice="required"))
    free, forced, toolless = (request.body for request in pair.server.requests)
    assert forced["tool_choice"] == ({"type": "any"} if api == "anthropic" else "required")
    assert "tool_choice" not in free
    assert "tool_choice" not in toolless


def choosy(request: WireRequest) -> Reply | Fault:
    """A server that refuses by name whatever it can do without, one thing at a time."""
    refused: dict[FaultKind, Any] = {
        "no_tool_choice": "tool_choice" in request.body,
        "no_temperature": "temperature" in request.body,
        "no_effort": effort_of(request),
    }
    return next((Fault(fault) for fault, has in refused.items() if has), CALL_REPLY)


async def test_what_a_server_refuses_by_name_is_left_out_from_then_on(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    call = ask(tools=TOOLS, tool_choice="required", effort="high", temperature=1.5)
    async with open_pair(api, choosy, is_own_server=True) as pair:
        assert [len((await pair.model.reply(call)).calls) for _ in range(2)] == [1, 1]
    assert pair.server.stats.calls == 5  # each learnt once
    for name in ("tool_choice", "temperature", "effort"):
        assert any(f"{name} from now on" in record.getMessage() for record in caplog.records), name


async def test_what_one_model_refuses_another_is_still_asked() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        refuses = request.model == "gpt-6-luna" and "temperature" in request.body
        return Fault("no_temperature") if refuses else Reply("Fine.")

    async with open_pair("chat", brain) as pair:
        await pair.model.reply(ask(tier="fast"))
        await pair.model.reply(ask(tier="deep"))
    assert pair.server.requests[-1].body["temperature"] == 0
