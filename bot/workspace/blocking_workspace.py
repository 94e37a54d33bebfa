"""The workspace for code without an event loop: it runs in a thread, and each call waits until it is done."""

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bot.workspace.app_process import make_app_environment
from bot.workspace.workspace_server import Workspace
from bot.workspace.workspace_state import Json

T = TypeVar("T")
CONNECT_TIMEOUT_SECONDS = 60.0
STOP_SECONDS = 10.0
WAIT_TIMEOUT_SECONDS = 30.0
POLL_SECONDS = 0.1


class LoopThread:
    """An event loop that runs in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="local-slack", daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a function in the loop, await its result if that is awaitable, and return it.

        Called from inside the loop, it returns the result without awaiting it.
        """
        if threading.current_thread() is self._thread:
            return function(*args, **options)

        async def call_and_wait() -> Any:
            result = function(*args, **options)
            return await result if inspect.isawaitable(result) else result

        return asyncio.run_coroutine_threadsafe(call_and_wait(), self.loop).result()

    def stop(self) -> None:
        """End the loop and the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class BlockingProxy:
    """Wraps a part of the workspace, such as a person or the clock: each method blocks until it is done."""

    def __init__(self, thread: LoopThread, part: Any) -> None:
        self._thread, self._part = thread, part

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped part; a method becomes one that blocks until it is done."""
        value = self._thread.call(getattr, self._part, name)
        if not callable(value):
            return value
        return lambda *args, **options: self._thread.call(value, *args, **options)


class Slack(BlockingProxy):
    """A workspace for tests, with all attributes of `Workspace`. Make one with `Slack.start(...)`."""

    def __init__(self, thread: LoopThread, workspace: Workspace) -> None:
        super().__init__(thread, workspace)
        self.workspace = workspace
        self.clock, self.faults = BlockingProxy(thread, workspace.clock), BlockingProxy(thread, workspace.faults)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._further_apps: list[Slack] = []

    @classmethod
    def start(cls, manifest: Path, **options: Any) -> "Slack":
        """Start a workspace; the arguments are those of `Workspace.start`.

        Raises:
            ValueError: The manifest cannot be used.
            OSError: The manifest cannot be read, or the port is taken.
        """
        thread = LoopThread()
        try:
            return cls(thread, thread.call(Workspace.start, manifest, **options))
        except BaseException:
            thread.stop()
            raise

    @property
    def people(self) -> dict[str, BlockingProxy]:
        """The people by name; each can do what `Person` can."""
        return {name: self.person(name) for name in self._thread.call(self.workspace.people)}

    @property
    def channels(self) -> dict[str, str]:
        """The ids of the channels by name, as in `#general`."""
        channel_ids: dict[str, str] = self._thread.call(self.workspace.channels)
        return channel_ids

    def person(self, name: str) -> BlockingProxy:
        """Return one of the people: `slack.person("ana").click(...)`.

        Raises:
            KeyError: There is nobody of that name.
        """
        return BlockingProxy(self._thread, self._thread.call(self.workspace.person, name))

    def say(self, channel: str, text: str, thread_ts: str | None = None, *, by: str = "ana") -> str:
        """Post a message as a person, and return its ts; `@name` becomes a mention."""
        return str(self.person(by).say(channel, text, thread_ts))

    def replies(
        self, channel: str, thread_ts: str, count: int = 1, timeout: float = WAIT_TIMEOUT_SECONDS
    ) -> list[Json]:
        """Wait until a thread has at least `count` replies, and return all of them, oldest first.

        Raises:
            TimeoutError: There were fewer within `timeout` seconds.
        """

        def find_replies() -> list[Json]:
            replies = self.workspace.thread(channel, thread_ts)[1:]
            return replies if len(replies) >= count else []

        return self.until(find_replies, timeout)

    def until(self, predicate: Callable[[], T], timeout: float = WAIT_TIMEOUT_SECONDS) -> T:
        """Wait until `predicate`, called in the workspace's thread, returns something true, and return that.

        Raises:
            TimeoutError: It was not true within `timeout` seconds; the text has the last value and the last changes.
        """
        value: T = self._thread.call(self.workspace.until, predicate, timeout)
        return value

    def run(self, *command: str | Path) -> "subprocess.Popen[bytes]":
        """Start an app beside the workspace; in Socket Mode, wait until it is connected.

        The word `python` stands for the Python that runs the tests. `stop` ends the app.

        Raises:
            RuntimeError: The app ended before it was connected, or took longer than `CONNECT_TIMEOUT_SECONDS`.
        """
        words = [sys.executable if word == "python" else str(word) for word in command]
        earlier_connections = self.workspace.connection_count
        app = subprocess.Popen(words, env=make_app_environment(self.workspace))  # noqa: S603 - the test's own app
        self._processes.append(app)
        waited_seconds = 0.0
        while self.workspace.uses_socket_mode and self.workspace.connection_count <= earlier_connections:
            try:
                code = app.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                waited_seconds += POLL_SECONDS
                if waited_seconds < CONNECT_TIMEOUT_SECONDS:
                    continue
                raise RuntimeError(f"the app was not connected within {CONNECT_TIMEOUT_SECONDS:g} s") from None
            raise RuntimeError(f"the app ended with code {code} before it was connected")
        return app

    def add_app(self, manifest: str | Path, **options: Any) -> "Slack":
        """Install a further app; the arguments are those of `Workspace.add_app`.

        `run` of the result starts the app, and `stop` of this workspace ends it.

        Raises:
            ValueError: The manifest cannot be used, or an app of that name is here already.
            OSError: The manifest cannot be read.
        """
        further = Slack(self._thread, self._thread.call(self.workspace.add_app, Path(manifest), **options))
        self._further_apps.append(further)
        return further

    def stop(self) -> None:
        """Stop the apps and the workspace."""
        processes = [*self._processes, *(one for each in self._further_apps for one in each._processes)]  # noqa: SLF001  # of its own class
        for app in processes:
            app.terminate()
        for app in processes:
            try:
                app.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                app.kill()
                app.wait()
        self._thread.call(self.workspace.stop)
        self._thread.stop()
