"""Reads the thread that a request was made in, up to the request: what was said, the files, and what is missing.

It reads forward, as Slack gives threads, and keeps the newest. A later request of the job reads what came since the one
before. The job's own posts are left out, as its log has them. The request's own message is looked at as well: Slack's
`app_mention` may lack the files that the message has. The message that a request was made from in a window stands by
itself, with its author: the requester did not write it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.markup import plain_text
from bot.slack.receive.message_reader import read_message
from bot.slack.receive.thread_text import (
    ABOUT,
    MOST_MESSAGES,
    THREAD_TOKENS,
    ThreadMessage,
    ThreadText,
    is_withheld,
    parse_thread_message,
    people_in,
    thread_text,
)
from bot.slack.send.lookup import NOT_YET, read_key
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from bot.slack.show.people import People
from handoff.contracts import Attachment, Material, Place, Request
from handoff.state.derived_values import cache_on_value
from handoff.state.job_state import Job, RequestState
from handoff.text.counts import format_count

log = logging.getLogger(__name__)

Json = dict[str, Any]

SECONDS = 45.0
"""Seconds that reading one thread may take: a "too many" of Slack's is waited out that long, and no longer."""
PAGE = 200
MOST_PAGES = 50
LOOKS = (0.0, 0.5, 1.5)
"""Seconds before each look for the request's own message: Slack's history may lag behind its events."""
MOST_PEOPLE = 40
LOST_FILES = "Slack did not let me see if files came with the request. If some did, attach them again."
PASTE = "Paste into the request what it needs from there."
MESSAGE_GONE = f"The message that this was started from could not be found: it may be deleted. {PASTE}"

NOTHING_SAID = ThreadText()


@dataclass(frozen=True, slots=True)
class ThreadRead:
    """What came of reading a thread.

    `about` is the message that the request was made from in a window. `own_files` are those of that message, or of the
    request's own. `speakers` are the ids of the people who wrote. `fault` says why the thread could not be read, and
    what to do.
    """

    thread: ThreadText = NOTHING_SAID
    about: ThreadText = NOTHING_SAID
    own_files: tuple[Attachment, ...] = ()
    fault: str = ""
    speakers: tuple[str, ...] = ()


class ThreadReader:
    """Reads threads, within the budget of calls. `bot_user` tells the bot's own messages from others'."""

    def __init__(self, client: AsyncWebClient, calls: WebCalls, people: People, *, bot_user: str) -> None:
        self._client = client
        self._calls = calls
        self._people = people
        self._bot_user = bot_user

    async def read(self, job: Job, ask: RequestState, *, room: int = THREAD_TOKENS) -> ThreadRead:
        """Read what was said in the thread before a request, in at most `room` tokens. A refusal is a fault."""
        since, found, fault, lost = find_last_read(job, ask), list[Json](), "", ""
        try:
            async with asyncio.timeout(SECONDS):
                await self._find(job.place, ask.request, since, found)
        except SlackRefused as error:
            fault = f"The thread could not be read: {error}. {PASTE}"
        except (NoReply, TimeoutError):
            fault = f"Slack did not give the whole thread in time; what was said last may be missing. {PASTE}"
            lost = LOST_FILES
        found.sort(key=lambda one: _parse_ts(one["ts"]))
        own = [one for one in found if one["ts"] == find_message_ts(ask.request)]
        if not _may_have_thread(job.place, ask.request):
            return ThreadRead(own_files=_read_own_attachments(ask.request, own), fault="" if own else lost)
        if _is_from_window(ask.request) and not own:
            fault = fault or MESSAGE_GONE
        said, gaps = self._list_other_messages(
            job, ask, [one for one in found if _parse_ts(one["ts"]) > _parse_ts(since)]
        )
        about = _find_source_message(ask.request, own)
        names = await self._find_names([*about, *said])
        zone, offset = await self._people.zone(ask.request.user) if said or about else ("UTC", 0)
        thread = thread_text(said, names, offset=offset, zone=zone, room=room)
        alone = thread_text(about, names, offset=offset, zone=zone, room=room, above=ABOUT)
        speakers = tuple(dict.fromkeys(one.user for one in said if one.user and not one.by_app))[:MOST_PEOPLE]
        return ThreadRead(
            replace(thread, gaps=(*thread.gaps, *gaps)), alone, _read_own_attachments(ask.request, own), fault, speakers
        )

    async def _find(self, place: Place, request: Request, since: str, found: list[Json]) -> None:
        """Collect the messages in `found`, the oldest first, so that what was read before a fault is there."""
        for number, wait in enumerate(LOOKS, 1):
            await asyncio.sleep(wait)
            found.clear()
            try:
                await self._follow_pages(place, request, since, found)
            except SlackRefused as error:
                if error.code != NOT_YET or number == len(LOOKS):
                    raise
            if _is_from_window(request) or any(one["ts"] == request.id for one in found):
                return

    async def _follow_pages(self, place: Place, request: Request, since: str, found: list[Json]) -> None:
        """Follow the pages. Every page may begin with the thread's first message: it counts once, if it is new."""
        cursor = ""
        seen = set[str]()
        for _ in range(MOST_PAGES):
            data = await self._fetch_page(place, request, since, cursor)
            for one in data.get("messages") or ():
                ts = one.get("ts") if isinstance(one, dict) else None
                if isinstance(ts, str) and ts not in seen and _is_new(ts, since, request):
                    seen.add(ts)
                    found.append(one)
            cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return
        raise NoReply(f"conversations.replies: more than {MOST_PAGES} pages")

    async def _fetch_page(self, place: Place, request: Request, since: str, cursor: str) -> Json:
        return await self._calls.make(
            "conversations.replies",
            lambda: self._client.conversations_replies(
                channel=place.channel,
                ts=place.thread_ts,
                oldest=_find_earliest(since, request),
                latest=_latest_ts(request),
                inclusive=True,
                include_all_metadata=True,
                limit=PAGE,
                cursor=cursor or None,
            ),
            again=True,
        )

    def _list_other_messages(
        self, job: Job, ask: RequestState, found: list[Json]
    ) -> tuple[list[ThreadMessage], list[str]]:
        """Return what was said that is neither a request nor a post of the job, and what of it is withheld."""
        asked = {find_message_ts(one.request) for one in job.asks} | {find_message_ts(ask.request)}
        before = [one for one in found if one["ts"] not in asked and not self._is_own(one, job)]
        said = [one for one in map(parse_thread_message, before) if one is not None]
        withheld = sum(is_withheld(one) for one in before)
        lines = [format_count(withheld, "deleted message")] if withheld else []
        return said, lines

    def _is_own(self, message: Json, job: Job) -> bool:
        """Return True for a post of this job, and for the card of a job that is forgotten by now."""
        if message.get("user") != self._bot_user:
            return False
        request, _, what = read_key(message).partition(":")
        if what == "card" or job.find_request(request) is not None:
            return True
        return _parse_ts(message["ts"]) > min(_request_time(ask)[0] for ask in job.asks)

    async def _find_names(self, said: list[ThreadMessage]) -> Mapping[str, str]:
        """Look up the names of those who wrote, and of those whom they named."""
        people = people_in([*said[:1], *said[-MOST_MESSAGES:]])[:MOST_PEOPLE]
        names = await asyncio.gather(*(self._people.name(user) for user in people))
        return {user: name for user, name in zip(people, names, strict=True) if name}


def find_last_read(job: Job, ask: RequestState) -> str:
    """Return the `ts` up to which the thread was read for earlier requests; 0 if it never was."""
    own, until, first = ask.id, ask.request.at, job.place.thread_ts
    before = [(one, said.id) for one in job.asks if (said := one.request).at <= until and said.id != own]
    found = [_request_time(one) if name == first else _read_until(one) for one, name in before]
    return max(filter(None, found), default=((0, 0), "0"))[1]


@cache_on_value
def _read_until(ask: RequestState) -> tuple[tuple[int, int], str] | None:
    """Return when a request was made if the thread was read for it, else None."""
    return _request_time(ask) if _was_read(ask) else None


def _request_time(ask: RequestState) -> tuple[tuple[int, int], str]:
    """Return when a request was made, as numbers and as a `ts`."""
    ts = _latest_ts(ask.request)
    return _parse_ts(ts), ts


def _was_read(ask: RequestState) -> bool:
    """Return True if the thread was read for a request: not by an earlier release, nor if Slack refused."""
    return (
        ask.request.look_back == "thread" and ask.gathered and not any(_is_failed_thread(one) for one in ask.materials)
    )


def _is_failed_thread(material: Material) -> bool:
    return material.kind == "thread" and bool(material.fault)


def find_message_ts(request: Request) -> str:
    """Return the `ts` of the message that a request was made with, or was made from in a window."""
    return request.id.partition("-")[0]


def _is_from_window(request: Request) -> bool:
    """Return True if a request was made in a window that was opened from a message, and not in a message of its own."""
    return request.id != find_message_ts(request)


def _find_earliest(since: str, request: Request) -> str:
    """Return from when on to read: a window may have been opened from a message that was read before."""
    return min(since, find_message_ts(request), key=_parse_ts) if _is_from_window(request) else since


def _is_new(ts: str, since: str, request: Request) -> bool:
    return _parse_ts(ts) > _parse_ts(since) or (_is_from_window(request) and ts == find_message_ts(request))


def _find_source_message(request: Request, own: list[Json]) -> list[ThreadMessage]:
    """Return the message that a request was made from in a window, unless the requester's words are those already."""
    said = [one for one in map(parse_thread_message, own if _is_from_window(request) else ()) if one is not None]
    text = _flatten_text(request.text)
    return [one for one in said if one.files or _flatten_text(plain_text(one.words, "")) not in text]


def _flatten_text(text: str) -> str:
    return " ".join(text.split())


def _may_have_thread(place: Place, request: Request) -> bool:
    """Return True if something may have been said in the thread before the request."""
    return request.id != place.thread_ts


def _latest_ts(request: Request) -> str:
    """Return when the request was made, as a `ts`. A window is sent later than the message that it was opened from."""
    return f"{request.at:.6f}" if _is_from_window(request) else request.id


def _parse_ts(ts: str) -> tuple[int, int]:
    seconds, _, micro = ts.partition(".")
    return (int(seconds), int(micro or 0)) if seconds.isdigit() and (micro or "0").isdigit() else (0, 0)


def _read_own_attachments(request: Request, own: list[Json]) -> tuple[Attachment, ...]:
    """Return what came with a request's own message, or with the one that its window was opened from.

    The words that this one forwards are left out, as they are in its text.
    """
    if not own:
        return ()
    content = read_message(own[0])
    return content.all_files if _is_from_window(request) else content.list_attachments(own[0]["ts"])
