"""Servers that close connections which they said they would keep."""

from __future__ import annotations

import pytest

from specialists.model import ModelError
from tests.models.conftest import ask, connect_to
from tests.models.raw_servers import ClosingServer


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_connection_that_the_server_closed_costs_no_try(*, keeps: bool) -> None:
    server = ClosingServer()
    with server.serving() as url:
        model = connect_to("chat", url, is_own_server=keeps)
        for number in range(1, 6):
            server.close_event.clear()
            turn = await model.reply(ask("word " * 200 * number, max_tries=1))
            assert (turn.text, turn.usage.calls) == ("Hello.", 1)
            assert server.close_event.wait(5)  # holds the loop, which has not read that end yet
        assert server.requests == 5
        await model.close()


async def test_a_server_at_home_is_sent_no_call_over_a_used_connection() -> None:
    """One that is gone by then tells nothing of whether the call was read."""
    server = ClosingServer(closes=False)
    with server.serving() as url:
        model = connect_to("chat", url)
        for _ in range(3):
            await model.reply(ask())
        assert (server.requests, server.connections) == (3, 3)
        await model.close()


async def test_a_call_that_was_read_is_not_sent_again_for_nothing() -> None:
    server = ClosingServer(answers=1)
    with server.serving() as url:
        model = connect_to("chat", url, is_own_server=True)
        await model.reply(ask())
        assert server.close_event.wait(5)
        with pytest.raises(ModelError) as caught:
            await model.reply(ask(max_tries=1))
        assert caught.value.usage.calls == caught.value.tries == 1
        assert server.requests == 2
        await model.close()
