"""`leadhand slack -- APP`: apps of different shape whose code knows nothing of it, and how both end."""

import asyncio
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.manifest import SENT_EVENTS
from bot.workspace.web_api.method_table import METHODS
from tests.local_slack.conftest import APPS, ROOT, Start, clean_environment
from tests.patience import patience
from tests.store.kit import free_port

MANIFEST = APPS / "manifests" / "echo.json"
PRINT_ALL = "import json, os, sys; print(json.dumps([dict(os.environ), sys.path])); sys.exit(7)"
WAIT_FOREVER = "import time\nprint('up', flush=True)\ntime.sleep(600)"


async def test_a_bolt_app_that_reads_no_address_answers_a_mention(start: Start) -> None:
    running = await start("--manifest", MANIFEST, "--", sys.executable, APPS / "bolt_async.py")
    thread = await running.answers("@echo hello")
    assert thread[1]["text"] == f"Hi <@{running.me}>"
    assert await running.stop() in (0, 130)


async def test_an_app_of_slack_sdk_alone_takes_events_by_http(start: Start) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    running = await start(
        "--manifest", MANIFEST, "--request-url", url, "--", sys.executable, APPS / "sdk_http.py", port
    )
    async with asyncio.timeout(patience()):  # a person waits until the app is up before writing
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.1)
    writer.close()
    thread = await running.answers("@echo hello")
    assert thread[1]["text"] == f"Hi <@{running.me}>"
    assert not [line for line in running.lines if line.startswith("Note:")]


async def test_a_further_app_runs_in_the_same_workspace_and_stops_with_it(start: Start) -> None:
    further = ("--with", APPS / "manifests" / "oncall.json", shlex.join([sys.executable, str(APPS / "oncall.py")]))
    running = await start("--manifest", MANIFEST, *further, "--", sys.executable, APPS / "bolt_sync.py")
    thread = await running.answers("@echo and @oncall hello", 2)
    assert {each["text"] for each in thread[1:]} == {f"Hi <@{running.me}>", "I know @reviewers."}
    assert await running.stop() in (0, 130)


async def test_leadhand_slack_is_the_same_command(start: Start, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(MANIFEST.read_text(encoding="utf-8"), encoding="utf-8")
    app = ("--", sys.executable, APPS / "bolt_sync.py")
    running = await start("slack", *app, module="bot", cwd=tmp_path)
    assert (await running.answers("@echo hello"))[1]["text"].startswith("Hi")
    await running.post("command", channel=running.channels["general"], text="/echo once more")


async def test_the_app_ends_it_with_its_own_code_and_finds_its_own_path_untouched(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['OF_ITS_OWN'] = 'yes'\n", encoding="utf-8")
    arguments = ("--manifest", str(MANIFEST), "--", sys.executable, "-c", PRINT_ALL)
    environment = {**clean_environment(), "PYTHONPATH": f"{tmp_path}:{ROOT}", "NODE_OPTIONS": "--no-warnings"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.workspace", *arguments),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, _ = await asyncio.wait_for(process.communicate(), patience())
    assert process.returncode == 7
    variables, path = json.loads(out)
    assert {name for name in variables if name.startswith("SLACK_")} == {
        *("SLACK_API_URL", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"),
    }
    assert variables["NO_PROXY"].endswith("127.0.0.1,localhost")
    assert variables["NODE_OPTIONS"].startswith("--no-warnings --require ")
    assert variables["OF_ITS_OWN"] == "yes"
    assert not [entry for entry in path if entry.endswith("redirect")]


async def test_a_signal_ends_both(start: Start) -> None:
    running = await start("--manifest", MANIFEST, "--", sys.executable, "-c", WAIT_FOREVER)
    assert running.process.stdout is not None
    assert await asyncio.wait_for(running.process.stdout.readline(), patience()) == b"up\n"
    assert await running.stop(signal.SIGTERM) == 143


async def test_an_app_stops_though_a_script_started_all_of_it_in_the_background(start: Start) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for "&"

    running = await start("--manifest", MANIFEST, "--", sys.executable, "-c", WAIT_FOREVER, before=ignore)
    assert running.process.stdout is not None
    assert await asyncio.wait_for(running.process.stdout.readline(), patience()) == b"up\n"
    assert await running.stop(signal.SIGINT) == 130


async def test_without_a_command_it_prints_what_to_export(start: Start) -> None:
    running = await start("--manifest", MANIFEST)
    exports = dict(line.removeprefix("export ").split("=", 1) for line in running.lines if line.startswith("export "))
    assert list(exports)[:4] == ["SLACK_API_URL", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"]
    assert list(exports)[4:] == ["PYTHONPATH", "NODE_OPTIONS"]
    client = AsyncWebClient(exports["SLACK_BOT_TOKEN"], base_url=exports["SLACK_API_URL"])
    assert (await client.auth_test())["ok"]
    assert await running.stop() == 0


async def test_further_workspaces_and_their_organisation_can_be_installed_in(start: Start) -> None:
    manifest = APPS / "manifests" / "kudos.json"
    options = ("--workspace", "Second", "--organisation", "Acme", "--request-url", "http://127.0.0.1:9/slack/events")
    running = await start("--manifest", manifest, *options)
    pages = [line for line in running.lines if line.startswith("Page")]
    assert [page.partition(":")[0] for page in pages] == ["Page", "Page of Second"]
    exports = dict(line.removeprefix("export ").split("=", 1) for line in running.lines if line.startswith("export "))
    query = {"client_id": exports["SLACK_CLIENT_ID"], "scope": "chat:write"}
    address = exports["SLACK_API_URL"].replace("/api/", "/oauth/v2/authorize")
    async with aiohttp.ClientSession() as browser, browser.get(address, params=query) as response:
        offered = re.findall(r">(Allow in [^<]+)<", await response.text())
    assert offered == ["Allow in Local workspace", "Allow in Second", "Allow in all of Acme"]
    assert await running.stop(signal.SIGTERM) == 0


def run_command(*arguments: str | Path, cwd: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "bot.workspace", *map(str, arguments)]
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=180)
    return done.returncode, done.stderr


def test_a_manifest_or_program_that_is_not_there_is_said_in_a_line(tmp_path: Path) -> None:
    code, errors = run_command(cwd=tmp_path)
    assert (code, errors.count("\n")) == (1, 1)
    assert "there is no manifest.json, manifest.yml or manifest.yaml in" in errors
    code, errors = run_command("--manifest", MANIFEST, "--", "no-such-program", cwd=tmp_path)
    assert code == 127
    assert "is there a command 'no-such-program'?" in errors


def test_an_app_without_socket_mode_is_told_of_the_other_way(tmp_path: Path) -> None:
    raw: dict[str, Any] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    raw["settings"]["socket_mode_enabled"] = False
    raw["features"]["assistant_view"] = {"assistant_description": "Helps."}
    (tmp_path / "manifest.json").write_text(json.dumps(raw), encoding="utf-8")
    code, errors = run_command("--", sys.executable, "-c", "", cwd=tmp_path)
    assert code == 0
    notes = [
        line for line in errors.partition("Page:  http://127.0.0.1:")[0].splitlines() if line.startswith("Note:  ")
    ]
    assert notes[0].startswith("Note:  features.assistant_view is the older form of an agent")
    assert notes[-1].startswith("Note:  The manifest has Socket Mode off")


def test_methods_and_events_are_listed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bot.workspace", "--methods"]
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT)}
    printed = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True, timeout=180)
    rows = [line.split(" | ") for line in printed.splitlines() if line.startswith("| `")]
    assert {row[0].strip("| `") for row in rows} == {*METHODS, *SENT_EVENTS}
    assert ["| `users.info`", "Describe a person or the bot", "`user`", "`users:read`", "100 |"] in rows
    assert not [row for row in rows if not row[1]]


def test_every_event_that_is_sent_is_listed() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "bot" / "workspace").glob("*.py")]
    sent = {name for source in sources for name in re.findall(r'\.emit\(\s*"([\w.]+)"', source)}
    assert sent
    assert sent <= set(SENT_EVENTS)


NODE = """
const { request } = require("node:https");
const shown = (name) => (answer) => console.log(name, answer.ok);
const read = (name, response) => {
  let text = "";
  response.on("data", (part) => (text += part)).on("end", () => shown(name)(JSON.parse(text)));
};
fetch("https://slack.com/api/api.test").then((each) => each.json()).then(shown("fetch"));
request("https://slack.com/api/api.test", { method: "POST" }, (each) => read("address", each)).end();
const host = { hostname: "slack.com", path: "/api/api.test", method: "POST", headers: { Host: "slack.com" } };
request(host, (each) => read("options", each)).end();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js here")
def test_node_is_led_here_by_fetch_and_by_https(tmp_path: Path) -> None:
    script = tmp_path / "calls.cjs"
    script.write_text(NODE, encoding="utf-8")
    command = [sys.executable, "-m", "bot.workspace", "--manifest", str(MANIFEST), "--", "node", str(script)]
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["address true", "fetch true", "options true"]
