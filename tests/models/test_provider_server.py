"""The local provider itself: its scripts, its counters, and the rehearsal behind a real wire format."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import aiohttp
import pytest

from bot.models.provider_model import ProviderModel
from bot.models.rehearsal.rehearsal import RehearsalModel
from handoff.contracts import Plan, ToolReply
from specialists.model import ModelCall, ModelMessage
from specialists.tools.tool import ToolSpec
from specialists.turns import finish_tools
from tests.models.conftest import ask, connect, paired
from tests.patience import patience
from tests.providers.scripts import brain_from_model, by_purpose, six, slowed
from tests.providers.server import ProviderServer
from tests.providers.wire import Api

BRIEF = "# Request\nDo all six\n\n# Specialists\n" + "\n".join(f"- w{n}: Works out part {n}." for n in range(1, 7))
LOOK = ToolSpec("look_up", "", {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]})


async def six_parts(model: ProviderModel) -> int:
    """The job of six by hand, with as much side by side as its plan allows. Gives the number of its calls."""
    turn = await model.reply(ask(BRIEF, answer_schema=Plan.model_json_schema()))
    plan = Plan.model_validate_json(turn.text)
    calls = 1
    done: dict[str, asyncio.Task[None]] = {}

    async def part(name: str) -> None:
        nonlocal calls
        subtask = plan.subtask(name)
        await asyncio.gather(*(done[other] for other in subtask.after))
        messages = [ModelMessage(role="user", text=f"# Task\n{subtask.intent}")]
        first = await model.reply(part_call(messages))
        messages.append(ModelMessage(role="assistant", calls=first.calls))
        replies = tuple(ToolReply(call_id=call.id, text=f"{name} is 42") for call in first.calls)
        messages.append(ModelMessage(role="tool", replies=replies))
        last = await model.reply(part_call(messages))
        assert first.calls[0].arguments == {"key": name}
        assert last.calls[0].name == "return_result"
        assert f"{name} is 42" in last.calls[0].arguments["content"]
        calls += 2

    for subtask in plan.subtasks:
        done[subtask.id] = asyncio.create_task(part(subtask.id))
    await asyncio.gather(*done.values())
    await model.reply(ask("# Request\nDo all six\n\n# Results\n"))
    return calls + 1


def part_call(messages: list[ModelMessage]) -> ModelCall:
    return ModelCall(
        purpose="specialist:x", system="You work.", messages=tuple(messages), tools=(LOOK, *finish_tools.SPECS)
    )


async def test_the_job_of_six_takes_fourteen_calls_on_its_critical_path(api: Api) -> None:
    async with ProviderServer(six, latency=0.05) as server:
        model = connect(api, server)
        await model.warm()
        began = time.monotonic()
        assert await six_parts(model) == server.stats.calls == 14
        took = time.monotonic() - began
        await model.close()
    assert server.stats.prompt_tokens == sum(request.prompt_tokens for request in server.requests)
    assert server.stats.at_once == 4
    assert took >= 8 * 0.05


async def test_latency_can_depend_on_the_task_and_the_purpose() -> None:
    async with paired("chat", six) as pair:
        await pair.model.reply(ask(BRIEF))
        await pair.model.reply(part_call([ModelMessage(role="user", text="# Task\nPart w3: look")]))
        planner, part = pair.server.requests
    slow = slowed(0.1, "w3", 5)
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
        tools=finish_tools.SPECS,
    )
    async with paired(api, brain_from_model(rehearsal)) as pair:
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


@pytest.mark.parametrize("path", ["/v1/models", "/v2/messages"])
async def test_other_paths_are_not_found(path: str) -> None:
    async with ProviderServer(six) as server, aiohttp.ClientSession() as session:
        async with session.post(server.url + path, json={}) as response:
            assert response.status == 404
        assert server.stats.calls == 0
