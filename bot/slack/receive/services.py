"""A registry of services, through which features find each other's services by class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

S = TypeVar("S")


class FeatureServices:
    """The services that features offer to each other: one object of each class."""

    def __init__(self) -> None:
        self._services: dict[type[Any], Any] = {}

    def find_or_make(self, kind: type[S], make: Callable[[], S]) -> S:
        """Return the service of a class. If there is none yet, make it with `make` and keep it."""
        if kind not in self._services:
            self._services[kind] = make()
        return self.find(kind)

    def find(self, kind: type[S]) -> S:
        """Return the service of a class. Raises LookupError if no feature that was set up before offers it."""
        if kind not in self._services:
            raise LookupError(f"no feature offers {kind.__name__}")
        return cast("S", self._services[kind])
