"""Check the argument names of a tool call: only listed names, and none with invisible characters. Pure functions."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from handoff.text.visible_text import remove_invisible, spell_out

MAX_STEPS = 50_000
"""Most values and schema parts that one check visits: through references, a small schema can unfold to many."""
_CHOICE_KEYS = ("anyOf", "oneOf", "allOf")
_BRANCH_KEYS = ("if", "then", "else")
_TOO_COMPLEX = "its arguments are nested too deep, or are too many"


def find_name_fault(arguments: type[BaseModel], values: Mapping[str, Any]) -> str:
    """Return why the argument names of a call are refused, in words for its model; "" if they are accepted.

    Refused are arguments that the schema does not list, and names inside an argument if the schema lists others there.
    Only `additionalProperties` allows unlisted names. A name with invisible characters is refused everywhere.
    """
    schema = _build_schema(arguments)
    try:
        return next(_NameCheck(schema).find_faults([schema], values, ""), "")
    except (_TooManyLookups, RecursionError):
        return _TOO_COMPLEX


@functools.lru_cache(maxsize=512)
def _build_schema(arguments: type[BaseModel]) -> Mapping[str, Any]:
    return arguments.model_json_schema()


class _TooManyLookups(Exception):
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
        parts = self._list_schemas(schemas)
        if isinstance(value, list):
            items = [one for part in parts for one in _list_item_schemas(part)]
            for each in value:
                yield from self.find_faults(items, each, place)
            return
        listed: dict[str, list[Any]] = {}
        others: list[Any] = []
        for part in parts:
            for name, one in _as_mapping(part.get("properties")).items():
                listed.setdefault(name, []).append(one)
            others += [one for one in _list_additional_schemas(part) if one is not False]
        for name, each in value.items():
            if remove_invisible(name) != name or name != " ".join(name.split()):
                yield f"a name{_describe_place(place)} has characters that people cannot see: {spell_out(name)[:80]!r}"
            elif name not in listed and not others and (listed or not place):
                names = ", ".join(listed) or "none"
                yield f"there is no {name[:80]!r}{_describe_place(place)}; the names there are: {names[:600]}"
            else:
                yield from self.find_faults(listed.get(name, others), each, f"{place}.{name}" if place else name)

    def _list_schemas(self, schemas: Iterable[Any]) -> list[Mapping[str, Any]]:
        """Return all schemas that may describe a value, with those reached through references and choices."""
        found: dict[int, Mapping[str, Any]] = {}
        waiting = list(schemas)
        while waiting:
            self._count_step()
            one = waiting.pop()
            if not isinstance(one, Mapping) or id(one) in found:
                continue
            found[id(one)] = one
            waiting += [self._resolve_pointer(one["$ref"])] if isinstance(one.get("$ref"), str) else []
            waiting += [each for key in _CHOICE_KEYS if isinstance(one.get(key), list) for each in one[key]]
            waiting += [one[key] for key in _BRANCH_KEYS if key in one]
        return list(found.values())

    def _resolve_pointer(self, reference: str) -> Any:
        found: Any = self.root
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step:
                found = _as_mapping(found).get(step.replace("~1", "/").replace("~0", "~"))
        return found

    def _count_step(self) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise _TooManyLookups


def _list_additional_schemas(schema: Mapping[str, Any]) -> list[Any]:
    """Return the schemas for names that are not listed; empty if the part says nothing about them."""
    patterns = list(_as_mapping(schema.get("patternProperties")).values())
    return [*patterns, schema["additionalProperties"]] if "additionalProperties" in schema else patterns


def _list_item_schemas(schema: Mapping[str, Any]) -> list[Any]:
    first = schema.get("prefixItems")
    return [*(first if isinstance(first, list) else ()), *([schema["items"]] if "items" in schema else ())]


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _describe_place(place: str) -> str:
    return f" in {place[:120]}" if place else ""
