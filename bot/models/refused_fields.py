"""Learns which request fields a server refuses, by model, so that later requests omit or replace them."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class RefusedFields:
    """The request fields that each model of a server has refused so far.

    Args:
        patterns: By field, a pattern for the error message that refuses it. If several match, the first counts.
    """

    def __init__(self, patterns: Mapping[str, re.Pattern[str]]) -> None:
        self._patterns = patterns
        self._fields_by_model: dict[str, frozenset[str]] = {}

    def find_fields(self, model: str) -> frozenset[str]:
        """Return the fields that requests to this model omit."""
        return self._fields_by_model.get(model, frozenset())

    def add(self, model: str, field: str) -> None:
        """Record that this model refuses a field."""
        self._fields_by_model[model] = self.find_fields(model) | {field}
        _log.info("%s is called without %s from now on", model, field)

    async def send_until_accepted(
        self,
        model: str,
        sdk: Any,
        render_request: Callable[[frozenset[str]], dict[str, Any]],
        post: Callable[[dict[str, Any]], Awaitable[_T]],
    ) -> _T:
        """Send a request and return the reply. Whenever the server refuses a field, send it again without that field.

        Args:
            model: The model's name.
            sdk: The SDK's module, for its exception classes.
            render_request: Renders the request without the fields that it is given.
            post: Sends the request and reads the reply.
        """
        without = self.find_fields(model)
        while True:
            try:
                return await post(render_request(without))
            except (sdk.BadRequestError, sdk.UnprocessableEntityError) as error:
                field = self._find_refused_field(f"{error} {error.response.text}", without, render_request)
                if field is None:
                    raise
                without |= {field}
                self.add(model, field)

    def _find_refused_field(
        self, message: str, omitted_fields: frozenset[str], render_request: Callable[[frozenset[str]], dict[str, Any]]
    ) -> str | None:
        """Return the field that an error message refuses; None if it refuses no field that was sent."""
        sent_request = render_request(omitted_fields)
        for name, words in self._patterns.items():
            if (
                name not in omitted_fields
                and words.search(message)
                and render_request(omitted_fields | {name}) != sent_request
            ):
                return name
        return None
