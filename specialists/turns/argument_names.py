"""Checks the argument names of a tool call: only listed names, and none with invisible characters. Pure functions."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from handoff.text.invisible_characters import remove_invisible, spell_out

MAX_STEPS = 50_000
"""Most values and schema parts that one check visits: through references, a small schema can unfold to many."""
_CHOICE_KEYS = ("anyOf", "oneOf", "allOf")
_BRANCH_KEYS = ("if", "then", "else")
_TOO_COMPLEX_MESSAGE = "its arguments are nested too deep, or are too many"


def find_name_fault(arguments: type[BaseModel], values: Mapping[str, Any]) -> str:
    """Return why the argument names of a call are refused, in words for its model; "" if they are accepted.

    Refused are arguments that the schema does not list, and names inside an argument if the schema lists others there.
    Only `additionalProperties` allows unlisted names. A name with invisible characters is refused everywhere.
    """
    schema = _build_schema(arguments)
    try:
        return next(_NameCheck(schema).find_faults([schema], values, ""), "")
    except (_CheckExhausted, RecursionError):
        return _TOO_COMPLEX_MESSAGE


@functools.lru_cache(maxsize=512)
def _build_schema(arguments: type[BaseModel]) -> Mapping[str, Any]:
    return arguments.model_json_schema()


class _CheckExhausted(Exception):
    """A check has used up its steps."""


@dataclass(slots=True)
class _NameCheck:
    """One check of a call's names.

    `root` is the schema in which references are looked up, `steps_left` the steps that remain.
    """

    root: Mapping[str, Any]
    steps_left: int = MAX_STEPS

    def find_faults(self, schemas: Iterable[Any], value: Any, place: str) -> Iterator[str]:
        """Yield the faults of all names in a value, which may follow any of several schemas.

        `place` is the dotted path of the value, for messages; "" for the arguments themselves.
        """
        self._count_step()
        if not isinstance(value, Mapping | list):
            return
        parts = self._expand_schemas(schemas)
        if isinstance(value, list):
            items = [one for part in parts for one in _list_item_schemas(part)]
            for each in value:
                yield from self.find_faults(items, each, place)
            return
        schemas_by_name: dict[str, list[Any]] = {}
        additional_schemas: list[Any] = []
        for part in parts:
            for name, one in _coerce_to_mapping(part.get("properties")).items():
                schemas_by_name.setdefault(name, []).append(one)
            additional_schemas += [one for one in _list_additional_schemas(part) if one is not False]
        for name, each in value.items():
            if remove_invisible(name) != name or name != " ".join(name.split()):
                yield f"a name{_describe_place(place)} has characters that people cannot see: {spell_out(name)[:80]!r}"
            elif name not in schemas_by_name and not additional_schemas and (schemas_by_name or not place):
                names = ", ".join(schemas_by_name) or "none"
                yield f"there is no {name[:80]!r}{_describe_place(place)}; the names there are: {names[:600]}"
            else:
                yield from self.find_faults(
                    schemas_by_name.get(name, additional_schemas), each, f"{place}.{name}" if place else name
                )

    def _expand_schemas(self, schemas: Iterable[Any]) -> list[Mapping[str, Any]]:
        """Return all schemas that may describe a value, with those reached through references and choices."""
        schemas_by_id: dict[int, Mapping[str, Any]] = {}
        pending = list(schemas)
        while pending:
            self._count_step()
            schema = pending.pop()
            if not isinstance(schema, Mapping) or id(schema) in schemas_by_id:
                continue
            schemas_by_id[id(schema)] = schema
            pending += [self._resolve_reference(schema["$ref"])] if isinstance(schema.get("$ref"), str) else []
            pending += [each for key in _CHOICE_KEYS if isinstance(schema.get(key), list) for each in schema[key]]
            pending += [schema[key] for key in _BRANCH_KEYS if key in schema]
        return list(schemas_by_id.values())

    def _resolve_reference(self, reference: str) -> Any:
        node: Any = self.root
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step:
                node = _coerce_to_mapping(node).get(step.replace("~1", "/").replace("~0", "~"))
        return node

    def _count_step(self) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise _CheckExhausted


def _list_additional_schemas(schema: Mapping[str, Any]) -> list[Any]:
    """Return the schemas for names that are not listed; empty if the part says nothing about them."""
    patterns = list(_coerce_to_mapping(schema.get("patternProperties")).values())
    return [*patterns, schema["additionalProperties"]] if "additionalProperties" in schema else patterns


def _list_item_schemas(schema: Mapping[str, Any]) -> list[Any]:
    prefix_schemas = schema.get("prefixItems")
    return [
        *(prefix_schemas if isinstance(prefix_schemas, list) else ()),
        *([schema["items"]] if "items" in schema else ()),
    ]


def _coerce_to_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _describe_place(place: str) -> str:
    return f" in {place[:120]}" if place else ""
