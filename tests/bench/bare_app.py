"""The least that a bot can do with a mention: a Bolt app that records it in Redis, then reacts. Nothing else.

The bench compares Leadhand's acknowledgement with this app's, in one run and at the same pace.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import redis.asyncio as redis
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.jobs.shutdown import wait_for_stop


async def main() -> None:
    """Serve until SIGTERM; prints `ready` once connected."""
    store = redis.Redis.from_url(os.environ["REDIS_URL"])
    client = AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"])
    app = AsyncApp(client=client, name="bare", process_before_response=True)

    @app.event("app_mention")
    async def acknowledge(event: dict[str, Any], body: dict[str, Any]) -> None:
        if await store.set(f"seen:{body['event_id']}", 1, nx=True, ex=3600):
            await store.xadd(f"thread:{event['ts']}", {"event": json.dumps(event)})
            await client.reactions_add(channel=event["channel"], timestamp=event["ts"], name="eyes")

    handler = AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"])
    await handler.connect_async()  # type: ignore[no-untyped-call]
    print("ready", flush=True)
    await wait_for_stop()
    await handler.close_async()  # type: ignore[no-untyped-call]
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
