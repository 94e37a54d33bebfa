"""`python -m tests.mcp_servers FOLDER`: our client against public servers of the registries.

Needs npm and the network once: each server is installed in an environment of its own under the folder. Says of each
what it offers, how long it took, and if a call did what it should; the exit code is 1 if anything did not.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from specialists.mcp import server_tools, tool_lock
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.tool_lock import ToolLock
from specialists.tools.tool import FolderWorkbench, Tool
from specialists.tools.toolkit import Toolkit, ToolSettings
from tests.mcp_servers.empty_bench import bench_in

PORT = 8797
NPM = ("filesystem", "memory", "everything")
PIP = {"git": "mcp-server-git", "time": "mcp-server-time", "sqlite": "mcp-server-sqlite"}


@dataclass(frozen=True)
class Try:
    """A server, and one call of it: the tool, its arguments, and what must stand in the reply."""

    config: ServerConfig
    tool: str
    arguments: dict[str, Any]
    expected: str
    wrong: dict[str, Any]


def installed(folder: Path) -> None:
    """Install what is not there yet."""
    for name, package in PIP.items():
        if not (folder / name / "bin" / package).exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
            more = ["mcp<2"] if name == "sqlite" else []
            subprocess.run([str(folder / name / "bin" / "pip"), "install", "-q", package, *more], check=True)
    if not (folder / "npm" / "node_modules").exists() and (npm := shutil.which("npm")):
        (folder / "npm").mkdir(parents=True, exist_ok=True)
        packages = [f"@modelcontextprotocol/server-{name}" for name in NPM]
        subprocess.run([npm, "install", "--silent", "--no-audit", *packages], cwd=folder / "npm", check=True)


def tries(folder: Path) -> list[Try]:
    """Return the calls, with what they are about laid out in the folder."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    repository = work / "repository"
    repository.mkdir(parents=True)
    (repository / "README").write_text("High water at noon.")
    git = ("git", "-C", str(repository), "-c", "user.name=Ana", "-c", "user.email=ana@c.example")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "The first tide"]):
        subprocess.run([*git, *command], check=True)

    def config(name: str, command: Path, *arguments: str) -> ServerConfig:
        return ServerConfig(name, "stdio", str(command), arguments, local=True)

    def pip(name: str, *arguments: str) -> ServerConfig:
        return config(name, folder / name / "bin" / PIP[name], *arguments)

    def npm(name: str, *arguments: str) -> ServerConfig:
        return config(name, folder / "npm" / "node_modules" / ".bin" / f"mcp-server-{name}", *arguments)

    readme, table = str(repository / "README"), {"query": "create table tides (hour int)"}
    entities = [{"name": "Noon", "entityType": "hour", "observations": ["high water"]}]
    memory = replace(npm("memory"), env={"MEMORY_FILE_PATH": str(work / "memory.json")})
    return [
        Try(pip("git", "--repository", str(repository)), "git_log", {"repo_path": str(repository)}, "first tide", {}),
        Try(pip("time", "--local-timezone", "UTC"), "get_current_time", {"timezone": "UTC"}, "UTC", {"timezone": 5}),
        Try(pip("sqlite", "--db-path", str(work / "t.db")), "create_table", table, "success", {}),
        Try(npm("filesystem", str(work)), "read_text_file", {"path": readme}, "High water", {"path": ["x"]}),
        Try(memory, "create_entities", {"entities": entities}, "Noon", {"entities": "Noon"}),
        Try(npm("everything"), "echo", {"message": "High water"}, "High water", {}),
        Try(npm("everything"), "get-tiny-image", {}, "is kept", {"message": 1}),
        Try(npm("everything"), "get-env", {}, "HOME", {}),
        Try(ServerConfig("http", "http", url=f"http://127.0.0.1:{PORT}/mcp"), "echo", {"message": "tide"}, "tide", {}),
    ]


async def tried(one: Try, settings: ToolSettings, folder: Path) -> list[str]:
    """Try one server as a crew would; returns what was wrong."""
    faults: list[str] = []

    def must(holds: object, text: str) -> None:
        if not holds:
            faults.append(f"{one.config.name}: {text}")

    began = time.monotonic()
    connection = server_tools.connection_to(one.config, settings, "tried")
    live = await connection.tools()
    took = time.monotonic() - began
    await connection.close()
    lock = folder / tool_lock.NAME
    tool_lock.write(lock, ToolLock().with_server(one.config.name, live))
    accepted = tool_lock.read(lock).servers[one.config.name]
    toolkit = server_tools.toolkit_of(one.config, accepted, settings, "tried")
    try:
        must(toolkit.prove is not None and not await toolkit.prove(), "what was accepted is not what is there")
        left_out = [f"{tool.name} ({why})" for tool in accepted if (why := server_tools.find_unusable_reason(tool))]
        hinted = sum(tool.hinted_read_only for tool in accepted)
        called = await _called(toolkit, one, folder, must)
        offered = f"{len(toolkit.tools)} of {len(live)} tools, {hinted} called read-only"
        size = lock.stat().st_size / 1024
        print(f"{one.config.name}: {offered}, there in {took:.2f} s; lock {size:.1f} KB; {one.tool}: {called}")
        print("".join(f"    left out: {each}\n" for each in left_out), end="")
    finally:
        if toolkit.close is not None:
            await toolkit.close()
    return faults


async def _called(toolkit: Toolkit, one: Try, folder: Path, must: Callable[[object, str], None]) -> str:
    """Make the call of a try, and one that is wrong if there is one."""
    name = server_tools.name_of(one.config.name, one.tool)
    tool: Tool = next(each for each in toolkit.tools if each.name == name)
    bench: FolderWorkbench = bench_in(folder)
    if one.wrong:
        try:
            tool.arguments.model_validate(one.wrong)
        except ValidationError:
            pass
        else:
            must(one.tool == "get-tiny-image", f"{name} took {one.wrong}")
    began = time.monotonic()
    outcome = await tool.run(tool.arguments.model_validate(one.arguments), bench)
    took = time.monotonic() - began
    must(not outcome.failed and one.expected in outcome.text, f"{name} said {outcome.text[:300]!r}")
    must("TOKEN" not in outcome.text, f"{name} was given a token of ours")
    return f"{len(outcome.text)} characters in {took:.2f} s"


async def main(folder: Path) -> int:
    """Try all. Returns the exit code."""
    installed(folder)
    wrong: list[str] = []
    served = folder / "npm" / "node_modules" / ".bin" / "mcp-server-everything"
    over_http = await asyncio.create_subprocess_exec(
        served,
        "streamableHttp",
        env={"PATH": os.environ["PATH"], "PORT": str(PORT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return await _all_tried(folder, wrong)
    finally:
        over_http.terminate()
        await over_http.wait()


async def _all_tried(folder: Path, wrong: list[str]) -> int:
    settings = ToolSettings({"PATH": "/usr/local/bin:/usr/bin:/bin", "SLACK_BOT_TOKEN": "a TOKEN"}, folder / "data")
    for one in tries(folder):
        try:
            wrong += await tried(one, settings, folder)
        except server_tools.NotReached as error:
            wrong.append(f"{one.config.name}: {error}")
    print("\n".join(wrong) or "all as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]).resolve())))
