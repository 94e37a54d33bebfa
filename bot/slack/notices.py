"""Words for one person: seen by nobody else, kept by nobody."""

from __future__ import annotations

import logging

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.views.outgoing import Outgoing, section
from handoff.contracts import Place

log = logging.getLogger(__name__)

_NOT_THERE = frozenset({"not_in_channel", "channel_not_found", "user_not_in_channel", "is_archived"})

STALE = "That question is closed: it was answered, or its request is over."
NOT_YOURS = "Only who asked for this job may do that."
UNKNOWN = "I do not know that job any more. Finished jobs are forgotten after a while."
NEWER = "A newer release of me works on that job, and goes on with it when it runs; this one cannot read it."
UNREADABLE = "The record of that job is damaged, so I cannot read it. Whoever runs me finds what is wrong in the log."
OLD_BUTTON = "That button no longer does anything. Mention me again if you need something."
NOTHING_TO_STOP = "There is nothing to stop: no request of this thread is under way."
STOPPING = "Stopping. A report of what was done follows in the thread."

SET_ASIDE = (
    "I noted that, but the job of this thread is set aside: nothing goes on here until an admin releases it, or it is "
    "stopped (`/leadhand cancel`). To have it done now, ask in a new thread."
)
NO_ADMINS = "Only an admin may do that, and there is none: LEADHAND_ADMINS names them by their Slack ids."
NOT_ASIDE = "That job is not set aside: there is nothing to release."
AWAY = (
    "My store cannot be reached, so I could not record that. Slack delivers it to me again within the next minutes, "
    "and I go on then: once I react with :eyes:, I have it."
)
NOT_RECORDED = "My store cannot be reached, so nothing was recorded. Try again in a minute."


def note(text: str) -> Outgoing:
    """A sentence of our own as a message."""
    return Outgoing(text=text, blocks=(section(text),))


async def tell(client: AsyncWebClient, place: Place, user: str, message: Outgoing) -> None:
    """Show a message to one person in the thread, or in direct messages where the bot is not in the channel."""
    thread_ts = place.thread_ts or None
    blocks = list(message.blocks)
    try:
        await client.chat_postEphemeral(
            channel=place.channel, user=user, thread_ts=thread_ts, text=message.text, blocks=blocks
        )
    except SlackApiError as error:
        if error.response.get("error") not in _NOT_THERE:
            raise
        direct = await client.conversations_open(users=user)
        await client.chat_postMessage(
            channel=direct["channel"]["id"], text=message.text, blocks=blocks, unfurl_links=False, unfurl_media=False
        )
