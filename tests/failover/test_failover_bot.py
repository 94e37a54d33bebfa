"""A whole bot whose primary falls silent in the middle of a job, as behind a pulled cable, and is replaced."""

import asyncio
from pathlib import Path

from handoff import events as ev
from tests.failover.names import forwarder, is_primary, replicated_servers
from tests.failover.servers import NEEDS_SIDES, watched_servers
from tests.patience import eventually, patience
from tests.system.brains import Gate, connect, plan, provider, purposes, result, subtask
from tests.system.scene import scene_on

TWO = plan(subtask("first", "writer"), subtask("second", "reviewer", ["first"]))


@NEEDS_SIDES
async def test_a_job_ends_once_across_a_failover(tmp_path: Path) -> None:
    gate = Gate(result("Done."))

    with watched_servers(tmp_path) as servers:
        async with (
            provider(planner=lambda _: TWO, writer=lambda _: result("First."), reviewer=gate) as server,
            scene_on(servers.url()) as scene,
            scene.bot(connect("chat", server), lease=3.0),
        ):
            talk = await scene.ask("Do two things")
            await gate.arrival_event.wait()
            await asyncio.to_thread(servers.silence)
            await eventually(lambda: asyncio.to_thread(servers.has_new_primary))
            gate.open()
            job = await talk.over(patience=patience())
            # The new primary gives and takes signals too.
            reply = await scene.ask("Do two things again")
            await reply.over()
            await talk.wait_until_seen(lambda: talk.status() == "active")
        assert job.latest_request.state == "completed"
        for each in (talk, reply):
            assert len(each.cards()) == len(each.words()) == 1
            assert len(await each.of(ev.AnswerWritten)) == 1
            assert [event.subtask for event in await each.of(ev.ResultReturned)] == ["first", "second"]
        assert purposes(server).count("specialist:writer") == 2, "what was finished is not done again"
        assert purposes(server).count("planner") == 2


async def test_a_job_ends_once_across_a_failover_behind_one_name(tmp_path: Path) -> None:
    """Neither a restart nor a second answer, though nothing is named but a proxy."""
    gate = Gate(result("Done."))
    with replicated_servers(tmp_path) as (former, new), forwarder(former) as name:
        async with (
            provider(planner=lambda _: TWO, writer=lambda _: result("First."), reviewer=gate) as server,
            scene_on(f"redis://{name.place}") as scene,
            scene.bot(connect("chat", server), lease=3.0),
        ):
            talk = await scene.ask("Do two things")
            await gate.arrival_event.wait()
            assert former.ask("WAIT", "1", "5000")
            assert former.ask("FAILOVER", "TO", "127.0.0.1", str(new.port)).startswith(b"+OK")
            await eventually(lambda: asyncio.to_thread(is_primary, new))
            name.move(new)
            gate.open()
            job = await talk.over(patience=patience())
            reply = await scene.ask("Do two things again")
            await reply.over(patience=patience())
        assert job.latest_request.state == "completed"
        for each in (talk, reply):
            assert len(each.words()) == 1
