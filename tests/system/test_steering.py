"""What people say, edit and delete while a request is under way or after it: applied, queued, withdrawn, left alone."""

from __future__ import annotations

import asyncio
import json

from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.slack.views.receipt import NOT_APPLIED_TEXT
from handoff import events as ev
from handoff.contracts import Turn
from specialists.model import ModelCall
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, bot_with_provider, plan, purposes, result, subtask, takes, tool_call
from tests.system.scene import SAMPLE, Scene, Talk, eventually, extract_shown_text, rows

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


def has_words(request: WireRequest, words: str) -> bool:
    """Whether a model was given these words, in whichever message."""
    texts = [text for one in request.messages for text in (one.text, *(reply.text for reply in one.replies))]
    return any(words in text for text in texts)


def session_title(talk: Talk) -> str:
    """The title of the thread's session, as Slack shows it."""
    return str(talk.scene.workspace.session(talk.channel, talk.ts)["title"])


CALCULATE_CALL = tool_call("calculate", code="2 + 3")


def calculating(gate: Gate) -> object:
    """An analyst that calculates first, is held at that, and hands in what it was last told."""

    async def analyst(request: WireRequest) -> Reply:
        texts = [message.text for message in request.messages]
        if len(texts) == 1:
            await gate(request)
            return CALCULATE_CALL
        return result("In euros" if any("in euros please" in text for text in texts) else "In dollars")

    return analyst


async def test_a_correction_changes_what_has_not_begun_and_tells_what_runs(scene: Scene) -> None:
    gate = Gate()
    words = {"analyst": calculating(gate), "writer": lambda _: result("The note."), "planner": lambda _: PRICES}
    more = {"dispatcher": lambda _: takes("correction"), "replanner": lambda _: Reply(json.dumps(IN_EUROS))}
    async with bot_with_provider(scene, **words, **more) as server:  # type: ignore[arg-type]
        talk = await scene.ask("Work out the prices and write a note")
        await gate.arrival_event.wait()
        ts = await talk.say("in euros please")
        await talk.wait_until_seen(lambda: "memo" in talk.reactions(ts))
        await talk.until(lambda job: job.latest_request.subtasks["note"].change_note)
        gate.open()
        job = await talk.over()
        await talk.wait_until_seen(lambda: "Got it." in talk.join_private_texts())

    request = job.latest_request
    assert len(job.requests) == 1
    assert request.subtasks["note"].spec.intent == "Write part note in euros."
    assert request.subtasks["prices"].result is not None
    assert request.subtasks["prices"].result.content == "In euros", "it was told at its next turn"
    assert request.subtasks["prices"].attempt == 1
    assert purposes(server).count("replanner") == 1
    assert purposes(server).count("planner") == 1
    last = next(first_text(one) for one in server.requests if purpose_of(one) == "synthesizer")
    assert "in euros please" in last, "who writes the answer reads it as part of the request"
    assert (
        "I'm applying it to the part in progress and planning the one that has not begun again."
        in talk.join_private_texts()
    )
    assert "new brief: Euros are wanted" in rows(talk.cards()[0])["note"][1]


async def test_an_edited_request_is_a_correction(scene: Scene) -> None:
    gate = Gate()

    async def writer(request: WireRequest) -> Reply:
        await gate(request)
        return result("Trams." if has_words(request, "about trams") else "Buses.")

    async with bot_with_provider(scene, planner=lambda _: plan(subtask("note", "writer")), writer=writer) as server:
        talk = await scene.ask("Draft a note about buses")
        await gate.arrival_event.wait()
        ana = scene.person("ana")
        await ana.edit(talk.channel, talk.ts, "@leadhand Draft a note about  buses")  # the same words: nothing
        await ana.edit(talk.channel, talk.ts, "@leadhand Draft a note about trams")
        await talk.until(lambda job: job.latest_request.correction_count == 1)
        await talk.wait_until_seen(lambda: "memo" in talk.reactions())
        await talk.wait_until_seen(lambda: "Got your edit. " in talk.join_private_texts())
        await talk.wait_until_seen(lambda: session_title(talk) == "Draft a note about trams")
        gate.open()
        job = await talk.over()
        await ana.edit(talk.channel, talk.ts, "@leadhand Draft a note about ferries")
        await talk.wait_until_seen(lambda: "is answered already" in talk.join_private_texts())

    assert job.latest_request.spec.text == "Draft a note about trams"
    assert job.latest_request.run.answer == "Trams."
    assert purposes(server).count("planner") == 1
    assert "dispatcher" not in purposes(server)


async def test_a_deleted_request_stops_and_nothing_is_posted_under_it(scene: Scene) -> None:
    gate = Gate(result("Tea."))
    async with bot_with_provider(scene, planner=lambda _: plan(subtask("note", "writer")), writer=gate):
        talk = await scene.ask("Draft a note about tea")
        await gate.arrival_event.wait()
        await talk.wait_until_seen(talk.cards)
        before = len(talk.replies())
        await scene.person("ana").delete(talk.channel, talk.ts)
        job = await talk.over()
        direct = scene.person("ana").dm
        told = await talk.wait_until_seen(
            lambda: [one for one in scene.workspace.messages(direct) if "Withdrawn" in extract_shown_text(one)]
        )
        gate.open()
        await scene.barrier()
        await talk.wait_until_seen(lambda: session_title(talk) == "A withdrawn request")

    assert job.latest_request.state == "cancelled"
    assert "your request “Draft a note about tea” was deleted" in extract_shown_text(told[0])
    assert len(told) == 1
    assert len(talk.replies()) == before, "the card alone is redrawn"
    assert "Withdrawn: the request was deleted" in extract_shown_text(talk.cards()[0])


NOTE = plan(subtask("note", "writer", intent="Write the note about tea, in the length that is asked for."))


async def wait_for_messages(talk: Talk, number: int) -> list[ev.MessageHeard]:
    """The messages that were heard, once there are so many and none is still looked at."""

    async def look() -> list[ev.MessageHeard] | None:
        found, job = await talk.of(ev.MessageHeard), await talk.job()  # in this order: the job is as new as they are
        return found if len(found) >= number and job is not None and not job.pending_messages else None

    return await eventually(look)


async def test_shorter_without_a_mention_works_on_the_last_answer(scene: Scene) -> None:
    words = {"planner": lambda _: NOTE, "writer": lambda _: result("Tea is a drink.")}
    async with bot_with_provider(scene, dispatcher=lambda _: takes("request"), **words) as server:
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        ts = await talk.say("shorter")
        job = await talk.over(2)
        await talk.wait_until_seen(lambda: talk.reactions(ts) == ["eyes"])

    assert [request.spec.text for request in job.requests] == ["Draft a note about tea", "shorter"]
    assert [request.state for request in job.requests] == ["completed", "completed"]
    assert job.requests[1].id == ts, "an ordinary request of the job"
    (asked,) = [each for each in server.requests if purpose_of(each) == "dispatcher"]
    assert "Draft a note about tea" in asked.messages[0].text
    assert "Tea is a drink." in asked.messages[0].text
    assert asked.messages[0].text.endswith("# Message\nshorter")
    writers = [each.messages[0].text for each in server.requests if purpose_of(each) == "specialist:writer"]
    assert "Tea is a drink." not in writers[0]
    assert "Tea is a drink." in writers[1], "the last answer, whole"
    again = [each.messages[0].text for each in server.requests if purpose_of(each) == "planner"][1]
    assert "## Asked: Draft a note about tea\nTea is a drink." in again


async def test_what_is_said_to_somebody_else_does_not_wake_it(scene: Scene) -> None:
    async with bot_with_provider(scene, planner=lambda _: NOTE, writer=lambda _: result("Tea.")) as server:
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        await talk.say("I am in a call, back in five", who="ben")
        await wait_for_messages(talk, 1)  # it might have been for the bot: the dispatcher was asked
        calls = len(server.requests)
        named = ("Ben, can you?", "@ben can you make it shorter?", "Can you check this, Ben?", "ben shorter please")
        for text in named:
            await talk.say(text)
        await talk.say("Sure, shorter it is", who="ben")
        await talk.say("lunch?", who="cleo")
        found = await wait_for_messages(talk, 7)
        job = await talk.job()

    assert job is not None
    assert len(job.requests) == 1
    assert len(server.requests) == calls, "no model was asked"
    assert [one.message.text for one in found if one.others] == [""], "what is for Ben is not kept"
    assert len(talk.words()) == 1
    assert purposes(server).count("dispatcher") == 1


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


async def test_what_is_said_at_work_is_named_as_not_applied(scene: Scene) -> None:
    model = HeldRehearsal()
    async with scene.bot(model):
        talk = await scene.ask("What is the total revenue by region?", files=FILES)
        await model.at_work.wait()
        ts = await talk.say("only the North region please")
        await talk.wait_until_seen(lambda: NOT_APPLIED_TEXT in talk.join_private_texts())
        assert "memo" not in talk.reactions(ts)
        model.spoken.set()
        job = await talk.over()
    said = " ".join(talk.join_bot_texts().split())
    assert "was not applied: this is a rehearsal" in said
    assert "only the North region please" in said
    assert job.latest_request.state == "completed"


async def test_a_public_channel_is_known_by_its_name_and_a_private_one_is_not(scene: Scene) -> None:
    """Slack mentions channels by their ids. Who writes the id of a private one does not learn its name so."""
    sales, leads = scene.workspace.channel_id("#sales"), scene.workspace.channel_id("#leads")
    async with scene.bot():
        talk = await scene.ask(f"Draft a note for <#{sales}> and <#{leads}|>", who="cleo")
        job = await talk.over()
    assert job.requests[0].spec.text == f"Draft a note for #sales and #{leads}"


async def test_a_deleted_follow_up_is_not_said_again_to_all(scene: Scene) -> None:
    gate = Gate(result("Coffee."))

    async def writer(request: WireRequest) -> Reply | None:
        return await gate(request) if "coffee" in first_text(request) else result("Tea.")

    def planner(request: WireRequest) -> Reply:
        about = "coffee" if "coffee" in first_text(request).partition("# Earlier")[0] else "tea"
        return plan(subtask(about, "writer"))

    async with bot_with_provider(scene, planner=planner, writer=writer):
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        ts = await talk.say("@leadhand and one about coffee")
        await gate.arrival_event.wait()
        await scene.person("ana").delete(talk.channel, ts)
        job = await talk.over(2)
        gate.open()
    assert [one.state for one in job.requests] == ["completed", "cancelled"]
    assert "*Withdrawn*: a request of <@" in talk.join_bot_texts()
    assert "one about coffee" not in talk.join_bot_texts()
    assert "Coffee." not in talk.join_bot_texts()
