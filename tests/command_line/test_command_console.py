"""The terminal of a command: what is typed there, and what becomes of an output that nobody takes any more."""

import asyncio
import contextlib
import os
import pty
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.command_line.console import ask_person
from bot.jobs.shutdown import call_on_stop_signal
from tests.command_line.command import PATIENCE, ROOT, environment, processes_in
from tests.nursery import forked


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The end of a terminal at which somebody types; our end of it is the standard input."""
    typed, ours = pty.openpty()
    with os.fdopen(ours, "r", closefd=True) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield typed
    os.close(typed)


async def test_a_line_is_taken_and_an_empty_one_is_not(keys: int, capsys: pytest.CaptureFixture[str]) -> None:
    os.write(keys, b"\n  \nSouth, please \n")
    assert await asyncio.wait_for(ask_person("your answer> "), PATIENCE) == "South, please"
    assert capsys.readouterr().out == "your answer> " * 3


async def test_a_closed_input_is_no_answer(keys: int) -> None:
    os.write(keys, termios.tcgetattr(keys)[6][termios.VEOF])  # Ctrl-D
    assert await asyncio.wait_for(ask_person("> "), PATIENCE) is None


async def test_who_waits_for_a_line_can_be_stopped(keys: int) -> None:
    waiting = asyncio.create_task(ask_person("> "))
    done, _ = await asyncio.wait({waiting}, timeout=0)
    assert not done
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    os.write(keys, b"too late\n")


async def test_an_answer_at_the_terminal_goes_on_with_the_job(tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("tea,milk\n1,20\n3,40\n", encoding="utf-8")
    typed, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "try", "--ask", "What is the total?", "--file", str(tmp_path / "numbers.csv")),
        *("--out", str(tmp_path)),
        cwd=ROOT,
        env=environment(tmp_path),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    os.close(theirs)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        before = await process.stdout.readuntil(b"your answer> ")
        os.write(typed, b"2\n")
        after = (await process.stdout.read()).decode()
    os.close(typed)
    assert b"[ tea ]  [ milk ]" in before
    assert "ana:\nmilk\n" in after
    assert "60" in after
    assert "your answer>" not in after, "each question is put once"
    assert "Traceback" not in after
    assert await process.wait() in {0, 3}
    assert processes_in(tmp_path) == []


async def test_an_output_that_nobody_takes_is_one_clear_line(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with (tmp_path / "said").open("wb") as said:
        env = environment(tmp_path / "data")
        process = await forked.start("bot", "check", env=env, out=write, err=said.fileno())
    os.close(write)
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 1
    text = (tmp_path / "said").read_text(encoding="utf-8")
    assert text == "leadhand: the output cannot be written (Broken pipe).\n"


async def test_what_nohup_keeps_away_stays_away() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    loop = asyncio.get_running_loop()
    try:
        call_on_stop_signal(lambda: None)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with contextlib.suppress(ValueError, RuntimeError):
                loop.remove_signal_handler(name)
        signal.signal(signal.SIGHUP, before)
