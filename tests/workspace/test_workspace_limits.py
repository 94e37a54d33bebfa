from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler

from tests.workspace.conftest import Clients, Start


async def until_limited(call: Any, most: Any) -> Any:
    for count in range(most + 1):
        try:
            await call()
        except SlackApiError as error:
            return count, error.response
    raise AssertionError(f"not limited after {most} calls")


async def test_a_channel_takes_one_post_a_second_and_a_few_at_once(start: Start, client_of: Clients) -> None:
    workspace = await start()
    client = client_of(workspace)
    general, sales = workspace.channel_id("#general"), workspace.channel_id("#sales")
    count, response = await until_limited(lambda: client.chat_postMessage(channel=general, text="x"), 10)
    assert 2 <= count <= 6
    assert response.status_code == 429
    assert response["error"] == "ratelimited"
    assert int(response.headers["Retry-After"]) == 1
    await client.chat_postMessage(channel=sales, text="another channel")
    workspace.clock.advance(1)
    await client.chat_postMessage(channel=general, text="a second later")


@pytest.mark.parametrize(
    ("method", "args", "limit"),
    [
        ("chat.update", {"channel": "C", "ts": "1.0"}, 50),
        ("reactions.add", {"channel": "C", "name": "x", "timestamp": "1.0"}, 50),
        ("conversations.replies", {"channel": "C", "ts": "1.0"}, 50),
        ("chat.startStream", {"channel": "C"}, 20),
        ("canvases.create", {"title": "x", "document_content": {"type": "x"}}, 20),
        ("views.open", {"view": {}}, 100),
        ("assistant.threads.setStatus", {"channel_id": "C", "thread_ts": "1.0", "status": "x"}, 60),
    ],
)
async def test_calls_a_minute(start: Start, session: aiohttp.ClientSession, method: str, args: Any, limit: int) -> None:
    workspace = await start()
    headers = {"Authorization": f"Bearer {workspace.bot_token}"}
    statuses: list[Any] = []
    while 429 not in statuses and len(statuses) < 2 * limit:  # a slow machine gets some calls back meanwhile
        async with session.post(f"{workspace.api_url}{method}", json=args, headers=headers) as response:
            statuses.append(response.status)
    assert response.status == 429
    assert int(response.headers["Retry-After"]) >= 1
    assert limit <= statuses.count(200) <= limit * 1.3


async def test_the_sdk_waits_as_it_is_told(start: Start, client_of: Clients) -> None:
    workspace = await start()
    client = client_of(workspace)
    client.retry_handlers = [AsyncRateLimitErrorRetryHandler(max_retry_count=1)]
    workspace.faults.add("chat.postMessage", "rate_limited", retry_after=1)
    await client.chat_postMessage(channel=workspace.channel_id("#general"), text="patient")
    assert [call.error for call in workspace.calls("chat.postMessage")] == ["ratelimited", ""]
    assert len(workspace.messages("#general")) == 1
