"""Finds the channel, thread or canvas that a request in a direct message refers to: the one its author has open.

The open view is used only for such a request. Otherwise it is neither stored nor looked up.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.message_reader import CANVAS_TYPE
from bot.slack.receive.payloads import IncomingMessage, OpenView
from bot.slack.send.web_calls import NoReply, SlackRefused, find_shared_calls
from bot.slack.show.admission import find_readable_channel
from bot.slack.show.directory import Directory
from handoff.contracts import Attachment, ChannelSpan
from handoff.conversation.pointing import Pointer, find_pointer

LOOK_BACK_SECONDS = 7 * 86_400.0
"""Seconds of a channel's past that are read."""
LOOKUP_SECONDS = 1.5
"""Maximum seconds for looking up the open view: Slack waits three in all for an acknowledgement."""
MAX_CHANNELS = 3
"""Maximum number of a canvas's channels that are checked."""
_TS_PATTERN = re.compile(r"\d{1,12}\.\d{1,9}")
ATTACH_CANVAS_TEXT = (
    "I cannot tell if you may read the canvas that you have open. Attach it to your message, and I read it."
)


@dataclass(frozen=True, slots=True)
class Referent:
    """The things that a request refers to. `refusal` says why they cannot be read and what to do; else it is empty."""

    reads: tuple[ChannelSpan, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    refusal: str = ""


NO_REFERENT = Referent()


async def find_referent(incoming: IncomingMessage, directory: Directory, client: AsyncWebClient) -> Referent:
    """Return what a message refers to: nothing, if it is not a direct message, is in a thread or has attachments."""
    view = incoming.open_view
    if view is None or not incoming.is_direct or incoming.in_thread or incoming.attachments:
        return NO_REFERENT
    meant = _match_view(view, find_pointer(incoming.text))
    if meant is None:
        return NO_REFERENT
    if meant.canvas:
        return await _find_canvas(meant.canvas, incoming, directory, client)
    return await _find_channel(meant, incoming, directory)


def _match_view(view: OpenView, pointer: Pointer) -> OpenView | None:
    """Return the part of a view that a message refers to; None if it refers to no view, or to another kind of one."""
    if pointer == "channel":
        return replace(view, thread_ts="") if view.channel else None
    fits = {"view": True, "thread": bool(view.thread_ts), "canvas": bool(view.canvas), "": False}
    return view if fits[pointer] else None


async def _find_channel(view: OpenView, incoming: IncomingMessage, directory: Directory) -> Referent:
    """Return the span of a channel or thread to read. If Slack is slow, the right to read it is checked later."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOKUP_SECONDS):
            found = await find_readable_channel(directory, view.channel, incoming.user)
            if isinstance(found, str):
                return Referent(refusal=found)
    now = float(incoming.ts) if _TS_PATTERN.fullmatch(incoming.ts) else time.time()
    since = 0.0 if view.thread_ts else now - LOOK_BACK_SECONDS
    return Referent(reads=(ChannelSpan(channel=view.channel, since=since, until=now, thread_ts=view.thread_ts),))


async def _find_canvas(
    canvas: str, incoming: IncomingMessage, directory: Directory, client: AsyncWebClient
) -> Referent:
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            data = await find_shared_calls(client).make(
                "files.info", lambda: client.files_info(file=canvas), may_repeat=True
            )
            file = data.get("file") or {}
            if await _may_read(file, incoming, directory):
                name = str(file.get("title") or file.get("name") or canvas)[:200]
                return Referent(attachments=(Attachment(file_id=canvas, name=name, media_type=CANVAS_TYPE),))
    except (SlackRefused, NoReply, TimeoutError):
        pass
    return Referent(refusal=ATTACH_CANVAS_TEXT)


async def _may_read(file: Mapping[str, Any], incoming: IncomingMessage, directory: Directory) -> bool:
    """Return True if a canvas is the person's own, was shared with them, or is in a channel that they may read."""
    shared = [one.get("user_id") for one in file.get("dm_mpdm_users_with_file_access") or ()]
    if incoming.user in (file.get("user"), *shared) or incoming.place.channel in (file.get("ims") or ()):
        return True
    channels = [one for name in ("channels", "groups") for one in file.get(name) or ()][:MAX_CHANNELS]
    found = [await find_readable_channel(directory, str(one), incoming.user) for one in channels]
    return any(not isinstance(one, str) for one in found)
