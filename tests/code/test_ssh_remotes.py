"""Repositories over ssh, at a real server on loopback: what is read, what is told, and what is never handed on."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from pathlib import Path

import pytest

from specialists.tools.code import named_repositories, ssh_remote
from specialists.tools.code.named_repositories import Repository
from tests.code.conftest import caller, toolkit
from tests.code.local_ssh import LocalSsh, a_key, local_ssh, write_key

BOTH = {"LEADHAND_SSH_KEY": "/keys/shop", "LEADHAND_SSH_KNOWN_HOSTS": "/keys/known_hosts"}


def read_repository(address: str, **env: str) -> Repository | str:
    """The repository of that address, or the line on what is wrong with it."""
    found = named_repositories.read_repositories({"LEADHAND_REPOSITORIES": f"shop={address}", **(env or BOTH)})
    return found.repositories["shop"] if found.repositories else found.faults[0]


async def test_a_repository_is_read_and_renewed_with_the_key_alone(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent: list[object] = []
    listening = await asyncio.start_unix_server(lambda *pair: agent.append(pair), str(tmp_path / "agent"))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    monkeypatch.setenv("LEADHAND_SECRET", "of ours")
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    async with local_ssh(tmp_path / "ssh") as server:
        call = caller(toolkit(tmp_path / "data", f"shop={server.address(shop)}", {**os.environ, **server.env()}))
        assert "Say what a discount is" in (await call("code_log")).text
        assert "round" in (await call("read_code", path="shop/basket.py", revision="topic")).text
        (copy,) = (tmp_path / "data/repositories").glob("*.git")
        os.utime(copy / "leadhand-renewed", (0, 0))
        assert not (await call("list_files")).failed
        kit = toolkit(tmp_path / "data", f"shop={server.address(shop)}", server.env(LEADHAND_SSH_KEY=str(tmp_path)))
        assert kit.prove is not None
        os.utime(copy / "leadhand-renewed", (time.time() - 7_200,) * 2)
        (stale,) = await kit.prove()
        assert stale.startswith(f"shop: there is no file {tmp_path}/shop")
        assert "Until then, its copy from 2 h ago is read" in stale
    listening.close()
    assert server.commands == [f"git-upload-pack '{shop}'"] * 2
    assert (set(server.users), set(server.tried_methods)) == ({"git"}, {"key"})
    assert set(server.environment) <= {"GIT_PROTOCOL"}
    assert agent == []


async def check_repository(server: LocalSsh, path: Path, data: Path, **env: str) -> str:
    """What `leadhand check` says of a repository that cannot be read."""
    kit = toolkit(data, f"shop={server.address(path)}", server.env(**env))
    assert kit.prove is not None
    (line,) = await kit.prove()
    assert "\n" not in line
    copies = await asyncio.to_thread(lambda: list(data.glob("repositories/*.git")))
    assert copies == []
    return line


async def test_what_keeps_it_from_being_read_is_one_line_with_what_to_do(shop: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    keys = tmp_path / "keys"
    write_key(a_key(), keys / "shop")
    locked, loose, junk = (tmp_path / name for name in ("locked", "loose", "junk"))
    junk.write_text("no key\n")
    make = (*("ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f"), str(locked))
    await (await asyncio.create_subprocess_exec(*make)).wait()
    async with local_ssh(tmp_path / "ssh") as server:
        loose.write_bytes(server.key.read_bytes())
        loose.chmod(0o644)
        junk.chmod(0o600)
        assert "does not take the key" in await check_repository(server, shop, data, LEADHAND_SSH_KEY=str(keys))
        assert f"{keys}/shop for git" in await check_repository(server, shop, data, LEADHAND_SSH_KEY=str(keys))
        assert "has a passphrase" in await check_repository(server, shop, data, LEADHAND_SSH_KEY=str(locked))
        assert "cannot be read as a private key" in await check_repository(
            server, shop, data, LEADHAND_SSH_KEY=str(junk)
        )
        assert f"other users may read the key {loose}" in await check_repository(
            server, shop, data, LEADHAND_SSH_KEY=str(loose)
        )
        assert "there is no file" in await check_repository(server, shop, data, LEADHAND_SSH_KEY=str(tmp_path / "none"))
        assert server.commands == []
        assert "Repository not found" in await check_repository(server, tmp_path / "away", data)
        server.says = "\u202eerror: all is well\n".encode()
        assert "all is well" in (line := await check_repository(server, tmp_path / "away", data))
        assert "\u202e" not in line
        host = server.known_hosts.read_text()
        server.commands.clear()
        server.known_hosts.write_text("")
        assert f"ssh-keyscan -p {server.port} 127.0.0.1" in await check_repository(server, shop, data)
        server.known_hosts.write_text(host.partition(" ")[0] + " " + a_key().export_public_key().decode())
        assert "find out why" in await check_repository(server, shop, data)
        assert (server.commands, "password" in server.tried_methods) == ([], False)
    assert "refused" in await check_repository(server, shop, data)


@pytest.mark.parametrize(
    "address",
    [
        "git@-oProxyCommand=touch:path",
        "-oProxyCommand=x@host:path",
        "ssh://-oProxyCommand=touch/path",
        "ssh://git@-oProxyCommand=touch/path",
        "ssh://git:password@host/path",
        "ssh://host/path",
        "ssh://git@host",
        "ssh://git@host:0/path",
        "ssh://git@host:65536/path",
        "ssh://git@ho st/path",
        "git@host:",
        "git@host:-path",
        "git@host:a'b",
        "git@host:a b",
        "git@host:$(touch x)",
        "git@ho;st:path",
        "git@host\t:path",
        "git@hóst:path",
    ],
)
def test_odd_users_hosts_and_paths_are_refused(address: str) -> None:
    fault = read_repository(address)
    assert isinstance(fault, str)
    assert "write git@host:owner/repository.git or ssh://git@host:22/path" in fault


def test_what_is_missing_is_said_with_what_it_takes() -> None:
    of: dict[str, str] = {"LEADHAND_SSH_KEY": "/keys/shop"}
    assert "LEADHAND_SSH_KNOWN_HOSTS to a file with the host's key" in str(read_repository("git@host:a.git", **of))
    both = str(read_repository("git@host:a.git", OTHER="x"))
    assert both.startswith("LEADHAND_REPOSITORIES: entry 1: for ssh, set LEADHAND_SSH_KEY to the file of a private key")
    assert " and LEADHAND_SSH_KNOWN_HOSTS to a file" in both
    for path in ("keys/shop", "/my keys/shop", "/keys/%h", "/keys/${HOME}", '/keys/"shop"'):
        assert "must be a path that begins with /" in str(
            read_repository("git@host:a.git", **{**BOTH, "LEADHAND_SSH_KEY": path})
        )


def test_requests_of_a_forge_are_found_though_its_code_comes_over_ssh() -> None:
    one = read_repository("git@github.com:acme/shop.git")
    assert isinstance(one, Repository)
    assert (one.forge, one.path, one.address) == ("github", "acme/shop", "https://github.com/acme/shop")
    assert one.make_line_url("abc", "a.py", 3) == "https://github.com/acme/shop/blob/abc/a.py#L3"
    own = read_repository("git@git.acme.example:shop.git")
    assert isinstance(own, Repository)
    assert (own.forge, own.is_local, own.make_line_url("abc", "a.py", 3)) == (None, False, "")


def test_ssh_reads_no_configuration_and_asks_nobody() -> None:
    one = read_repository("git@git.acme.example:shop.git")
    assert isinstance(one, Repository)
    assert one.ssh is not None
    environment = one.ssh.make_git_environment("shop")
    assert environment["GIT_ALLOW_PROTOCOL"] == "ssh"
    program, *options = shlex.split(environment["GIT_SSH_COMMAND"])
    assert Path(program).name == "ssh"
    assert options[:2] == ["-F", "none"]
    always = {"BatchMode=yes", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes", "IdentityAgent=none"}
    assert always | {"IdentityFile=/keys/shop", "UserKnownHostsFile=/keys/known_hosts"} <= set(options)


async def test_without_ssh_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ssh_remote.shutil, "which", lambda name: None if name == "ssh" else f"/usr/bin/{name}")
    kit = toolkit(tmp_path, "shop=git@host:a.git", BOTH)
    assert kit.prove is not None
    assert await kit.prove() == (f"shop: {ssh_remote.NO_SSH}",)
