"""Runs one of our modules in a sandboxed child process, so that crashes, hangs and memory use stay there.

All parsing and drawing of content from people, pages or models is done in such a child. The request goes in as JSON on
stdin, the reply comes back on stdout. The child has its own session, an almost empty environment, a working folder of
its own, limits on time and memory, and the kernel's sandbox layers (see `kernel_walls`) before it reads anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

from specialists.sandbox.confine import INPUT_FOLDER, UNSANDBOXED_EXIT
from specialists.sandbox.kernel_layers import hide_process_memory
from specialists.sandbox.scratch_folder import get_scratch_folder

ChildFailure = Literal["", "time", "cpu", "crash", "too_much", "busy", "unwalled"]

BUSY_MESSAGE = (
    "That could not begin in time: too many files and pages are being read here at this moment. Try it again."
)
"""The message for `busy`: the cause is not the content to be read."""

UNSANDBOXED_MESSAGE = (
    "That was not done: this bot works only in its full sandbox, and a wall of that is missing on its machine. "
    "Whoever runs it can see which, and what to do, with leadhand check."
)
"""The message for `unwalled`: a sandbox layer is missing here, and the content to be read is not the cause."""

_ROOT = Path(__file__).parents[2]
_WORK_FOLDER = "work"
_PIECE_BYTES = 64 * 1024
_BOOT_CODE = (
    "import sys; at = [n for n, p in enumerate(sys.path) if 'site-packages' in p or 'dist-packages' in p]; "
    "sys.path.insert(at[0] if at else len(sys.path), sys.argv[1]); "
    "from specialists.sandbox.confine import run_confined; run_confined(*sys.argv[2:])"
)
_STDERR_TAIL_BYTES = 4000
_ALARM_GRACE_SECONDS = 10
"""Seconds after its deadline at which a child ends itself, should its parent be gone."""
_SLOTS_BY_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """The limits of a child: memory and the largest file that it may write, in MB, and processor time in seconds."""

    memory_mb: int
    cpu_seconds: int
    file_mb: int = 0


@dataclass(frozen=True, slots=True)
class ChildInputs:
    """Inputs and rights of a child, besides its request and its own empty folder.

    Attributes:
        files: Its input files, by the name under which it finds each (see `confine.make_input_path`): bytes, a file, or
            a folder of files. A file that no longer exists is left out.
        readable_paths: Other paths that it may read.
        writable_paths: Other paths that it may read and write.
        program: A program that it may start.
        environment: Variables besides the few that every child gets.
        has_network: True if it may use the network. The kernel's sandbox layers would forbid that, so such a child has
            none of them, and must not read what people attach.
    """

    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    readable_paths: Sequence[Path] = ()
    writable_paths: Sequence[Path] = ()
    program: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    has_network: bool = False


_NO_INPUTS = ChildInputs()


@dataclass(frozen=True, slots=True)
class ChildReply:
    """The `output` of a child, or, in `failure`, the reason why there is none.

    - `""`: it ended well.
    - `time`: the wall-clock deadline passed.
    - `cpu`: it used up its processor time.
    - `too_much`: it wrote more than was accepted.
    - `busy`: the deadline passed before it could start, as too many other children were running.
    - `unwalled`: all sandbox layers are required, and one is missing.
    - `crash`: anything else, including out of memory.
    """

    output: bytes = b""
    failure: ChildFailure = ""


_requires_layers: list[bool] = [False]


def require_sandbox_layers(*, is_required: bool) -> None:
    """Set whether children without network run only where all sandbox layers are active."""
    _requires_layers[0] = is_required


def count_process_slots() -> int:
    """Return how many children this process runs at once: two per core, at least 4 and at most 16. Others wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(4, min(2 * cores, 16))


async def run_child(
    module: str,
    request: Mapping[str, Any],
    *,
    limits: ChildLimits,
    timeout_seconds: float,
    max_reply_bytes: int,
    inputs: ChildInputs = _NO_INPUTS,
    is_trial: bool = False,
) -> ChildReply:
    """Run `main()` of a module in a child with the request. Cancellation ends the child too.

    Args:
        module: dotted name of a module of ours. Its `main` reads stdin and writes stdout.
        request: anything that JSON can carry.
        limits: the child's limits on memory, processor time and files.
        timeout_seconds: wall-clock seconds for all of it, including the wait for a free slot.
        max_reply_bytes: most bytes of stdout that are accepted.
        inputs: what it may read, write and start.
        is_trial: run even if required sandbox layers are missing, to find out which are.
    """
    hide_memory_once()
    has_started = False
    try:
        async with asyncio.timeout(timeout_seconds), _get_process_slots():
            has_started = True
            async with _make_child_folder(inputs.files) as (folder, link_targets):
                places = {
                    "reads": [*_list_python_paths(), str(folder), *map(str, (*link_targets, *inputs.readable_paths))],
                    "writes": [str(folder / _WORK_FOLDER), *map(str, inputs.writable_paths)],
                    "program": str(inputs.program or ""),
                }
                all_walls = _requires_layers[0] and not inputs.has_network and not is_trial
                rules = {
                    "wall_seconds": int(timeout_seconds) + _ALARM_GRACE_SECONDS,
                    "network": inputs.has_network,
                    "all_walls": all_walls,
                }
                child_settings = asdict(limits) | rules | places
                boot = (str(_ROOT), module, json.dumps(child_settings))
                return await _run_and_read(boot, folder / _WORK_FOLDER, inputs.environment, request, max_reply_bytes)
    except TimeoutError:
        return ChildReply(failure="time" if has_started else "busy")


hide_memory_once = functools.cache(hide_process_memory)
"""Close this process's memory and environment, with its tokens, to other processes; called before any child starts."""


def _get_process_slots() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    return _SLOTS_BY_LOOP.setdefault(loop, asyncio.Semaphore(count_process_slots()))


async def _run_and_read(
    boot: Sequence[str], folder: Path, environment: Mapping[str, str], request: Mapping[str, Any], max_bytes: int
) -> ChildReply:
    async with _start_child(boot, folder, environment) as process:
        output, errors = await _send_and_read(process, json.dumps(request).encode(), max_bytes)
        if output is None:
            return ChildReply(failure="too_much")
        code = await process.wait()
    if code == 0:
        return ChildReply(output=output)
    if code == UNSANDBOXED_EXIT:
        return ChildReply(failure="unwalled")
    log.warning("%s ended with code %s (%s)", boot[1], code, _read_error_name(errors))
    return ChildReply(failure="cpu" if code == -signal.SIGXCPU else "crash")


@contextlib.asynccontextmanager
async def _make_child_folder(files: Mapping[str, Path | bytes]) -> AsyncIterator[tuple[Path, list[Path]]]:
    """Make a child's folder, with its input files in one part and an empty part to work in; remove it at the end.

    Yields (the folder, the targets of symbolic links in it, which the child must be able to read).
    """
    folder = Path(tempfile.mkdtemp(prefix="leadhand-", dir=get_scratch_folder()))
    try:
        (folder / _WORK_FOLDER).mkdir()
        (folder / INPUT_FOLDER).mkdir()
        yield folder, await asyncio.to_thread(_place_files, files, folder / INPUT_FOLDER) if files else []
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place_files(files: Mapping[str, Path | bytes], folder: Path) -> list[Path]:
    """Put files into a folder, as hard links, or as symbolic links if they lie on another disk.

    Returns the targets of the symbolic links.
    """
    link_targets: list[Path] = []
    for name, source in files.items():
        if isinstance(source, bytes):
            (folder / name).write_bytes(source)
        elif source.is_dir():
            (folder / name).mkdir()
            for each in source.iterdir():
                link_targets += _link_file(each.resolve(), folder / name / each.name)
        else:
            link_targets += _link_file(source.resolve(), folder / name)
    return link_targets


def _link_file(source: Path, link: Path) -> list[Path]:
    try:
        link.hardlink_to(source)
    except FileNotFoundError:
        return []
    except OSError:  # it is on another disk
        link.symlink_to(source)
        return [source]
    return []


@functools.cache
def _list_python_paths() -> tuple[str, ...]:
    """Return the paths that Python has to read to run our modules. In a checkout, only our two packages count."""
    checkout = (_ROOT / "pyproject.toml").exists()
    own_paths = [_ROOT / "specialists", _ROOT / "handoff"] if checkout else [_ROOT]
    return (*map(str, own_paths), sys.prefix, sys.base_prefix, sys.exec_prefix)


@contextlib.asynccontextmanager
async def _start_child(
    boot: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # -I: neither the environment nor the current folder can bring in code. Our own root comes after the standard
        # library and before installed packages, so that a process and its children run the same code.
        *("-I", "-c", _BOOT_CODE, *boot),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=environment | {"TMPDIR": str(folder), **variables},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            # It has its own session, so its process group holds only the child and what it started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _send_and_read(
    process: asyncio.subprocess.Process, request: bytes, max_bytes: int
) -> tuple[bytes | None, bytes]:
    """Send the request, and return (stdout, the end of stderr); stdout is None beyond `max_bytes` bytes."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the child was started without pipes")
    errors = asyncio.ensure_future(_read_tail(process.stderr))
    try:
        with contextlib.suppress(ConnectionError):  # it ended before it read everything: its exit code says why
            process.stdin.write(request)
            await process.stdin.drain()
        process.stdin.close()
        output = bytearray()
        while piece := await process.stdout.read(_PIECE_BYTES):
            output += piece
            if len(output) > max_bytes:
                return None, b""
        return bytes(output), await errors
    finally:
        errors.cancel()


async def _read_tail(stream: asyncio.StreamReader) -> bytes:
    tail = b""
    while piece := await stream.read(_PIECE_BYTES):
        tail = (tail + piece)[-_STDERR_TAIL_BYTES:]
    return tail


def _read_error_name(errors: bytes) -> str:
    """Return the name of the exception that ended the child, from the end of its stderr.

    The exception's text is left out, as it may quote a person's file.
    """
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1].split(":")[0][:80] if lines else "no message"
