"""Logs that earlier releases wrote (see `record.py`): this one makes the same of them, and goes on with them.

`logs_vN` has those of schema N. Those of the present one are what later releases will have to read.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bot.slack.send.lookup import metadata
from bot.slack.send.web_calls import close_client, make_client
from bot.store.interface import Commit
from handoff import events as ev
from handoff.contracts import Place
from handoff.engine.answer import gaps
from handoff.engine.engine import apply, fold
from handoff.engine.replay import open_log
from tests.providers.rendering import Reply
from tests.providers.scripts import purpose_of
from tests.providers.wire import WireRequest
from tests.specialists.far_side import far_side
from tests.system.brains import connect, provider, purposes, result
from tests.system.scene import SAMPLE, Scene, Talk, card_title, shown
from tests.system.test_write_tools import clerk, crew_with
from tests.versions import looks
from tests.versions.record import summary

LOGS = Path(__file__).parent
RECORDED = [
    (schema, path.stem)
    for schema in range(1, ev.SCHEMA + 1)
    for path in sorted((LOGS / f"logs_v{schema}").glob("*.jsonl"))
]
earlier = pytest.mark.parametrize("schema", range(1, ev.SCHEMA))
some = pytest.mark.parametrize("schema", sorted({1, 4, ev.SCHEMA - 1}))
"""Played whole: the first, whose logs are lifted through all others, the last before queries changed, the last."""


def recorded(schema: int, name: str) -> tuple[list[str], dict[str, Any]]:
    """A log's lines, and what was written beside them."""
    folder = LOGS / f"logs_v{schema}"
    about: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return (folder / f"{name}.jsonl").read_text().splitlines(), about


@pytest.mark.parametrize(("schema", "name"), RECORDED)
def test_a_log_makes_the_state_that_it_made_then(schema: int, name: str) -> None:
    lines, about = recorded(schema, name)
    assert about["schema"] == schema
    assert all(json.loads(line)["v"] == schema for line in lines)
    job = fold(map(ev.load, lines))
    assert job is not None
    assert json.loads(json.dumps(summary(job, schema))) == about["state"]
    assert open_log(lines) == job
    again = [ev.dump(ev.load(line)) for line in lines]
    assert fold(map(ev.load, again)) == job, "what is read is of the present schema"


@earlier
def test_a_question_of_an_earlier_release_is_for_who_made_the_request(schema: int) -> None:
    lines, _ = recorded(schema, "asked")
    job = fold(map(ev.load, lines))
    assert job is not None
    ((work, question),) = [(work, work.question) for work in job.latest.work.values() if work.question is not None]
    assert question.whom == (job.latest.request.user,)
    of = {"at": question.asked + 1.0, "request": job.latest.id, "subtask": work.subtask.id, "number": question.number}
    assert apply(job, ev.QuestionAnswered.model_validate({**of, "user": "U2", "text": "x"})).asks == job.asks
    theirs = ev.QuestionAnswered.model_validate({**of, "user": job.latest.request.user, "text": "x"})
    assert apply(job, theirs).latest.work[work.subtask.id].question is None


KINDS = {
    1: {"TurnTaken", "ToolReturned", "Escalated", "QuestionAnswered", "AttachmentsFetched", "PlanRejected"},
    2: {"TurnTaken", "ToolStarted", "ToolInDoubt", "TakenOver", "QuestionAnswered", "PlanRejected"},
    4: {
        "AttachmentsFetched",
        "SettingKnown",
        "ContradictionsFound",
        "ConflictsJudged",
        "AnswerReviewed",
        "ToolInDoubt",
    },
    3: {"PlanRevised", "ResultJudged", "BriefRefined", "ConflictsJudged", "AnswerReviewed", "AnswerWritten"},
}
"""What each schema's logs must show, above all what it brought."""


@pytest.mark.parametrize("schema", KINDS)
def test_the_logs_are_of_all_kinds(schema: int) -> None:
    names = [name for of, name in RECORDED if of == schema]
    kinds = {json.loads(line)["type"] for name in names for line in recorded(schema, name)[0]}
    states = {ask["state"] for name in names for ask in recorded(schema, name)[1]["state"]["asks"]}
    assert kinds >= KINDS[schema]
    if schema < ev.SCHEMA:
        assert states == {"working", "input_required", "completed", "failed", "cancelled"}


async def moved_in(scene: Scene, schema: int, name: str) -> Talk:
    """A recorded job in a workspace and a store of today, its messages so far in its thread."""
    lines, about = recorded(schema, name)
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
            metadata=metadata(place, key.replace(about["thread_ts"], talk.ts)),
        )
        ids[ts] = str(sent["ts"])
    await close_client(client)

    def moved(text: str) -> str:
        for old, new in ids.items():
            text = text.replace(old, new)
        return text

    store, log = scene.store, [moved(line) for line in lines]
    for artifact in about["state"]["asks"][0]["files"]:
        assert artifact == SAMPLE.name
        await store.blobs.put(talk.key, SAMPLE.read_bytes())
    assert await store.jobs.ingest(talk.key, log[0], dedupe=["then"], user=person.id)
    claim = await store.jobs.claim("then", lease=10, schema=schema)
    assert claim is not None
    fields = {field: moved(value) for field, value in about["fields"].items()}
    (taken,) = await store.jobs.inbox(talk.key)
    kept = await store.jobs.commit(claim, "then", 0, log, taken=[taken.seq], fields=fields, schema=about["schema"])
    assert kept is Commit.OK
    asks = about["state"]["asks"][0]["state"] == "input_required"
    assert await store.jobs.release(claim, due=None if asks else await store.now())
    return talk


@some
async def test_an_attempt_under_way_goes_on_from_its_checkpoints(scene: Scene, schema: int) -> None:
    talk = await moved_in(scene, schema, "in_the_middle")
    async with provider() as server, scene.bot(connect("chat", server)):
        job = await talk.over()
        await talk.seen(lambda: card_title(talk.cards()[0]).startswith("Done in "))
    assert job.latest.state == "completed"
    assert "planner" not in purposes(server)
    first, *_ = analyst = [request for request in server.requests if purpose_of(request) == "specialist:analyst"]
    called = [call.name for message in first.messages for call in message.calls]
    assert "profile_table" in called, "what was done then is there"
    again = [call.name for message in analyst[-1].messages for call in message.calls][len(called) :]
    assert "profile_table" not in again
    # The queries of schema 5 are today's: then the chart is next.
    assert len(analyst) == (3 if schema < 5 else 2), "today's queries, the chart with them, and the last"
    assert "South" in talk.said()
    assert len(talk.cards()) == len(talk.words()) == 1
    await both_schemas(talk, schema)


@some
async def test_of_two_parts_only_the_one_that_was_left_is_done(scene: Scene, schema: int) -> None:
    talk = await moved_in(scene, schema, "side_by_side")
    async with provider(specialist=lambda _: result("Checked.")) as server, scene.bot(connect("chat", server)):
        job = await talk.over()
    assert job.latest.state == "completed"
    assert [one for one in purposes(server) if one.startswith("specialist")] == ["specialist:reviewer"]
    await both_schemas(talk, schema)


@some
async def test_a_question_of_then_can_be_answered_today(scene: Scene, schema: int) -> None:
    talk = await moved_in(scene, schema, "asked")

    def told(request: WireRequest) -> Reply:
        return result("Chosen: " + request.messages[0].text.rpartition("Answered by a person:")[2].split("\n")[0])

    async with provider(writer=told) as server, scene.bot(connect("chat", server)):
        assert (await talk.job()).latest.state == "input_required"  # type: ignore[union-attr]
        await talk.say("Oslo")
        job = await talk.over()
    assert job.latest.state == "completed"
    assert job.latest.work["first"].result.content == "Chosen:  Oslo"  # type: ignore[union-attr]
    assert [one for one in purposes(server) if one.startswith("specialist")] == ["specialist:writer"]
    assert "Oslo" in shown(talk.words()[-1])
    await both_schemas(talk, schema)


async def test_what_was_in_doubt_then_is_cleared_today_and_not_done_again(scene: Scene, tmp_path: Path) -> None:
    talk = await moved_in(scene, 2, "in_doubt")
    async with far_side() as side, provider(clerk=clerk) as server:
        async with scene.bot(connect("chat", server), crew=crew_with(tmp_path, side.tool())):
            question = talk.words()[-1]
            await scene.person().say(talk.channel, "It happened", thread_ts=talk.ts)
            job = await talk.over()
        assert side.calls == 0, "a person said that it was done"
    assert question["ts"] in job.latest.posted.values()
    assert job.latest.state == "completed"
    assert purposes(server) == ["specialist:clerk"]
    await both_schemas(talk, 2)


async def test_a_crew_in_the_crew_goes_on_where_it_was(scene: Scene, tmp_path: Path) -> None:
    talk = await moved_in(scene, 3, "inside")
    async with provider(**looks.WORDS) as server, scene.bot(connect("chat", server), crew=looks.crew_in(tmp_path)):
        job = await talk.over()
    assert (job.latest.state, gaps(job.latest, job.latest.run)) == ("completed", ())
    asked = Counter(purposes(server))
    again = {"specialist:checker": 3, "refiner": 1}  # the call that was cut off, and a figure that no tool said
    then = {"arbiter": 1, "critic": 1, "synthesizer": 4}
    assert asked == {**again, **then}
    assert "Churn was 4.2 %, and 12 km are 1.2 mil." in talk.said()


async def both_schemas(talk: Talk, schema: int) -> None:
    """What was written then stands as it was; what came after it is of the present schema, and so is the head."""
    versions = [json.loads(entry.payload)["v"] for entry in await talk.scene.store.jobs.log(talk.key)]
    assert versions == sorted(versions)
    assert set(versions) == {schema, ev.SCHEMA}
    head = await talk.scene.store.jobs.head(talk.key)
    assert head is not None
    assert head.schema == ev.SCHEMA
