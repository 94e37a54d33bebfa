"""Asynchronous Bolt over aiohttp's Socket Mode client."""

import asyncio
import os
from typing import Any

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp

app = AsyncApp(token=os.environ["SLACK_BOT_TOKEN"])


@app.event("app_mention")
async def mention(event: dict[str, Any], client: Any, say: Any) -> None:
    await client.reactions_add(channel=event["channel"], timestamp=event["ts"], name="eyes")
    await say(f"Hi <@{event['user']}>", thread_ts=event["ts"])


async def main() -> None:
    await AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main())
