"""Bolt as its own first example has it: synchronous, Socket Mode, and not a word about an address."""

import os
from typing import Any

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler

app = App(token=os.environ["SLACK_BOT_TOKEN"])


@app.event("app_mention")
def mention(event: dict[str, Any], say: Any) -> None:
    say(f"Hi <@{event['user']}>", thread_ts=event["ts"])


@app.command("/echo")
def command(ack: Any, command: dict[str, Any]) -> None:
    ack(command["text"])


if __name__ == "__main__":
    SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start()  # type: ignore[no-untyped-call]
