"""Encodes the data of buttons and windows as JSON, and decodes it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

V = TypeVar("V")
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


@dataclass(frozen=True, slots=True)
class RequestRef:
    """The data of a button about one request: the ids of the job and the request."""

    job: str
    request: str


def encode_data(value: object) -> str:
    """Encode a dataclass or a model as JSON, for a button's value or a window's metadata."""
    return _find_adapter(type(value)).dump_json(value, exclude_defaults=True).decode()


def decode_data(text: str, kind: type[V]) -> V | None:
    """Decode an object of the class `kind` that `encode_data` wrote; None if the text is not one."""
    try:
        return cast("V", _find_adapter(kind).validate_json(text, strict=True))
    except ValidationError:
        return None


def _find_adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
