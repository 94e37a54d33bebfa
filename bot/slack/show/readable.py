"""What may be read of a channel for a person, and told in another place."""

from __future__ import annotations

from bot.slack.show.directory import Directory
from handoff.access.audience import may_go
from handoff.contracts import Audience
from specialists.tools.messenger import Addressee


async def unreadable(directory: Directory, channel: str, user: str, goes: str) -> str:
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


def channel_words(channel: str, why: str) -> str:
    """Say what is wrong with a channel, from the words of the directory, which are for a model."""
    if "archived" in why:
        return f"<#{channel}> is archived"
    if "looked up" in why:
        return "Slack could not be asked about the channel"
    return f"I am not in <#{channel}> (any more), or its owner may not read it"
