"""Learns which fields of a request a server refuses, by model. Each is left out from then on, or said another way."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class RefusedFields:
    """What was refused so far.

    Args:
        words: By field, a pattern of the words by which servers refuse it, in the order in which fields are given up.
    """

    def __init__(self, words: Mapping[str, re.Pattern[str]]) -> None:
        self._words = words
        self._refused: dict[str, frozenset[str]] = {}

    def find_fields(self, model: str) -> frozenset[str]:
        """Return the fields that this model is sent without."""
        return self._refused.get(model, frozenset())

    def add(self, model: str, field: str) -> None:
        """Leave a field out from now on."""
        self._refused[model] = self.find_fields(model) | {field}
        _log.info("%s is called without %s from now on", model, field)

    async def send(
        self,
        model: str,
        sdk: Any,
        request_of: Callable[[frozenset[str]], dict[str, Any]],
        post: Callable[[dict[str, Any]], Awaitable[_T]],
    ) -> _T:
        """Send a request, again without a field each time that the server refuses one by name.

        Args:
            model: The model's name.
            sdk: The SDK's module, for its exception classes.
            request_of: Writes the request without these fields.
            post: Sends it.
        """
        without = self.find_fields(model)
        while True:
            try:
                return await post(request_of(without))
            except (sdk.BadRequestError, sdk.UnprocessableEntityError) as error:
                field = self._find_refused_field(f"{error} {error.response.text}", without, request_of)
                if field is None:
                    raise
                without |= {field}
                self.add(model, field)

    def _find_refused_field(
        self, said: str, without: frozenset[str], request_of: Callable[[frozenset[str]], dict[str, Any]]
    ) -> str | None:
        """Return the field that these words refuse; None if they refuse no field that was sent."""
        sent = request_of(without)
        for name, words in self._words.items():
            if name not in without and words.search(said) and request_of(without | {name}) != sent:
                return name
        return None
