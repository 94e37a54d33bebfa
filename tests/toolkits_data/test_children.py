"""Children: what one can reach, behind each wall alone and behind all; and how many there are at once."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import logging
import os
import sys
from pathlib import Path

import psutil
import pytest

from bot.operation.metrics import Metrics
from bot.operation.sandbox_report import probe_and_report_protections
from bot.settings import SettingsError, read_settings
from specialists.reading.file_reader import read_file
from specialists.sandbox import child_process, sandbox_probe, sandbox_probe_child
from specialists.sandbox.child_process import (
    ChildInputs,
    ChildLimits,
    ChildReply,
    _list_python_paths,
    count_process_slots,
    hide_memory_once,
    run_child,
)
from specialists.sandbox.kernel_layers import SANDBOX_LAYERS, SandboxLayer
from specialists.sandbox.sandbox_probe import SandboxReport
from tests.patience import patience

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
NETWORK, SOCKETS, ENVIRONMENT = "the network", "sockets of this machine", "the bot's environment"
FILES, PROCESSES, PROGRAMS = "other files", "other processes", "other programs"
MODES, SIGNALS = "the modes, owners and times of other files", "signals to other processes"
linux = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")


@linux
async def test_behind_all_walls_a_child_reaches_nothing_of_ours() -> None:
    report = await sandbox_probe.probe_sandbox()
    assert report.reached_targets == ()
    assert (report.missing_layers == ()) == (report.is_complete and report.landlock_version >= 6)


def test_what_is_missing_is_named() -> None:
    assert SandboxReport(frozenset(SANDBOX_LAYERS), 6, ()).missing_layers == ()
    old = SandboxReport(frozenset(SANDBOX_LAYERS), 4, ())
    assert old.missing_layers == ("the rules of Landlock 6 (it is version 4 here)",)
    assert old.is_complete
    none = SandboxReport(frozenset(), 0, (NETWORK,))
    assert none.missing_layers == ("namespaces", "Landlock", "seccomp")
    assert not none.is_complete


@linux
@pytest.mark.parametrize(
    ("walls", "kept_out"),
    [
        ((), set()),
        (("namespace",), {NETWORK, ENVIRONMENT}),
        (("landlock",), {FILES, ENVIRONMENT}),
        (("seccomp",), {NETWORK, SOCKETS, PROCESSES, PROGRAMS, MODES, SIGNALS}),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else None,
)
async def test_what_each_wall_keeps_out_by_itself(
    monkeypatch: pytest.MonkeyPatch, walls: tuple[SandboxLayer, ...], kept_out: set[str]
) -> None:
    """Each is tried alone, as a container may leave only one of them; none of the tests may pass by another."""
    stood: list[str] = []

    async def alone(module: str, request: dict[str, object], **_: object) -> ChildReply:
        assert module == sandbox_probe_child.__name__
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "tests.toolkits_data.lone_wall",
                json.dumps([walls, [*_list_python_paths(), str(TESTS)]]),
            ),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate(json.dumps(request).encode())
        stood[:] = json.loads(errors.splitlines()[0])
        return ChildReply(output)

    monkeypatch.setattr(sandbox_probe, "run_child", alone)
    reached = set((await sandbox_probe.probe_sandbox()).reached_targets)
    if tuple(stood) != walls:
        pytest.skip(f"this system allows no {' or '.join(walls)}")
    assert reached & kept_out == set()
    if not walls:
        assert reached >= {NETWORK, SOCKETS, FILES, PROCESSES, PROGRAMS, MODES, SIGNALS}, (
            "else the trial itself would show nothing"
        )


def test_the_setting_requires_walls_or_takes_what_there_is() -> None:
    assert [read_settings({"LEADHAND_SANDBOX": word}).walls_required for word in ("", "best", "Required")] == [0, 0, 1]
    with pytest.raises(SettingsError, match="LEADHAND_SANDBOX is 'on'; it takes required or best"):
        read_settings({"LEADHAND_SANDBOX": "on"})


@linux
async def test_deeds_that_no_reader_needs_are_refused_and_leave_no_trace(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"bot's own")
    file.chmod(0o640)
    (tmp_path / "own").write_bytes(b"own")
    before = [one.stat() for one in (file, tmp_path / "own")]
    reply = await run_child(
        "tests.toolkits_data.deeds",
        {"file": str(file), "parent": os.getpid()},
        limits=ChildLimits(memory_mb=500, cpu_seconds=10, file_mb=1),
        timeout_seconds=60,
        max_reply_bytes=10_000,
        inputs=ChildInputs(files={"own": tmp_path / "own"}, readable_paths=[TESTS]),
    )
    told = json.loads(reply.output)
    assert {deed: code for deed, code in told.items() if code not in (errno.EPERM, errno.ENOSYS)} == {}
    after = [one.stat() for one in (file, tmp_path / "own")]
    changed = [(old, new) for old, new in zip(before, after, strict=True) if _marks(old) != _marks(new)]
    assert changed == []


def _marks(file_stat: os.stat_result) -> tuple[int, ...]:
    return file_stat.st_mode, file_stat.st_uid, file_stat.st_gid, file_stat.st_mtime_ns, file_stat.st_size


@linux
async def test_without_walls_those_deeds_succeed(tmp_path: Path) -> None:
    """Else the trial above would show nothing. A kernel or a container may lack some of them."""
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "own").write_bytes(b"x")
    arguments = json.dumps([str(tmp_path / "file"), os.getpid(), str(tmp_path / "own")])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.toolkits_data.deeds", arguments),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )
    output, _ = await process.communicate()
    told = json.loads(output)
    lacking = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENODATA, errno.ENOTTY}
    refused = {deed: code for deed, code in told.items() if code and code not in lacking}
    assert set(refused) <= {"io_uring_setup", "personality", "FS_IOC_SETFLAGS"}, refused


@linux
async def test_where_walls_are_required_and_one_is_missing_nothing_is_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("words", encoding="utf-8")
    monkeypatch.setattr(child_process, "_requires_layers", [True])
    walls = json.dumps(["namespace", "landlock"])
    patched = (
        f"import json, specialists.sandbox.confine as c; c.apply_layers = lambda *_, **__: set(json.loads({walls!r})); "
        "c.run_confined(*sys.argv[2:])"
    )
    boot = child_process._BOOT_CODE.rpartition("from specialists")[0] + patched
    monkeypatch.setattr(child_process, "_BOOT_CODE", boot)
    reading = await read_file(tmp_path / "note.txt", "note.txt", "text/plain")
    assert reading.text == ""
    assert reading.fault == (
        "note.txt was not read: this bot reads files only in its full sandbox, and a wall of that is missing on its "
        "machine. Whoever runs it can see which, and what to do, with leadhand check."
    )
    assert (await sandbox_probe.probe_sandbox()).missing_layers == ("seccomp",)
    metrics = Metrics()
    with caplog.at_level(logging.WARNING):
        await probe_and_report_protections(metrics)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("what reads files and pages runs without seccomp; it can reach the network")
    page = metrics.render()[0].decode()
    assert 'leadhand_sandbox_wall{wall="seccomp"} 0.0' in page
    assert 'leadhand_sandbox_wall{wall="landlock"} 1.0' in page
    monkeypatch.setattr(child_process, "_requires_layers", [False])
    assert (await read_file(tmp_path / "note.txt", "note.txt", "text/plain")).text == "words"


@linux
async def test_a_machine_without_any_of_them_still_has_the_one_that_containers_leave() -> None:
    """If none stood here, the tests above would show nothing."""
    assert set(SANDBOX_LAYERS) >= {"seccomp"}
    code = "from specialists.sandbox.kernel_layers import apply_layers; print(sorted(apply_layers()))"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=ROOT, stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}
    )
    output, _ = await process.communicate()
    assert b"seccomp" in output


@linux
async def test_once_there_is_a_child_nobody_reads_this_process() -> None:
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as before any child
    hide_memory_once.cache_clear()
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
        limits=ChildLimits(memory_mb=500, cpu_seconds=10),
        timeout_seconds=deadline,
        max_reply_bytes=10_000,
        inputs=ChildInputs(readable_paths=[TESTS]),
    )


async def test_a_child_ends_at_its_deadline_when_it_says_too_much_and_when_it_dies(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await sleeper({}, deadline=1.0) == ChildReply(b"", "time")
    assert (await sleeper({"say": 100_000}, deadline=20)).failure == "too_much"
    assert (await sleeper({"die": "secret cell"}, deadline=20)).failure == "crash"
    assert "ValueError" in caplog.text
    assert "secret cell" not in caplog.text


async def test_a_child_sees_neither_our_environment_nor_our_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-not-for-children")
    reply = await sleeper({"look": True}, deadline=20)
    folder, _, environment = reply.output.decode().partition("\n")
    assert reply.failure == ""
    assert "SLACK_BOT_TOKEN" not in environment
    assert str(Path.cwd()) not in folder
    assert "leadhand-" in folder


async def test_no_more_than_so_many_run_at_once_and_waiting_counts() -> None:
    first = [asyncio.create_task(sleeper({}, deadline=30)) for _ in range(count_process_slots())]
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
        limits=ChildLimits(memory_mb=500, cpu_seconds=10, file_mb=1),
        timeout_seconds=20,
        max_reply_bytes=10_000,
        inputs=ChildInputs(
            files={"bytes": b"bytes", "file": tmp_path / "file", "folder": kept, "gone": tmp_path / "gone"},
            readable_paths=[TESTS],
        ),
    )
    told = json.loads(reply.output)
    assert told["read"] == {"bytes": "bytes", "file": "file", "folder/a": "folder", "gone": "FileNotFoundError"}
    if sys.platform == "linux":
        assert set(told["written"].values()) <= {"PermissionError", "FileNotFoundError"}
    assert told["own"] == "done"
    assert (tmp_path / "file").read_text(encoding="utf-8") == "file"
    assert os.listdir(kept) == ["a"]  # noqa: PTH208 - as the system says it
