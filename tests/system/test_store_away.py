"""The store goes away under a running bot: people are told what to do, and work goes on when it is back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bot.limits.limit_rules import LimitRules, SpendingBudget
from bot.store.counters import Counter
from handoff import events as ev
from tests.store.kit import free_port, tcp_server
from tests.system.brains import Gate, connect, escalation, in_turn, plan, provider, purposes, result, subtask, tool_call
from tests.system.scene import SAMPLE, Scene, Talk, block_of, buttons, card_title, eventually, scene_on

ONE = plan(subtask("only", "writer"))
WHICH = escalation("ambiguous_input", "Which one?", ["Tea", "Scones"])


class Redis:
    """A server that can be killed and started again with what it had on disk."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._up = ExitStack()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        settings = ("--appendonly", "yes", "--appendfsync", "always")
        self._up.enter_context(tcp_server(self._folder, *settings, port=self.port))

    def kill(self) -> None:
        self._up.close()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    """A server of this test's own."""
    server = Redis(tmp_path / "redis")
    server.start()
    yield server
    server.kill()


@pytest.fixture
async def lone(redis: Redis) -> AsyncIterator[Scene]:
    """A scene on it, whose Slack does not wait for long."""
    async with scene_on(redis.url, ack_seconds=1.0) as made:
        yield made


def list_private_messages(scene: Scene, talk: Talk, words: str, who: str = "ana") -> list[dict[str, Any]]:
    """What a person alone was told with these words."""
    return [message for message in scene.person(who).ephemerals(talk.channel) if words in message["text"]]


async def wait_for_log(condition: Callable[[], object]) -> None:
    """Wait for something in the log."""

    async def look() -> object:
        return condition()

    await eventually(look)


async def delivered_again(talk: Talk, kind: type[Any]) -> None:
    """Let Slack's minutes pass, once it has given up for now, until what it delivers again is recorded."""

    async def look() -> object:
        if found := await talk.of(kind):
            return found
        talk.scene.workspace.clock.advance(20)
        await asyncio.sleep(0.1)
        return None

    await eventually(look)


def events(caplog: pytest.LogCaptureFixture, name: str) -> list[logging.LogRecord]:
    """The records of an event."""
    return [record for record in caplog.records if getattr(record, "event", "") == name]


async def test_a_mention_that_cannot_be_recorded_comes_again(
    lone: Scene, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    async with lone.bot() as app:
        await lone.barrier()
        redis.kill()
        talk = await lone.ask("What is 3 * 4?")
        await talk.wait_until_seen(lambda: list_private_messages(lone, talk, "could not record that"))
        app.instance.nudge(talk.key)  # rather than wait for its next look
        await wait_for_log(lambda: events(caplog, "store_away"))
        assert talk.reactions() == [], "it is not said to be received"
        redis.start()
        await delivered_again(talk, ev.RequestAdded)
        job = await talk.over()
        await talk.wait_until_seen(talk.reactions)
        await lone.barrier()
        await wait_for_log(lambda: events(caplog, "store_back"))
    assert job.latest_request.state == "completed"
    assert len(await talk.of(ev.RequestAdded)) == len(talk.cards()) == len(talk.words()) == 1
    assert len(list_private_messages(lone, talk, "could not record that")) == 1, "once, however often it was delivered"
    assert len(events(caplog, "store_away")) == len(events(caplog, "store_back")) == 1
    assert "cannot be reached" in events(caplog, "store_away")[0].getMessage()


async def test_replies_clicks_and_commands_while_the_store_is_away(lone: Scene, redis: Redis) -> None:
    words = in_turn(WHICH, WHICH, result("Done."))
    async with provider(planner=lambda _: ONE, writer=words) as server, lone.bot(connect("chat", server)):
        talk = await lone.ask("Do it")
        question = await talk.question()
        (card,) = await talk.wait_until_seen(lambda: [one for one in talk.cards() if buttons(one)])
        redis.kill()
        await lone.person().click(talk.channel, question["ts"], "answer:0")
        await talk.wait_until_seen(lambda: len(list_private_messages(lone, talk, "nothing was recorded")) == 1)
        await lone.person().click(talk.channel, card["ts"], "stop")
        await talk.wait_until_seen(lambda: len(list_private_messages(lone, talk, "nothing was recorded")) == 2)
        assert "nothing was recorded" in (await lone.command(f"cancel {talk.key.job}"))["text"]
        await talk.say("Scones")
        await talk.wait_until_seen(lambda: list_private_messages(lone, talk, "could not record that"))
        redis.start()
        await delivered_again(talk, ev.QuestionAnswered)
        await talk.question(2)
        await lone.person().click(talk.channel, (await talk.question(2))["ts"], "answer:0")
        job = await talk.over()
    assert [answer.text.split(": ")[1] for answer in job.latest_request.subtasks["only"].answer_notes] == [
        "Scones",
        "Tea",
    ]
    assert job.latest_request.state == "completed", "no Stop was recorded"
    assert not lone.person().errors()


async def test_work_under_way_goes_on_when_the_store_is_back(
    lone: Scene, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(result("Done."))
    rules = LimitRules(max_concurrent=1, budgets={"job": SpendingBudget(tokens=1_000_000)})
    async with (
        provider(planner=lambda _: ONE, writer=gate) as server,
        lone.bot(connect("chat", server), lease=60.0, rules=rules),
    ):
        talk = await lone.ask("Do it")
        await gate.arrival_event.wait()
        await talk.wait_until_seen(talk.cards)
        redis.kill()
        gate.open()
        await wait_for_log(lambda: "let go of for now" in caplog.text)
        await wait_for_log(lambda: events(caplog, "store_away"))
        redis.start()
        job = await talk.over()
    assert job.latest_request.state == "completed"
    slots, tokens = Counter(f"calls:{job.place.team}", "slots", 1), f"job:{job.place.team}/{job.id}:tokens"
    taken = (job.latest_request.usage.tokens_in + job.latest_request.usage.tokens_out) / job.latest_request.usage.calls
    held, spent = await lone.store.counters.read_spending([slots, Counter(tokens, "life", 1)])
    assert held == 0, "the call's end was noted when the store was back"
    assert spent < taken * (len(server.requests) + 1), "and what it took is counted once"
    assert len(talk.cards()) == len(talk.words()) == 1
    assert not await talk.of(ev.TakenOver), "nobody waited for the lease to end, and no owner counts as lost"


CHART = tool_call(
    "draw_chart",
    title="Sales",
    kind="bar",
    sql="SELECT region, sum(revenue_eur) AS total FROM sales GROUP BY region",
    x="region",
    y=["total"],
)


class Noticing(logging.Handler):
    """Starts the server again at the moment when the bot says that it could not be reached: for one call alone."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(logging.WARNING)
        self._redis = redis
        self.has_noticed = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self.has_noticed and ("broke" in record.getMessage() or "let go of for now" in record.getMessage()):
            self.has_noticed = True
            self._redis.start()


async def test_a_store_that_is_away_while_a_tool_keeps_a_file_is_no_fault_of_the_tool(
    lone: Scene, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    back = Noticing(redis)
    async with (
        provider(planner=lambda _: plan(subtask("only", "analyst")), analyst=in_turn(CHART, result("Here."))) as server,
        lone.bot(connect("chat", server), lease=60.0),
    ):
        talk = await lone.ask("Draw the sales by region", files=[SAMPLE])
        await eventually(lambda: talk.of(ev.TurnTaken))
        redis.kill()  # while the chart is drawn
        logging.getLogger().addHandler(back)
        await wait_for_log(lambda: back.has_noticed)
        logging.getLogger().removeHandler(back)
        job = await talk.over()
        out = await lone.store.counters.read_breakers()
    assert job.latest_request.state == "completed"
    assert block_of(talk.words()[-1], "data_visualization"), "the chart stands in the answer"
    assert talk.files() == []
    assert len(await talk.of(ev.AttemptStarted)) == 1, "no attempt is consumed"
    assert not await talk.of(ev.AttemptFailed)
    assert not await talk.of(ev.TakenOver)
    assert purposes(server).count("specialist:analyst") == 2, "it goes on after its last turn"
    assert out == {}, "nobody is left alone for it"
    assert "broke" not in caplog.text


async def test_an_answer_may_come_before_its_plan_card_and_never_without_it(lone: Scene, redis: Redis) -> None:
    """A card that is in doubt is looked for, for seconds, and a quick answer does not wait for it.

    So there is a moment in which the answer stands in the thread alone. The request is not over then: that takes the
    card's last edit, and so the card.
    """
    lone.workspace.faults.add("chat.postMessage", "server_error_before")
    # No look ends before clear().
    lone.workspace.faults.add("conversations.replies", "server_error_before", times=1_000)
    async with lone.bot():
        talk = await lone.ask("What is 3 * 4?")
        await talk.wait_until_seen(talk.words)
        job = await talk.job()
        assert job is not None
        assert not talk.cards()
        assert job.current_request is not None, "it is not over without its card"
        lone.workspace.faults.clear()
        redis.kill()
        redis.start()
        job = await talk.over()
    (card,), (_answer,) = talk.cards(), talk.words()
    assert card_title(card).startswith("Done in ")
    assert job.latest_request.state == "completed"
