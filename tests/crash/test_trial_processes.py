"""A job that kills its owners, and one that only was beside it: the first is set aside, the second never."""

from __future__ import annotations

import secrets
from dataclasses import asdict, replace
from pathlib import Path

from bot.store.redis.redis_store import Store
from handoff import events as ev
from handoff.effects import make_card_key
from handoff.engine.ladder import MAX_LOST_OWNERS
from handoff.state.job_state import Job
from tests.crash.bot import Start
from tests.crash.deadly_bot import DEADLY, HARMLESS, go_file
from tests.nursery.nursery import nursery
from tests.system.scene import Scene, Talk, eventually, scene_on

LATER = 60.0
"""Seconds by which the store's clock is ahead for each bot after the one before."""


def is_at_work(job: Job) -> bool:
    """Whether its part is under way and nothing is left to post."""
    part = job.latest_request.subtasks.get("text")
    return (
        make_card_key(job.latest_request.id) in job.latest_request.posted_ids
        and part is not None
        and part.state == "in_progress"
    )


async def wait_for_owners(scene: Scene, talks: list[Talk], epoch: int) -> None:
    """Wait until all of these jobs have had so many owners, and have one."""

    async def look() -> bool:
        heads = [await scene.store.jobs.read_head(talk.key) for talk in talks]
        return all(head is not None and head.owner and head.epoch == epoch for head in heads)

    await eventually(look)


async def put_off(scene: Scene, talks: list[Talk]) -> None:
    """Wait until all of these jobs wait for their trial."""

    async def look() -> bool:
        heads = [await scene.store.jobs.read_head(talk.key) for talk in talks]
        return all(head is not None and not head.owner and head.due is not None for head in heads)

    await eventually(look)


async def test_only_the_job_that_brings_its_owner_down_alone_is_set_aside(server_url: str, tmp_path: Path) -> None:
    prefix = f"d{secrets.token_hex(4)}"
    store = await Store.connect(server_url, prefix=prefix)
    async with scene_on(server_url, rate_limits=False) as made, nursery(tmp_path, "tests.crash.deadly_bot") as bots:
        scene = replace(made, store=store, prefix=prefix)
        far_side = str(tmp_path / "far")
        start = Start(
            scenario="busy",
            bot_token=scene.workspace.bot_token,
            app_token=scene.workspace.app_token,
            api_url=scene.workspace.api_url,
            store_url=server_url,
            prefix=prefix,
            passages=str(tmp_path / "passages"),
            far_side=far_side,
        )
        talks = deadly, harmless = [await scene.ask(DEADLY), await scene.ask(HARMLESS, who="ben")]
        for number in range(1, MAX_LOST_OWNERS + 1):
            go_file(far_side).unlink(missing_ok=True)
            async with bots.bot(asdict(replace(start, later=number * LATER))) as dead:
                await wait_for_owners(scene, talks, number)
                for talk in talks:
                    await talk.until(is_at_work)
                await deadly.until(lambda job: job.latest_request.subtasks["text"].checkpoints)
                go_file(far_side).touch()
                assert await dead == -9
        async with bots.bot(asdict(replace(start, later=(MAX_LOST_OWNERS + 1) * LATER))):
            for talk in talks:
                await talk.wait_until_seen(
                    lambda talk=talk: "I was interrupted 3 times in a row" in talk.join_bot_texts()
                )
            await put_off(scene, talks)
        start = replace(start, scenario="quick")
        async with bots.bot(asdict(replace(start, later=(MAX_LOST_OWNERS + 2) * LATER))) as dead:
            assert await dead == -9, "it was tried, whatever the other one came to"
        async with bots.bot(asdict(replace(start, later=(MAX_LOST_OWNERS + 3) * LATER))):
            await deadly.wait_until_seen(lambda: "set this job aside" in deadly.join_bot_texts())
            job = await harmless.over()

            async def is_quarantined() -> bool:
                head = await store.jobs.read_head(deadly.key)
                return head is not None and head.is_quarantined

            await eventually(is_quarantined)
    assert job.latest_request.state == "completed"
    assert "Harmless tea is ready." in harmless.join_bot_texts()
    assert not await harmless.of(ev.SetAside)
    (aside,) = await deadly.of(ev.SetAside)
    assert aside.reason.startswith("4 times in a row")
    assert aside.reason.endswith("while it worked on nothing else")
    for talk in talks:
        assert talk.join_bot_texts().count("I was interrupted") == 1
    await store.close()
