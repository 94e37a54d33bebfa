"""Checks that a server's JSON Schema is safe, and checks arguments by it. Pure.

The schema comes from a stranger: it may point elsewhere, be endless, or hold a pattern that takes hours. A tool is not
offered if its schema is too large, too deep or points elsewhere. Keywords that are costly to check are left out, and
only the server checks them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

from pydantic import JsonValue, RootModel, model_validator
from pydantic_core import PydanticCustomError

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp.shown_schema import rebuild_schema

MAX_LEVELS = 24
LARGEST_SCHEMA = 64 * 1024
"""Most characters of a schema as JSON."""
LARGEST_SHOWN_SCHEMA = 16_000
"""Most characters of a schema as shown to a model: each call carries them."""
MAX_PROPERTIES = 100

_PROPERTY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MAPPING_KEYS = ("properties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose values are mappings with keys of the server's own."""
_VALUE_KEYS = ("enum", "const", "default", "examples", "required")
"""Keywords whose values are plain values and no schemas."""
_UNCHECKED_KEYWORDS = frozenset(
    {"pattern", "patternProperties", "format", "$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$vocabulary"}
    | {"unevaluatedProperties", "unevaluatedItems", "uniqueItems"}
    | {"contentSchema", "contentEncoding", "contentMediaType"}
)
"""Keywords that arguments are not checked by.

Patterns can take hours and uniqueness minutes, ids change what references mean, and the others have no effect here.
"""


def find_schema_fault(schema: Mapping[str, Any]) -> str:
    """Return why a tool with this schema cannot be used; "" if it can."""
    try:
        text = json.dumps(schema, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "its schema is nested too deep"
    if len(text) > LARGEST_SCHEMA:
        return f"its schema has {len(text):,} characters, and at most {LARGEST_SCHEMA:,} are read"
    if is_deeper_than(schema, MAX_LEVELS):
        return f"its schema is nested more than {MAX_LEVELS} deep"
    if outside_reference := _find_outside_reference(schema):
        return f"its schema points to another place, {remove_invisible(outside_reference)[:80]!r}"
    return _find_properties_fault(schema)


def _find_properties_fault(schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties", {})
    if schema.get("type", "object") != "object":
        return "its arguments are no object"
    if not isinstance(properties, dict) or not all(isinstance(one, dict | bool) for one in properties.values()):
        return "its properties are no schemas"
    if len(properties) > MAX_PROPERTIES:
        return f"it takes {len(properties)} arguments, and at most {MAX_PROPERTIES} are allowed"
    if bad_name := next((name for name in properties if not _PROPERTY_NAME.fullmatch(name)), None):
        return f"it has an argument named {remove_invisible(bad_name)[:40]!r}, which models cannot spell"
    if len(json.dumps(rebuild_schema(schema), ensure_ascii=False)) > LARGEST_SHOWN_SCHEMA:
        return f"its schema would add more than {LARGEST_SHOWN_SCHEMA:,} characters to every call"
    return ""


def build_validation_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema that arguments are checked by: an object, without the keywords in `_UNCHECKED_KEYWORDS`."""
    return {**_remove_keys(dict(schema), _UNCHECKED_KEYWORDS), "type": "object"}


def _remove_keys(value: Any, names: frozenset[str], *, keep_names: bool = False) -> Any:
    """Return a schema without the keys in `names`. With `keep_names`, keys of the top level are names, and stay."""
    if isinstance(value, list):
        return [_remove_keys(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: one
        if key in _VALUE_KEYS and not keep_names
        else _remove_keys(one, names, keep_names=key in _MAPPING_KEYS and not keep_names)
        for key, one in value.items()
        if keep_names or key not in names
    }


def _find_outside_reference(value: Any) -> str:
    """Return a reference that leads out of the schema; "" if there is none."""
    if isinstance(value, dict):
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = value.get(key)
            if isinstance(reference, str) and (key != "$ref" or not (reference == "#" or reference.startswith("#/"))):
                return reference
        inner_values = [one for key, one in value.items() if key not in _VALUE_KEYS]
    else:
        inner_values = value if isinstance(value, list) else []
    return next((inner_reference for one in inner_values if (inner_reference := _find_outside_reference(one))), "")


def is_deeper_than(value: Any, levels: int) -> bool:
    """Return True if a JSON value is nested deeper than `levels` levels. Recurses no deeper than that itself."""
    inner_values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inner_values is not None and (levels == 0 or any(is_deeper_than(one, levels - 1) for one in inner_values))


MAX_ARGUMENTS_CHARACTERS = 256 * 1024
"""Most characters of the arguments as JSON."""
MAX_STEPS = 20_000
"""Most keywords, items and errors that one check may count: through references, a small schema can unfold to many."""
MAX_FAULTS = 5


class ServerArguments(RootModel[dict[str, JsonValue]]):
    """The arguments of a server's tool, as sent: keys in order, so that the same call is always spelt the same."""

    validation_schema: ClassVar[Mapping[str, Any]] = {}

    @model_validator(mode="after")
    def _check_against_schema(self) -> Self:
        try:
            text = json.dumps(self.root, sort_keys=True, ensure_ascii=False, allow_nan=False)
            text.encode()
        except ValueError:
            raise _make_schema_error("they hold a number or a character that JSON cannot carry") from None
        if len(text) > MAX_ARGUMENTS_CHARACTERS:
            raise _make_schema_error(
                f"they have {len(text):,} characters, and at most {MAX_ARGUMENTS_CHARACTERS:,} are sent"
            )
        faults = find_argument_faults(type(self).validation_schema, self.root)
        if faults:
            raise _make_schema_error("; ".join(faults))
        self.root = json.loads(text)
        return self

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the server's schema, without the keywords that are not checked."""
        return dict(cls.validation_schema)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]  # other models yield their fields
        """Yield each argument as (name, value)."""
        return iter(self.root.items())


def _make_schema_error(text: str) -> PydanticCustomError:
    return PydanticCustomError("by_schema", "{text}", {"text": remove_invisible(text)})


def make_argument_model(schema: Mapping[str, Any]) -> type[ServerArguments]:
    """Make the model of arguments for a schema in which `find_schema_fault` finds no fault."""

    class CheckedArguments(ServerArguments):
        validation_schema = build_validation_schema(schema)

    return CheckedArguments


def find_argument_faults(schema: Mapping[str, Any], arguments: Any) -> tuple[str, ...]:
    """Return the faults of arguments, each with its place; at most `MAX_FAULTS`.

    If the schema is invalid, circular or takes too many steps to check, the only fault returned says so.
    """
    from jsonschema import exceptions  # noqa: PLC0415 - only for a call
    from referencing import Registry  # noqa: PLC0415 - the same
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - the same

    validator_class, limit_error = _make_limited_validator()
    faults: list[str] = []
    try:
        # The empty registry keeps it from fetching anything.
        for error in validator_class(schema, registry=Registry()).iter_errors(arguments):
            place = ".".join(str(part) for part in error.absolute_path)
            faults.append(f"{place or 'arguments'}: {error.message[:200]}")
            if len(faults) == MAX_FAULTS:
                break
    except limit_error:
        return ("the schema of this tool takes too long to check; whoever runs the bot can take the tool out",)
    # An invalid schema can raise any of these, depending on the keyword.
    except (exceptions.UnknownType, Unresolvable, RecursionError, TypeError, ValueError, KeyError, AttributeError):
        return ("the schema of this tool is wrong; whoever runs the bot can take the tool out",)
    return tuple(faults)


class _TooManySteps(Exception):
    """A check has used up its steps."""


def _make_limited_validator() -> tuple[Any, type[Exception]]:
    """Return a validator class that stops after `MAX_STEPS` keywords, and the exception that it then raises."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - only for a call

    steps_left = [MAX_STEPS]

    def count_steps(check: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(check)
        def run_check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            steps_left[0] -= 1 + (len(value) if isinstance(value, list | dict) else 0)
            if steps_left[0] < 0:
                raise _TooManySteps
            for error in check(validator, value, instance, schema) or ():
                steps_left[0] -= 1
                if steps_left[0] < 0:
                    raise _TooManySteps
                yield error

        return run_check

    checks = dict(Draft202012Validator.VALIDATORS)
    return validators.extend(
        Draft202012Validator, {name: count_steps(check) for name, check in checks.items()}
    ), _TooManySteps
