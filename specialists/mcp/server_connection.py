"""A connection to one MCP server: opened at the first call, held by its own task, reopened after a break.

A server may die, hang, flood, or change its tools. Each of these ends the connection or one call, and raises an error
with a text for people.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp import tool_lock
from specialists.mcp.http_client import make_http_client
from specialists.mcp.sdk import load_sdk
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.server_sign_in import SIGN_IN_AGAIN_HINT, SIGN_IN_HINT, ServerSignIn
from specialists.mcp.stdio_pipe import StdioPipe
from specialists.mcp.tool_list_filter import ToolListFilter
from specialists.mcp.tool_lock import LockedTool
from specialists.outbound.network_faults import describe_network_fault

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

CONNECT_SECONDS = 25.0
"""Most seconds until a server has connected and sent its list of tools."""
CALL_SECONDS = 60.0
"""Most seconds that one call may take."""
CLOSE_SECONDS = 8.0
"""Most seconds that closing a connection may take."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds before a new try after a failure. The first pause doubles with each failure in a row, up to the longest."""
MAX_TOOLS = 200
_MAX_PAGES = 20
_TIMED_OUT, _CONNECTION_CLOSED = -32001, -32000
"""Error codes that the SDK itself sets, for a timeout and a closed connection."""
_UNAUTHORIZED_STATUS, _NOT_FOUND = 401, 404
_SESSION_TERMINATED = "Session terminated"
"""The SDK's message for status 404: the server no longer knows the session."""
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class ServerUnreachable(Exception):
    """The server could not be reached, so nothing was sent to it. The text says why, for people."""


class ToolChanged(Exception):
    """A tool differs from the accepted one, or is no longer there (`is_gone`). It was not called."""

    def __init__(self, *, is_gone: bool) -> None:
        super().__init__("is no longer there" if is_gone else "is not what was accepted")
        self.is_gone = is_gone


class CallRefusedByServer(Exception):
    """The server answered a call with an error, or asked for something that is not offered."""


class NoServerAnswer(ConnectionError):
    """A call was sent, and no readable answer came: its outcome is unknown. The text says why."""


class ServerConnection:
    """A connection to one server.

    Args:
        config: How the server is reached.
        home: The HOME of the server, if it is a program.
        path: The PATH of the server, if it is a program.
        clock: Returns seconds, for the pauses between tries.
        sign_in: How people sign in to it; None if they do not.
    """

    def __init__(
        self,
        config: ServerConfig,
        home: Path,
        path: str,
        clock: Callable[[], float] = time.monotonic,
        sign_in: ServerSignIn | None = None,
    ) -> None:
        self.config, self.sign_in = config, sign_in
        self._home, self._path, self._clock = home, path, clock
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._end_event = asyncio.Event()
        self._connect_lock = asyncio.Lock()
        self._live_tools: tuple[LockedTool, ...] = ()
        self._failures, self._next_try_at, self._failure_reason = 0, 0.0, ""
        self._is_closing, self._status, self._flood_fault = False, 0, ""
        self._pipe: StdioPipe | None = None

    async def list_tools(self) -> tuple[LockedTool, ...]:
        """Connect if need be, and return the server's tools as it listed them at the start of the connection.

        Raises:
            ServerUnreachable: The server could not be reached.
        """
        await load_sdk()
        await self._ensure_client()
        return self._live_tools

    async def call_tool(
        self, tool: LockedTool, arguments: dict[str, Any], *, seconds: float = CALL_SECONDS
    ) -> CallToolResult:
        """Call a tool, if the server still describes it as accepted. `seconds` is the time limit of the call.

        Raises:
            ServerUnreachable: The server could not be reached; nothing was sent.
            ToolChanged: The server now describes the tool differently; nothing was sent.
            CallRefusedByServer: The server answered with an error.
            NoServerAnswer: The call was sent, and its outcome is unknown.
            TimeoutError: The same: no answer came in time.
        """
        await load_sdk()
        import mcp_types  # noqa: PLC0415 - heavy, so loaded off the loop
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - the same
        from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - beside the others

        client = await self._ensure_client()
        live_tool = next((one for one in self._live_tools if one.name == tool.name), None)
        if live_tool is None or live_tool.digest != tool.digest:
            raise ToolChanged(is_gone=live_tool is None)
        self._status = 0
        params = mcp_types.CallToolRequestParams(name=tool.name, arguments=arguments)
        # Not `client.call_tool`: that checks the answer by the server's own schema, in which a pattern may take hours.
        # It would also go on asking if the server wants to ask a person something.
        result_adapter: TypeAdapter[Any] = TypeAdapter(mcp_types.CallToolResult | mcp_types.InputRequiredResult)
        work = client.session.send_request(
            mcp_types.CallToolRequest(params=params), result_adapter, request_read_timeout_seconds=seconds
        )
        try:
            answer = await self._await_while_connected(work, seconds + 1)
        except MCPError as error:
            raise self._translate_error(error.code, error.message, seconds) from None
        except (ValidationError, RecursionError):
            raise NoServerAnswer("the server's answer is not as the protocol has it") from None
        if isinstance(answer, mcp_types.InputRequiredResult):
            raise CallRefusedByServer("the server wants to ask a person something first, which is not offered")
        self._failures = 0
        return answer  # type: ignore[no-any-return]  # the other of the two types above

    def _translate_error(self, code: int, message: str, seconds: float) -> Exception:
        """Return the exception for an error of the SDK. If the connection or session is lost, it is ended."""
        if code == _TIMED_OUT:
            return TimeoutError(f"no answer came within {seconds:g} seconds")
        if code == _CONNECTION_CLOSED:
            self._end_event.set()
            return NoServerAnswer(self._get_transport_fault() or "the server ended in the middle of it")
        if self._status == _NOT_FOUND and message == _SESSION_TERMINATED:
            # A restarted server does not know the session, so it has not run the call.
            self._is_closing = True
            self._end_event.set()
            return ServerUnreachable("it was restarted and has lost this session; call it again")
        return CallRefusedByServer(
            self._sign_in_hint if self._status == _UNAUTHORIZED_STATUS else remove_invisible(message)
        )

    async def close(self) -> None:
        """Close the connection, and end the server if it is a program. A later call connects again."""
        task = self._task
        if task is None:
            return
        self._is_closing = True
        self._end_event.set()
        if self._ready is not None and self._ready.done():
            await asyncio.wait({task}, timeout=CLOSE_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    @property
    def last_error(self) -> str:
        """The last error that the server wrote, for the operator; "" if none."""
        return self._pipe.last_error if self._pipe is not None else ""

    # ------------------------------------------------------------ connecting

    async def _ensure_client(self) -> Client:
        """Return the client of an open connection; connect if there is none."""
        async with self._connect_lock:
            if self._task is None or self._task.done() or self._end_event.is_set():
                if (seconds_left := self._next_try_at - self._clock()) > 0:
                    raise ServerUnreachable(
                        f"{self._failure_reason}; it is tried again in {max(1, round(seconds_left))} s"
                    )
                await self.close()
                self._is_closing, self._end_event = False, asyncio.Event()
                self._ready = asyncio.get_running_loop().create_future()
                self._task = asyncio.create_task(
                    self._hold_connection(self._ready, self._end_event), name=f"mcp {self.config.name}"
                )
        if self._ready is None:
            raise RuntimeError("a connection is held that nobody began")
        return await asyncio.shield(self._ready)

    async def _hold_connection(self, ready: asyncio.Future[Client], end_event: asyncio.Event) -> None:
        """Connect, and hold the connection until `end_event` is set. Never raises, unless it is cancelled."""
        try:
            await self._connect_and_wait(ready, end_event)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Some of the SDK's transports cancel this task when they break, though nobody asked it to stop.
            self._fail_connection(ready, "the connection broke")
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - not hidden: it is told in words
            self._fail_connection(ready, _describe_cause(error))
        finally:
            end_event.set()
            if not ready.done():
                ready.set_exception(ServerUnreachable(self._failure_reason or "the connection ended"))
                ready.exception()  # marks it as retrieved, so that asyncio does not log it

    async def _connect_and_wait(self, ready: asyncio.Future[Client], end_event: asyncio.Event) -> None:
        from mcp import Client  # noqa: PLC0415 - heavy

        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(CONNECT_SECONDS):
                transport = await self._open_transport(stack, end_event)
                tool_filter = ToolListFilter()
                client = await stack.enter_async_context(
                    Client(tool_filter.filter_transport(transport), read_timeout_seconds=CALL_SECONDS, cache=None)
                )
                tool_filter.protocol_version = client.protocol_version
                self._live_tools = await self._list_tools(client, tool_filter)
            self._failure_reason = ""
            ready.set_result(client)
            await end_event.wait()
            if not self._is_closing:
                self._fail_connection(ready, "the server ended")

    async def _open_transport(self, stack: contextlib.AsyncExitStack, end_event: asyncio.Event) -> Any:
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it quotes servers; we log what matters
        self._status, self._flood_fault = 0, ""
        if self.config.kind == "stdio":
            self._pipe = StdioPipe(self.config, self._home, self._path, end_event)
            return self._pipe.run_server()
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - heavy

        auth = self.sign_in.make_auth(lambda: self._record_status(0)) if self.sign_in is not None else None
        client = make_http_client(self.config.url, self.config.headers, self._record_status, self._end_on_flood, auth)
        http = await stack.enter_async_context(client)
        return streamable_http_client(self.config.url, http_client=http)

    async def _list_tools(self, client: Client, tool_filter: ToolListFilter) -> tuple[LockedTool, ...]:
        """Read the server's list of tools, at most `MAX_TOOLS`. A broken entry has only a name and a reason.

        Raises the SDK's error if the first page cannot be read.
        """
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - heavy
        from pydantic import ValidationError  # noqa: PLC0415 - beside the others

        tools: dict[str, LockedTool] = {}
        broken_entries = tool_filter.broken_entries
        cursor: str | None = None
        for number in range(1, _MAX_PAGES + 1):
            try:
                page = await client.list_tools(cursor=cursor)
            except (MCPError, ValidationError, RecursionError) as error:
                if number == 1:
                    raise
                broken_entries[f"(page {number} of its list)"] = f"it cannot be read: {_shorten_error(error)}"
                break
            for tool in page.tools:
                fields = tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "icons"})
                # Of two tools with one name, the first counts: one could be accepted and the other used.
                if tool.name in tools:
                    broken_entries[f"{tool.name} (again)"] = "its name is taken: the first of that name counts"
                tools.setdefault(tool.name, tool_lock.make_locked_tool(fields))
            cursor = page.next_cursor
            if not cursor or len(tools) > MAX_TOOLS:
                break
        for name, why in broken_entries.items():
            _log.warning("the MCP server %s: %s is left out: %s", self.config.name, remove_invisible(name), why)
            tools.setdefault(name, tool_lock.make_broken_tool(name, why))
        return tuple(tools.values())[:MAX_TOOLS]

    def _record_status(self, status: int) -> None:
        self._status = status

    def _end_on_flood(self, words: str) -> None:
        """End an HTTP connection whose server sends too much. `words` say what was too much."""
        self._flood_fault = words
        self._end_event.set()

    def _fail_connection(self, ready: asyncio.Future[Client], reason: str) -> None:
        """Record why the connection failed. The next try has to wait, unless only a sign-in is missing."""
        is_signed_out = self._status == _UNAUTHORIZED_STATUS
        self._failure_reason = self._get_transport_fault() or (self._sign_in_hint if is_signed_out else reason)
        if not (is_signed_out and self.sign_in is not None):  # it can be reached, and will work after a sign-in
            self._failures += 1
            self._next_try_at = self._clock() + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._failures - 1))
        _log.warning(
            "the MCP server %s: %s%s",
            self.config.name,
            self._failure_reason,
            "" if ready.done() else " (not connected)",
        )

    @property
    def _sign_in_hint(self) -> str:
        return SIGN_IN_HINT if self.sign_in is None else SIGN_IN_AGAIN_HINT

    def _get_transport_fault(self) -> str:
        return self._flood_fault or (self._pipe.fault if self._pipe is not None else "")

    async def _await_while_connected(self, work: Coroutine[Any, Any, _T], seconds: float) -> _T:
        """Await work that needs the connection, for at most `seconds` seconds and while the connection lasts."""
        connection_task = self._task
        if connection_task is None:
            raise RuntimeError("there is no connection")
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task, connection_task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if connection_task.done():
                raise NoServerAnswer(self._failure_reason or "the connection broke in the middle of it")
            raise TimeoutError(f"no answer came within {seconds:g} seconds")
        except asyncio.CancelledError:
            current_task = asyncio.current_task()
            if task.done() and task.cancelled() and not (current_task is not None and current_task.cancelling()):
                raise NoServerAnswer("the connection broke in the middle of it") from None
            raise
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _shorten_error(error: BaseException) -> str:
    return " ".join(remove_invisible(str(error)).split())[:200]


def _describe_cause(error: BaseException) -> str:
    """Return why a server could not be reached, from the first error of an exception group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    words = _shorten_error(error)
    if isinstance(error, FileNotFoundError):
        return f"the program {error.filename} is not there; install it, or give its whole path as command"
    if isinstance(error, PermissionError):
        return f"the program {error.filename} may not be started; check its permissions"
    if isinstance(error, TimeoutError):
        return f"it was not ready within {CONNECT_SECONDS:g} seconds"
    if fault := describe_network_fault(error):
        return f"it cannot be reached: {fault}"
    kind = type(error).__name__
    if kind in {"ConnectError", "ConnectTimeout", "ReadTimeout"}:
        return f"nobody answers there ({words or kind})"
    return f"something answers there that is not an MCP server ({words or kind})"
