"""The local provider itself: its scripts, its counters, and the rehearsal behind a real wire format."""

from __future__ import annotations

import asyncio
import json
import sys

import aiohttp

from bot.models.rehearsal.rehearsal import RehearsalModel
from handoff.contracts import Plan
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from specialists.turns import finish_tools
from tests.models.conftest import ask, open_pair
from tests.patience import patience
from tests.providers.scripts import brain_from_model, by_purpose, make_slow_latency, six
from tests.providers.wire import Api

BRIEF = "# Request\nDo all six\n\n# Specialists\n" + "\n".join(f"- w{n}: Works out part {n}." for n in range(1, 7))
LOOK = ToolSpec("look_up", "", {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]})


def part_call(messages: list[ModelMessage]) -> ModelCall:
    return ModelCall(
        purpose="specialist:x", system="You work.", messages=tuple(messages), tools=(LOOK, *finish_tools.FINISH_SPECS)
    )


async def test_latency_can_depend_on_the_task_and_the_purpose() -> None:
    async with open_pair("chat", six) as pair:
        await pair.model.reply(ask(BRIEF))
        await pair.model.reply(part_call([ModelMessage(role="user", text="# Task\nPart w3: look")]))
        planner, part = pair.server.requests
    slow = make_slow_latency(0.1, "w3", 5)
    assert (slow(planner), slow(part)) == (0.1, 0.5)
    purposes = by_purpose({"planner": 1.0}, 0.2)
    assert (purposes(planner), purposes(part)) == (1.0, 0.2)


async def test_a_model_of_ours_can_stand_behind_a_wire_format(api: Api) -> None:
    rehearsal = RehearsalModel()
    brief = "# Task\nDraft a note\n\n# From earlier steps\n## Find why\nChurn rose by 3 %."
    call = ModelCall(
        purpose="specialist:writer",
        system="You are the writer: you write.",
        messages=(ModelMessage(role="user", text=brief),),
        tools=finish_tools.FINISH_SPECS,
    )
    async with open_pair(api, brain_from_model(rehearsal)) as pair:
        planned = await pair.model.reply(
            ask(BRIEF.replace("Do all six", "Write a note"), answer_schema=Plan.model_json_schema())
        )
        written = await pair.model.reply(call)
    assert json.loads(planned.text)["next"]["goal"] == "Write a note"
    assert written.calls == (await rehearsal.reply(call)).calls


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
