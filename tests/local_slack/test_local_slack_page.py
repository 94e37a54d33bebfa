"""docs/local-slack.md is true: its app runs as it stands there, its test passes, and it names what is supported."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import get_args

from bot.workspace.command import MANIFEST_NAMES, render_support_tables
from bot.workspace.fault_injection import FaultKind
from bot.workspace.manifest import SENT_EVENTS
from bot.workspace.web_api.method_table import METHODS
from tests.local_slack.conftest import APPS, ROOT, Start, clean_environment

PAGE = (ROOT / "docs" / "local-slack.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", PAGE, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found[number][1])


async def test_the_five_minutes_in_python_are_true(start: Start, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(block("json"), encoding="utf-8")
    (tmp_path / "app.py").write_text(block("python"), encoding="utf-8")
    running = await start("slack", "--", sys.executable, "app.py", module="bot", cwd=tmp_path)
    assert (await running.answers("@echo hello"))[1]["text"] == f"Hi <@{running.me}>"


def test_the_app_in_javascript_is_the_one_that_was_tried() -> None:
    theirs = (APPS / "bolt.mjs").read_text(encoding="utf-8")
    words = [re.sub(r"//.*\n|\s|,(?=\s*})", "", text) for text in (block("javascript"), theirs)]
    assert words[0] == words[1]


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(block("json"), encoding="utf-8")
    (tmp_path / "app.py").write_text(block("python"), encoding="utf-8")
    (tmp_path / "test_app.py").write_text(block("python", 1), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "bot.workspace.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_command_prints_what_is_supported() -> None:
    command = [sys.executable, "-m", "bot.workspace", "--methods"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=180).stdout
    assert printed == render_support_tables()
    assert [name for name in (*METHODS, *SENT_EVENTS) if f"`{name}`" not in printed] == []


def test_it_names_the_options_faults_and_manifests_there_are() -> None:
    command = [sys.executable, "-m", "bot.workspace", "--help"]
    options = re.findall(r"^  (--[\w-]+)", subprocess.check_output(command, cwd=ROOT, text=True), re.MULTILINE)
    assert [option for option in options if f"`{option}" not in PAGE] == []
    named = re.search(r"`slack.faults.add\(method, kind\)` \| (.*) \|", PAGE)
    assert named is not None
    assert set(re.findall(r"`(\w+)`", named[1])) == set(get_args(FaultKind))
    assert [name for name in MANIFEST_NAMES if f"`{name}`" not in PAGE] == []
