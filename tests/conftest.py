"""What all tests share: one embedded server for each worker, and which tests are long.

`make quick` leaves the long ones out, `make test` runs them all. They take two thirds of the time of all: several
instances, browsers, servers that fail over, random histories, waits for a real deadline. What they show is shown in
small by the rest, or needs no second look between two edits. `pytest --durations=60` says which they are.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bot.store.embedded import start_embedded, stop_embedded
from bot.store.redis.redis_store import Store
from tests.patience import measure_slowdown, patience
from tests.store.kit import fresh_store

TESTS = Path(__file__).parent
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

TEST_SECONDS = 180.0
"""Seconds of a quick machine after which a test hangs."""
LONG_FOLDERS = frozenset({"chaos", "crash", "failover", "mutants", "newcomer", "versions", "workspace_page"})
LONG_FILES = frozenset(
    {
        "test_command_ask",
        "test_command_check",
        "test_command_console",
        "test_failures",
        "test_hostile_texts",
        "test_instances",
        "test_instances_processes",
        "test_ladder_whole",
        "test_outbox",
        "test_providers_end_to_end",
        "test_reading_bombs",
        "test_store_machine",
        "test_table_attacks",
    }
)
LONG_TESTS = frozenset({
    "test_a_bot_killed_in_the_middle_of_a_query_leaves_nothing_after_the_next_start",
    "test_a_file_of_the_first_request_serves_the_second",
    "test_a_planner_that_fails_leaves_the_plan_as_it_was",
    "test_a_specialist_that_talks_nonsense_still_ends_in_one_message",
    "test_a_store_in_a_black_hole_holds_nobody_up",
    "test_a_whole_job_is_counted_and_nothing_of_it_is_logged",
    "test_hard_data_is_drawn_all_the_same",
    "test_stopping_loses_nothing_and_leaves_nothing",
    "test_the_analyst_shows_the_queries_rows_and_draws_them",
    "test_those_made_share_one_breaker_and_are_left_alone_together_where_they_keep_failing",
})  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the long ones their marker, and begin with their files: what is short fills the end on all cores."""
    long = set()
    for item in items:
        path, name = item.path.relative_to(TESTS), item.name.partition("[")[0]
        if path.parts[0] in LONG_FOLDERS or path.stem in LONG_FILES or name in LONG_TESTS:
            item.add_marker(pytest.mark.long)
            long.add(item.path)
    items.sort(key=lambda item: item.path not in long)


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Measure the machine, give each test its time on it, and collect no garbage while the tests are collected."""
    measure_slowdown()
    os.environ.setdefault("PYTEST_TIMEOUT", f"{patience(TEST_SECONDS):.0f}")
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave them out of every later collection of garbage, which took an eighth of the time of all."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded server, as a newcomer's is."""
    data = tmp_path_factory.mktemp("embedded")
    yield asyncio.run(start_embedded(data))
    asyncio.run(stop_embedded(data))


@pytest.fixture
async def store(server_url: str) -> AsyncIterator[Store]:
    """An empty store."""
    made = await fresh_store(server_url)
    yield made
    await made.close()
