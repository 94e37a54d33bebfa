"""Reads a streamed reply as JSON events, and gives up if no event arrives for too long.

The time between events is limited, not the time between bytes: comments and pings can keep a connection open for
ever. Events are parsed from bytes here, because the SDKs' event objects take more time than all the rest of a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from bot.models.model_faults import was_request_unsent
from bot.models.wire import BadReplyError, SilentError, parse_json_object

SILENCE_SECONDS = 120.0
"""Default seconds that a server may send no event. Models of the providers may think that long without output."""
PREFILL_TOKENS_PER_SECOND = 20.0
"""Prompt tokens that a slow machine reads in a second. It sends no event until it has read all of them."""
MEGABYTE = 1024 * 1024
MAX_STREAM_BYTES, MAX_EVENT_BYTES = 64 * MEGABYTE, 8 * MEGABYTE
"""Maximum bytes of a whole streamed reply; maximum bytes of one event, or of a non-streamed reply."""
_WHOLE_REPLY_TYPES = ("json", "html")
_BUSY_SECONDS = 0.02
"""Seconds of reading events without a pause, after which other tasks and timeouts may run."""
_MAX_RESENDS = 3
"""Maximum number of times that a call is sent again because the server had closed the reused connection."""
_LOOP_ROUNDS = 3
"""Rounds of the event loop before a request, in which the client notices idle connections that the server closed."""
_DRAIN_SECONDS = 1.0
"""Seconds that a server gets to end the stream after its last event, so that the connection can be used again."""

StreamEvent = dict[str, Any]
END_OF_STREAM: StreamEvent = {"type": "end of stream"}
"""The last event that `read_events` yields if the server ended the stream with `[DONE]`."""
StreamEventKind = Literal["opening", "words", "last"]
"""The kind of an event: `opening` has no part of the reply yet, `words` has a part, `last` is the stream's last."""
StreamOpener = Callable[[], AbstractAsyncContextManager[Any]]
"""A function that returns a context manager, which sends a request when entered and yields the response."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SilenceLimits:
    """Seconds without an event that end a call: `first_seconds` before its first words, then `later_seconds`."""

    first_seconds: float
    later_seconds: float


def make_silence_limits(silence: float, prompt_tokens: int = 0) -> SilenceLimits:
    """Return the limits for `silence` seconds. Before the first words, the time to read `prompt_tokens` is added."""
    return SilenceLimits(silence + prompt_tokens / PREFILL_TOKENS_PER_SECOND, silence)


async def read_events(
    open_stream: StreamOpener, limits: SilenceLimits, classify_event: Callable[[StreamEvent], StreamEventKind]
) -> AsyncGenerator[StreamEvent, None]:
    """Send a request and yield the events of its response as they arrive, without pings.

    A reply that is not streamed is one event. Raises SilentError, BadReplyError, ValueError for an event that is not
    JSON, and the errors of the connection.
    """
    silence_timer = _SilenceTimer(limits)
    async with contextlib.AsyncExitStack() as stack:
        response = await silence_timer.wait(_open_with_resends(stack, open_stream))
        if any(kind in response.headers.get("content-type", "") for kind in _WHOLE_REPLY_TYPES):
            yield parse_json_object(await _read_whole_response(response, silence_timer))
            return
        lines, loop_yielder = _EventLineSplitter(), _LoopYielder()
        chunks = response.aiter_bytes()
        while (chunk := await silence_timer.wait(anext(chunks, None))) is not None:
            for line in lines.feed(chunk):
                event = None if line == b"[DONE]" else _parse_event(line)
                kind: StreamEventKind = "last" if event is None else classify_event(event)
                await loop_yielder.yield_to_loop()
                if event is None:
                    yield END_OF_STREAM
                elif event.get("type") != "ping":
                    yield event
                    silence_timer.renew(has_spoken=kind != "opening")
                if kind == "last":
                    await _drain_response(chunks)
                    return
        if rest := lines.flush():
            yield _parse_event(rest)


def _parse_event(line: bytes) -> StreamEvent:
    """Parse an event. Gemini's errors are lists of one event. Raises ValueError or BadReplyError."""
    event = json.loads(line)
    return event if isinstance(event, dict) else parse_json_object(line)


async def _open_with_resends(stack: contextlib.AsyncExitStack, open_stream: StreamOpener) -> Any:
    """Send a request. If the connection closed before it was sent, send it again, since no server has acted on it."""
    for _ in range(_LOOP_ROUNDS):
        await asyncio.sleep(0)
    for _ in range(_MAX_RESENDS):
        try:
            return await stack.enter_async_context(open_stream())
        except Exception as error:
            if not was_request_unsent(error):
                raise
    return await stack.enter_async_context(open_stream())


async def _read_whole_response(response: Any, timer: _SilenceTimer) -> bytes:
    """Read a response that is not streamed. Raises BadReplyError if it is longer than `MAX_EVENT_BYTES`."""
    parts, size = [], 0
    chunks = response.aiter_bytes()
    while (chunk := await timer.wait(anext(chunks, None))) is not None:
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_EVENT_BYTES:
            raise BadReplyError(f"it is longer than {MAX_EVENT_BYTES // MEGABYTE} MB")
    return b"".join(parts)


class _LoopYielder:
    """Lets other tasks run while events arrive without a pause."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._last_yield_at = self._clock()

    async def yield_to_loop(self) -> None:
        """Let other tasks run if they could not for `_BUSY_SECONDS` seconds."""
        if self._clock() - self._last_yield_at > _BUSY_SECONDS:
            await asyncio.sleep(0)
            self._last_yield_at = self._clock()


class _SilenceTimer:
    """A timer for the wait until the next event."""

    def __init__(self, limits: SilenceLimits) -> None:
        self._limits = limits
        self._clock = asyncio.get_running_loop().time
        self._has_spoken = False
        self.renew(has_spoken=False)

    def renew(self, *, has_spoken: bool) -> None:
        """Restart the timer after an event. `has_spoken` says whether the event had a part of the reply."""
        self._has_spoken = self._has_spoken or has_spoken
        self._deadline = self._clock() + (
            self._limits.later_seconds if self._has_spoken else self._limits.first_seconds
        )

    async def wait(self, operation: Awaitable[_T]) -> _T:
        """Await a read of the response and return its result. Raises SilentError if the timer runs out."""
        try:
            async with asyncio.timeout_at(self._deadline) as timer:
                return await operation
        except TimeoutError:
            if not timer.expired():
                raise
            raise SilentError(
                self._limits.later_seconds if self._has_spoken else self._limits.first_seconds,
                has_spoken=self._has_spoken,
            ) from None


async def _drain_response(chunks: AsyncIterator[bytes]) -> None:
    """Read the response to its end. The reply is complete by now, so errors of the connection are ignored."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while await anext(chunks, None) is not None:
                pass


class _EventLineSplitter:
    """Splits a stream of bytes into the data of events. All providers send an event's JSON on one line."""

    def __init__(self) -> None:
        self._open_parts: list[bytes] = []
        self._total_size = self._open_size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of lines that a chunk completes. Raises BadReplyError if a line or the reply is too long."""
        self._total_size += len(chunk)
        has_line_end = b"\n" in chunk
        self._open_size = len(chunk) if has_line_end else self._open_size + len(chunk)
        if self._total_size > MAX_STREAM_BYTES or self._open_size > MAX_EVENT_BYTES:
            most = MAX_STREAM_BYTES if self._total_size > MAX_STREAM_BYTES else MAX_EVENT_BYTES
            raise BadReplyError(f"it goes on for more than {most // MEGABYTE} MB")
        self._open_parts.append(chunk)
        if not has_line_end:
            return []
        *complete_lines, rest = b"".join(self._open_parts).split(b"\n")
        self._open_parts = [rest]
        self._open_size = len(rest)
        return [data for line in complete_lines if (data := _extract_event_data(line))]

    def flush(self) -> bytes:
        """Return the data of a last event whose line has no end; b"" if there is none."""
        line = b"".join(self._open_parts)
        return _extract_event_data(line) if line.rstrip().endswith(b"}") else b""


def _extract_event_data(line: bytes) -> bytes:
    return line[5:].strip() if line.startswith(b"data:") else b""
