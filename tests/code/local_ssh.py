"""An ssh server on loopback that serves git repositories to one key, and notes who comes with what."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

GIT = shutil.which("git") or "git"


@dataclass
class LocalSsh:
    """The server, its files for a client, and what it saw. `says` is what it writes beside what git says."""

    folder: Path
    port: int = 0
    commands: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    tried_methods: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    says: bytes = b""

    @property
    def key(self) -> Path:
        """The file of the private key that it takes."""
        return self.folder / "key"

    @property
    def known_hosts(self) -> Path:
        """The file with its host key."""
        return self.folder / "known_hosts"

    def address(self, path: Path) -> str:
        return f"ssh://git@127.0.0.1:{self.port}{path}"

    def env(self, **more: str) -> dict[str, str]:
        """The settings that lead to it."""
        return {"LEADHAND_SSH_KEY": str(self.key), "LEADHAND_SSH_KNOWN_HOSTS": str(self.known_hosts), **more}

    async def serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run what was asked for, if it is git's."""
        self.commands.append(process.command or "")
        self.environment |= dict(process.env)
        program, path = shlex.split(process.command or "")
        process.stderr.write(self.says)
        if program != "git-upload-pack" or not await asyncio.to_thread(Path(path).exists):
            process.stderr.write(b"ERROR: Repository not found.\n")
            process.exit(1)
            return
        pipe = asyncio.subprocess.PIPE
        helper = await asyncio.create_subprocess_exec(
            *(GIT, "-c", "safe.directory=*", "upload-pack", path), stdin=pipe, stdout=pipe
        )
        if helper.stdin is None or helper.stdout is None:
            raise RuntimeError("git was started without pipes")
        asking = asyncio.ensure_future(_pass_on(process.stdin, helper.stdin))
        await _pass_on(helper.stdout, process.stdout)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        process.exit(await helper.wait())


async def _pass_on(source: Any, target: Any) -> None:
    while piece := await source.read(64 * 1024):
        target.write(piece)
        await target.drain()


class _Door(asyncssh.SSHServer):
    def __init__(self, server: LocalSsh, accepted_key: asyncssh.SSHKey) -> None:
        self._server, self._accepted_key = server, accepted_key

    def begin_auth(self, username: str) -> bool:
        self._server.users.append(username)
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        del username
        self._server.tried_methods.append("key")
        return key.public_data == self._accepted_key.public_data

    def validate_password(self, username: str, password: str) -> bool:
        del username, password
        self._server.tried_methods.append("password")
        return True


def a_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


def write_key(key: asyncssh.SSHKey, path: Path) -> None:
    """Write a private key that nobody else may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    key.write_private_key(path)
    path.chmod(0o600)


@asynccontextmanager
async def local_ssh(folder: Path) -> AsyncIterator[LocalSsh]:
    """Serve on a free port; `folder` gets the key and the host key."""
    server, mine, host = LocalSsh(folder), a_key(), a_key()
    write_key(mine, server.key)
    listening = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[host],
        server_factory=lambda: _Door(server, mine),
        process_factory=server.serve,
        encoding=None,
    )
    server.port = listening.get_port()
    server.known_hosts.write_bytes(f"[127.0.0.1]:{server.port} ".encode() + host.export_public_key())
    try:
        yield server
    finally:
        listening.close()
        await listening.wait_closed()
