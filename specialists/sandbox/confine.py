"""Limits that a child process sets for itself, before it reads what a person attached.

Imports the standard library only, since it runs first in every child.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
from importlib import import_module
from typing import Any, BinaryIO

from specialists.sandbox.kernel_layers import SANDBOX_LAYERS, SandboxLayer, apply_layers

MEGABYTE = 1024 * 1024
INPUT_FOLDER = "in"
"""The folder with a child's input files, next to its working folder."""
UNSANDBOXED_EXIT = 77
"""The exit code of a child that lacks a required sandbox layer."""
active_layers: set[SandboxLayer] = set()
"""The sandbox layers that are active in this process."""
_REFUSED_AUDIT_EVENTS = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.",
)


def run_confined(module: str, settings: str) -> None:
    """Confine this process, then import a module and run its `main()`.

    Args:
        module: dotted name of a module of ours.
        settings: JSON of `memory_mb`, `cpu_seconds`, `file_mb`, `wall_seconds`, `network`, `all_walls`, `reads`,
            `writes` and `program`: see `confine` and `kernel_layers.apply_layers`.
    """
    # Python lists a package's parent folder on import, which may be unreadable later.
    import_module(module.partition(".")[0])
    import_module("handoff")
    confine(**json.loads(settings))
    import_module(module).main()


def confine(
    *,
    memory_mb: int,
    cpu_seconds: int,
    file_mb: int,
    wall_seconds: int,
    network: bool = False,
    all_walls: bool = False,
    **places: Any,
) -> set[SandboxLayer]:
    """Limit this process for good, and return the kernel's sandbox layers that are active.

    At a limit, the system ends the process, or refuses it memory.

    Args:
        memory_mb: address space, in MB. Not applied on macOS, whose kernel refuses it.
        cpu_seconds: processor time of all threads together, until `limit_remaining_cpu` sets it anew.
        file_mb: the largest file that it may write, in MB.
        wall_seconds: seconds after which an alarm ends it, even if its parent is gone.
        network: True if it may use the network; then no sandbox layer is applied.
        all_walls: True to exit with UNSANDBOXED_EXIT, before reading anything, unless all sandbox layers are active.
        places: what it may read, write and run, see `kernel_layers.apply_layers`.
    """
    active_layers.update(apply_layers(() if network else SANDBOX_LAYERS, **places))
    if all_walls and active_layers != set(SANDBOX_LAYERS):
        os._exit(UNSANDBOXED_EXIT)
    if sys.platform != "darwin":
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * MEGABYTE, memory_mb * MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, 2 * cpu_seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_mb * MEGABYTE, file_mb * MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(wall_seconds)
    if not network:
        sys.addaudithook(_refuse_audit_event)
    return active_layers


def make_input_path(name: str) -> str:
    """Return the path of an input file for this child."""
    return f"../{INPUT_FOLDER}/{name}"


def claim_stdout() -> BinaryIO:
    """Return the pipe to the parent, for the reply alone. From here on, anything printed to stdout goes to stderr."""
    reply = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return reply


def limit_remaining_cpu(seconds: int) -> None:
    """Allow this process `seconds` more seconds of processor time from now on, at most up to its hard limit."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(usage.ru_utime + usage.ru_stime) + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(limit, hard), min(limit + 1, hard)))


def forbid_file_writes() -> None:
    """Forbid this process to write to any file from here on. Pipes still work."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _refuse_audit_event(event: str, _: tuple[object, ...]) -> None:
    """Audit hook that refuses network and programs to Python code, also on systems without the kernel's layers."""
    if event.startswith(_REFUSED_AUDIT_EVENTS):
        raise PermissionError(f"{event} is not for a process that reads what people attach")
