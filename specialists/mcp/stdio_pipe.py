"""Starts an MCP server as a program and talks over its pipes, within bounds that the SDK's own transport lacks.

A line that is too long, or too many lines, end the connection. The server gets an environment of its own: the
operator's variables for it, the network settings, PATH, and a HOME without any of our files. Only the end of its error
output is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handoff.text.invisible_characters import remove_invisible
from specialists.mcp.flood_meter import LONGEST_MESSAGE, FloodError, FloodMeter
from specialists.mcp.server_config import ServerConfig
from specialists.outbound.network import read_network_variables
from specialists.sandbox.child_process import hide_memory_once

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

EXIT_SECONDS = 1.0
"""Seconds that a server gets to exit after its input was closed, and again after SIGTERM."""
_KEPT_ERROR_BYTES = 2_000
_PIECE_BYTES = 64 * 1024


@dataclass(slots=True)
class StdioPipe:
    """A server's process and its pipes.

    Attributes:
        config: How it is started.
        home: Its HOME, made if missing. It is also its working directory if `config` has no folder.
        path: Its PATH.
        end_event: Set when it has ended or was given up.
        fault: Why the connection ended, if the server is to blame; for people.
        error_output: The end of its error output; for the operator, never for a model.
    """

    config: ServerConfig
    home: Path
    path: str
    end_event: asyncio.Event
    fault: str = ""
    error_output: bytes = field(default=b"", repr=False)

    @contextlib.asynccontextmanager
    async def run_server(self) -> AsyncIterator[tuple[Any, Any]]:
        """Start the server and yield the streams (from the server, to the server). On exit, end it and its children.

        Raises:
            OSError: It cannot be started.
        """
        import anyio  # noqa: PLC0415 - comes with the SDK

        hide_memory_once()  # so that the server cannot read the memory of this process
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            self.config.command,
            *self.config.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_MESSAGE,
            cwd=self.config.folder or self.home,
            env={
                "PATH": self.path,
                "LANG": "C.UTF-8",
                "HOME": str(self.home),
                **read_network_variables(),
                **self.config.env,
            },
            start_new_session=True,
        )
        to_us, receive_stream = anyio.create_memory_object_stream[Any](0)
        send_stream, to_server = anyio.create_memory_object_stream[Any](0)
        tasks = [
            asyncio.create_task(self._forward_messages(process, to_us)),
            asyncio.create_task(_write_messages(process, to_server, to_us)),
            asyncio.create_task(self._collect_error_output(process)),
        ]
        try:
            yield receive_stream, send_stream
        finally:
            for stream in (receive_stream, send_stream):
                stream.close()
            await asyncio.shield(asyncio.ensure_future(_end_process(process, tasks)))
            for stream in (to_us, to_server):
                stream.close()

    async def _forward_messages(
        self, process: asyncio.subprocess.Process, messages_in: MemoryObjectSendStream[Any]
    ) -> None:
        """Pass the server's messages on to `messages_in` until it ends or floods. Then set `end_event`."""
        import anyio  # noqa: PLC0415 - comes with the SDK
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - heavy
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - heavy

        meter = FloodMeter()
        with messages_in, contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            try:
                while line := await _read_line(process):
                    meter.count_message(len(line))
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        message = _parse_deep_message(line)
                    if message is None:
                        meter.count_junk_line()
                        continue
                    await messages_in.send(SessionMessage(message))
            except FloodError as flood:
                self.fault = str(flood)
            finally:
                self.end_event.set()

    async def _collect_error_output(self, process: asyncio.subprocess.Process) -> None:
        while process.stderr is not None and (piece := await process.stderr.read(_PIECE_BYTES)):
            self.error_output = (self.error_output + piece)[-_KEPT_ERROR_BYTES:]

    @property
    def last_error(self) -> str:
        """The last line of its error output; "" if none."""
        lines = remove_invisible(self.error_output.decode(errors="replace")).strip().splitlines()
        return lines[-1].strip()[:200] if lines else ""


def _parse_deep_message(line: bytes) -> Any:
    """Parse a message too deep for the SDK's parser, such as a list with a deep schema; None if it is no message."""
    from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - heavy

    try:
        return jsonrpc_message_adapter.validate_python(json.loads(line), by_name=False)
    except (ValueError, RecursionError):
        return None


async def _read_line(process: asyncio.subprocess.Process) -> bytes:
    """Read a line; empty at the end of the output. Raises FloodError for a line that is too long."""
    if process.stdout is None:
        raise RuntimeError("the server was started without pipes")
    try:
        return await process.stdout.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return b""
    except asyncio.LimitOverrunError:
        FloodMeter().count_message(LONGEST_MESSAGE + 1)
        raise


async def _write_messages(
    process: asyncio.subprocess.Process,
    messages_out: MemoryObjectReceiveStream[Any],
    messages_in: MemoryObjectSendStream[Any],
) -> None:
    """Write the SDK's messages to the server. If the server no longer reads, the connection ends."""
    import anyio  # noqa: PLC0415 - comes with the SDK

    if process.stdin is None:
        raise RuntimeError("the server was started without pipes")
    try:
        async for one in messages_out:
            process.stdin.write(f"{one.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode())
            await process.stdin.drain()
    except (ConnectionError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass
    finally:
        messages_in.close()


async def _end_process(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]]) -> None:
    """End the server and its children: close its input, then send SIGTERM, then SIGKILL."""
    tasks[0].cancel()
    tasks[1].cancel()
    if process.stdin is not None:
        process.stdin.close()
    for name in (None, signal.SIGTERM):
        if name is not None:
            _send_signal(process, name)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_SECONDS):
                await _wait_for_exit(process)
                break
    _send_signal(process, signal.SIGKILL)  # also for processes that it left behind in its group
    await _wait_for_exit(process)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    # A child that left the group may hold the pipes open, so they are closed here. asyncio has no public way to do it.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - see above


async def _wait_for_exit(process: asyncio.subprocess.Process) -> None:
    """Wait until the process has exited; `process.wait` also waits for its pipes, which a child may hold open."""
    while process.returncode is None:  # noqa: ASYNC110 - asyncio has no event for it
        await asyncio.sleep(0.01)


def _send_signal(process: asyncio.subprocess.Process, signal_number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal_number)
