"""Thumbs on an answer: buttons and emoji, kept with the request, and why one was down, asked for once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from bot.features.feedback.actions import ASK_REASON_TEXT, REASON_FIELD, REASON_KEPT_TEXT, SEND_REASON
from bot.features.feedback.service import MAX_THUMBS, ThumbOutcome, record_feedback_event
from bot.jobs.job_records import JobRecords
from bot.slack.show import notices
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, LogEntry
from handoff import events as ev
from handoff.contracts import Place
from tests.store.kit import add_request, take_job
from tests.system.scene import Scene, Talk, block_of, eventually, extract_shown_text


async def wait_for_feedback(talk: Talk, number: int) -> list[ev.FeedbackGiven]:
    async def there() -> list[ev.FeedbackGiven] | None:
        found = await talk.of(ev.FeedbackGiven)
        return found if len(found) >= number else None

    return await eventually(there)


async def test_thumbs_by_button_and_emoji_are_kept_and_a_reason_is_asked_for_once(scene: Scene) -> None:
    ana, ben, gus, workspace = scene.person(), scene.person("ben"), scene.person("gus"), scene.workspace
    async with scene.bot():
        talk = await scene.ask("What is 3 * 4?", channel="#sales")
        await talk.over()
        (answer,) = talk.words()
        where = (talk.channel, answer["ts"])
        await gus.react(*where, "-1")  # a guest, who may not use the bot
        await ben.react(*where, "-1")
        (asked,) = await workspace.until(lambda: ben.ephemerals("#sales"))
        assert ASK_REASON_TEXT in extract_shown_text(asked)
        line = block_of(asked, "input")
        assert line is not None
        values = {line["block_id"]: {REASON_FIELD: {"type": "plain_text_input", "value": "wrong\n sign " + "x" * 400}}}
        await ben.click(talk.channel, asked["ts"], SEND_REASON, inputs=values)
        await workspace.until(lambda: REASON_KEPT_TEXT in str(ben.ephemerals("#sales")))
        await ben.react(*where, "-1", add=False)
        await wait_for_feedback(talk, 3)
        await ben.react(*where, "thumbsup::skin-tone-3")
        await ben.react(*where, "tada")
        await wait_for_feedback(talk, 4)
        await ana.react(talk.channel, talk.ts, "-1")  # her own request, which is no answer
        thumbs = block_of(answer, "context_actions")
        assert thumbs is not None
        await ana.click(*where, "feedback", thumbs["elements"][0]["positive_button"]["value"])
        await wait_for_feedback(talk, 5)
        await ben.click(*where, "feedback", thumbs["elements"][0]["negative_button"]["value"])
        await workspace.until(lambda: notices.FEEDBACK_RECORDED in str(ben.ephemerals("#sales")))
        feedback = await wait_for_feedback(talk, 6)
        assert [(one.good, bool(one.reason), one.withdrawn) for one in feedback] == [
            (False, False, False),
            (False, True, False),
            (False, False, True),
            (True, False, False),
            (True, False, False),
            (False, False, False),
        ]
        assert feedback[1].reason.startswith("wrong sign x")
        assert len(feedback[1].reason) == 300
        assert str(ben.ephemerals("#sales")).count("What was wrong") == 0, "the question is gone, and not put again"
        assert [one.user for one in feedback] == [*[ben.id] * 4, ana.id, ben.id]
        assert {one.request for one in feedback} == {talk.ts}
        assert gus.ephemerals("#sales") == []


@dataclass
class TakenMeanwhile:
    """The store of an instance beside which the job's runner takes its inbox in, after one of the two is read."""

    store: Store
    take: Callable[[], Awaitable[None]]
    first: str

    @property
    def jobs(self) -> Any:
        return self

    async def read_log(self, key: JobKey) -> list[LogEntry]:
        return await self._read("read_log", key)

    async def read_inbox(self, key: JobKey) -> list[LogEntry]:
        return await self._read("read_inbox", key)

    async def _read(self, which: str, key: JobKey) -> list[LogEntry]:
        found: list[LogEntry] = await getattr(self.store.jobs, which)(key)
        if which == self.first:
            await self.take()
        return found

    async def signal(self, key: JobKey, payload: str, *, dedupe: tuple[str, ...]) -> bool:
        return await self.store.jobs.signal(key, payload, dedupe=dedupe)


@pytest.mark.parametrize("first", ["read_log", "read_inbox"])
async def test_a_thumb_that_the_runner_takes_in_meanwhile_is_neither_missed_nor_counted_twice(
    scene: Scene, first: str
) -> None:
    jobs, key = scene.store.jobs, await add_request(scene.store, Place(team="T1", channel="C1", thread_ts="1.0"))

    async def take() -> None:
        waiting = await jobs.read_inbox(key)
        claim = await take_job(scene.store)
        after, lines = len(await jobs.read_log(key)), [entry.payload for entry in waiting]
        await jobs.commit(claim, f"takes {after}", after, lines, taken_entries=[entry.seq for entry in waiting])
        await jobs.release(claim, due=0)

    async def say(store: Store, at: float, **what: Any) -> ThumbOutcome:
        thumb = ev.FeedbackGiven.model_validate({"at": at, "request": "1.0", "user": "U2", "good": False, **what})
        return await record_feedback_event(
            JobRecords(store, lambda _: None, admins=frozenset()), key, thumb, (f"said at {at}",)
        )

    assert await say(scene.store, 2.0) == "ask"
    await take()
    assert await say(scene.store, 3.0, reason="a wrong sign") == "recorded"
    beside = cast("Store", TakenMeanwhile(scene.store, take, first))
    assert await say(beside, 4.0, withdrawn=True) == "recorded"
    assert len([line for line in await jobs.read_log(key) if "FeedbackGiven" in line.payload]) == 2
    assert len(await jobs.read_inbox(key)) == 1


async def test_a_person_changes_a_thumb_a_few_times(store: Store) -> None:
    key = await add_request(store, Place(team="T1", channel="C1", thread_ts="1.0"))
    records = JobRecords(store, lambda _: None, admins=frozenset())

    async def say(at: float, *, is_up: bool, user: str = "U2") -> ThumbOutcome:
        thumb = ev.FeedbackGiven(at=at, request="1.0", user=user, good=is_up)
        return await record_feedback_event(records, key, thumb, (f"said at {at}",))

    for number in range(MAX_THUMBS):
        assert await say(2.0 + number, is_up=number % 2 == 0) != "again"
        assert await say(2.5 + number, is_up=number % 2 == 0) == "again", "it stands already"
    assert await say(20.0, is_up=MAX_THUMBS % 2 == 0) == "again"
    assert await say(21.0, is_up=False, user="U3") == "ask"
