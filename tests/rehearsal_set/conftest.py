"""A workspace of its own for each file of the set, and an empty store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.system.scene import Scene, scene_on


@pytest.fixture
async def scene(server_url: str) -> AsyncIterator[Scene]:
    """A workspace that is as strict as Slack, and an empty store."""
    async with scene_on(server_url) as made:
        yield made
