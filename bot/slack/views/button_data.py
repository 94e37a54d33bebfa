"""What a button or a window carries until it comes back, as JSON: written and read here alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

V = TypeVar("V")
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


@dataclass(frozen=True, slots=True)
class AboutRequest:
    """A request of a job, by their ids."""

    job: str
    request: str


def encode_data(value: object) -> str:
    """Write a dataclass or a model, for a button's value or a window's metadata."""
    return _find_adapter(type(value)).dump_json(value, exclude_defaults=True).decode()


def decode_data(text: str, kind: type[V]) -> V | None:
    """Read what `encode_data` wrote of an object of that class; None if it is none of ours."""
    try:
        return cast("V", _find_adapter(kind).validate_json(text, strict=True))
    except ValidationError:
        return None


def _find_adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
