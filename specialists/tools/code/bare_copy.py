"""Keeps a bare copy of each repository in the data folder, and renews an old copy when it is asked for.

Reading a repository in place runs the programs that its configuration names: filters, hooks, diff programs. A copy
does not have that configuration. A repository is refused if even copying it would go beyond its folder: to objects of
other repositories, to configuration elsewhere, or to lazy fetching, which can start programs.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from specialists.outbound.network import make_git_variables
from specialists.tools.code.git_process import NO_GIT, GitReply, is_git_installed, make_copy_arguments, run_git
from specialists.tools.code.named_repositories import Repository

FRESH_SECONDS = 60.0
"""Seconds for which a renewed copy is read without being renewed again."""
COPY_TIMEOUT_SECONDS = 600.0
CALL_WAIT_SECONDS = 45.0
"""Seconds that a call waits for a copy; the copying goes on in the background."""
LARGEST_FILE_MB = 2_000
"""Largest file that copying may write, in megabytes: all objects of a repository arrive in one file."""
_LARGEST_CONFIG_BYTES = 200_000
_OUTSIDE_CONFIG = re.compile(r"\[\s*include|partialclone|promisor", re.IGNORECASE)
_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_REMOTE_BRANCHES = "+refs/remotes/*:refs/remotes/*"
"""The remote-tracking branches of a local folder: most branches of a clone exist only as these."""


class RepositoryUnavailable(Exception):
    """A repository cannot be read. The message says which one, why and what to do."""


class BareCopies:
    """The bare copies of the repositories that the operator names.

    Args:
        data_folder: The data folder of the bot; the copies lie in its folder `repositories`.
        tokens: The tokens of the forges `github` and `gitlab`; "" without one.
        env: The environment of the bot; git gets its proxies and certificate authorities.
    """

    def __init__(self, data_folder: Path, tokens: dict[str, str], env: Mapping[str, str]) -> None:
        self._folder = data_folder.expanduser() / "repositories"
        self._env = env
        self._tokens = tokens
        self._copy_tasks: dict[str, asyncio.Task[Path]] = {}
        self.stale_reasons: dict[str, str] = {}
        """Name of a repository -> why its copy could not be renewed, and how old it is."""

    async def ensure_copy(self, repository: Repository) -> Path:
        """Make or renew a repository's copy if it is older than `FRESH_SECONDS`, and return its path.

        If renewing fails, the old copy stays, and `stale_reasons` says why.

        Raises:
            RepositoryUnavailable: No copy exists and none can be made, or copying takes longer than
                `CALL_WAIT_SECONDS`.
        """
        task = self._copy_tasks.get(repository.name)
        if task is None or task.done():
            task = asyncio.ensure_future(self._renew_copy(repository))
            self._copy_tasks[repository.name] = task
        try:
            return await asyncio.wait_for(asyncio.shield(task), CALL_WAIT_SECONDS)
        except TimeoutError:
            text = f"{repository.name} is still being copied, as it is large; try again in a minute."
            raise RepositoryUnavailable(text) from None

    async def close(self) -> None:
        """Cancel the copying that is under way."""
        for task in self._copy_tasks.values():
            task.cancel()
        await asyncio.gather(*self._copy_tasks.values(), return_exceptions=True)

    async def _renew_copy(self, repository: Repository) -> Path:
        if not is_git_installed():
            raise RepositoryUnavailable(NO_GIT)
        key = hashlib.sha256(repository.address.encode()).hexdigest()[:8]
        copy = self._folder / f"{repository.name}-{key}.git"
        stamp = copy / "leadhand-renewed"
        age = await asyncio.to_thread(_read_copy_age, stamp)
        if age is not None and age < FRESH_SECONDS:
            return copy
        try:
            await asyncio.to_thread(_check_repository, repository)
            if age is None:
                await self._clone(repository, copy)
            else:
                await self._fetch(repository, copy)
        except RepositoryUnavailable as error:
            if age is None:
                raise
            self.stale_reasons[repository.name] = f"{error} Until then, its copy from {age / 3600:.0f} h ago is read."
            return copy  # an old copy is better than none
        self.stale_reasons.pop(repository.name, None)
        await asyncio.to_thread(stamp.touch)
        return copy

    async def _clone(self, repository: Repository, copy: Path) -> None:
        """Clone into a temporary name and rename it at the end, so that an existing copy is always complete."""
        await asyncio.to_thread(self._folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        partial_copy = copy.with_name(f"{copy.name}.{os.getpid()}.part")
        await asyncio.to_thread(shutil.rmtree, partial_copy, ignore_errors=True)
        try:
            arguments = (
                "clone",
                "-q",
                "--bare",
                "--no-local",
                "--template=",
                _make_clone_url(repository),
                str(partial_copy),
            )
            _check_reply(await self._run_git(repository, *arguments), repository)
            if repository.is_local:
                await self._fetch(repository, partial_copy)
            await asyncio.to_thread(_move_into_place, partial_copy, copy)
        finally:
            await asyncio.to_thread(shutil.rmtree, partial_copy, ignore_errors=True)

    async def _fetch(self, repository: Repository, copy: Path) -> None:
        refs = (*_REFS, _REMOTE_BRANCHES) if repository.is_local else _REFS
        fetch = ("fetch", "-q", "--prune", "--no-tags", "--no-write-fetch-head", _make_clone_url(repository), *refs)
        _check_reply(await self._run_git(repository, *make_copy_arguments(copy, *fetch)), repository)

    async def _run_git(self, repository: Repository, *arguments: str) -> GitReply:
        environment = {"GIT_ALLOW_PROTOCOL": "file" if repository.is_local else "https:http"}
        environment |= {} if repository.is_local else make_git_variables(_make_clone_url(repository), self._env)
        if repository.ssh is not None:
            environment = dict(await asyncio.to_thread(repository.ssh.make_git_environment, repository.name))
        safe_config = self._folder / f"{repository.name}.owners"
        if repository.is_local:  # git refuses other owners' folders; its helpers read only this file
            path = repository.address.replace("\\", "\\\\").replace('"', '\\"')
            text = "".join(f'[safe]\n\tdirectory = "{each}"\n' for each in (path, f"{path}/.git"))
            await asyncio.to_thread(_write_safe_directories, safe_config, text)
            environment |= {"GIT_CONFIG_GLOBAL": str(safe_config)}
        elif repository.ssh is None and (token := self._tokens.get(repository.forge or "")):
            user = "x-access-token" if repository.forge == "github" else "oauth2"
            credentials = base64.b64encode(f"{user}:{token}".encode()).decode()
            environment |= {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"http.{_make_clone_url(repository)}.extraHeader",
                "GIT_CONFIG_VALUE_0": f"Authorization: Basic {credentials}",
            }
        return await run_git(arguments, seconds=COPY_TIMEOUT_SECONDS, file_mb=LARGEST_FILE_MB, environment=environment)


def _make_clone_url(repository: Repository) -> str:
    if repository.ssh is not None:
        return repository.ssh.address
    return f"file://{quote(repository.address)}" if repository.is_local else f"{repository.address}.git"


def _move_into_place(partial_copy: Path, copy: Path) -> None:
    if not copy.exists():
        partial_copy.rename(copy)


def _read_copy_age(stamp: Path) -> float | None:
    """Return the seconds since a copy was renewed; None if there is no copy."""
    try:
        return max(0.0, time.time() - stamp.stat().st_mtime)
    except FileNotFoundError:
        return None


def _write_safe_directories(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _check_reply(reply: GitReply, repository: Repository) -> None:
    """Raise RepositoryUnavailable, with git's or ssh's error explained, if copying failed."""
    if reply.code == 0:
        return
    if repository.ssh is not None:
        why = repository.ssh.explain_error(repository.name, reply.error or "it took too long")
        raise RepositoryUnavailable(f"{repository.name} cannot be copied: {why}.")
    error_line = next((line for line in reversed(reply.error.splitlines()) if line.startswith(("fatal", "error"))), "")
    reason = error_line.partition(": ")[2] or (reply.error.splitlines() or ["git gave no reason"])[-1]
    place_hint = repository.address if repository.is_local else f"{repository.address}, and its token if it is private"
    text = f"{repository.name} cannot be copied ({reason[:200]}); look at {place_hint}."
    raise RepositoryUnavailable(text)


def _check_repository(repository: Repository) -> None:
    """Raise RepositoryUnavailable for a repository that cannot, or must not, be copied."""
    if repository.ssh is not None and (why := repository.ssh.find_obstacle(repository.name)):
        raise RepositoryUnavailable(f"{repository.name}: {why}")
    if repository.is_local:
        _check_folder(Path(repository.address), repository.name)


def _check_folder(folder: Path, name: str) -> None:
    """Raise RepositoryUnavailable for a folder that is no complete repository, or uses data from elsewhere."""
    if not folder.is_dir():
        raise RepositoryUnavailable(f"{name}: there is no folder {folder}; correct LEADHAND_REPOSITORIES, or mount it.")
    git_folder = folder / ".git"
    if git_folder.is_symlink() or git_folder.is_file():
        raise RepositoryUnavailable(
            f"{name}: {git_folder} leads elsewhere (a worktree or submodule); name the repository itself."
        )
    repository_folder = git_folder if git_folder.is_dir() else folder
    if not ((repository_folder / "HEAD").is_file() and (repository_folder / "objects").is_dir()):
        raise RepositoryUnavailable(f"{name}: {folder} is no git repository; correct LEADHAND_REPOSITORIES.")
    link_files = [
        repository_folder / "objects/info/alternates",
        repository_folder / "objects/info/http-alternates",
        repository_folder / "commondir",
    ]
    symlinks = [
        each
        for each in (
            repository_folder / "objects",
            repository_folder / "refs",
            repository_folder / "config",
            repository_folder / "HEAD",
        )
        if each.is_symlink()
    ]
    if outside_path := next((each for each in (*link_files, *symlinks) if each.exists() or each.is_symlink()), None):
        raise RepositoryUnavailable(
            f"{name}: {outside_path} takes objects or settings from elsewhere, so it is not read."
        )
    for config in (repository_folder / "config", repository_folder / "config.worktree"):
        if config.exists() and (
            word := _OUTSIDE_CONFIG.search(config.read_bytes()[:_LARGEST_CONFIG_BYTES].decode("latin-1"))
        ):
            raise RepositoryUnavailable(
                f"{name}: {config} has {word[0].strip('[ ')!r}, so it is not read; take that out."
            )
    if next((repository_folder / "objects/pack").glob("*.promisor"), None) is not None:
        raise RepositoryUnavailable(
            f"{name}: it holds only a part of its objects (a partial clone); name the whole one."
        )
