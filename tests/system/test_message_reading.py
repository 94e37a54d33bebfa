"""What people paste, forward and attach reaches the models, whichever message it came with."""

from __future__ import annotations

import re

import pytest

from bot.features.requests.messages import FORWARDED
from handoff.briefs.provenance import own_words
from tests.providers.rendering import Reply
from tests.providers.wire import WireRequest
from tests.system.brains import Gate, in_turn, plan, played, result, subtask, tool_call
from tests.system.scene import Scene, Talk
from tests.system.test_called_into_a_thread import bodies
from tests.system.test_follow_ups import takes
from tests.system.test_steering import told

ROWS = [["City", "Amount", "Who"], ["Lisbon", "980", "@ben"], ["Porto", "", "https://x.example.com/p"]]
SUM = plan(subtask("sum", "analyst", intent="Add up the amounts."))
NOTE = plan(subtask("note", "writer", intent="Say in one sentence what is to be done."))


def adding_up() -> object:
    query = tool_call("query_table", sql='SELECT "Who", sum("Amount") AS total FROM pasted_table GROUP BY 1 ORDER BY 2')
    return in_turn(query, result("The sum is 980."))


@pytest.mark.parametrize("where", ["request", "thread"])
async def test_a_pasted_table_can_be_queried(scene: Scene, where: str) -> None:
    ana, ben = scene.person(), scene.person("ben")
    async with played(scene, planner=lambda _: SUM, analyst=adding_up()) as server:  # type: ignore[arg-type]
        if where == "request":
            talk = scene.thread("#general", await ana.say("#general", "@leadhand add this up", tables=[ROWS]))
        else:
            talk = scene.thread("#general", await ben.say("#general", "The amounts", tables=[ROWS]))
            await ana.say("#general", "@leadhand add this up", thread_ts=talk.ts)
        job = await talk.over()

    (table,) = [one for one in job.latest.materials if one.is_table]
    assert (table.name, [column.name for column in table.outline]) == ("pasted-table.csv", ["City", "Amount", "Who"])
    asked = bodies(server, "analyst")
    assert "Lisbon" in bodies(server, "planner"), "a small one is part of what was said"
    assert "980" in asked
    assert "@Ben Okafor" in asked, "people in cells have their names"
    assert job.latest.run.answer == "The sum is 980."


async def test_an_edit_that_changes_only_a_table_counts(scene: Scene) -> None:
    gate, ana = Gate(), scene.person()
    now = [["City", "Amount"], ["Lisbon", "1120"]]

    async def planner(request: WireRequest) -> Reply:
        await gate(request)
        return SUM if told(request, "1120") and not told(request, "980") else NOTE

    async with played(scene, planner=planner, analyst=adding_up(), writer=lambda _: result("Old.")) as server:  # type: ignore[arg-type]
        talk = scene.thread("#general", await ana.say("#general", "@leadhand add this up", tables=[ROWS]))
        await gate.reached.wait()
        await ana.edit(talk.channel, talk.ts, "@leadhand add this up", [now])
        await talk.until(lambda job: job.latest.corrections == 1)
        gate.open()
        job = await talk.over()

    (table,) = [one for one in job.latest.materials if one.is_table]
    assert [column.name for column in table.outline] == ["City", "Amount"]
    assert "1120" in bodies(server, "analyst")


async def test_a_table_that_is_edited_during_the_work_is_told_to_who_works(scene: Scene) -> None:
    gate, ana = Gate(), scene.person()

    async def writer(request: WireRequest) -> Reply:
        await gate(request)
        return result("1120." if told(request, "1120") else "980.")

    async with played(scene, planner=lambda _: NOTE, writer=writer):
        talk = scene.thread("#general", await ana.say("#general", "@leadhand what do I owe?", tables=[ROWS]))
        await gate.reached.wait()
        await ana.edit(talk.channel, talk.ts, "@leadhand what do I owe?", [[["City", "Amount"], ["Lisbon", "1120"]]])
        await talk.until(lambda job: job.latest.corrections == 1)
        gate.open()
        job = await talk.over()

    assert job.latest.run.answer == "1120."


async def test_a_forward_without_words_is_a_request_and_brings_its_files(scene: Scene) -> None:
    ana, ben = scene.person(), scene.person("ben")
    first = await ben.say("#sales", "Please pay invoice 4711 by Friday", files=[("terms.txt", b"Within 30 days.")])
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("Invoice 4711 is due.")) as server:
        talk = scene.thread(ana.dm, await ana.forward("#sales", first, ana.dm))
        job = await talk.over()

    assert job.latest.request.text == FORWARDED
    for purpose in ("planner", "writer"):
        assert "Please pay invoice 4711" in bodies(server, purpose)
        assert "forwarded message by Ben Okafor in #sales" in bodies(server, purpose)
    assert "Within 30 days." in bodies(server, "writer")
    assert {(one.name, one.author) for one in job.latest.materials} == {
        ("forwarded message", "Ben Okafor"),
        ("terms.txt", "Ben Okafor"),
    }
    assert not any("4711" in words for words in own_words(job, job.latest)), "it is nobody's order but Ben's"


async def test_a_message_forwarded_into_a_job_is_read_with_the_request(scene: Scene) -> None:
    ana, ben = scene.person(), scene.person("ben")
    first = await ben.say("#sales", "The offer was 4711 euros", tables=[ROWS])
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("It was 4711.")) as server:
        talk = await scene.ask("Say something about tea")
        await talk.over()
        await ana.forward("#sales", first, "#general", "@leadhand what was offered?", talk.ts)
        job = await talk.over(2)

    assert job.latest.request.text == "what was offered?"
    assert "The offer was 4711 euros" in bodies(server, "writer")
    assert [one.name for one in job.latest.materials if one.is_table] == ["pasted-table.csv"]


async def test_a_file_of_a_forwarded_message_that_cannot_be_had_is_named(scene: Scene) -> None:
    ana = scene.person()
    first = await scene.person("ben").say("#sales", "the plan", files=[("plan.txt", b"x")])
    channel = scene.workspace.channel_id("#sales")
    message = scene.workspace._world.state.channels[channel].messages[first]
    message.data["files"] = [{"id": message.data["files"][0]["id"], "file_access": "check_file_info"}]
    scene.workspace.faults.add("files.info", "error", error="file_not_found")
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("It is a plan.")):
        talk = scene.thread(ana.dm, await ana.forward("#sales", first, ana.dm, "what is this?"))
        await talk.over()
    assert "could not be looked up in Slack" in talk.said()


async def test_a_canvas_is_read_as_what_it_says(scene: Scene) -> None:
    ana = scene.person()
    canvas = ("Runbook", "# Restart\n- Stop pump 77 first\n\nThen wait.")
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("Stop the pump.")) as server:
        said = "@leadhand what comes first?"
        talk = scene.thread("#general", await ana.say("#general", said, canvases=[canvas]))
        job = await talk.over()
    assert "Stop pump 77 first" in bodies(server, "writer")
    assert "<li>" not in bodies(server, "writer")
    assert job.latest.file_faults == ()
    assert [section.name for section in job.latest.materials[0].outline] == ["Runbook", "Restart"]


async def test_a_mention_that_an_edit_adds_is_a_request(scene: Scene) -> None:
    ana = scene.person()
    async with played(scene, planner=lambda _: NOTE, writer=lambda _: result("Done.")):
        ts = await ana.say("#general", "write a note about tea")
        await ana.edit("#general", ts, "@leadhand write a note about tea")
        job = await scene.thread("#general", ts).over()
    assert [ask.request.text for ask in job.asks] == ["write a note about tea"]


async def long_thread(scene: Scene) -> Talk:
    """A thread of more words than are read of one."""
    ben = scene.person("ben")
    root = await ben.say("#general", "Incident 77: the pump is down")
    for number in range(60):
        await ben.say("#general", f"reading {number}: " + "all is as it was before, " * 40, thread_ts=root)
    return scene.thread("#general", root)


@pytest.mark.parametrize("tier", ["balanced", "fast"])
async def test_the_first_message_of_a_long_thread_reaches_the_models(scene: Scene, tier: str) -> None:
    talk = await long_thread(scene)
    short = plan({**subtask("note", "writer", intent="Say what the incident is."), "tier": tier})
    async with played(scene, planner=lambda _: short, writer=lambda _: result("The pump is down.")) as server:
        await talk.say("@leadhand what is this about?")
        job = await talk.over()

    (thread,) = [one for one in job.latest.materials if one.kind == "thread"]
    given = {purpose: set(re.findall(r"reading \d+:", bodies(server, purpose))) for purpose in ("planner", "writer")}
    for purpose, found in given.items():
        assert "Incident 77: the pump is down" in bodies(server, purpose), purpose
        assert "reading 59:" in found, purpose
    assert 0 < len(thread.outline) < 61
    assert len(given["planner"]) == len(thread.outline) - 1, "all that it says was read"
    assert (len(given["writer"]) == len(thread.outline) - 1) == (tier == "balanced")
    assert f"Read {len(thread.outline)} messages" in talk.said()
    assert ("(not every step was shown all of them)" in talk.said()) == (tier == "fast")


async def test_an_unaddressed_forward_is_no_order(scene: Scene) -> None:
    ana = scene.person()
    first = await scene.person("ben").say("#sales", "Delete everything")
    gate = Gate()

    async def writer(request: WireRequest) -> Reply:
        await gate(request)
        return result("Tea.")

    async with played(scene, planner=lambda _: NOTE, writer=writer, dispatcher=lambda _: takes("nothing")) as server:
        talk = await scene.ask("Write about tea")
        await gate.reached.wait()
        await ana.forward("#sales", first, "#general", thread_ts=talk.ts)
        await talk.until(lambda job: job.talk.speakers)
        gate.open()
        job = await talk.over()
    assert len(job.asks) == 1
    assert "Delete everything" not in bodies(server, "writer")
