"""What people say without a mention in a thread that has a job: what is heard, thanked for, left alone."""

from __future__ import annotations

import json

import pytest

from bot.settings import FollowUps
from handoff import events as ev
from handoff.engine import hearing
from tests.providers.faults import Fault
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest
from tests.system.brains import connect, plan, played, provider, purposes, result, subtask
from tests.system.scene import Scene, Talk, eventually

NOTE = plan(subtask("note", "writer", intent="Write the note about tea, in the length that is asked for."))


def takes(aim: str) -> Reply:
    """A dispatcher's reply."""
    return Reply(json.dumps({"why": "It says so.", "aim": aim}))


def reactions(talk: Talk, ts: str) -> list[str]:
    """The reactions to one message of the thread."""
    thread = talk.scene.workspace.thread(talk.channel, talk.ts)
    return [each["name"] for message in thread if message["ts"] == ts for each in message.get("reactions", ())]


async def heard(talk: Talk, number: int) -> list[ev.MessageHeard]:
    """The messages that were heard, once there are so many and none is still looked at."""

    async def look() -> list[ev.MessageHeard] | None:
        found, job = await talk.of(ev.MessageHeard), await talk.job()  # in this order: the job is as new as they are
        return found if len(found) >= number and job is not None and not job.heard else None

    return await eventually(look)


async def test_shorter_without_a_mention_works_on_the_last_answer(scene: Scene) -> None:
    words = {"planner": lambda _: NOTE, "writer": lambda _: result("Tea is a drink.")}
    async with played(scene, dispatcher=lambda _: takes("request"), **words) as server:
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        ts = await talk.say("shorter")
        job = await talk.over(2)
        await talk.seen(lambda: reactions(talk, ts) == ["eyes"])

    assert [ask.request.text for ask in job.asks] == ["Draft a note about tea", "shorter"]
    assert [ask.state for ask in job.asks] == ["completed", "completed"]
    assert job.asks[1].id == ts, "an ordinary request of the job"
    (asked,) = [each for each in server.requests if purpose_of(each) == "dispatcher"]
    assert "Draft a note about tea" in asked.messages[0].text
    assert "Tea is a drink." in asked.messages[0].text
    assert asked.messages[0].text.endswith("# Message\nshorter")
    writers = [each.messages[0].text for each in server.requests if purpose_of(each) == "specialist:writer"]
    assert "Tea is a drink." not in writers[0]
    assert "Tea is a drink." in writers[1], "the last answer, whole"
    again = [each.messages[0].text for each in server.requests if purpose_of(each) == "planner"][1]
    assert "## Asked: Draft a note about tea\nTea is a drink." in again


async def test_a_plain_question_after_the_answer_needs_no_dispatcher(scene: Scene) -> None:
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("Tea.")) as server:
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        await talk.say("and by region?")
        job = await talk.over(2)

    assert job.asks[1].request.text == "and by region?"
    assert "dispatcher" not in purposes(server)


async def test_what_is_said_to_somebody_else_does_not_wake_it(scene: Scene) -> None:
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("Tea.")) as server:
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        await talk.say("I am in a call, back in five", who="ben")
        await heard(talk, 1)  # it might have been for the bot: the dispatcher was asked
        calls = len(server.requests)
        named = ("Ben, can you?", "@ben can you make it shorter?", "Can you check this, Ben?", "ben shorter please")
        for text in named:
            await talk.say(text)
        await talk.say("Sure, shorter it is", who="ben")
        await talk.say("lunch?", who="cleo")
        found = await heard(talk, 7)
        job = await talk.job()

    assert job is not None
    assert len(job.asks) == 1
    assert len(server.requests) == calls, "no model was asked"
    assert [one.message.text for one in found if one.others] == [""], "what is for Ben is not kept"
    assert len(talk.words()) == 1
    assert purposes(server).count("dispatcher") == 1


async def test_thanks_get_a_reaction_and_no_job(scene: Scene) -> None:
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("Tea.")) as server:
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        calls = len(server.requests)
        said = [await talk.say(text) for text in ("thanks!", "Vielen Dank, sieht gut aus", ":tada:")]
        said += [await talk.say("@leadhand thank you very much")]
        said += [await talk.say("Merci beaucoup !", who="ben")]
        for ts in said:
            await talk.seen(lambda ts=ts: "heart" in reactions(talk, ts))
        job = await talk.job()

    assert job is not None
    assert len(job.asks) == 1
    assert len(server.requests) == calls
    assert len(talk.replies()) == 2


@pytest.mark.parametrize("off", [FollowUps(on=False), None])
async def test_it_is_switched_off_for_all_or_for_a_channel(scene: Scene, off: FollowUps | None) -> None:
    general = scene.workspace.channel_id("#general")
    off = off or FollowUps(channels=frozenset({general}))
    async with (
        provider(planner=lambda _: NOTE, writer=lambda _: result("Tea.")) as server,
        scene.bot(connect("chat", server), follow_ups=off),
    ):
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        calls = len(server.requests)
        await talk.say("and by region?")
        await talk.say("thanks!")
        await scene.barrier()
        assert not await talk.of(ev.MessageHeard)
        assert len(server.requests) == calls
        await talk.say("@leadhand and by region?")
        await talk.over(2)
        other = await scene.ask("Draft a note about tea", channel="#sales")
        await other.over()
        await other.say("and by region?")
        if off.on:
            await other.over(2)


async def test_where_the_dispatcher_keeps_failing_the_requester_is_told_and_others_are_left_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "PAUSES", (0.1,) * 2)
    words = {"planner": lambda _: NOTE, "writer": lambda _: result("Tea.")}
    async with played(scene, dispatcher=lambda _: Fault("bad_request"), **words):
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        await talk.say("maybe with a photo", who="ben")
        await heard(talk, 1)
        assert len(talk.words()) == 1, "people may have talked among themselves"
        await talk.say("shorter")
        await heard(talk, 2)
        job = await talk.job()
        told = talk.told()

    assert job is not None
    assert len(job.asks) == 1
    tries = await talk.of(ev.MessageSorted)
    assert [(one.aim, one.by) for one in tries] == [("unknown", "model")] * 6
    assert told.count("I don't know yet what it is for") == 1
    assert told.count("I did nothing about your message") == 1


async def test_a_follow_up_is_taken_by_whichever_instance_is_there_after_a_restart(scene: Scene) -> None:
    words = {"planner": lambda _: NOTE, "writer": lambda _: result("Tea."), "dispatcher": lambda _: takes("request")}
    async with provider(**words) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("Draft a note about tea")
            await talk.over()
        ts = await talk.say("shorter")  # nobody is there
        async with scene.bot(connect("chat", server)), scene.bot(connect("chat", server)):
            job = await talk.over(2)
            await talk.seen(lambda: reactions(talk, ts) == ["eyes"])
            await scene.barrier()

    assert [ask.id for ask in job.asks] == [talk.ts, ts]
    assert purposes(server).count("dispatcher") == 1
    assert len(talk.words()) == len(talk.cards()) == 2


async def test_the_request_of_a_colleague_is_his(scene: Scene) -> None:
    words = {"planner": lambda _: NOTE, "writer": lambda _: result("Tea.")}

    def dispatcher(request: WireRequest) -> Reply:
        return takes("request" if "shorter" in request.messages[0].text else "nothing")

    async with played(scene, dispatcher=dispatcher, **words):
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        await talk.say("could we have that shorter?", who="ben")
        job = await talk.over(2)
        told = await scene.command("status", who="ben")

    assert job.asks[1].request.user == scene.person("ben").id
    assert talk.key.job in json.dumps(told), "he sees it among his jobs, and may stop it"


async def test_a_message_that_slack_delivers_twice_is_heard_once(scene: Scene) -> None:
    words = {"planner": lambda _: NOTE, "writer": lambda _: result("Tea."), "dispatcher": lambda _: takes("request")}
    async with played(scene, **words) as server:
        talk = await scene.ask("Draft a note about tea")
        await talk.over()
        scene.workspace.faults.add("message.channels", "duplicate_delivery")
        await talk.say("shorter")
        await talk.over(2)
        scene.workspace.faults.add("message.channels", "lost_delivery")
        await talk.say("shorter, please")
        await talk.over(3)
        await scene.barrier()
        job = await talk.job()

    assert job is not None
    assert len(job.asks) == 3
    assert purposes(server).count("dispatcher") == 2
    assert len(await talk.of(ev.MessageHeard)) == 2
