"""Jobs that a newer release wrote, and jobs that nobody can read: left alone, and told of in a clear line."""

from __future__ import annotations

import json
import time

import pytest

from bot.app import App
from bot.store.values import Commit, Head
from bot.tracing.export import export_job_trace
from handoff import events as ev
from handoff.contracts import Place, Request
from tests.store.kit import take_job
from tests.system.brains import Gate, bot_with_provider, connect, plan, provider, result, subtask
from tests.system.scene import Scene, Talk, eventually, extract_shown_text

NEWER = ev.SCHEMA + 1


def newer(event: ev.Event) -> str:
    """The event as a newer release may write it."""
    line = json.loads(ev.dump_event(event))
    return json.dumps({**line, "v": NEWER, "unheard_of": [1, 2]})


async def wait_for_release(talk: Talk) -> Head:
    """Wait until the job is for newer releases only, and nobody owns it."""

    async def so() -> Head | None:
        head = await talk.scene.store.jobs.read_head(talk.key)
        return head if head is not None and head.schema == NEWER and not head.owner else None

    head = await eventually(so)
    assert head is not None
    return head


async def asked_of_a_newer_one(scene: Scene) -> Talk:
    """A request that a newer instance took in, and did not come to work on."""
    talk = scene.thread("#general", await scene.person().say("#general", "Draft a short note about tea"))
    request = Request(id=talk.ts, user=scene.person().id, text="Draft a short note about tea", at=time.time())
    place = Place(team=talk.key.team, channel=talk.channel, thread_ts=talk.ts)
    fields = {"state": "submitted", "title": request.text, "user": request.user, "channel": talk.channel}
    event = ev.RequestAdded(at=request.at, place=place, request=request)
    assert await scene.store.jobs.ingest(
        talk.key, newer(event), dedupe=["x"], user=request.user, fields={**fields, "thread_ts": talk.ts}
    )
    return talk


async def test_a_request_that_a_newer_release_took_in_is_left_to_it(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with bot_with_provider(scene) as server:
        talk = await asked_of_a_newer_one(scene)
        head = await wait_for_release(talk)
        assert (head.seq, head.lost_owners) == (0, 0)
        assert len(await scene.store.jobs.read_inbox(talk.key)) == 1
        listed = extract_shown_text(await scene.command("status"))
        assert f"`{talk.key.job}` <" in listed
        assert "|Draft a short note about tea>" in listed
        assert "newer release" in extract_shown_text(await scene.command(f"status {talk.key.job}"))
        assert "newer release" in extract_shown_text(await scene.command(f"trace {talk.key.job}"))
        other = await scene.ask("Draft a short note about scones")
        await other.over()
        assert extract_shown_text(await scene.command(f"cancel {talk.key.job}"))
    assert server.requests
    assert not talk.replies()
    assert await scene.store.jobs.read_log(talk.key) == []
    assert [json.loads(entry.payload)["v"] for entry in await scene.store.jobs.read_inbox(talk.key)] == [
        NEWER,
        ev.SCHEMA,
    ]
    assert not [record for record in caplog.records if record.exc_info]


async def test_what_a_newer_release_says_to_a_job_under_way_passes_the_job_on(scene: Scene) -> None:
    gate = Gate(result("Done."))
    two = plan(subtask("first", "writer"), subtask("second", "reviewer"))
    async with (
        provider(planner=lambda _: two, writer=lambda _: result("Written."), reviewer=gate) as server,
        scene.bot(connect("chat", server)) as app,
    ):
        talk = await scene.ask("Do two things")
        await talk.until(
            lambda job: job.latest_request.subtasks and job.latest_request.subtasks["first"].state == "complete"
        )
        await gate.arrival_event.wait()
        line = newer(ev.CancelRequested(at=time.time(), user=scene.person().id))
        assert await scene.store.jobs.signal(talk.key, line, dedupe=[])
        await wait_for_release(talk)
        await eventually(lambda: _owns_nothing(app))
        gate.open()
        await scene.barrier()
        job = await talk.job()
        assert job is not None
        assert {name: work.state for name, work in job.latest_request.subtasks.items()} == {
            "first": "complete",
            "second": "in_progress",
        }
        assert job.latest_request.run.failure is None, "nothing was made of what could not be read"
        (entry,) = await scene.store.jobs.read_inbox(talk.key)
        assert entry.payload == line


async def _owns_nothing(app: App) -> bool:
    return app.instance.owned_job_count == 0


async def test_a_log_that_cannot_be_read_is_named_to_people_and_traced_for_admins_all_the_same(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("Draft a short note about tea")
        await talk.over()
        head = await eventually(lambda: _let_go(talk))
    await scene.store.jobs.ingest(talk.key, "{}", dedupe=[])
    claim = await take_job(scene.store, "else", schema=ev.SCHEMA, preferred_job=talk.key)
    lines = ['{"type":"Unheard","at":1.0,"v":1}', "no JSON at all"]
    done = await scene.store.jobs.commit(
        claim, "x", head.seq, lines, taken_entries=[2], schema=ev.SCHEMA, starts_expiry=True
    )
    assert done is Commit.OK
    assert await scene.store.jobs.release(claim, due=None)
    async with scene.bot(admins=frozenset({scene.person("cleo").id})):
        assert "record of that job is damaged" in extract_shown_text(await scene.command(f"status {talk.key.job}"))
        assert "record of that job is damaged" in extract_shown_text(await scene.command(f"trace {talk.key.job}"))
        assert "record of that job is damaged" in extract_shown_text(
            await scene.command(f"trace {talk.key.job}", who="cleo")
        )
        direct = scene.person("cleo").dm
        await scene.workspace.until(lambda: [m for m in scene.workspace.messages(direct) if m.get("files")])
    own = scene.workspace.messages(scene.person().dm)
    assert not [one for one in own if one.get("files")], "nobody can tell whose a step is"
    trace = export_job_trace(await scene.store.jobs.read_log(talk.key), head)
    assert trace["events"][0]["type"] == "RequestAdded"
    assert trace["events"][-1] == {"seq": head.seq + 2, "unreadable": "no JSON at all"}


async def _let_go(talk: Talk) -> Head | None:
    head = await talk.scene.store.jobs.read_head(talk.key)
    return head if head is not None and not head.owner else None
