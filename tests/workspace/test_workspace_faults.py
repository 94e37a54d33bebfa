from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncConnectionErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.workspace_server import Workspace
from tests.workspace.conftest import ExpectRefusal


async def test_the_sdk_posts_twice_when_a_reply_is_lost(
    workspace: Workspace, client: AsyncWebClient, general: str
) -> None:
    client.retry_handlers = [AsyncConnectionErrorRetryHandler(max_retry_count=1)]
    workspace.faults.add("chat.postMessage", "lost_reply")
    await client.chat_postMessage(channel=general, text="again")
    assert len(workspace.messages("#general")) == 2


@pytest.mark.parametrize(("kind", "post_count"), [("server_error_before", 0), ("server_error_after", 1)])
async def test_server_errors_before_and_after(
    workspace: Workspace, client: AsyncWebClient, general: str, kind: Any, post_count: int
) -> None:
    workspace.faults.add("chat.postMessage", kind)
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=general, text="x")
    assert caught.value.response.status_code == 500
    assert len(workspace.messages("#general")) == post_count


async def test_a_fault_lasts_as_often_as_asked(
    workspace: Workspace, client: AsyncWebClient, general: str, expect_refusal: ExpectRefusal
) -> None:
    workspace.faults.add("chat.postMessage", "rate_limited", times=2, retry_after=7)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            await client.chat_postMessage(channel=general, text="x")
        assert caught.value.response.headers["Retry-After"] == "7"
    workspace.faults.add("chat.postMessage", "error", error="fatal_error")
    await expect_refusal("fatal_error", client.chat_postMessage(channel=general, text="x"))
    await client.chat_postMessage(channel=general, text="x")
    assert len(workspace.messages("#general")) == 1


async def test_history_may_lag(workspace: Workspace, client: AsyncWebClient, general: str) -> None:
    root = await workspace.person("ana").say("#general", "root")
    workspace.clock.advance(60)
    await client.chat_postMessage(channel=general, text="fresh", thread_ts=root)
    workspace.faults.add("conversations.replies", "lagging_history", times=2, seconds=5)
    for seen in (["root"], ["root", "fresh"]):
        replies = await client.conversations_replies(channel=general, ts=root)
        assert [each["text"] for each in replies["messages"]] == seen
        workspace.clock.advance(6)


async def test_a_slow_reply_outlasts_a_client(workspace: Workspace, general: str) -> None:
    workspace.faults.add("chat.postMessage", "slow_reply", seconds=0.5)
    headers = {"Authorization": f"Bearer {workspace.bot_token}"}
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.1)) as session:
        with pytest.raises(TimeoutError):
            await session.post(
                f"{workspace.api_url}chat.postMessage", json={"channel": general, "text": "x"}, headers=headers
            )
    assert len(workspace.messages("#general")) == 1
