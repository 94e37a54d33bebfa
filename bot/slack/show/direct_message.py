"""Sends one person what their thread cannot show."""

from __future__ import annotations

import logging

from bot.slack.send.outbox import Outbox
from bot.slack.send.web_calls import Allowed, NoReply, SlackRefused
from bot.slack.views.outgoing import Outgoing
from bot.store.interface import Claim

log = logging.getLogger(__name__)


async def send_direct(
    outbox: Outbox, claim: Claim, user: str, key: str, message: Outgoing, *, allowed: Allowed
) -> None:
    """Send a direct message, once at most: without a reply from Slack it is not sent again. Raises Gone."""
    if (await outbox.begin(claim, key)).first and (ts := await tell_person(outbox, user, message, allowed=allowed)):
        await outbox.done(claim, key, ts)


async def tell_person(outbox: Outbox, user: str, message: Outgoing, *, allowed: Allowed | None = None) -> str:
    """Send a direct message and give its id; empty if Slack did not take it, or did not say so. Raises Gone."""
    calls, client = outbox.calls, outbox.client
    try:
        direct = await calls.make("conversations.open", lambda: client.conversations_open(users=user), again=True)
        channel = direct["channel"]["id"]
        sent = await calls.make(
            "chat.postMessage",
            lambda: client.chat_postMessage(
                channel=channel,
                text=message.text,
                blocks=list(message.blocks),
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel=channel,
            allowed=allowed,
        )
    except (SlackRefused, NoReply) as error:
        log.warning("a person could not be told in their direct messages: %s", error)
        return ""
    return str(sent["ts"])
