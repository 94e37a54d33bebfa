"""Starts instances: `leadhand run` as it is, with a package installed that brings the run's own tools."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import openai.resources.chat.completions
import redis.asyncio
import slack_bolt.adapter.socket_mode.aiohttp

import bot.command_line.serve
import bot.jobs.instance
import bot.models.openai_chat
import bot.team_bot
from bot.__main__ import main
from tests.chaos.instances import RESTS
from tests.nursery.forks import serve

IMPORTED_MODULES = (
    openai.resources.chat.completions,
    redis.asyncio,
    slack_bolt.adapter.socket_mode.aiohttp,
    bot.command_line.serve,
    bot.team_bot,
)
"""What an instance would import one by one when it starts."""
PACKAGE = Path(__file__).parent / "package"
"""Where Python finds the package `leadhand-chaos`, whose entry point names the tools of `tests.chaos.toolkit`."""


def life(start: dict[str, Any]) -> int:
    """Be an instance with the environment `env`, which says all that it says into the file `log`."""
    file = os.open(start["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, sys.stdout.fileno())
    os.dup2(file, sys.stderr.fileno())
    os.environ.update(start["env"])
    random.seed()
    bot.jobs.instance.UNREACHABLE_TEAM_SECONDS = float(
        os.environ.get(RESTS, bot.jobs.instance.UNREACHABLE_TEAM_SECONDS)
    )
    return main(["run"])


if __name__ == "__main__":
    sys.path.append(str(PACKAGE))
    serve(life)
