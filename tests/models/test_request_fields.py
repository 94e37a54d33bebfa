"""What is asked of the providers' own servers, what of compatible ones, and what is left out once it was refused."""

from __future__ import annotations

from typing import Any

import pytest

from handoff.contracts import Tier, ToolCall
from specialists.tools.tool import ToolSpec
from tests.models.conftest import ask, effort_of, paired
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.providers.wire import Api, WireRequest

TOOLS = (
    ToolSpec(
        "look_up",
        "Looks a city up.",
        {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20_000}, "days": {"type": "integer", "maximum": 9}},
            "required": ["city"],
        },
    ),
)
CALLED = Reply(calls=(ToolCall(id="c", name="look_up", arguments={"city": "Bern"}),), stop="tool_use")
SCHEMA = {
    "type": "object",
    "properties": {
        "steps": {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 3},
        "sure": {"type": "integer", "minimum": 0, "maximum": 100},
        "share": {"type": "number", "maximum": 1},
        "name": {"type": "string", "pattern": r"\d+", "maxLength": 65_536},
    },
}


@pytest.mark.parametrize(("tier", "effort"), [("fast", "low"), ("balanced", "medium"), ("deep", "high")])
async def test_the_providers_own_models_think_as_hard_as_their_tier(api: Api, tier: Tier, effort: str) -> None:
    async with paired(api, lambda _: Reply("Yes."), own=True) as pair:
        await pair.model.reply(ask(tier=tier, answer_schema=SCHEMA))
    request = pair.server.requests[0]
    assert effort_of(request) == effort
    assert request.answer_schema is not None
    assert "temperature" not in request.body


async def test_a_compatible_server_draws_no_lots_and_hears_nothing_of_effort(api: Api) -> None:
    async with paired(api, lambda _: Reply("Yes.")) as pair:
        await pair.model.reply(ask())
    request = pair.server.requests[0]
    assert request.body["temperature"] == 0
    assert effort_of(request) is None


async def test_a_call_can_be_forced(api: Api) -> None:
    async with paired(api, lambda _: CALLED) as pair:
        await pair.model.reply(ask(tools=TOOLS))
        await pair.model.reply(ask(tools=TOOLS, tool_choice="required"))
        await pair.model.reply(ask(tool_choice="required"))
    free, forced, toolless = (request.body for request in pair.server.requests)
    assert forced["tool_choice"] == ({"type": "any"} if api == "anthropic" else "required")
    assert "tool_choice" not in free
    assert "tool_choice" not in toolless


REFUSED: list[tuple[FaultKind, bool, Any]] = [
    ("no_tool_choice", False, lambda request: "tool_choice" in request.body),
    ("no_temperature", False, lambda request: "temperature" in request.body),
    ("no_effort", True, effort_of),
]


@pytest.mark.parametrize(("fault", "own", "has"), REFUSED)
async def test_what_a_server_refuses_by_name_is_left_out_from_then_on(
    api: Api, fault: FaultKind, has: Any, *, own: bool
) -> None:
    brain = lambda request: Fault(fault) if has(request) else CALLED  # noqa: E731 - it is one
    async with paired(api, brain, own=own) as pair:
        for _ in range(2):
            turn = await pair.model.reply(ask(tools=TOOLS, tool_choice="required"))
            assert len(turn.calls) == 1
    assert pair.server.stats.calls == 3  # learnt once


async def test_what_one_model_refuses_another_is_still_asked() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        refuses = request.model == "gpt-6-luna" and "temperature" in request.body
        return Fault("no_temperature") if refuses else Reply("Fine.")

    async with paired("chat", brain) as pair:
        await pair.model.reply(ask(tier="fast"))
        await pair.model.reply(ask(tier="deep"))
    assert pair.server.requests[-1].body["temperature"] == 0


async def test_limits_that_a_compatible_server_enforces_stay_in_the_schema() -> None:
    async with paired("chat", lambda _: Reply("{}")) as pair:
        await pair.model.reply(ask(answer_schema=SCHEMA, tools=()))
        await pair.model.reply(ask(tools=TOOLS))
    schema = pair.server.requests[0].answer_schema
    assert schema is not None
    given = schema["properties"]
    assert given["steps"]["maxItems"] == 3
    assert given["steps"]["items"]["maxLength"] == 80
    assert (given["sure"]["minimum"], given["sure"]["maximum"]) == (0, 100)
    assert given["share"] == {"type": "number", "description": "{maximum: 1}"}
    assert set(given["name"]) == {"type", "description"}  # what other servers choke on
    parameters = pair.server.requests[1].tools[0].parameters
    assert parameters["properties"] == {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}}
    assert parameters["required"] == ["city"]


async def test_the_providers_own_are_told_all_limits_in_words(api: Api) -> None:
    async with paired(api, lambda _: Reply("{}"), own=True) as pair:
        await pair.model.reply(ask(answer_schema=SCHEMA))
    schema = pair.server.requests[0].answer_schema
    assert schema is not None
    assert "maxItems" not in schema["properties"]["steps"]
    assert "maxItems: 3" in schema["properties"]["steps"]["description"]


async def test_a_server_that_chokes_on_limits_gets_them_in_words() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        schema = request.answer_schema or {}
        return Fault("no_limits") if "maxItems" in schema["properties"]["steps"] else Reply("{}")

    async with paired("chat", brain) as pair:
        for _ in range(2):
            await pair.model.reply(ask(answer_schema=SCHEMA))
    assert pair.server.stats.calls == 3  # learnt once
