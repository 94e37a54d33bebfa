"""Crash points: every passage through a boundary of the bot has a name, and a process can be told to die at one.

The names come from proxies around the bot, and nothing in the product knows of
them: around every method of the store that writes, every HTTP request to Slack
(each Web API call, the bytes of an upload, the fetching of an attachment), the
model, each tool, and the acknowledgement of an event. A job does nothing to
the world but through these. So every await around an intent, a call, its
record and a commit is a passage with a name, by construction; a test compares
what is wrapped with what the bot can use.

A name is `before` or `after`, what is passed, and the how-manieth time in this
process: `after chat.postMessage#1`. A commit goes by each of its events, since
what is committed together depends on timing: `before commit Posted card#1`.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

BETWEEN = " & "


class Passages:
    """Keeps a list of what a process passed, in a file that outlives it, and ends the process at one of them."""

    def __init__(self, path: Path, crash_at: str = "") -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._crash_at = crash_at
        self._moment_counts: Counter[str] = Counter()

    def at(self, moment: str, *what: str) -> None:
        """This moment of something (one thing, or several that happen at once) is reached."""
        names = []
        for one in what:
            name = f"{moment} {one}"
            self._moment_counts[name] += 1
            names.append(f"{name}#{self._moment_counts[name]}")
        os.write(self._file, f"{BETWEEN.join(names)}\n".encode())
        if self._crash_at in names:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextlib.asynccontextmanager
    async def around(self, *what: str) -> AsyncIterator[None]:
        """Before and after something. What breaks off has no after."""
        self.at("before", *what)
        yield
        self.at("after", *what)


def whole(path: Path) -> str:
    """All that was passed, a line a moment; empty if nothing was."""
    return path.read_text() if path.exists() else ""


def list_passages(path: Path) -> list[str]:
    """The names in such a file, in order; of several at once, the last."""
    return [line.split(BETWEEN)[-1] for line in whole(path).splitlines()]
