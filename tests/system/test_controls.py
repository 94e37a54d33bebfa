"""Status, trace, cancel and Stop: what they show, who may, and that nothing comes afterwards."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.features.job_controls.service import StopOutcome
from bot.features.job_controls.view import describe_stop
from handoff import events as ev
from tests.system.brains import Gate, Words, connect, plan, provider, purposes, result, subtask
from tests.system.scene import Scene, Talk, buttons, card_title, extract_shown_text, rows

TWO = plan(subtask("first", "writer"), subtask("second", "reviewer"), subtask("third", "writer", ["second"]))


@asynccontextmanager
async def at_work(scene: Scene) -> AsyncIterator[Talk]:
    """A job of which one part is done, one is under way and one is left. What is under way goes on in the end."""
    gate = Gate(result("Checked."))
    words: dict[str, Words] = {"planner": TWO, "writer": result("Written."), "reviewer": gate}
    async with provider(**words) as server, scene.bot(connect("chat", server)):
        talk = await scene.ask("Write and check three parts")
        await talk.until(
            lambda job: job.latest_request.subtasks and job.latest_request.subtasks["first"].state == "complete"
        )
        await gate.arrival_event.wait()
        await talk.wait_until_seen(talk.cards)
        yield talk
        said = [message["ts"] for message in talk.replies()]
        gate.open()
        await scene.barrier()
        assert [message["ts"] for message in talk.replies()] == said, "nothing is posted after the report"
        assert purposes(server).count("synthesizer") == 0


async def check_stop_report(talk: Talk) -> None:
    """The job ended with a report of what was done."""
    job = await talk.over()
    person = talk.scene.person().id
    assert job.latest_request.state == "cancelled"
    (report,) = talk.words()
    text = extract_shown_text(report)
    assert f"*Stopped* by <@{person}>" in text
    assert "*Done:* Do part first" in text
    assert "*Not finished:* Do part second" in text
    assert "*Left:* Do part third" in text
    (card,) = talk.cards()
    assert card_title(card).startswith("Stopped after ")
    assert {name: status for name, (status, _) in rows(card).items()} == {
        "first": "complete",
        "second": "pending",
        "third": "pending",
    }
    assert rows(card)["second"][1].startswith("reviewer · stopped")
    assert not buttons(card)
    await talk.wait_until_seen(lambda: talk.status() == "active")
    assert [event.user for event in await talk.of(ev.CancelRequested)] == [person]


async def test_one_stop_button_at_a_time(scene: Scene) -> None:
    async with at_work(scene) as talk:
        await talk.wait_until_seen(lambda: talk.status() == "processing")
        assert not buttons(talk.cards()[0]), "Slack's own stands in the thread"
        await scene.person().stop(talk.channel, talk.ts)
        await check_stop_report(talk)


async def test_the_cards_own_stop_button_where_slack_shows_none(scene: Scene) -> None:
    scene.workspace.faults.add("agents.sessions.setStatus", "error", error="feature_not_enabled")
    async with at_work(scene) as talk:
        await talk.wait_until_seen(lambda: buttons(talk.cards()[0]))
        await scene.person().click(talk.channel, talk.cards()[0]["ts"], "stop")
        told = await talk.wait_until_seen(lambda: scene.person().ephemerals(talk.channel))
        assert told[0]["text"].startswith("Stopping.")
        await check_stop_report(talk)


async def test_the_commands_status_and_cancel(scene: Scene) -> None:
    async with at_work(scene) as talk:
        listed = extract_shown_text(await scene.command("status"))
        assert f":gear: `{talk.key.job}` <" in listed
        assert f"/p{talk.ts.replace('.', '')}|Get it done> · working" in listed
        detail = extract_shown_text(await scene.command(f"status {talk.key.job}"))
        assert f"Job {talk.key.job}" in detail
        assert "Do part first · writer · done" in detail
        assert "Do part second · reviewer · under way" in detail
        assert "Do part third · writer · not started" in detail
        assert "no jobs yet" in extract_shown_text(await scene.command("status", who="ben"))
        told = await scene.command(f"cancel {talk.key.job.lower()}")
        assert told["text"].startswith("Stopping.")
        await check_stop_report(talk)
        again = await scene.command(f"cancel {talk.key.job}")
        assert again["text"] == f"{talk.key.job} is over already."


async def test_a_mention_in_somebodys_thread_gives_rights_over_that_alone(scene: Scene) -> None:
    async with at_work(scene) as talk:
        ana, ben = scene.person(), scene.person("ben")
        await talk.say("@leadhand also say hello", who="ben")
        await talk.until(lambda job: len(job.requests) == 2)
        await talk.wait_until_seen(lambda: "Noted" in talk.join_private_texts("ben"))
        assert f"asked by <@{ana.id}>" in extract_shown_text(await scene.command(f"status {talk.key.job}", who="ben"))
        traced = extract_shown_text(await scene.command(f"trace {talk.key.job}", who="ben"))
        assert "asked by @Ben Okafor" in traced
        assert ana.id not in traced
        assert "writer" not in traced, "no step of ana's"
        (sent,) = await scene.workspace.until(lambda: [m for m in scene.workspace.messages(ben.dm) if m.get("files")])
        _, page, data = [await scene.workspace.file(file["id"]) for file in sent["files"]]
        events = json.loads(data)["events"]
        asked = {event.get("request") for event in events if event["type"] != "RequestAdded"} - {None}
        assert talk.ts not in asked
        assert b"Write and check" not in data + page

        await ben.stop(talk.channel, talk.ts)
        told = await talk.wait_until_seen(
            lambda: [each["text"] for each in ben.ephemerals(talk.channel) if "Stop" in each["text"]]
        )
        assert told == [describe_stop(StopOutcome("cancelling", (ana.id,)))]
        assert f"What <@{ana.id}> asked for goes on" in told[0]
        job = await talk.until(lambda job: job if job.requests[1].cancelled_by else None)
        assert job.requests[0].state == "working"
        assert not job.requests[0].cancelled_by
        await ana.stop(talk.channel, talk.ts)
        job = await talk.over(2)
        assert [request.cancelled_by for request in job.requests] == [ana.id, ben.id]


async def test_a_job_can_be_stopped_while_it_waits_for_an_answer(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("total revenue", files=[("a.csv", b"revenue\n1\n"), ("b.csv", b"revenue\n2\n")])
        await talk.question()
        await talk.wait_until_seen(lambda: talk.status() == "suspended")
        await scene.command(f"cancel {talk.key.job}")
        job = await talk.over()
        await talk.wait_until_seen(lambda: talk.status() == "active")
        question, report = talk.words()
        assert job.latest_request.state == "cancelled"
        assert "*Stopped*" in extract_shown_text(report)
        await scene.person().click(talk.channel, question["ts"], "answer:0")
        told = await talk.wait_until_seen(lambda: scene.person().ephemerals(talk.channel)[1:])
        assert "closed" in told[0]["text"]
        await talk.wait_until_seen(lambda: not buttons(talk.words()[0]))
        assert "No answer is needed any more" in extract_shown_text(talk.words()[0])


async def test_trace_gives_a_timeline_a_picture_a_page_and_the_whole_log_as_json(scene: Scene) -> None:
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?")
        await talk.over()
        link = f"https://x.slack.com/archives/{talk.channel}/p{talk.ts.replace('.', '')}"
        told = extract_shown_text(await scene.command(f"trace {link}"))
        dm = scene.person().dm
        (message,) = await scene.workspace.until(lambda: [m for m in scene.workspace.messages(dm) if m.get("files")])
        job = talk.key.job
        assert [file["name"] for file in message["files"]] == [f"{job}.png", f"{job}.html", f"{job}.json"]
        picture, page, data = [await scene.workspace.file(file["id"]) for file in message["files"]]
    assert f"Job {job}, " in told
    assert "asked by " in told
    assert "plan of 1 subtask" in told
    assert "analysis: analyst starts (attempt 1, balanced)" in told
    assert "posted the outcome" in told
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 1080
    assert b"default-src 'none'" in page
    assert b"What is 3 * 4?" in page
    trace = json.loads(data)
    assert trace["job"] == job
    log = await scene.store.jobs.read_log(talk.key)
    assert trace["events"] == [{"seq": entry.seq, **json.loads(entry.payload)} for entry in log]
    assert {"request", "plan", "attempt", "chat", "tool", "post"} <= {span["kind"] for span in trace["spans"]}
    assert [span["state"] for span in trace["spans"]] == ["done"] * len(trace["spans"])
    assert len(talk.replies()) == 2, "the thread is left alone"
