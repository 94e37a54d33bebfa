"""The pytest plugin in a project of somebody else: its tests run in a pytest of their own."""

import subprocess
import sys
from pathlib import Path

from tests.local_slack.conftest import APPS, ROOT, clean_environment

TESTS = """
import os
import time
import urllib.request

import pytest


def test_an_app_beside_it_answers(slack):
    slack.run("python", {app!r})
    ts = slack.say("#general", "@echo hello")
    assert slack.replies("#general", ts)[0]["text"].startswith("Hi")
    assert slack.calls("chat.postMessage")[0].ok
    ana = slack.people["ana"]
    ana.command("#general", "/echo", "again")
    assert [each["text"] for each in ana.ephemerals("#general")] == ["again"]


def test_people_channels_clock_and_faults(slack):
    assert set(slack.people) == {{"ana", "ben", "cleo", "gus", "uma", "sol"}}
    assert "#general" in slack.channels
    ts = slack.say("#general", "hello", by="ben")
    assert slack.until(lambda: slack.messages("#general"))[0]["ts"] == ts
    before = slack.clock.now()
    slack.clock.advance(3600)
    assert slack.clock.now() - before >= 3600
    slack.faults.add("api.test", "server_error_before")
    for code in (500, 200):
        try:
            answered = urllib.request.urlopen(os.environ["SLACK_API_URL"] + "api.test").status
        except urllib.error.HTTPError as error:
            answered = error.code
        assert answered == code
    with pytest.raises(TimeoutError, match="not true within"):
        slack.until(lambda: None, 0.01)
    with pytest.raises(Exception, match="There is nothing to send"):
        slack.say("#general", "")


@pytest.mark.slack(request_url="http://127.0.0.1:9/")
def test_by_http_there_is_no_app_token(slack, monkeypatch):
    assert "SLACK_APP_TOKEN" not in os.environ
    assert os.environ["SLACK_BOT_TOKEN"] == slack.bot_token


def test_a_further_app_answers_in_the_same_workspace(slack):
    second = slack.add_app({other_manifest!r})
    second.run("python", {other_app!r})
    ts = slack.say("#general", "@oncall hello")
    assert slack.replies("#general", ts)[0]["text"] == "I know @reviewers."
    assert second.calls("usergroups.list")[0].ok
    assert not slack.calls("usergroups.list")


def test_an_app_that_ends_at_once_says_so(slack):
    with pytest.raises(RuntimeError, match="ended with code 3 before it was connected"):
        slack.run("python", "-c", "raise SystemExit(3)")


@pytest.mark.slack(manifest="nowhere.json")
@pytest.mark.xfail(raises=pytest.fail.Exception, reason="its manifest is missing", strict=True)
def test_a_manifest_that_is_missing(slack):
    pass
"""
UNUSED = """
import sys


def test_nothing_of_it_is_imported():
    assert "bot.workspace.pytest_plugin" in sys.modules
    assert not [name for name in sys.modules if name.startswith(("aiohttp", "yaml", "bot.workspace.workspace"))]
"""


def run_pytest(folder: Path, tests: str) -> str:
    (folder / "test_theirs.py").write_text(tests, encoding="utf-8")
    (folder / "pytest.ini").write_text(
        f"[pytest]\nstrict = true\nfilterwarnings = error\nslack_manifest = {APPS / 'manifests' / 'echo.json'}\n",
        encoding="utf-8",
    )
    plugins = ("-p", "bot.workspace.pytest_plugin", "-p", "no:cacheprovider")
    environment = {**clean_environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_fixture_gives_a_test_a_slack_of_its_own(tmp_path: Path) -> None:
    apps = {"app": "bolt_sync.py", "other_app": "oncall.py", "other_manifest": "manifests/oncall.json"}
    tests = TESTS.format(**{name: str(APPS / path) for name, path in apps.items()})
    assert "5 passed, 1 xfailed" in run_pytest(tmp_path, tests)


def test_a_project_that_does_not_use_it_imports_nothing_of_it(tmp_path: Path) -> None:
    assert "1 passed" in run_pytest(tmp_path, UNUSED)
