"""Reads a streamed reply as JSON events, and gives up a server that says nothing for too long.

Events are timed, not the socket: comments and pings keep a connection open for ever. They are read from the bytes,
as the SDKs' own objects for each event take more time than all the rest of a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from bot.models.model_faults import was_unsent
from bot.models.wire import SilentError, json_object

SILENCE = 120.0
"""Seconds that a server may say nothing: as long as models of the providers think without a word."""
PREFILL = 20.0
"""Tokens of a prompt that a small machine reads a second. It says nothing while it does."""
_NO_STREAMS = ("json", "html")
_STALE = 3
"""Connections that the server had closed and that one call may be sent over, before it counts as sent."""
_ROUNDS = 3
"""Rounds of the loop in which it reads the ends of kept connections that have come while it was busy."""
_FAREWELL = 1.0
"""Seconds that a server gets to end the stream after its last event, so that the connection can be used again."""

Event = dict[str, Any]
Kind = Literal["opening", "words", "last"]
"""An event that only opens a reply, one with a part of it, and the last one."""
Opening = Callable[[], AbstractAsyncContextManager[Any]]
"""Makes what sends a request when it is entered, and then gives its response."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Quiet:
    """The seconds without an event after which a call is given up: before the first words, and after them."""

    first: float
    between: float


def quiet_of(silence: float, prompt_tokens: int = 0) -> Quiet:
    """Return the limits for a setting. `prompt_tokens` are those that a machine of unknown speed reads first."""
    return Quiet(silence + prompt_tokens / PREFILL, silence)


async def read_events(opening: Opening, quiet: Quiet, kind_of: Callable[[Event], Kind]) -> AsyncGenerator[Event, None]:
    """Send a request and give the events of its response as they come, without pings.

    A reply that is no stream is one event. Raises SilentError, BadReplyError, or whatever the connection raises.
    """
    patience = _Patience(quiet)
    async with contextlib.AsyncExitStack() as stack:
        response = await patience.wait(_opened(stack, opening))
        if any(kind in response.headers.get("content-type", "") for kind in _NO_STREAMS):
            yield json_object(await patience.wait(response.aread()))
            return
        lines = _Lines()
        chunks = response.aiter_bytes()
        while (chunk := await patience.wait(anext(chunks, None))) is not None:
            for line in lines.feed(chunk):
                event = None if line == b"[DONE]" else json.loads(line)
                kind: Kind = "last" if event is None else kind_of(event)
                if event is not None and event.get("type") != "ping":
                    yield event
                    patience.renew(spoken=kind != "opening")
                if kind == "last":
                    await _drain(chunks)
                    return
        if rest := lines.rest():
            yield json.loads(rest)


async def _opened(stack: contextlib.AsyncExitStack, opening: Opening) -> Any:
    """Send a request; once more if the connection was closed before all of it was sent, as it cost nothing then."""
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
    for _ in range(_STALE):
        try:
            return await stack.enter_async_context(opening())
        except Exception as error:
            if not was_unsent(error):
                raise
    return await stack.enter_async_context(opening())


class _Patience:
    """How long the next event may take."""

    def __init__(self, quiet: Quiet) -> None:
        self._quiet = quiet
        self._clock = asyncio.get_running_loop().time
        self._spoken = False
        self.renew(spoken=False)

    def renew(self, *, spoken: bool) -> None:
        """Begin to wait anew, as something came. `spoken` if it was a part of the reply."""
        self._spoken = self._spoken or spoken
        self._until = self._clock() + (self._quiet.between if self._spoken else self._quiet.first)

    async def wait(self, what: Awaitable[_T]) -> _T:
        """Wait for something. Raises SilentError."""
        try:
            async with asyncio.timeout_at(self._until) as timer:
                return await what
        except TimeoutError:
            if not timer.expired():
                raise
            raise SilentError(self._quiet.between if self._spoken else self._quiet.first, spoken=self._spoken) from None


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Wait for the end of the response. The reply is there, whatever becomes of the connection."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_FAREWELL):
            while await anext(chunks, None) is not None:
                pass


class _Lines:
    """Cuts bytes into the data of events. All providers send the JSON of an event on one line."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *whole, self._open = (self._open + chunk).split(b"\n")
        return [data for line in whole if (data := _data(line))]

    def rest(self) -> bytes:
        """Return the last event, if its line was not ended."""
        return _data(self._open) if self._open.rstrip().endswith(b"}") else b""


def _data(line: bytes) -> bytes:
    return line[5:].strip() if line.startswith(b"data:") else b""
