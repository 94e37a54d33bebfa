"""Large libraries are imported in a thread, so that the loop never stands still for one: a process shows it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.mcp_servers.harbour import Harbour
from tests.mcp_servers.oauth_server import oauth_server
from tests.specialists.local_web import serving

ROOT = Path(__file__).parents[2]
SCRIPT = """
import asyncio, json, sys, threading
from pathlib import Path
from specialists.mcp.oauth_metadata import find_authorization_server
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.server_connection import ServerUnreachable, ServerConnection
from specialists.mcp.server_tools import read_server_toolkits
from specialists.tools.web.fetch import FetchFailed, FetchSettings, download_page
from specialists.tools.mail.smtp_server import SmtpServer, check_login
from specialists.tools.toolkit import ToolSettings
from bot.models.openai_chat import OpenAIChat
from bot.models.anthropic_messages import AnthropicMessages
from bot.models.provider_model import ProviderModel

folder, url, page = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
OURS = {"bot", "specialists", "handoff"}
on_loop, in_threads = set(), set()


class Watch:
    # Notes in which thread a library is run for the first time; to look if it is there does not run it.

    def find_spec(self, name, path=None, target=None):
        if "." in name or name in OURS or name in sys.stdlib_module_names:
            return None
        others = (one.find_spec(name, path, target) for one in sys.meta_path if one is not self)
        spec = next((one for one in others if one is not None), None)
        if spec is not None and spec.loader is not None and spec.origin:
            spec.loader.exec_module = self.noting(name, spec.loader.exec_module)
        return spec

    def noting(self, name, run):
        def noted(module):
            main = threading.current_thread() is threading.main_thread()
            (on_loop if main else in_threads).add(name)
            return run(module)

        return noted


async def work():
    faults = []
    (kit,) = read_server_toolkits(folder, ToolSettings({"PATH": "/usr/bin:/bin"}, folder / "data"), faults)
    assert not faults, faults
    assert await kit.prove() == ()
    await kit.close()
    await find_authorization_server(url)
    connection = ServerConnection(ServerConfig("tides", "http", url=url), folder, "")
    try:
        await connection.list_tools()
    except ServerUnreachable:
        pass
    await connection.close()

    async def follows(*_):
        return True

    try:
        await download_page(page, FetchSettings(), lambda _: "", follows)
    except FetchFailed:
        pass
    await check_login(SmtpServer("127.0.0.1", 9, "off", "", ""))
    for wire in (OpenAIChat("key", "http://127.0.0.1:9/v1"), AnthropicMessages("key", "http://127.0.0.1:9")):
        model = ProviderModel(wire, {"fast": "m", "balanced": "m", "deep": "m"}, provider="home")
        await model.warm()
        await model.close()


sys.meta_path.insert(0, Watch())
asyncio.run(work())
print(json.dumps({"on_loop": sorted(on_loop), "in_threads": sorted(in_threads)}))
"""


@pytest.mark.timeout(600)  # it imports all that is large, in a process that has compiled none of it
async def test_no_library_is_first_imported_on_the_loop(tmp_path: Path) -> None:
    Harbour(tmp_path)

    async def nothing(_: object) -> object:
        raise AssertionError("loopback is not public")

    async with oauth_server() as server, serving(nothing) as site:  # type: ignore[arg-type]
        command = (sys.executable, "-c", SCRIPT, str(tmp_path), server.url, site.url())
        run = partial(subprocess.run, command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True)
        process = await asyncio.to_thread(run, timeout=500, check=False)
    assert process.returncode == 0, process.stderr
    seen = json.loads(process.stdout.splitlines()[-1])
    assert seen["on_loop"] == []
    assert {"mcp", "mcp_types", "jsonschema", "ssrfguard", "aiosmtplib", "openai", "anthropic"} <= set(
        seen["in_threads"]
    )
