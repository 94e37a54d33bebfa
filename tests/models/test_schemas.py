"""Schemas of answers and tools: strict, with the limits that a server enforces, and the others in words."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel, Field

from bot.models.strict_schema import make_strict_schema
from handoff.contracts import Finding, Plan
from specialists.tools.tool import ToolSpec
from tests.models.conftest import ask, open_pair
from tests.providers.faults import Fault
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
SCHEMA = {
    "type": "object",
    "properties": {
        "steps": {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 3},
        "sure": {"type": "integer", "minimum": 0, "maximum": 100},
        "share": {"type": "number", "maximum": 1},
        "name": {"type": "string", "pattern": r"\d+", "maxLength": 65_536},
    },
}


class _Inner(BaseModel):
    kind: str = "x"


class _Outer(BaseModel):
    score: int = Field(ge=0, le=100, description="How sure.")
    inner: _Inner | None = None
    tags: list[str] = Field(default=[], max_length=3)


def test_all_properties_are_required_and_no_others_allowed() -> None:
    given = _Outer.model_json_schema()
    before = str(given)
    strict = make_strict_schema(given)
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
    strict = make_strict_schema(_Outer.model_json_schema())
    assert strict["properties"]["score"] == {
        "type": "integer",
        "description": "How sure. {minimum: 0, maximum: 100}",
    }
    assert "maxItems: 3" in strict["properties"]["tags"]["description"]
    assert not _words(strict) & {"default", "title", "minimum", "maximum", "maxItems"}
    assert make_strict_schema(Finding.model_json_schema())["properties"]["severity"]["enum"][0] == "info"


def _words(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        return set(schema).union(*(_words(value) for value in schema.values()))
    return set().union(*(_words(value) for value in schema)) if isinstance(schema, list) else set()


async def test_structured_output_is_asked_for_in_strict_form(api: Api) -> None:
    plan = {"goal": "g", "subtasks": [], "strategy": "merge", "instruction": "", "missing": [], "made": []}
    async with open_pair(api, lambda _: Reply(json.dumps(plan))) as pair:
        turn = await pair.model.reply(ask(answer_schema=Plan.model_json_schema()))
    schema = pair.server.requests[0].answer_schema
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(plan)
    assert set(schema["$defs"]["Subtask"]["required"]) == set(schema["$defs"]["Subtask"]["properties"])
    jsonschema.validate(json.loads(turn.text), schema)


async def test_limits_that_a_compatible_server_enforces_stay_in_the_schema() -> None:
    async with open_pair("chat", lambda _: Reply("{}")) as pair:
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
    async with open_pair(api, lambda _: Reply("{}"), is_own_server=True) as pair:
        await pair.model.reply(ask(answer_schema=SCHEMA))
    schema = pair.server.requests[0].answer_schema
    assert schema is not None
    assert "maxItems" not in schema["properties"]["steps"]
    assert "maxItems: 3" in schema["properties"]["steps"]["description"]


async def test_a_server_that_chokes_on_limits_gets_them_in_words() -> None:
    def brain(request: WireRequest) -> Reply | Fault:
        schema = request.answer_schema or {}
        return Fault("no_limits") if "maxItems" in schema["properties"]["steps"] else Reply("{}")

    async with open_pair("chat", brain) as pair:
        for _ in range(2):
            await pair.model.reply(ask(answer_schema=SCHEMA))
    assert pair.server.stats.calls == 3  # learnt once
