"""The rate limits that Slack publishes: the calls of a method that a workspace, or a channel, allows in a minute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Priority = Literal["answer", "question", "file", "stream", "settled", "reaction", "card", "status"]
"""The purpose of a call. `file` includes look-ups that work has to wait for, such as who may read a place.
`settled` is an edit or status that lasts: the job has ended, or waits for a person. `card` and `status` show progress:
while one waits, a newer one replaces it."""
RANK_BY_PRIORITY: dict[Priority, int] = {
    "answer": 0,
    "question": 0,
    "file": 1,
    "stream": 2,
    "settled": 3,
    "reaction": 4,
    "card": 5,
    "status": 5,
}
"""The order in which waiting calls get their turns, the lowest rank first."""
PROGRESS_RANK = 5
"""The rank of calls that show progress; they leave reserved turns to the calls that will follow."""
JITTER_SECONDS = 2.0
"""Seconds by which a call may reach Slack later than its turn.

The windows of `LIMIT_BY_METHOD` are longer by as much.
"""


@dataclass(frozen=True, slots=True)
class MethodLimit:
    """The maximum `calls` of a method in any `seconds`: in a workspace, or in each channel if `is_per_channel`."""

    calls: int
    seconds: float = 60.0 + JITTER_SECONDS
    is_per_channel: bool = False


_TIER_2, _TIER_3, _TIER_4 = MethodLimit(20), MethodLimit(50), MethodLimit(100)
LIMIT_BY_METHOD: dict[str, MethodLimit] = {
    "chat.postMessage": MethodLimit(3, 3.0, is_per_channel=True),  # one a second, and short bursts
    "chat.startStream": _TIER_2,
    "chat.stopStream": _TIER_2,
    "chat.appendStream": _TIER_4,
    "chat.update": _TIER_3,
    "chat.delete": _TIER_3,
    "chat.postEphemeral": _TIER_4,
    "reactions.add": _TIER_3,
    "conversations.info": _TIER_3,
    "conversations.history": _TIER_3,
    "conversations.replies": _TIER_3,
    "conversations.open": _TIER_3,
    "agents.sessions.rename": _TIER_3,
    "agents.sessions.setStatus": _TIER_3,
    "assistant.threads.setSuggestedPrompts": _TIER_3,
    "users.info": _TIER_4,
    "views.open": _TIER_4,
    "views.publish": _TIER_4,
    "files.getUploadURLExternal": _TIER_4,
    "files.completeUploadExternal": _TIER_4,
    "files.info": _TIER_4,
    "files.delete": _TIER_3,
    "canvases.delete": _TIER_3,
    "canvases.create": _TIER_2,
    "canvases.access.set": _TIER_3,
    "slackLists.create": _TIER_2,
    "slackLists.access.set": _TIER_3,
    "slackLists.items.create": _TIER_3,
    "slackLists.items.list": _TIER_3,
    "views.push": _TIER_4,
    "views.update": _TIER_4,
}
