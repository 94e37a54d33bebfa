"""Checks the arguments of a call by the schema that a server gave, within bounds that no schema can leave."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

from pydantic import JsonValue, RootModel, model_validator
from pydantic_core import PydanticCustomError

from handoff.text.visible_text import visible
from specialists.mcp import safe_schema

LARGEST = 256 * 1024
"""Characters of the arguments as JSON."""
MOST_STEPS = 20_000
"""Keywords, with what stands in them, that one check may look at: references can make many of a small schema."""
MOST_FAULTS = 5


class ServerArguments(RootModel[dict[str, JsonValue]]):
    """The arguments of a server's tool, as they go to it: the same call is spelt the same, keys in order."""

    schema_checked: ClassVar[Mapping[str, Any]] = {}

    @model_validator(mode="after")
    def _check_against_schema(self) -> Self:
        try:
            text = json.dumps(self.root, sort_keys=True, ensure_ascii=False, allow_nan=False)
            text.encode()
        except ValueError:
            raise _schema_error("they hold a number or a character that JSON cannot carry") from None
        if len(text) > LARGEST:
            raise _schema_error(f"they have {len(text):,} characters, and at most {LARGEST:,} are sent")
        found = faults(type(self).schema_checked, self.root)
        if found:
            raise _schema_error("; ".join(found))
        self.root = json.loads(text)
        return self

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the schema that the server gave, as far as arguments are checked by it."""
        return dict(cls.schema_checked)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]  # as any other model gives its fields
        """Give each argument with its value."""
        return iter(self.root.items())


def _schema_error(text: str) -> PydanticCustomError:
    return PydanticCustomError("by_schema", "{text}", {"text": visible(text)})


def arguments_by(schema: Mapping[str, Any]) -> type[ServerArguments]:
    """Make the model of arguments that are checked by a schema without faults (see `safe_schema`)."""

    class Checked(ServerArguments):
        schema_checked = safe_schema.build_validation_schema(schema)

    return Checked


def faults(schema: Mapping[str, Any], arguments: Any) -> tuple[str, ...]:
    """Say what is wrong with the arguments, each fault with its place; at most `MOST_FAULTS`.

    A schema that is none, or that leads in circles, is a fault of its own: nothing is sent that nobody could check.
    """
    from jsonschema import exceptions  # noqa: PLC0415 - only for a call
    from referencing import Registry  # noqa: PLC0415 - the same
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - the same

    counted, spent = _make_limited_validator()
    found: list[str] = []
    try:
        # The empty registry keeps it from fetching anything.
        for error in counted(schema, registry=Registry()).iter_errors(arguments):
            place = ".".join(str(part) for part in error.absolute_path)
            found.append(f"{place or 'arguments'}: {error.message[:200]}")
            if len(found) == MOST_FAULTS:
                break
    except spent:
        return ("the schema of this tool takes too long to check; whoever runs the bot can take the tool out",)
    # A schema that is none shows in as many ways as there are keywords.
    except (exceptions.UnknownType, Unresolvable, RecursionError, TypeError, ValueError, KeyError, AttributeError):
        return ("the schema of this tool is wrong; whoever runs the bot can take the tool out",)
    return tuple(found)


class _StepsSpent(Exception):
    """A check has taken all of its steps."""


def _make_limited_validator() -> tuple[Any, type[Exception]]:
    """Make a validator that stops after `MOST_STEPS` keywords."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - only for a call

    left = [MOST_STEPS]

    def counted(check: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(check)
        def step(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            left[0] -= 1 + (len(value) if isinstance(value, list | dict) else 0)
            if left[0] < 0:
                raise _StepsSpent
            for error in check(validator, value, instance, schema) or ():
                left[0] -= 1
                if left[0] < 0:
                    raise _StepsSpent
                yield error

        return step

    known = dict(Draft202012Validator.VALIDATORS)
    return validators.extend(Draft202012Validator, {name: counted(check) for name, check in known.items()}), _StepsSpent
