"""Logs that were written down (see `record.py`): today makes the same of them, and goes on with them.

The next schema will have to read them.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bot.slack.send.lookup import make_metadata
from bot.slack.send.web_calls import close_client, make_client
from bot.store.values import Commit
from handoff import events as ev
from handoff.contracts import Place
from handoff.engine.answer import list_answer_gaps
from handoff.engine.engine import fold_log
from handoff.engine.replay import parse_log
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest
from tests.specialists.far_side import far_side
from tests.store.kit import take_job
from tests.system.brains import connect, provider, purposes, result
from tests.system.scene import SAMPLE, Scene, Talk, card_title, extract_shown_text
from tests.system.test_write_tools import clerk, crew_with
from tests.versions import looks
from tests.versions.record import summary

LOGS = Path(__file__).parent / "logs"
LOG_NAMES = [path.stem for path in sorted(LOGS.glob("*.jsonl"))]


def read_recorded_log(name: str) -> tuple[list[str], dict[str, Any]]:
    """A log's lines, and what was written beside them."""
    about: dict[str, Any] = json.loads((LOGS / f"{name}.json").read_text())
    return (LOGS / f"{name}.jsonl").read_text().splitlines(), about


@pytest.mark.parametrize("name", LOG_NAMES)
def test_a_log_makes_the_state_that_it_made_then(name: str) -> None:
    lines, about = read_recorded_log(name)
    assert all(json.loads(line)["v"] == about["schema"] == ev.SCHEMA for line in lines)
    job = fold_log(map(ev.load_event, lines))
    assert job is not None
    assert json.loads(json.dumps(summary(job))) == about["state"]
    assert parse_log(lines) == job
    again = [ev.dump_event(ev.load_event(line)) for line in lines]
    assert fold_log(map(ev.load_event, again)) == job, "what is read is of the present schema"


def test_the_logs_are_of_all_kinds() -> None:
    kinds = {json.loads(line)["type"] for name in LOG_NAMES for line in read_recorded_log(name)[0]}
    states = {ask["state"] for name in LOG_NAMES for ask in read_recorded_log(name)[1]["state"]["asks"]}
    assert kinds >= {"TurnTaken", "ToolInDoubt", "TakenOver", "PlanRevised", "BriefRefined", "AnswerVerified"}
    assert states == {"working", "input_required", "completed", "failed", "cancelled"}


async def moved_in(scene: Scene, name: str) -> Talk:
    """A recorded job in a workspace and a store of today, its messages so far in its thread."""
    lines, about = read_recorded_log(name)
    person = scene.person()
    talk = scene.thread("#general", await person.say("#general", about["state"]["asks"][0]["text"]))
    place = Place(team=talk.key.team, channel=talk.channel, thread_ts=talk.ts)
    user = json.loads(lines[0])["request"]["user"]
    ids = {about["team"]: place.team, about["channel"]: place.channel, about["thread_ts"]: talk.ts, user: person.id}
    client = make_client(scene.workspace.bot_token, scene.workspace.api_url)
    for key, ts in about["state"]["asks"][0]["posted"].items():
        sent = await client.chat_postMessage(
            channel=place.channel,
            thread_ts=talk.ts,
            text="as it was",
            metadata=make_metadata(place, key.replace(about["thread_ts"], talk.ts)),
        )
        ids[ts] = str(sent["ts"])
    await close_client(client)

    def replace_ids(text: str) -> str:
        for old, new in ids.items():
            text = text.replace(old, new)
        return text

    store, log = scene.store, [replace_ids(line) for line in lines]
    for artifact in about["state"]["asks"][0]["files"]:
        assert artifact == SAMPLE.name
        await store.blobs.put(talk.key, SAMPLE.read_bytes())
    assert await store.jobs.ingest(talk.key, log[0], dedupe=["then"], user=person.id)
    claim = await take_job(store, "then", schema=ev.SCHEMA)
    fields = {field: replace_ids(value) for field, value in about["fields"].items()}
    (taken,) = await store.jobs.read_inbox(talk.key)
    kept = await store.jobs.commit(
        claim, "then", 0, log, taken_entries=[taken.seq], fields=fields, schema=about["schema"]
    )
    assert kept is Commit.OK
    asks = about["state"]["asks"][0]["state"] == "input_required"
    assert await store.jobs.release(claim, due=None if asks else await store.read_time())
    return talk


async def test_an_attempt_under_way_goes_on_from_its_checkpoints(scene: Scene) -> None:
    talk = await moved_in(scene, "in_the_middle")
    async with provider() as server, scene.bot(connect("chat", server)):
        job = await talk.over()
        await talk.wait_until_seen(lambda: card_title(talk.cards()[0]).startswith("Done in "))
    assert job.latest_request.state == "completed"
    assert "planner" not in purposes(server)
    first, *_ = analyst = [request for request in server.requests if purpose_of(request) == "specialist:analyst"]
    called = [call.name for message in first.messages for call in message.calls]
    assert "profile_table" in called, "what was done then is there"
    again = [call.name for message in analyst[-1].messages for call in message.calls][len(called) :]
    assert "profile_table" not in again
    assert "rose from" in talk.join_bot_texts()
    assert len(talk.cards()) == len(talk.words()) == 1


async def test_of_two_parts_only_the_one_that_was_left_is_done(scene: Scene) -> None:
    talk = await moved_in(scene, "side_by_side")
    async with provider(specialist=lambda _: result("Checked.")) as server, scene.bot(connect("chat", server)):
        job = await talk.over()
    assert job.latest_request.state == "completed"
    assert [one for one in purposes(server) if one.startswith("specialist")] == ["specialist:reviewer"]


async def test_a_question_of_then_can_be_answered_today(scene: Scene) -> None:
    talk = await moved_in(scene, "asked")

    def tell_choice(request: WireRequest) -> Reply:
        return result("Chosen: " + request.messages[0].text.rpartition("Answered by a person:")[2].split("\n")[0])

    async with provider(writer=tell_choice) as server, scene.bot(connect("chat", server)):
        assert (await talk.job()).latest_request.state == "input_required"  # type: ignore[union-attr]
        await talk.say("Oslo")
        job = await talk.over()
    assert job.latest_request.state == "completed"
    assert job.latest_request.subtasks["first"].result.content == "Chosen:  Oslo"  # type: ignore[union-attr]
    assert [one for one in purposes(server) if one.startswith("specialist")] == ["specialist:writer"]
    assert "Oslo" in extract_shown_text(talk.words()[-1])


async def test_what_was_in_doubt_then_is_cleared_today_and_not_done_again(scene: Scene, tmp_path: Path) -> None:
    talk = await moved_in(scene, "in_doubt")
    async with far_side() as side, provider(clerk=clerk) as server:
        async with scene.bot(connect("chat", server), crew=crew_with(tmp_path, side.tool())):
            question = talk.words()[-1]
            await scene.person().say(talk.channel, "It happened", thread_ts=talk.ts)
            job = await talk.over()
        assert side.calls == 0, "a person said that it was done"
    assert question["ts"] in job.latest_request.posted_ids.values()
    assert job.latest_request.state == "completed"
    assert purposes(server) == ["specialist:clerk"]


async def test_a_crew_in_the_crew_goes_on_where_it_was(scene: Scene, tmp_path: Path) -> None:
    talk = await moved_in(scene, "inside")
    async with provider(**looks.WORDS) as server, scene.bot(connect("chat", server), crew=looks.crew_in(tmp_path)):
        job = await talk.over()
    assert (job.latest_request.state, list_answer_gaps(job.latest_request, job.latest_request.run)) == ("completed", ())
    asked = Counter(purposes(server))
    assert asked["specialist:checker"] >= 1
    assert asked["verifier"] == 1
    assert "Churn was 4.2 %, and 12 km are 1.2 mil." in talk.join_bot_texts()
