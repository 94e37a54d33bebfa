"""The schemas that models are given: worked out from the models that read the replies, and held letter for letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel, Field

from bot.supervisor.planner import make_decision_schema, make_plan_schema
from bot.supervisor.prompts import make_reply_schema
from bot.supervisor.replanner import make_revision_schema as revision_schema
from handoff.planning.adhoc import AdhocAllowance

CREW = ("analyst", "writer")
LENDING = AdhocAllowance(tools=("calculate", "web_search"), tiers=("fast", "balanced"), at_most=3)
SCHEMAS = {
    "decision": make_decision_schema(CREW),
    "decision_inside": make_decision_schema(CREW, may_answer=False, may_ask=False),
    "plan": make_plan_schema(CREW),
    "plan_with_made": make_plan_schema(CREW, LENDING),
    "plan_with_made_without_tools": make_plan_schema(CREW, AdhocAllowance(tiers=("fast",))),
    "revision": revision_schema(["find", "write"], list(CREW)),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_the_one_that_is_kept_with_its_properties_in_order(name: str) -> None:
    kept = Path(__file__).parent / "schemas" / f"{name}.json"
    assert json.dumps(SCHEMAS[name], indent=2) + "\n" == kept.read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


class Leaf(BaseModel):
    """A part that two fields have."""

    kind: str = Field(default="x", min_length=1, max_length=9, description="What it is.")
    size: int | None = None


class Tree(BaseModel):
    """A reply with parts."""

    first: Leaf
    rest: list[Leaf] = Field(default=[], max_length=4)
    words: tuple[str, ...] = ()


def make_closed_object(**properties: Any) -> dict[str, Any]:
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def test_a_part_stands_where_it_is_used_with_what_was_asked_for_there() -> None:
    made = make_reply_schema(
        Tree, enums={"rest.kind": ["oak"], "words": ["a", "b"]}, max_items={"words": 2}, excluded_paths={"rest.size"}
    )
    size = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert made == make_closed_object(
        first=make_closed_object(kind={"type": "string"}, size=size),
        rest={"type": "array", "items": make_closed_object(kind={"type": "string", "enum": ["oak"]})},
        words={"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 2},
    )


def test_a_subtask_needs_no_more_than_there_is() -> None:
    """A small model went on naming the only file until it had used all of its tokens."""
    subtask = make_plan_schema(CREW, needs=("a.csv", "b.csv"))["properties"]["subtasks"]["items"]["properties"]
    assert subtask["needs"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["a.csv", "b.csv"]},
        "maxItems": 2,
    }
