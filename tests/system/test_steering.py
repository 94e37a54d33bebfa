"""What people say, edit and delete while a request is under way: applied, queued or withdrawn, and it is said which."""

from __future__ import annotations

import asyncio
import json

import pytest

from handoff.engine import hearing
from handoff.engine.correcting import MOST
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, connect, plan, played, provider, purposes, result, subtask, tool_call
from tests.system.scene import Scene, Talk, rows, shown
from tests.system.test_follow_ups import reactions, takes

PRICES = plan(
    subtask("prices", "analyst", intent="Work out part prices."),
    subtask("note", "writer", ["prices"], "Write part note in dollars."),
    goal="Prices",
)
IN_EUROS = {
    "why": "They want euros.",
    "add": [],
    "drop": [],
    "reassign": [],
    "rebrief": [{"id": "note", "intent": "Write part note in euros.", "done_when": "", "why": "Euros are wanted."}],
}


def told(request: WireRequest, words: str) -> bool:
    """Whether a model was given these words, in whichever message."""
    texts = [text for one in request.messages for text in (one.text, *(reply.text for reply in one.replies))]
    return any(words in text for text in texts)


def session_title(talk: Talk) -> str:
    """The title of the thread's session, as Slack shows it."""
    return str(talk.scene.workspace.session(talk.channel, talk.ts)["title"])


CALCULATED = tool_call("calculate", code="2 + 3")


def calculating(gate: Gate) -> object:
    """An analyst that calculates first, is held at that, and hands in what it was last told."""

    async def analyst(request: WireRequest) -> Reply:
        texts = [message.text for message in request.messages]
        if len(texts) == 1:
            await gate(request)
            return CALCULATED
        return result("In euros" if any("in euros please" in text for text in texts) else "In dollars")

    return analyst


async def test_a_correction_changes_what_has_not_begun_and_tells_what_runs(scene: Scene) -> None:
    gate = Gate()
    words = {"analyst": calculating(gate), "writer": lambda _: result("The note."), "planner": lambda _: PRICES}
    more = {"dispatcher": lambda _: takes("correction"), "replanner": lambda _: Reply(json.dumps(IN_EUROS))}
    async with played(scene, **words, **more) as server:  # type: ignore[arg-type]
        talk = await scene.ask("Work out the prices and write a note")
        await gate.reached.wait()
        ts = await talk.say("in euros please")
        await talk.seen(lambda: "memo" in reactions(talk, ts))
        await talk.until(lambda job: job.latest.work["note"].changed)
        gate.open()
        job = await talk.over()
        await talk.seen(lambda: "Got it." in talk.told())

    ask = job.latest
    assert len(job.asks) == 1
    assert ask.work["note"].subtask.intent == "Write part note in euros."
    assert ask.work["prices"].result is not None
    assert ask.work["prices"].result.content == "In euros", "it was told at its next turn"
    assert ask.work["prices"].attempt == 1
    assert purposes(server).count("replanner") == 1
    assert purposes(server).count("planner") == 1
    last = next(first_text(one) for one in server.requests if purpose_of(one) == "synthesizer")
    assert "in euros please" in last, "who writes the answer reads it as part of the request"
    assert "I'm applying it to the part in progress and planning the one that has not begun again." in talk.told()
    assert "new brief: Euros are wanted" in rows(talk.cards()[0])["note"][1]


async def test_a_correction_is_not_lost_because_the_dispatcher_failed_even_if_the_bot_dies_meanwhile(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "PAUSES", (0.5,) * 5)
    gate, failed = Gate(), asyncio.Event()

    async def writer(request: WireRequest) -> Reply:
        await gate(request)
        return result("In euros" if told(request, "in euros please") else "In dollars")

    def fails(_: WireRequest) -> Fault:
        failed.set()
        return Fault("bad_request")

    words = {"planner": lambda _: plan(subtask("note", "writer")), "writer": writer}
    async with played(scene, **words, dispatcher=fails):
        talk = await scene.ask("Write a note with the price")
        await gate.reached.wait()
        ts = await talk.say("in euros please")
        await failed.wait()
        await talk.seen(lambda: "I don't know yet what it is for" in talk.told())
        await talk.seen(lambda: "eyes" in reactions(talk, ts))
    async with played(scene, **words, dispatcher=lambda _: takes("correction")):
        await talk.until(lambda job: job.latest.corrections == 1)
        gate.open()
        job = await talk.over()

    assert job.latest.run.answer == "In euros"
    assert len(job.asks) == 1
    assert talk.told().count("I don't know yet") == 1


async def test_what_is_something_else_is_queued_and_said_so(scene: Scene) -> None:
    gate = Gate(result("Tea."))
    alone = plan(subtask("note", "writer"))
    async with played(scene, planner=lambda _: alone, writer=gate, dispatcher=lambda _: takes("request")):
        talk = await scene.ask("Draft a note about tea")
        await gate.reached.wait()
        ts = await talk.say("and after that one about coffee")
        await talk.seen(lambda: "hourglass_flowing_sand" in reactions(talk, ts))
        await talk.seen(lambda: "Noted. I'll start on this once" in talk.told())
        assert "Noted" not in talk.said(), "it is for its author alone"
        gate.open()
        job = await talk.over(2)

    assert [ask.state for ask in job.asks] == ["completed", "completed"]


async def test_an_edited_request_is_a_correction(scene: Scene) -> None:
    gate = Gate()

    async def writer(request: WireRequest) -> Reply:
        await gate(request)
        return result("Trams." if told(request, "about trams") else "Buses.")

    async with played(scene, planner=lambda _: plan(subtask("note", "writer")), writer=writer) as server:
        talk = await scene.ask("Draft a note about buses")
        await gate.reached.wait()
        ana = scene.person("ana")
        await ana.edit(talk.channel, talk.ts, "@leadhand Draft a note about  buses")  # the same words: nothing
        await ana.edit(talk.channel, talk.ts, "@leadhand Draft a note about trams")
        await talk.until(lambda job: job.latest.corrections == 1)
        await talk.seen(lambda: "memo" in talk.reactions())
        await talk.seen(lambda: "Got your edit. " in talk.told())
        await talk.seen(lambda: session_title(talk) == "Draft a note about trams")
        gate.open()
        job = await talk.over()
        await ana.edit(talk.channel, talk.ts, "@leadhand Draft a note about ferries")
        await talk.seen(lambda: "is answered already" in talk.told())

    assert job.latest.request.text == "Draft a note about trams"
    assert job.latest.run.answer == "Trams."
    assert purposes(server).count("planner") == 1
    assert "dispatcher" not in purposes(server)


async def test_a_deleted_request_stops_and_nothing_is_posted_under_it(scene: Scene) -> None:
    gate = Gate(result("Tea."))
    async with played(scene, planner=lambda _: plan(subtask("note", "writer")), writer=gate):
        talk = await scene.ask("Draft a note about tea")
        await gate.reached.wait()
        await talk.seen(talk.cards)
        before = len(talk.replies())
        await scene.person("ana").delete(talk.channel, talk.ts)
        job = await talk.over()
        direct = scene.person("ana").dm
        told = await talk.seen(lambda: [one for one in scene.workspace.messages(direct) if "Withdrawn" in shown(one)])
        gate.open()
        await scene.barrier()
        await talk.seen(lambda: session_title(talk) == "A withdrawn request")

    assert job.latest.state == "cancelled"
    assert "your request “Draft a note about tea” was deleted" in shown(told[0])
    assert len(told) == 1
    assert len(talk.replies()) == before, "the card alone is redrawn"
    assert "Withdrawn: the request was deleted" in shown(talk.cards()[0])


async def test_a_deleted_follow_up_is_withdrawn_in_its_thread(scene: Scene) -> None:
    gate = Gate(result("Coffee."))

    async def writer(request: WireRequest) -> Reply | None:
        return await gate(request) if "coffee" in first_text(request) else result("Tea.")

    def planner(request: WireRequest) -> Reply:
        about = "coffee" if "coffee" in first_text(request).partition("# Earlier")[0] else "tea"
        return plan(subtask(about, "writer"))

    async with played(scene, planner=planner, writer=writer):
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        ts = await talk.say("@leadhand and one about coffee")
        await gate.reached.wait()
        await scene.person("ana").delete(talk.channel, ts)
        job = await talk.over(2)
        gate.open()

    assert [ask.state for ask in job.asks] == ["completed", "cancelled"]
    assert "*Withdrawn*: a request of <@" in talk.said()
    assert "one about coffee" not in talk.said(), "what somebody deleted is not said again to all"
    assert "Coffee." not in talk.said()


async def test_a_correction_and_a_deletion_reach_whichever_instance_has_the_job(scene: Scene) -> None:
    gate = Gate()

    async def writer(request: WireRequest) -> Reply:
        await gate(request)
        return result("euros" if told(request, "in euros please") else "dollars")

    words = {"planner": lambda _: plan(subtask("note", "writer")), "dispatcher": lambda _: takes("correction")}
    async with provider(writer=writer, **words) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Write a note with the price")
            await gate.reached.wait()
        ts = await talk.say("in euros please")  # while nobody is there
        async with scene.bot(connect("chat", server)), scene.bot(connect("chat", server)):
            await talk.until(lambda job: job.latest.corrections == 1)
            gate.open()
            job = await talk.over()
            await talk.seen(lambda: reactions(talk, ts) == ["memo"])

    assert job.latest.run.answer == "euros"
    assert job.latest.corrections == 1
    assert talk.told().count("Got it.") == 1


@pytest.mark.parametrize("applied", [MOST, 0], ids=["sorted after them", "sorted beside them"])
async def test_after_many_corrections_the_next_is_a_request(scene: Scene, applied: int) -> None:
    gate = Gate(result("Tea."))
    alone = plan(subtask("note", "writer"))
    async with played(scene, planner=lambda _: alone, writer=gate, dispatcher=lambda _: takes("correction")):
        talk = await scene.ask("Draft a note about tea")
        await gate.reached.wait()
        for number in range(MOST):
            await talk.say(f"no, version {number}")
        await talk.until(lambda job: job.latest.corrections >= applied)
        await talk.say(f"no, version {MOST}")
        await talk.until(lambda job: len(job.asks) == 2 and job.asks[0].corrections == MOST)
        gate.open()
        job = await talk.over(2)

    assert job.asks[1].request.text.startswith("no, version")
