"""The real command in a process of its own, with an environment in which nothing of ours is set."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from bot.__main__ import main
from bot.settings import VARIABLES
from tests.nursery import forked
from tests.operation.as_before import logging_as_before
from tests.patience import patience

ROOT = Path(__file__).parents[2]
PATIENCE = patience(60)


@dataclass(frozen=True)
class CommandResult:
    """A command that has ended."""

    code: int
    out: str
    err: str


def environment(data: Path, **more: str) -> dict[str, str]:
    """This machine's environment without any setting of ours, but for those given."""
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {**plain, "LEADHAND_DATA": str(data), "OLLAMA_HOST": "127.0.0.1:9", **more}


def leadhand(*arguments: str | Path, env: dict[str, str], folder: Path = ROOT, afresh: bool = False) -> CommandResult:
    """Run a command to its end. No command may ever show a stack trace.

    Its imports are there already, unless it is run `afresh`, as people do.
    """
    command = ["bot", *map(str, arguments)]
    env = {**env, "PYTHONPATH": str(ROOT)}
    if afresh:
        ended = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    else:
        ended = forked.run(*command, env=env, folder=folder, patience=PATIENCE)
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "Traceback" not in ended.stdout, ended.stdout
    return CommandResult(ended.returncode, ended.stdout, ended.stderr)


def leadhand_inside(*arguments: str | Path, env: dict[str, str], capture: pytest.CaptureFixture[str]) -> CommandResult:
    """The same within this process: what a command refuses at once need not wait for all its imports."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in env.items():
            patch.setenv(name, value)
        with logging_as_before():
            try:
                code = main([*map(str, arguments)])
            except SystemExit as ended:  # of the parser
                code = int(ended.code or 0)
    said = capture.readouterr()
    assert "Traceback" not in said.err, said.err
    return CommandResult(code, said.out, said.err)


class Running:
    """A command that goes on until it is told to stop. `out` is what it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process | forked.ForkedCommand) -> None:
        self.process = process
        self.out = ""

    @classmethod
    async def start(cls, *arguments: str, env: dict[str, str], afresh: bool = False) -> Running:
        """Start it; `afresh` as with `leadhand`. What it writes to stderr comes with the rest."""
        if not afresh:
            return cls(await forked.start("bot", *arguments, env=env, out=subprocess.PIPE, err=subprocess.STDOUT))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", *arguments),
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return cls(process)

    async def says(self, words: str) -> str:
        """Wait for a line with these words; gives the line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stdout.readline()).decode():
                self.out += line
                if words in line:
                    return line
        raise AssertionError(f"it ended without saying {words!r}: {self.out}")

    async def stop(self, number: signal.Signals) -> int:
        """Send a signal, and wait. Gives the exit code. It may take as long as a test waits."""
        self.process.send_signal(number)
        rest, _ = await asyncio.wait_for(self.process.communicate(), PATIENCE)
        self.out += rest.decode()
        assert "Traceback" not in self.out, self.out
        assert self.process.returncode is not None
        return self.process.returncode


def processes_in(folder: Path) -> list[str]:
    """The processes that stand in a folder or below, or name it on their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            where, line = process.cwd(), " ".join(process.cmdline())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if _within(where, folder) or str(folder) in line:
            found.append(line)
    return found


def _within(path: str, folder: Path) -> bool:
    return folder in (Path(path), *Path(path).parents)


def words(text: str, wanted_words: Iterable[str]) -> list[str]:
    """Those of the wanted words that a text lacks."""
    return [word for word in wanted_words if word not in text]
