"""Children: what one can reach, behind each wall alone and behind all; and how many there are at once."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from specialists.toolkits import wall_proof, wall_proof_child
from specialists.toolkits.child_process import ChildReply, Given, Limits, _python, at_once, hide_once, run_child
from specialists.toolkits.kernel_walls import WALLS, Wall
from tests.patience import patience

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
NETWORK, SOCKETS, ENVIRONMENT = "the network", "sockets of this machine", "the bot's environment"
FILES, PROCESSES, PROGRAMS = "other files", "other processes", "other programs"
linux = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")


@linux
async def test_behind_all_walls_a_child_reaches_nothing_of_ours() -> None:
    assert await wall_proof.reached_by_children() == ()


@linux
@pytest.mark.parametrize(
    ("walls", "kept_out"),
    [
        ((), set()),
        (("namespace",), {NETWORK, ENVIRONMENT}),
        (("landlock",), {FILES, ENVIRONMENT}),
        (("seccomp",), {NETWORK, SOCKETS, PROCESSES, PROGRAMS}),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else None,
)
async def test_what_each_wall_keeps_out_by_itself(
    monkeypatch: pytest.MonkeyPatch, walls: tuple[Wall, ...], kept_out: set[str]
) -> None:
    """Each is tried alone, as a container may leave only one of them; none of the tests may pass by another."""
    stood: list[str] = []

    async def alone(module: str, request: dict[str, object], **_: object) -> ChildReply:
        assert module == wall_proof_child.__name__
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.toolkits_data.lone_wall", json.dumps([walls, [*_python(), str(TESTS)]])),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate(json.dumps(request).encode())
        stood[:] = json.loads(errors.splitlines()[0])
        return ChildReply(output)

    monkeypatch.setattr(wall_proof, "run_child", alone)
    reached = set(await wall_proof.reached_by_children())
    if tuple(stood) != walls:
        pytest.skip(f"this system allows no {' or '.join(walls)}")
    assert reached & kept_out == set()
    if not walls:
        assert reached >= {NETWORK, SOCKETS, FILES, PROCESSES, PROGRAMS}, "else the trial itself would show nothing"


@linux
async def test_a_machine_without_any_of_them_still_has_the_one_that_containers_leave() -> None:
    """If none stood here, the tests above would show nothing."""
    assert set(WALLS) >= {"seccomp"}
    code = "from specialists.toolkits.kernel_walls import put_up; print(sorted(put_up()))"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=ROOT, stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}
    )
    output, _ = await process.communicate()
    assert b"seccomp" in output


@linux
async def test_once_there_is_a_child_nobody_reads_this_process() -> None:
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as before any child
    hide_once.cache_clear()
    await sleeper({"look": True}, deadline=20)
    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0


@linux
async def test_a_child_does_not_outlive_a_parent_that_is_killed() -> None:
    code = (
        "import asyncio; from tests.toolkits_data.test_children import sleeper; asyncio.run(sleeper({}, deadline=100))"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    try:
        async with asyncio.timeout(patience()):
            while not (children := _asleep(parent.pid)):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
    finally:
        parent.kill()
        await parent.wait()
    async with asyncio.timeout(patience()):
        while any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children):  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.05)


def _asleep(parent: int) -> list[psutil.Process]:
    """The children of a process that are shut in by now: nothing else has a filter of system calls."""
    found = psutil.Process(parent).children()
    told = [Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8") for child in found]
    return [child for child, status in zip(found, told, strict=True) if "Seccomp:\t2" in status]


async def sleeper(request: dict[str, object], *, deadline: float) -> ChildReply:
    return await run_child(
        f"{__package__}.sleeper",
        request,
        limits=Limits(memory_mb=500, cpu_seconds=10),
        deadline=deadline,
        largest_reply=10_000,
        given=Given(reads=[TESTS]),
    )


async def test_no_more_than_so_many_run_at_once_and_waiting_counts() -> None:
    first = [asyncio.create_task(sleeper({}, deadline=30)) for _ in range(at_once())]
    await asyncio.sleep(0)
    assert (await sleeper({"look": True}, deadline=0.3)).failure == "busy"
    first[0].cancel()
    assert (await sleeper({"look": True}, deadline=20)).failure == ""
    for task in first:
        task.cancel()
    ends = await asyncio.gather(*first, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends)


async def test_what_a_child_is_given_it_reads_and_cannot_change(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "a").write_text("folder", encoding="utf-8")
    (tmp_path / "file").write_text("file", encoding="utf-8")
    reply = await run_child(
        "tests.toolkits_data.reader_of_files",
        {},
        limits=Limits(memory_mb=500, cpu_seconds=10, file_mb=1),
        deadline=20,
        largest_reply=10_000,
        given=Given(
            files={"bytes": b"bytes", "file": tmp_path / "file", "folder": kept, "gone": tmp_path / "gone"},
            reads=[TESTS],
        ),
    )
    told = json.loads(reply.output)
    assert told["read"] == {"bytes": "bytes", "file": "file", "folder/a": "folder", "gone": "FileNotFoundError"}
    if sys.platform == "linux":
        assert set(told["written"].values()) <= {"PermissionError", "FileNotFoundError"}
    assert told["own"] == "done"
    assert (tmp_path / "file").read_text(encoding="utf-8") == "file"
    assert os.listdir(kept) == ["a"]  # noqa: PTH208 - as the system says it
