"""Limits that a child process puts on itself, before it touches what a person attached.

Imports the standard library only: it runs first in every child.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
from typing import BinaryIO

MEGABYTE = 1024 * 1024
_WAYS_OUT = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty.")


def confine(*, memory_mb: int, cpu_seconds: int, file_mb: int, wall_seconds: int) -> None:
    """Bound this process for good. Past a limit the system ends it (or refuses the memory).

    Args:
        memory_mb: address space, in MB. Not applied on macOS, whose kernel refuses it.
        cpu_seconds: processor time of all threads together, until `limit_processor_from_now` sets it anew.
        file_mb: the largest file it may write, in MB.
        wall_seconds: an alarm that ends it even if its parent is gone.
    """
    if sys.platform != "darwin":
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * MEGABYTE, memory_mb * MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, 2 * cpu_seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_mb * MEGABYTE, file_mb * MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(wall_seconds)


def own_stdout() -> BinaryIO:
    """Keep the pipe to the parent for our reply alone: what libraries print goes to stderr from here on."""
    reply = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return reply


def limit_processor_from_now(seconds: int) -> None:
    """Allow this process so many more seconds of processor time, whatever it used before."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime) + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(limit, hard), min(limit + 1, hard)))


def write_no_more_files() -> None:
    """Forbid this process to write a byte to any file from here on (pipes still work)."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def shut_in() -> None:
    """Refuse this process, for good, the network and other programs: whatever its Python code is led to try."""
    sys.addaudithook(_refuse)


def _refuse(event: str, _: tuple[object, ...]) -> None:
    if event.startswith(_WAYS_OUT):
        raise PermissionError(f"{event} is not for a process that reads what people attach")
