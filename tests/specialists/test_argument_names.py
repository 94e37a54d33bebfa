"""A call with a name that its tool does not list, or that hides something, is refused: nobody is asked about it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from specialists.mcp.argument_check import arguments_by
from specialists.turns.argument_names import name_fault
from tests.specialists.far_side import NoteArguments


class Person(BaseModel):
    name: str
    tags: dict[str, str] = {}


class Invitation(BaseModel):
    model_config = ConfigDict(extra="allow")
    people: list[Person]
    chief: Person | None = None


def served(**schema: Any) -> type[BaseModel]:
    return arguments_by({"type": "object", "properties": {"amount": {"type": "string"}}, **schema})


NESTED = {"line": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]}, "any": {"type": "object"}}
DEFS = {"Line": {"type": "object", "properties": {"text": {"type": "string"}, "next": {"$ref": "#/$defs/Line"}}}}


@pytest.mark.parametrize(
    ("arguments", "given", "word"),
    [
        (NoteArguments, {"text": "a", "to": "mallory"}, "no 'to'"),
        (NoteArguments, {"text": "a", "te\u200bxt": "b"}, "cannot see: 'te[U+200B]xt'"),
        (Invitation, {"people": [{"name": "a", "role": "b"}]}, "no 'role' in people; the names there are: name, tags"),
        (Invitation, {"people": [], "chief": {"name": "a", "x": 1}}, "no 'x' in chief"),
        (Invitation, {"people": [{"name": "a", "tags": {"k\u202e": "v"}}]}, "cannot see: 'k[U+202E]'"),
        (served(), {"amount": "5", "to": "mallory"}, "no 'to'; the names there are: amount"),
        (served(), {"am\u200bount": "5", "amount": "1000000"}, "cannot see"),
        (served(), {"amount:\n10 EUR\nto": "mallory"}, "cannot see"),
        (served(), {"note\u202eX": 1}, "cannot see"),
        (served(additionalProperties=True), {"a\u200b": 1}, "cannot see"),
        (served(additionalProperties=True), {"a ": 1}, "cannot see"),
        (arguments_by({"type": "object"}), {"a": 1}, "the names there are: none"),
        (served(properties=NESTED, **{"$defs": DEFS}), {"line": {"text": "a", "txt": "b"}}, "no 'txt' in line"),
        (served(properties=NESTED, **{"$defs": DEFS}), {"line": {"next": {"next": {"x": 1}}}}, "in line.next.next"),
        (served(properties=NESTED), {"any": [{"b": {"c\u2066": 1}}]}, "cannot see: 'c[U+2066]'"),
    ],
)
def test_what_is_not_listed_or_hides_is_named(arguments: type[BaseModel], given: dict[str, Any], word: str) -> None:
    assert word in name_fault(arguments, given)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (NoteArguments, {"text": "any\u200bthing"}),
        (Invitation, {"people": [{"name": "a", "tags": {"any key": "v"}}], "chief": None}),
        (served(), {"amount": {"its": "schema says no more"}}),
        (served(additionalProperties=True), {"to": {"b": 1}}),
        (served(additionalProperties={"type": "string"}), {"to": "b"}),
        (served(allOf=[{"properties": {"to": {}}}]), {"to": "b", "amount": "5"}),
        (served(properties=NESTED, **{"$defs": DEFS}), {"line": {"next": {"text": "a"}}, "any": {"b": {"c": [{}]}}}),
    ],
)
def test_what_is_listed_may_be_given(arguments: type[BaseModel], given: dict[str, Any]) -> None:
    assert name_fault(arguments, given) == ""


def test_a_schema_that_leads_in_circles_ends() -> None:
    circle = {"$ref": "#/$defs/A"}
    looped = served(properties={"a": circle}, **{"$defs": {"A": {"anyOf": [circle, {"items": circle}]}}})
    deep: Any = "end"
    for _ in range(50_000):
        deep = [deep]
    assert name_fault(looped, {"a": [["x"]]}) == ""
    assert "nested too deep" in name_fault(looped, {"a": deep})
