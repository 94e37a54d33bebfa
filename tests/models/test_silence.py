"""A call is alive as long as something comes: a silence ends it, and not the sum of its seconds."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

import pytest

from specialists.model import ModelError
from tests.models.conftest import ask, open_pair
from tests.providers.faults import Fault, FaultKind
from tests.providers.rendering import Reply
from tests.providers.wire import Api

SILENCE = 0.6


@pytest.mark.parametrize(
    ("kind", "after", "has_begun"),
    [("hang", 0, False), ("silence_in_stream", 9, True), ("pings_in_stream", 1, False), ("pings_in_stream", 9, True)],
)
async def test_a_silence_is_given_up_and_pings_and_comments_are_one(
    api: Api, kind: FaultKind, after: int, *, has_begun: bool
) -> None:
    """It ends soon, and says which setting to raise."""
    async with open_pair(api, lambda _: Reply("word " * 40, piece=5), silence=SILENCE, is_own_server=True) as pair:
        await pair.model.warm()
        pair.server.fail_next(Fault(kind, after=after))
        began = time.monotonic()
        with pytest.raises(ModelError, match="LEADHAND_SILENCE") as caught:
            await pair.model.reply(ask(timeout_seconds=3600.0))
        assert time.monotonic() - began >= SILENCE
        assert (caught.value.kind, caught.value.transient) == ("timeout", True)
        assert ("fell silent" in str(caught.value)) is has_begun
        assert caught.value.usage.calls == pair.server.stats.calls == 1  # it is not asked again


async def test_a_long_reply_that_keeps_coming_succeeds(api: Api) -> None:
    async with open_pair(api, lambda _: Reply("word " * 40, piece=5, pause=0.05), silence=SILENCE) as pair:
        await pair.model.warm()
        began = time.monotonic()
        turn = await pair.model.reply(ask())
    assert turn.text == "word " * 40
    assert time.monotonic() - began > 3 * SILENCE


async def test_a_server_at_home_gets_time_to_read_the_prompt(api: Api) -> None:
    long = "word " * 60  # about 100 tokens: five seconds more
    slow: dict[str, Any] = {"latency": 3 * SILENCE, "silence": SILENCE}
    async with open_pair(api, lambda _: Reply("Read."), **slow) as home:
        assert (await home.model.reply(ask(long))).text == "Read."
    async with open_pair(api, lambda _: Reply("Read."), **slow, is_own_server=True) as own:
        with pytest.raises(ModelError, match="said nothing"):
            await own.model.reply(ask(long))


async def test_calls_that_queue_at_a_server_at_home_wait_for_each_other() -> None:
    turns = itertools.count(1)
    options: dict[str, Any] = {"latency": lambda _: 0.5 * next(turns), "silence": 1.0}
    # Half a second more than the silence is for each prompt to be read.
    async with open_pair("chat", lambda _: Reply("Read."), **options) as home:
        await home.model.warm()
        replies = await asyncio.gather(*(home.model.reply(ask("word " * 6)) for _ in range(5)))
    assert [turn.text for turn in replies] == ["Read."] * 5


async def test_one_connection_serves_one_call_after_the_other(api: Api) -> None:
    """A stream is read to its end: else every call would pay for a new connection."""
    options = {"is_own_server": True} if api == "chat" else {}  # servers at home get a new one each time
    async with open_pair(api, lambda _: Reply("Yes."), **options) as pair:
        for _ in range(3):
            await pair.model.reply(ask())
        ports = {request.headers["peer"] for request in pair.server.requests}
    assert len(ports) == 1
