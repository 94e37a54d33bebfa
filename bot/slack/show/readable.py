"""What may be read of a channel for a person, and told in another place."""

from __future__ import annotations

from bot.slack.show.directory import Directory, KnownChannel, NotTold
from handoff.access.audience import may_go
from handoff.contracts import Audience
from specialists.tools.messenger import Addressee

INVITE = "Invite me there with `/invite`, or forward the message to me."


async def find_unreadable_reason(directory: Directory, channel: str, user: str, goes: str) -> str:
    """Say why what was said in a channel may not be read for a person and told in another; empty if it may."""
    if channel.startswith("D"):
        return "" if channel == goes else "what was said in direct messages stays there"
    found = await directory.find(channel, user)
    if not isinstance(found, Addressee):
        return channel_words(channel, found)
    there = await directory.find(goes, user) if channel != goes and not goes.startswith("D") else None
    if isinstance(there, Addressee) and there.shared:
        return f"<#{goes}> is shared with another organisation, whose people may not read <#{channel}>"
    came = Audience(channel=channel, kind="private" if found.private else "public")
    if not may_go(came, Audience(channel=goes)) and not goes.startswith("D"):
        return f"<#{channel}> is private, and not all who read <#{goes}> may read it"
    return ""


async def find_readable(directory: Directory, channel: str, user: str) -> KnownChannel | str:
    """Return a channel that may be read for a person, or a sentence that says why not and what to do.

    The sentence names the channel only if the person may know of it.
    """
    try:
        found = await directory.find_channel(channel, user)
    except NotTold as error:
        if error.code != "missing_scope":
            return f"I could not find out if you may read that channel: {error}. Try again in a minute."
        found = None  # a conversation of a group, which the app does not ask to look up
    if found is None or not found.is_readable:
        return f"I cannot read that channel: either I am not in it, or you are not. {INVITE}"
    return found if found.has_bot else f"I am not in {found.name}, so I cannot read it. {INVITE}"


def channel_words(channel: str, why: str) -> str:
    """Say to people what is wrong with a channel; `why` is what a model is told."""
    if "archived" in why:
        return f"<#{channel}> is archived"
    if "looked up" in why:
        return "Slack could not be asked about the channel"
    return f"I am not in <#{channel}> (any more), or its owner may not read it"
