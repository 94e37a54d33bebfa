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
from bot.slack.receive.payloads import AppContext, IncomingMessage
from bot.slack.send.web_calls import NoReply, SlackRefused, find_shared_calls
from bot.slack.show.admission import find_readable_channel
from bot.slack.show.directory import Directory
from handoff.contracts import Attachment, ChannelSpan
from handoff.conversation.implicit_references import ReferenceKind, find_implicit_reference

LOOK_BACK_SECONDS = 7 * 86_400.0
"""Length in seconds of the part of a channel that is read, back from the message."""
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
    """The things that a request refers to. `refusal` tells the person why they cannot be read; empty if they can."""

    reads: tuple[ChannelSpan, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    refusal: str = ""


NO_REFERENT = Referent()


async def find_referent(incoming: IncomingMessage, directory: Directory, client: AsyncWebClient) -> Referent:
    """Return the things that a message refers to. Only a direct message outside threads and without attachments can."""
    view = incoming.app_context
    if view is None or not incoming.is_direct or incoming.in_thread or incoming.attachments:
        return NO_REFERENT
    matched_view = _match_view(view, find_implicit_reference(incoming.text))
    if matched_view is None:
        return NO_REFERENT
    if matched_view.canvas:
        return await _make_canvas_referent(matched_view.canvas, incoming, directory, client)
    return await _make_channel_referent(matched_view, incoming, directory)


def _match_view(view: AppContext, pointer: ReferenceKind) -> AppContext | None:
    """Return the part of an open view that a pointer refers to; None if there is none, or the kind does not fit."""
    if pointer == "channel":
        return replace(view, thread_ts="") if view.channel else None
    fits = {"view": True, "thread": bool(view.thread_ts), "canvas": bool(view.canvas), "": False}
    return view if fits[pointer] else None


async def _make_channel_referent(view: AppContext, incoming: IncomingMessage, directory: Directory) -> Referent:
    """Return the span of a channel or thread to read. If Slack is slow, the right to read it is checked later."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOKUP_SECONDS):
            channel = await find_readable_channel(directory, view.channel, incoming.user)
            if isinstance(channel, str):
                return Referent(refusal=channel)
    now = float(incoming.ts) if _TS_PATTERN.fullmatch(incoming.ts) else time.time()
    since = 0.0 if view.thread_ts else now - LOOK_BACK_SECONDS
    return Referent(reads=(ChannelSpan(channel=view.channel, since=since, until=now, thread_ts=view.thread_ts),))


async def _make_canvas_referent(
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
    user_ids = [one.get("user_id") for one in file.get("dm_mpdm_users_with_file_access") or ()]
    if incoming.user in (file.get("user"), *user_ids) or incoming.place.channel in (file.get("ims") or ()):
        return True
    channels = [one for name in ("channels", "groups") for one in file.get(name) or ()][:MAX_CHANNELS]
    lookup_results = [await find_readable_channel(directory, str(one), incoming.user) for one in channels]
    return any(not isinstance(one, str) for one in lookup_results)
