"""What of `handoff` its own tests reach: coverage is taken while they run, and not while others do.

A plugin (`-p tests.handoff.reach`), so that one run of all tests is enough. What runs when a module is imported is
counted as well, so that all of `handoff` is imported here, before anything else has.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import coverage
import pytest

OURS = Path(__file__).parent


class Reach:
    """Counts what runs inside `count_coverage`."""

    def __init__(self) -> None:
        self._coverage = coverage.Coverage(data_suffix=True)

    @contextlib.contextmanager
    def count_coverage(self) -> Iterator[None]:
        self._coverage.start()
        try:
            yield
        finally:
            self._coverage.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if OURS not in item.path.parents:
            return (yield)
        with self.count_coverage():
            return (yield)

    def pytest_sessionfinish(self) -> None:
        self._coverage.save()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest is imported, which may import `handoff`."""
    if known := [name for name in sys.modules if name.partition(".")[0] == "handoff"]:
        raise pytest.UsageError(f"imported before it could be counted: {known}")
    reach = Reach()
    early_config.pluginmanager.register(reach)
    with reach.count_coverage():
        package = importlib.import_module("handoff")
        for module in pkgutil.walk_packages(package.__path__, "handoff."):
            importlib.import_module(module.name)
