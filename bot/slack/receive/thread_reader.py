"""Reads the thread in which a request was made, up to the request: the messages, the files, and what is missing.

Slack returns a thread oldest first; if not all fits, the newest messages are kept. A later request of the job reads
only the messages since the request before. The job's own posts are left out, as its log has them. The request's own
message is read too, because Slack's `app_mention` may lack the message's files. If the request was made in a window
that was opened from a message, that message is kept apart with its author, because the requester did not write it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.markup import to_plain_text
from bot.slack.receive.message_reader import read_message
from bot.slack.receive.thread_text import (
    MAX_MESSAGES,
    MAX_THREAD_TOKENS,
    SOURCE_MESSAGE_HEADING,
    ThreadMessage,
    ThreadText,
    is_withheld,
    list_people,
    parse_thread_message,
    render_thread_text,
)
from bot.slack.send.lookup import THREAD_NOT_FOUND_CODE, read_key
from bot.slack.send.web_calls import NoReply, SlackRefused, WebCalls
from bot.slack.show.people import People
from handoff.contracts import Attachment, Material, Place, Request
from handoff.state.job_state import Job, RequestState
from handoff.state.value_cache import cache_on_value
from handoff.text.counts import format_count

log = logging.getLogger(__name__)

Json = dict[str, Any]

MAX_READ_SECONDS = 45.0
"""Maximum seconds that reading one thread may take, with all waits for Slack's rate limits."""
PAGE_SIZE = 200
MAX_PAGES = 50
READ_WAITS = (0.0, 0.5, 1.5)
"""Seconds to wait before each reading, until it shows the request's own message: Slack's history may lag."""
MAX_PEOPLE = 40
LOST_FILES_FAULT = "Slack did not let me see if files came with the request. If some did, attach them again."
PASTE_ADVICE = "Paste into the request what it needs from there."
MESSAGE_GONE_FAULT = f"The message that this was started from could not be found: it may be deleted. {PASTE_ADVICE}"

EMPTY_TEXT = ThreadText()


@dataclass(frozen=True, slots=True)
class ThreadReadOutcome:
    """The outcome of reading a thread."""

    thread: ThreadText = EMPTY_TEXT
    """The messages before the request."""
    source_message: ThreadText = EMPTY_TEXT
    """The message from which the request's window was opened, if there was one."""
    own_files: tuple[Attachment, ...] = ()
    """The attachments of the source message if there is one, otherwise of the request's own message."""
    fault: str = ""
    """Why the thread could not be read, or not in time, and what to do; "" otherwise."""
    speakers: tuple[str, ...] = ()
    """The ids of the people who wrote in the thread."""


class ThreadReader:
    """Reads threads, within the budget of Slack calls. `bot_user` is the bot's own user id."""

    def __init__(self, client: AsyncWebClient, calls: WebCalls, people: People, *, bot_user: str) -> None:
        self._client = client
        self._calls = calls
        self._people = people
        self._bot_user = bot_user

    async def read(self, job: Job, request: RequestState, *, room: int = MAX_THREAD_TOKENS) -> ThreadReadOutcome:
        """Read the messages in the thread before a request, as a text of at most `room` tokens.

        If Slack refuses or does not answer, the outcome has a `fault`.
        """
        since, raw_messages, fault, lost_files_fault = find_last_read_ts(job, request), list[Json](), "", ""
        try:
            async with asyncio.timeout(MAX_READ_SECONDS):
                await self._collect_messages(job.place, request.spec, since, raw_messages)
        except SlackRefused as error:
            fault = f"The thread could not be read: {error}. {PASTE_ADVICE}"
        except (NoReply, TimeoutError):
            fault = f"Slack did not give the whole thread in time; what was said last may be missing. {PASTE_ADVICE}"
            lost_files_fault = LOST_FILES_FAULT
        raw_messages.sort(key=lambda one: _parse_ts(one["ts"]))
        own = [one for one in raw_messages if one["ts"] == find_message_ts(request.spec)]
        if not _may_have_earlier_messages(job.place, request.spec):
            return ThreadReadOutcome(
                own_files=_read_own_attachments(request.spec, own), fault="" if own else lost_files_fault
            )
        if _is_from_window(request.spec) and not own:
            fault = fault or MESSAGE_GONE_FAULT
        other_messages, gaps = self._list_other_messages(
            job, request, [one for one in raw_messages if _parse_ts(one["ts"]) > _parse_ts(since)]
        )
        about = _find_source_message(request.spec, own)
        names = await self._find_names([*about, *other_messages])
        zone, offset = await self._people.find_zone(request.spec.user) if other_messages or about else ("UTC", 0)
        thread = render_thread_text(other_messages, names, offset=offset, zone=zone, room=room)
        alone = render_thread_text(about, names, offset=offset, zone=zone, room=room, heading=SOURCE_MESSAGE_HEADING)
        speakers = tuple(dict.fromkeys(one.user for one in other_messages if one.user and not one.by_app))[:MAX_PEOPLE]
        return ThreadReadOutcome(
            replace(thread, gaps=(*thread.gaps, *gaps)),
            alone,
            _read_own_attachments(request.spec, own),
            fault,
            speakers,
        )

    async def _collect_messages(self, place: Place, request: Request, since: str, messages: list[Json]) -> None:
        """Fill `messages` with the messages of the thread, reading again until the request's own message is found.

        Raises SlackRefused and NoReply; `messages` then has those of the last reading.
        """
        for number, wait in enumerate(READ_WAITS, 1):
            await asyncio.sleep(wait)
            messages.clear()
            try:
                await self._collect_pages(place, request, since, messages)
            except SlackRefused as error:
                if error.code != THREAD_NOT_FOUND_CODE or number == len(READ_WAITS):
                    raise
            if _is_from_window(request) or any(one["ts"] == request.id for one in messages):
                return

    async def _collect_pages(self, place: Place, request: Request, since: str, messages: list[Json]) -> None:
        """Add the messages of all pages to `messages`. Slack may repeat the thread's first message; it is added once.

        Raises NoReply if the thread has too many pages.
        """
        cursor = ""
        seen_stamps = set[str]()
        for _ in range(MAX_PAGES):
            data = await self._fetch_page(place, request, since, cursor)
            for one in data.get("messages") or ():
                ts = one.get("ts") if isinstance(one, dict) else None
                if isinstance(ts, str) and ts not in seen_stamps and _should_read(ts, since, request):
                    seen_stamps.add(ts)
                    messages.append(one)
            cursor = (data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return
        raise NoReply(f"conversations.replies: more than {MAX_PAGES} pages")

    async def _fetch_page(self, place: Place, request: Request, since: str, cursor: str) -> Json:
        return await self._calls.make(
            "conversations.replies",
            lambda: self._client.conversations_replies(
                channel=place.channel,
                ts=place.thread_ts,
                oldest=_find_first_ts(since, request),
                latest=_find_request_ts(request),
                inclusive=True,
                include_all_metadata=True,
                limit=PAGE_SIZE,
                cursor=cursor or None,
            ),
            may_repeat=True,
        )

    def _list_other_messages(
        self, job: Job, request: RequestState, messages: list[Json]
    ) -> tuple[list[ThreadMessage], list[str]]:
        """Return the messages that are neither requests nor posts of the job, and gaps that count deleted messages."""
        request_stamps = {find_message_ts(one.spec) for one in job.requests} | {find_message_ts(request.spec)}
        before = [one for one in messages if one["ts"] not in request_stamps and not self._is_own(one, job)]
        other_messages = [one for one in map(parse_thread_message, before) if one is not None]
        deleted_count = sum(is_withheld(one) for one in before)
        lines = [format_count(deleted_count, "deleted message")] if deleted_count else []
        return other_messages, lines

    def _is_own(self, message: Json, job: Job) -> bool:
        """Return True for a post of this job, or for a card, which may be of an earlier job that was erased."""
        if message.get("user") != self._bot_user:
            return False
        request_id, _, what = read_key(message).partition(":")
        if what == "card" or job.find_request(request_id) is not None:
            return True
        return _parse_ts(message["ts"]) > min(_find_request_time(request)[0] for request in job.requests)

    async def _find_names(self, messages: list[ThreadMessage]) -> Mapping[str, str]:
        """Return the names of the authors, and of the people whom they mention, by their ids."""
        people = list_people([*messages[:1], *messages[-MAX_MESSAGES:]])[:MAX_PEOPLE]
        names = await asyncio.gather(*(self._people.find_name(user) for user in people))
        return {user: name for user, name in zip(people, names, strict=True) if name}


def find_last_read_ts(job: Job, request: RequestState) -> str:
    """Return the `ts` up to which the thread was read for earlier requests; "0" if it never was."""
    own, until, first = request.id, request.spec.at, job.place.thread_ts
    before = [(one, spec.id) for one in job.requests if (spec := one.spec).at <= until and spec.id != own]
    read_times = [_find_request_time(one) if name == first else _find_read_time(one) for one, name in before]
    return max(filter(None, read_times), default=((0, 0), "0"))[1]


@cache_on_value
def _find_read_time(request: RequestState) -> tuple[tuple[int, int], str] | None:
    """Return the time of a request, as numbers and as a `ts`, if the thread was read for it, otherwise None."""
    return _find_request_time(request) if _was_thread_read(request) else None


def _find_request_time(request: RequestState) -> tuple[tuple[int, int], str]:
    """Return the time at which a request was made, as numbers and as a `ts`."""
    ts = _find_request_ts(request.spec)
    return _parse_ts(ts), ts


def _was_thread_read(request: RequestState) -> bool:
    """Return True if the thread was read for a request. It was not if Slack refused, or by an earlier release."""
    return (
        request.spec.look_back == "thread"
        and request.is_gathered
        and not any(_is_failed_thread(one) for one in request.materials)
    )


def _is_failed_thread(material: Material) -> bool:
    return material.kind == "thread" and bool(material.fault)


def find_message_ts(request: Request) -> str:
    """Return the `ts` of the request's own message, or of the message from which its window was opened."""
    return request.id.partition("-")[0]


def _is_from_window(request: Request) -> bool:
    """Return True if a request was made in a window that was opened from a message, not in a message of its own."""
    return request.id != find_message_ts(request)


def _find_first_ts(since: str, request: Request) -> str:
    """Return the `ts` from which to read: `since` or, if earlier, that of the message that opened the window."""
    return min(since, find_message_ts(request), key=_parse_ts) if _is_from_window(request) else since


def _should_read(ts: str, since: str, request: Request) -> bool:
    return _parse_ts(ts) > _parse_ts(since) or (_is_from_window(request) and ts == find_message_ts(request))


def _find_source_message(request: Request, own_messages: list[Json]) -> list[ThreadMessage]:
    """Return the message from which the request's window was opened, unless the request already has its words."""
    source_messages = [
        one for one in map(parse_thread_message, own_messages if _is_from_window(request) else ()) if one is not None
    ]
    text = _flatten_text(request.text)
    return [one for one in source_messages if one.files or _flatten_text(to_plain_text(one.words, "")) not in text]


def _flatten_text(text: str) -> str:
    return " ".join(text.split())


def _may_have_earlier_messages(place: Place, request: Request) -> bool:
    """Return True unless the request is the thread's first message, before which nothing was said."""
    return request.id != place.thread_ts


def _find_request_ts(request: Request) -> str:
    """Return the time of a request as a `ts`: that of its own message, or when its window was submitted."""
    return f"{request.at:.6f}" if _is_from_window(request) else request.id


def _parse_ts(ts: str) -> tuple[int, int]:
    seconds, _, micro = ts.partition(".")
    return (int(seconds), int(micro or 0)) if seconds.isdigit() and (micro or "0").isdigit() else (0, 0)


def _read_own_attachments(request: Request, own_messages: list[Json]) -> tuple[Attachment, ...]:
    """Return the attachments of the request's own message, or the files of the message that its window was opened from.

    Messages that the latter forwards are left out, as its text includes them.
    """
    if not own_messages:
        return ()
    content = read_message(own_messages[0])
    return content.all_files if _is_from_window(request) else content.list_attachments(own_messages[0]["ts"])
