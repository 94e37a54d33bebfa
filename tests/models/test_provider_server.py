"""The local provider itself: its scripts and its counters."""

from __future__ import annotations

import asyncio
import json
import sys

import aiohttp

from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from specialists.turns import finish_tools
from tests.models.conftest import ask, open_pair
from tests.patience import patience
from tests.providers.scripts import make_slow_latency, six

BRIEF = "# Request\nDo all six\n\n# Specialists\n" + "\n".join(f"- w{n}: Works out part {n}." for n in range(1, 7))
LOOK = ToolSpec("look_up", "", {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]})


def part_call(messages: list[ModelMessage]) -> ModelCall:
    return ModelCall(
        purpose="specialist:x", system="You work.", messages=tuple(messages), tools=(LOOK, *finish_tools.FINISH_SPECS)
    )


async def test_latency_can_depend_on_the_task() -> None:
    async with open_pair("chat", six) as pair:
        await pair.model.reply(ask(BRIEF))
        await pair.model.reply(part_call([ModelMessage(role="user", text="# Task\nPart w3: look")]))
        planner, part = pair.server.requests
    slow = make_slow_latency(0.1, "w3", 5)
    assert (slow(planner), slow(part)) == (0.1, 0.5)


async def test_it_runs_as_a_process_of_its_own() -> None:
    command = ["-m", "tests.providers.server", "--latency-ms", "1", "--script", "six"]
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        port = int(await asyncio.wait_for(process.stdout.readline(), patience()))
        url = f"http://127.0.0.1:{port}"
        async with aiohttp.ClientSession() as session:
            body = {"model": "m", "messages": [{"role": "user", "content": "# Results"}]}
            async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                said = json.loads(await response.read())
            async with session.get(f"{url}/stats") as response:
                stats = await response.json()
            async with session.post(f"{url}/reset") as response:
                assert (await response.json())["calls"] == 0
        assert "six parts" in said["choices"][0]["message"]["content"]
        assert stats == {"calls": 1, "prompt_tokens": 2, "at_once": 1}
    finally:
        process.terminate()
        await process.wait()
