"""A rehearsal has no model to read what is said meanwhile: it says so, in place of a receipt and in its answer."""

from __future__ import annotations

import asyncio

import pytest

from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.slack.views.receipt import NOT_APPLIED
from handoff.contracts import Turn
from specialists.model import ModelCall
from tests.system.scene import SAMPLE, Scene
from tests.system.test_follow_ups import reactions

FILES = [("sales.csv", SAMPLE.read_bytes())]


class HeldRehearsal(RehearsalModel):
    """The rehearsal, whose specialists' calls wait until somebody has spoken."""

    def __init__(self) -> None:
        super().__init__()
        self.at_work, self.spoken = asyncio.Event(), asyncio.Event()

    async def reply(self, call: ModelCall) -> Turn:
        if call.purpose.startswith("specialist:"):
            self.at_work.set()
            await self.spoken.wait()
        return await super().reply(call)


@pytest.mark.parametrize("way", ["reply", "edit"])
async def test_what_is_said_at_work_is_named_as_not_applied(scene: Scene, way: str) -> None:
    model = HeldRehearsal()
    async with scene.bot(model):
        talk = await scene.ask("What is the total revenue by region?", files=FILES)
        await model.at_work.wait()
        if way == "reply":
            ts = await talk.say("only the North region please")
        else:
            ts = talk.ts
            await scene.person().edit(talk.channel, ts, "@leadhand What is the total units by region?")
        await talk.seen(lambda: NOT_APPLIED in talk.told())
        assert "memo" not in reactions(talk, ts)
        model.spoken.set()
        job = await talk.over()
    words = "only the North region please" if way == "reply" else "total units by region"
    said = " ".join(talk.said().split())
    assert "was not applied: this is a rehearsal" in said
    assert words in said
    assert job.latest.state == "completed"


async def test_a_public_channel_is_known_by_its_name_and_a_private_one_is_not(scene: Scene) -> None:
    """Slack mentions channels by their ids. Who writes the id of a private one does not learn its name so."""
    sales, leads = scene.workspace.channel_id("#sales"), scene.workspace.channel_id("#leads")
    async with scene.bot():
        talk = await scene.ask(f"Draft a note for <#{sales}> and <#{leads}|>", who="cleo")
        job = await talk.over()
    assert job.asks[0].request.text == f"Draft a note for #sales and #{leads}"
