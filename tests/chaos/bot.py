"""Starts instances: `leadhand run` as it is, with the run's own tools beside those of the catalogue."""

from __future__ import annotations

import os
import random
import sys
from typing import Any

import openai.resources.chat.completions
import redis.asyncio
import slack_bolt.adapter.socket_mode.aiohttp

import bot.app
import bot.command_line.serve
import bot.jobs.instance
import bot.models.openai_chat
from bot.__main__ import main
from specialists.tools import catalogue
from specialists.tools.toolkit import Toolkit
from specialists.tools.web.fetch import FetchSettings
from specialists.tools.web.search import SearchSettings
from tests.chaos.instances import RESTS
from tests.chaos.toolkit import tools
from tests.nursery.forks import serve

IMPORTED = (
    openai.resources.chat.completions,
    redis.asyncio,
    slack_bolt.adapter.socket_mode.aiohttp,
    bot.command_line.serve,
)
"""What an instance would import one by one when it starts."""


def with_ours(
    search: SearchSettings | None = None, fetch: FetchSettings | None = None, **more: Any
) -> tuple[Toolkit, ...]:
    """All toolkits there are, and ours."""
    return (*catalogue.all_toolkits(search, fetch, **more), Toolkit("chaos", tuple(tools())))


def life(start: dict[str, Any]) -> int:
    """Be an instance with the environment `env`, which says all that it says into the file `log`."""
    file = os.open(start["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, sys.stdout.fileno())
    os.dup2(file, sys.stderr.fileno())
    os.environ.update(start["env"])
    random.seed()
    bot.jobs.instance.RESTS = float(os.environ.get(RESTS, bot.jobs.instance.RESTS))
    return main(["run"])


if __name__ == "__main__":
    bot.app.all_toolkits = with_ours  # type: ignore[attr-defined]  # the one place where a crew's tools come from
    serve(life)
