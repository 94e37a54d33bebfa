"""What a killed process leaves in the folder for temporary files goes at the next start; a living one's stays."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bot.operation.leftovers import remove_leftovers
from bot.workspace.workspace_server import Workspace
from specialists.sandbox import scratch_folder
from specialists.tools.tables.table_cache import TableCache
from tests.command_line.command import ROOT, Running, environment
from tests.command_line.test_command_run import slack
from tests.patience import eventually
from tests.providers.server import ProviderServer
from tests.store.kit import tcp_server
from tests.system.brains import make_rehearsal_brain, plan, subtask, tool_call

HOLDER = """
import sys, time
from specialists.sandbox.scratch_folder import get_scratch_folder
from tests.patience import patience
(get_scratch_folder() / "secret.csv").write_text("x")
print(get_scratch_folder(), flush=True)
time.sleep(60)
"""
HEAVY = "select count(*) from sales a, sales b, sales c, sales d where a.region < d.region"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test alone, for this process and those it starts."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def holder() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


async def test_only_what_dead_processes_left_is_swept(temporary: Path) -> None:
    alive, kept = await asyncio.to_thread(holder)
    dead, left = await asyncio.to_thread(holder)
    foreign = temporary / "leadhand-0123456789abcdef"
    link = temporary / f"{scratch_folder.FOLDER_PREFIX}{'0' * 16}"
    for folder in (foreign, temporary / f"{scratch_folder.FOLDER_PREFIX}mine"):
        folder.mkdir()
    link.symlink_to(foreign)
    own = scratch_folder.get_scratch_folder()
    try:
        kill(dead)
        assert left.is_dir()
        await remove_leftovers()
        assert not left.exists()
        assert (kept / "secret.csv").exists(), "its process lives"
        assert own.is_dir()
        assert foreign.is_dir(), "nobody says whose that is"
        assert link.is_symlink()
        assert (temporary / f"{scratch_folder.FOLDER_PREFIX}mine").is_dir()
    finally:
        kill(alive)
    await remove_leftovers()
    assert not kept.exists()


def test_a_process_that_ends_by_itself_leaves_nothing(temporary: Path) -> None:
    code = "from specialists.sandbox.scratch_folder import get_scratch_folder; print(get_scratch_folder())"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert Path(made.stdout.strip()).parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_folder_that_somebody_removed_is_made_anew(temporary: Path) -> None:
    first = scratch_folder.get_scratch_folder()
    assert first.parent == temporary
    first.rmdir()
    assert scratch_folder.get_scratch_folder().is_dir()
    assert scratch_folder.get_scratch_folder() == scratch_folder.get_scratch_folder() != first


def test_an_entry_that_was_never_finished_is_swept_from_the_tables(tmp_path: Path) -> None:
    cache = TableCache(tmp_path / "tables")
    made = cache.make_entry_folder("a" * 64)
    assert made is not None
    os.utime(made, (1, 1))
    cache.remove_outdated_entries()
    assert not made.exists()


async def _files(folder: Path) -> list[Path]:
    def list_files() -> list[Path]:
        try:
            return list(folder.glob("**/attempt-*/**/sales.csv"))
        except FileNotFoundError:  # folders come and go meanwhile
            return []

    return await asyncio.to_thread(list_files)


async def test_a_bot_killed_in_the_middle_of_a_query_leaves_nothing_after_the_next_start(
    temporary: Path, tmp_path: Path
) -> None:
    rows = "region,amount\n" + "".join(f"r{number},{number}\n" for number in range(3000))
    words = {
        "planner": lambda _: plan(subtask("a", "analyst")),
        "analyst": lambda _: tool_call("query_table", sql=HEAVY),
    }
    place = await Workspace.start(ROOT / "manifest.yml")
    with tcp_server(tmp_path / "redis") as port:
        async with ProviderServer(make_rehearsal_brain(**words)) as server:
            tiers = {f"LEADHAND_MODEL_{tier}": "gpt-6.1-terra" for tier in ("FAST", "BALANCED", "DEEP")}
            models = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.openai_url, **tiers}
            env = environment(tmp_path / "data", **slack(place, **models, REDIS_URL=f"redis://127.0.0.1:{port}"))
            env["TMPDIR"] = str(temporary)
            running = await Running.start("run", env=env, afresh=True)
            await running.says("listening")
            await place.person("ana").say("#general", "@leadhand sum it up", files=[("sales.csv", rows.encode())])
            found = await eventually(lambda: _files(temporary))
            await running.stop(signal.SIGKILL)
            assert found[0].exists()
            again = await Running.start("run", env=env | {"LEADHAND_SLOTS": "1"}, afresh=True)
            await again.says("listening")
            assert not found[0].exists()
            await again.stop(signal.SIGKILL)
    await place.stop()
