"""Prints to the terminal that a command runs in, and reads what a person types there."""

from __future__ import annotations

import asyncio
import os
import sys

MAX_LINE_BYTES = 4096
"""Maximum bytes of one typed line."""


class OutputLost(Exception):
    """The output can no longer be written. The text says why."""


def say(text: str, *, end: str = "\n") -> None:
    """Print a text at once. Raises OutputLost if that fails: a closed pipe or terminal, a full disk."""
    try:
        print(text, end=end, flush=True)  # noqa: T201 - the one place where commands print
    except OSError as error:
        _discard_output()
        raise OutputLost(f"the output cannot be written ({error.strerror}).") from None


def _discard_output() -> None:
    """Redirect stdout to the null device. Otherwise Python would flush the buffer at exit, and fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def is_interactive() -> bool:
    """Return True if a person may be at the terminal to type."""
    return sys.stdin is not None and sys.stdin.isatty()


async def ask_person(prompt: str, *, may_be_empty: bool = False) -> str | None:
    """Print a prompt and return the typed line, stripped; None if the input was closed (Ctrl-D).

    The prompt is repeated after an empty line, unless `may_be_empty` is set. The event loop waits for the line, not a
    thread, because Ctrl-C cannot stop a reading thread. Raises OutputLost.
    """
    while True:
        say(prompt, end="")
        line = await _read_line(sys.stdin.fileno())
        if not line:
            say("")
            return None
        if (text := line.strip()) or may_be_empty:
            return text


async def _read_line(file_descriptor: int) -> str:
    loop, input_event = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(file_descriptor, input_event.set)
    try:
        await input_event.wait()
        return os.read(file_descriptor, MAX_LINE_BYTES).decode(errors="replace")
    except OSError:  # the terminal is gone
        return ""
    finally:
        loop.remove_reader(file_descriptor)
