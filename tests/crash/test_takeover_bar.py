"""kill -9 in the first layer of the job of six: what was in flight is called once more, and nothing else is."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from dataclasses import replace

from handoff import events as ev
from specialists.tools.tool import ToolOutcome, Workbench
from tests.bench.scenario import REQUEST, LookupArguments, lookup, make_six
from tests.bench.stage import settings_of
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import SCRIPTS, purpose_of
from tests.providers.server import ProviderServer
from tests.providers.wire import WireRequest
from tests.system.brains import connect, purposes
from tests.system.scene import Scene, bot_in, open_empty_store, scene_on

FIRST_LAYER = ("w1", "w2", "w3", "w4")


class HeldScript:
    """The script of the job of six; the second turns of the first layer wait until they are let go."""

    def __init__(self) -> None:
        self.wait_counts: Counter[str] = Counter()
        self.let_go = asyncio.Event()

    async def __call__(self, request: WireRequest) -> Reply | Fault:
        """One reply."""
        name = purpose_of(request).partition(":")[2]
        if name in FIRST_LAYER and any(message.replies for message in request.messages):
            self.wait_counts[name] += 1
            await self.let_go.wait()
        said = SCRIPTS["six"](request)
        return said if isinstance(said, Reply | Fault) else await said


async def test_a_kill_in_the_first_layer_repeats_only_what_was_in_flight(server_url: str) -> None:
    held = HeldScript()
    ran: Counter[str] = Counter()

    async def count_lookup(arguments: LookupArguments, workbench: Workbench) -> ToolOutcome:
        """Look up the figure of a part, such as w1."""
        ran[arguments.part] += 1
        return await lookup(arguments, workbench)

    crew = make_six(count_lookup)
    async with scene_on(server_url, rate_limits=False) as scene, ProviderServer(held) as server:
        store = await open_empty_store(server_url)
        killed = await _bot(scene, server, server_url)
        asked = await scene.ask(REQUEST)
        talk = replace(scene, store=store).thread(asked.channel, asked.ts)
        await talk.wait_until_seen(lambda: set(held.wait_counts) == set(FIRST_LAYER))
        await talk.until(
            lambda job: all(len(job.latest_request.subtasks[name].checkpoints) == 2 for name in FIRST_LAYER)
        )
        killed.kill()
        await killed.wait()
        before = Counter(purposes(server))
        held.let_go.set()
        async with bot_in(scene.workspace, server_url, prefix="lh", model=connect("chat", server), crew=crew):
            job = await talk.over()
        after = Counter(purposes(server)) - before
        returned = Counter(event.subtask for event in await talk.of(ev.ToolReturned))
        await store.close()

    assert job.latest_request.state == "completed"
    assert set(before) == {"planner", *(f"specialist:{name}" for name in FIRST_LAYER)}
    assert before["planner"] == 1
    assert min(before[f"specialist:{name}"] for name in FIRST_LAYER) >= 2, "more where a busy machine lost the lease"
    repeated = {f"specialist:{name}": 1 for name in FIRST_LAYER}
    assert after == Counter({**repeated, "specialist:w5": 2, "specialist:w6": 2, "synthesizer": 1, "verifier": 1})
    assert ran == Counter({"w5": 1, "w6": 1}), "a tool that had ended is not run again"
    assert set(returned.values()) == {1}
    assert len(talk.cards()) == len(talk.words()) == 1


async def _bot(scene: Scene, server: ProviderServer, url: str) -> asyncio.subprocess.Process:
    """The bot of the benchmark, in a process of its own, once it is there."""
    more = {"LEADHAND_LEASE": "1", "LEADHAND_SLACK_UNLIMITED": "1"}
    settings = settings_of(scene.workspace, url, server.openai_url, **more)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.bot", env={**os.environ, **settings}, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process
