"""Runs git so that a repository cannot influence it: only our configuration, no pager, no prompt, all within limits.

docs/security.md lists the attacks of a hostile repository. Git runs only on our own copies, with our own configuration.
The one exception is making such a copy (`bare_copy`).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from specialists.sandbox.scratch_folder import get_scratch_folder

NO_GIT = "git is not installed here; whoever runs the bot can install it."
GIT_TIMEOUT_SECONDS = 20.0
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
"""Most bytes of output that are read from one call; git is ended after that."""
_MEMORY_KB, _PROCESSOR_SECONDS = 2_000_000, 120
_FLAGS = (
    *("--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"),
    *("-c", "submodule.recurse=false", "-c", "credential.helper=", "-c", "core.sshCommand=false"),
    *("-c", "core.quotePath=false", "-c", "http.followRedirects=false", "-c", "gc.auto=0", "-c", "maintenance.auto=0"),
    *("-c", "fetch.unpackLimit=1", "-c", "core.packedGitWindowSize=64m", "-c", "core.packedGitLimit=512m"),
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}
_LIMIT_SCRIPT = 'ulimit -v "$1" -t "$2" 2>/dev/null; [ "$3" = 0 ] || ulimit -f "$3"; shift 3; exec "$@"'
"""The shell script that sets the limits and then starts git; `ulimit -f` counts blocks of 512 bytes."""


@dataclass(frozen=True, slots=True)
class GitReply:
    """The output of git.

    `code` is its exit status; None after a timeout. If `is_cut`, the output was too long: git was ended, `code` is 0
    and `error` is "".
    """

    code: int | None
    output: str
    error: str = ""
    is_cut: bool = False


def is_git_installed() -> bool:
    """Return True if git is installed."""
    return shutil.which("git") is not None


@functools.cache
def _find_git() -> str:
    """Return the path of git. Its folder goes into PATH, as git's own programs lie there."""
    return shutil.which("git") or "git"


async def run_git(
    arguments: Sequence[str],
    *,
    seconds: float = GIT_TIMEOUT_SECONDS,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    file_mb: int = 0,
    environment: Mapping[str, str] | None = None,
) -> GitReply:
    """Run git in an empty temporary folder, and return its output. On cancellation git is ended too.

    Args:
        arguments: The arguments after our flags. The caller ensures that no name among them begins with a dash.
        seconds: Most seconds that git may take.
        max_output_bytes: Most bytes of output that are read.
        file_mb: Largest file that git may write, in megabytes; 0 for no limit.
        environment: Variables that are added to ours, or replace them.
    """
    home = await asyncio.to_thread(tempfile.mkdtemp, prefix="leadhand-", dir=get_scratch_folder())
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _LIMIT_SCRIPT, "sh", str(_MEMORY_KB), str(_PROCESSOR_SECONDS), str(file_mb * 2048)),
        *(_find_git(), *_FLAGS, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=home,
        env={**_ENVIRONMENT, "PATH": f"{Path(_find_git()).parent}:{os.defpath}", "HOME": home, **(environment or {})},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            return await _read_reply(process, max_output_bytes)
    except TimeoutError:
        return GitReply(None, "", f"it took longer than {seconds:g} s")
    finally:
        with contextlib.suppress(ProcessLookupError):  # the session holds only git and its helpers
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()  # drops output that was not read, and closes the pipes
        await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)


async def _read_reply(process: asyncio.subprocess.Process, max_bytes: int) -> GitReply:
    if process.stdout is None or process.stderr is None:
        raise RuntimeError("git was started without pipes")
    errors = asyncio.ensure_future(_read_beginning(process.stderr, 4_000))
    try:
        output, is_cut = await _read_beginning(process.stdout, max_bytes, stops_there=True)
        code = 0 if is_cut else await process.wait()
        error_output = b"" if is_cut else (await errors)[0]
    finally:
        errors.cancel()
        await asyncio.gather(errors, return_exceptions=True)
    return GitReply(code, output.decode("utf-8", "replace"), error_output.decode("utf-8", "replace").strip(), is_cut)


async def _read_beginning(
    stream: asyncio.StreamReader, max_bytes: int, *, stops_there: bool = False
) -> tuple[bytes, bool]:
    """Read the first `max_bytes` bytes of a stream. Returns (the bytes, True if there are more).

    With `stops_there`, reading ends there; otherwise the rest is read and dropped.
    """
    beginning = bytearray()
    while piece := await stream.read(64 * 1024):
        beginning += piece[: max(0, max_bytes + 1 - len(beginning))]
        if stops_there and len(beginning) > max_bytes:
            break
    return bytes(beginning[:max_bytes]), len(beginning) > max_bytes


def make_copy_arguments(copy: Path, *arguments: str) -> tuple[str, ...]:
    """Return git's arguments for running it on a copy of ours; they follow the flags of `run_git`."""
    return (f"--git-dir={copy}", *arguments)
