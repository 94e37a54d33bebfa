"""What the planner settles itself: an answer, a question before it plans, a specialist; and plans that are mended."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from handoff import events as ev
from handoff.state.job_state import Job
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.server import ProviderServer
from tests.system.brains import connect, in_turn, plan, played, provider, purposes, result, subtask
from tests.system.scene import Scene, block_of, buttons, card_title, rows, shown

HELLO = "Hello! I plan work and give it to an analyst, a researcher, a reviewer and a writer."


def decided(who: str, **fields: Any) -> Reply:
    """A planner's reply in the form that its schema asks for."""
    return Reply(json.dumps({"why": "so it is", "next": {"who": who, **fields}}))


WHICH = decided("ask", text="Which fair do you mean?", options=["Spring", "Autumn"])
WRITER = decided("writer")


async def test_a_greeting_is_answered_without_a_plan(scene: Scene) -> None:
    async with played(scene, planner=in_turn(decided("answer", text=HELLO))) as server:
        talk = await scene.ask("Hello! What can you do?")
        job = await talk.over()
        await talk.seen(lambda: talk.status() == "active")
    assert job.latest.state == "completed"
    assert purposes(server) == ["planner"]
    assert await talk.of(ev.PlanProposed) == []
    assert HELLO in talk.said()
    card = talk.replies()[0]
    assert shown(card).startswith("Replied in ")
    assert block_of(card, "plan") is None, "no tick stands before nothing"


async def test_the_card_stands_above_the_answer_even_if_slack_puts_it_off(scene: Scene) -> None:
    """The budget of calls lets answers go first; an answer that needs no plan is there before the card is posted."""
    scene.workspace.faults.add("chat.postMessage", "rate_limited", retry_after=1)
    async with played(scene, planner=in_turn(decided("answer", text=HELLO))):
        talk = await scene.ask("Hello! What can you do?")
        await talk.over()
    card, answer = talk.replies()
    assert shown(card).startswith("Replied in ")
    assert HELLO in shown(answer)


async def test_people_are_told_how_long_an_answer_without_a_plan_took(scene: Scene) -> None:
    slow = replace(decided("answer", text=HELLO), piece=20, pause=0.05)
    async with played(scene, planner=in_turn(slow)):
        talk = await scene.ask("Hello! What can you do?")
        ask = (await talk.over()).latest
    assert ask.usage.duration > 0.2
    assert (ask.run.written or 0.0) - ask.request.at >= ask.usage.duration, "the call lies between the two"


async def test_thanks_get_a_short_reply_from_the_rehearsal_too(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("Thanks, that's all!")
        job = await talk.over()
    assert (job.latest.state, job.latest.work) == ("completed", {})
    assert "You are welcome." in talk.said()


async def test_one_specialist_gets_the_request_word_for_word(scene: Scene) -> None:
    async with played(scene, planner=in_turn(WRITER), writer=in_turn(result("Dear all, ..."))) as server:
        talk = await scene.ask("invite the team to the fair")
        job = await talk.over()
    assert purposes(server) == ["planner", "specialist:writer"]
    (work,) = job.latest.work.values()
    assert (work.subtask.intent, work.subtask.title) == ("invite the team to the fair", "Invite the team to the fair")


# ---------------------------------------------------------------- a question before there is a plan


def waiting(job: Job) -> bool:
    return job.latest.state == "input_required"


async def test_the_planner_asks_once_and_plans_with_the_answer(scene: Scene) -> None:
    said = in_turn(result("Come to the autumn fair!"))
    async with played(scene, planner=in_turn(WHICH, WRITER), writer=said) as server:
        talk = await scene.ask("invite the team to the fair")
        question = await talk.question()
        assert list(buttons(question)) == ["Spring", "Autumn"]
        assert "Which fair do you mean?" in shown(question)
        await talk.seen(lambda: talk.status() == "suspended")
        await talk.seen(lambda: card_title(talk.cards()[0]).startswith("Waiting for an answer"))
        assert rows(talk.cards()[0])["plan"] == ("in_progress", "waits for ")
        assert "· waiting for you ·" in shown(await scene.command("status"))
        await scene.person("ben").click(talk.channel, question["ts"], "answer:1")
        told = await talk.seen(lambda: scene.person("ben").ephemerals(talk.channel))
        assert "nobody else can answer it" in told[0]["text"]
        await scene.person().click(talk.channel, question["ts"], "answer:1")
        job = await talk.over()
        await talk.seen(lambda: not buttons(talk.words()[0]))
    assert job.latest.state == "completed"
    first, second, writer = server.requests
    note = "# Known: Asked: Which fair do you mean?\nAnswered by a person: Autumn"
    assert note in second.messages[0].text
    assert '"ask"' in json.dumps(first.answer_schema)
    assert '"ask"' not in json.dumps(second.answer_schema), "it asks once"
    assert "Answered by a person: Autumn" in writer.messages[0].text
    closed, answer = talk.words()
    assert f"<@{scene.person().id}> answered “Autumn”" in shown(closed)
    assert "Come to the autumn fair!" in shown(answer)
    assert job.latest.run.paused == 0.0, "the wait before the plan is not added to the time for it"


async def test_a_reply_after_a_restart_answers_the_planner(scene: Scene) -> None:
    said = in_turn(result("Come!"))
    async with provider(planner=in_turn(WHICH, WRITER), writer=said) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask("invite the team to the fair")
            await talk.question()
            await talk.until(waiting)
        async with scene.bot(connect("chat", server), later=60.0):
            await talk.say("the one in June")
            job = await talk.over()
    assert job.latest.state == "completed"
    assert purposes(server)[:3] == ["planner", "dispatcher", "planner"], "it is not one of the options"
    assert "Answered by a person: the one in June" in server.requests[2].messages[0].text
    assert [one.text for one in job.latest.answered] == ["the one in June"]
    assert len([message for message in talk.words() if "fair do you mean" in shown(message)]) == 1


# ---------------------------------------------------------------- plans that are mended


async def test_two_refused_plans_become_one_part_for_the_default_specialist(scene: Scene) -> None:
    travel = plan(subtask("trip", "travel_agent", intent="Plan a trip to Rome for Ana."))
    async with played(scene, planner=in_turn(travel), writer=in_turn(result("Rome in three days: ..."))) as server:
        talk = await scene.ask("what would three days in Rome look like?")
        job = await talk.over()
    assert purposes(server) == ["planner", "planner", "specialist:writer"]
    assert job.latest.state == "completed"
    (work,) = job.latest.work.values()
    assert (work.specialist, work.subtask.intent) == ("writer", "what would three days in Rome look like?")
    assert any("no usable plan in two tries, so writer gets it" in one.why for one in job.latest.decisions)


# ---------------------------------------------------------------- when, who and where


def lines(server: ProviderServer) -> dict[str, str]:
    """The first line of what each role was told."""
    return {purpose_of(one): one.messages[0].text.partition("\n")[0] for one in server.requests}


async def test_every_role_is_told_when_who_and_where(scene: Scene) -> None:
    parts = plan(subtask("a", "writer"), subtask("b", "reviewer"))
    async with played(scene, planner=in_turn(parts), specialist=in_turn(result("A line."))) as server:
        talk = await scene.ask("two lines about the sea")
        job = await talk.over()
    told = lines(server)
    name = "Ana Duarte"
    day = r"^\w{3} \d{1,2} \w{3} 20\d\d, \d\d:\d\d UTC\. "
    for role in ("planner", "synthesizer"):
        assert re.search(f"{day}From {name} in #general\\.$", told[role]), told[role]
    setting = job.latest.setting
    assert setting is not None
    assert (setting.requester, setting.channel, setting.zone) == (name, "#general", "UTC")
    assert len(await talk.of(ev.SettingKnown)) == 1


async def test_a_direct_message_has_no_channel_to_name(scene: Scene) -> None:
    async with played(scene, planner=in_turn(decided("answer", text="Hello!"))) as server:
        talk = await scene.ask("hello", channel="@leadhand")
        await talk.over()
    assert lines(server)["planner"].endswith("in a direct message.")
