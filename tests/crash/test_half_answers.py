"""An owner dies while it streams an answer: however the request ends then, nothing half-written stays in the thread.

It is killed at the two points that matter: Slack has the stream and nobody knows its id, and the id is recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import pytest
import pytest_asyncio

from bot.slack.send.lookup import read_key
from bot.slack.send.outbox import STREAM_SUFFIX
from bot.workspace.refusal import ActionFailed
from handoff.effects import make_answer_key
from handoff.state.job_state import Job
from specialists.model import ModelCall, ModelError
from tests.crash.__main__ import stages_on
from tests.crash.play import LATER, Stage
from tests.crash.points import list_passages
from tests.crash.scenarios import SCENARIOS, PlayedModel, Turn, Words, make_office, says, stops_short, turn
from tests.system.scene import Json, Talk, bot_in, eventually, extract_shown_text

on_one_loop = pytest.mark.asyncio(loop_scope="module")
NAME = "stopped_answer"
UNKNOWN, RECORDED_POINT = "after chat.startStream#1", "after outbox.record_draft answer:stream#1"
WHOLE = says(turn("Tea is ready. The scones are warm."))
Act = Callable[[Talk], Awaitable[object]]


async def nothing(_: Talk) -> None:
    """Nobody does anything."""


async def native_stop(talk: Talk) -> None:
    """Press Slack's own Stop until somebody heard of it."""
    while (job := await talk.job()) is not None and job.current_request is not None:
        with contextlib.suppress(ActionFailed):
            await talk.scene.person().stop(talk.channel, talk.ts)
        await asyncio.sleep(0.2)


async def ends_stream(talk: Talk) -> None:
    """Have Slack end the stream as its own Stop does, and nobody hear of it: the event would come to the next owner."""
    person, world = talk.scene.person(), talk.scene.workspace._world
    place = person.find_channel(talk.channel)
    for message in place.iterate_thread(talk.ts):
        if message.stream and message.stream.live:
            world.messages.end_stream(place, message)


async def says_stop(talk: Talk) -> None:
    """Say it."""
    await talk.say("@leadhand stop")


async def deletes(talk: Talk) -> None:
    """Delete the request, with the thread under it."""
    await talk.scene.person().delete(talk.channel, talk.ts)


async def edits(talk: Talk) -> None:
    """Say the request anew: too late for a correction, so that it is another request."""
    await talk.scene.person().edit(talk.channel, talk.ts, "@leadhand Get coffee ready")


async def forgets(talk: Talk) -> None:
    """Have all of it erased."""
    scene, person = talk.scene, talk.scene.person()
    await scene.command(f"forget {talk.key.job}")
    view = (await scene.workspace.until(person.views))[-1]
    assert await person.submit(view["id"])
    await talk.wait_until_seen(lambda: not talk.replies())


async def fails(_: ModelCall) -> Turn:
    """No provider is to be had."""
    raise ModelError("unavailable", "the model is down", transient=False)


async def breaks(_: ModelCall) -> Turn:
    """A bug."""
    raise RuntimeError("a bug")


@dataclass(frozen=True)
class Ending:
    """What people do while no bot is there, and then; what the synthesizer says to the next owner; what comes of it."""

    name: str
    state: str
    meanwhile: Act = nothing
    then: Act = nothing
    words: Words = field(default=stops_short)
    expected_text: str = ""
    ends: int = 1


ENDINGS = (
    Ending("stopped", "cancelled", ends_stream, native_stop, expected_text="*Stopped*"),
    Ending("stopped in words", "cancelled", then=says_stop, expected_text="*Stopped*"),
    Ending("withdrawn", "cancelled", then=deletes, ends=0),
    Ending("answered", "completed", words=WHOLE, expected_text="The scones are warm."),
    Ending(
        "answered after Slack ended the stream",
        "completed",
        ends_stream,
        words=WHOLE,
        expected_text="The scones are warm.",
    ),
    Ending("in part", "completed", words=fails, expected_text="Tea is ready."),
    Ending("failed", "failed", words=breaks, expected_text="internal error"),
    Ending("erased", "", then=forgets, ends=0),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A workspace to play in."""
    async with stages_on(server_url, tmp_path_factory.mktemp("bots"), 1) as made:
        yield made[0]


@contextlib.asynccontextmanager
async def half_written(stage: Stage, point: str, words: Words, meanwhile: Act) -> AsyncIterator[Talk]:
    """A thread with half an answer whose owner was killed at that point, in front of another bot."""
    start, talk, store = await stage._ask(NAME)
    try:
        async with stage.nursery.bot(asdict(replace(start, crash_at=point))) as dead:
            assert await dead == -9
        assert point in list_passages(Path(start.passages))
        (half,) = [message for message in talk.words() if not read_key(message)]
        assert half["streaming"]
        await meanwhile(talk)
        scenario: Mapping[str, Words] = {**SCENARIOS[NAME].words, "synthesizer": words}
        model = PlayedModel(replace(SCENARIOS[NAME], words=scenario))
        crew = make_office(Path(start.far_side))
        options = {"prefix": start.prefix, "model": model, "crew": crew, "later": LATER}
        async with bot_in(stage.workspace, stage.url, slack_unlimited=True, **options):
            yield talk
    finally:
        await store.close()


def half_answers(talk: Talk) -> list[Json]:
    """The bot's messages that bear no key of a finished one."""
    bare = [one for one in talk.replies() if not read_key(one) and not one.get("files")]
    return bare + [one for one in talk.replies() if one["streaming"] or read_key(one).endswith(STREAM_SUFFIX)]


RUNS = [(UNKNOWN, ending) for ending in ENDINGS] + [(RECORDED_POINT, ending) for ending in (ENDINGS[0], ENDINGS[-1])]
"""Where the id is recorded, what takes the half answer away is the same: a stop and an erasure stand for the others."""


@on_one_loop
@pytest.mark.parametrize(("point", "ending"), RUNS, ids=[f"{ending.name}, {point}" for point, ending in RUNS])
async def test_no_half_answer_stays(stage: Stage, point: str, ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.features.erasure.service.LAST_CALL_SECONDS", 0.3)
    async with half_written(stage, point, ending.words, ending.meanwhile) as talk:
        await ending.then(talk)
        if ending.state:
            assert (await over(talk)).requests[0].state == ending.state
    assert not half_answers(talk)
    ends = [message for message in talk.words() if read_key(message) == make_answer_key(talk.ts)]
    assert len(ends) == ending.ends
    assert all(ending.expected_text in extract_shown_text(message) for message in ends)


async def over(talk: Talk) -> Job:
    """The job at its end, with nobody at work on it any more."""
    job = await talk.over()

    async def rests() -> bool:
        head = await talk.scene.store.jobs.read_head(talk.key)
        return head is not None and not head.owner and head.due is None

    await eventually(rests)
    return job


@on_one_loop
async def test_an_edited_request_gets_its_own_answer_and_the_first_one_too(stage: Stage) -> None:
    async with half_written(stage, UNKNOWN, WHOLE, edits) as talk:
        await talk.wait_until_seen(lambda: read_key(talk.words()[-1]) == make_answer_key(talk.ts))
        await over(talk)
    assert not half_answers(talk)
    assert len([one for one in talk.words() if read_key(one) == make_answer_key(talk.ts)]) == 1
