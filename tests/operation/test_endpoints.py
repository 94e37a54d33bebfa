"""`/healthz` and `/readyz` of a real `leadhand run`: its server goes and comes back, Slack goes, it is told to stop."""

import asyncio
import os
import signal
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from bot.operation.instrumentation import Instrumentation
from bot.settings import Address
from bot.workspace.workspace_server import Workspace
from tests.command_line.command import ROOT, Running, environment, leadhand
from tests.command_line.test_command_run import check_failure, slack
from tests.operation.probe import Samples, look, until, url_of
from tests.patience import eventually
from tests.store.kit import free_port, tcp_server

APPEND = ("--appendonly", "yes")


async def test_ready_while_all_is_there(tmp_path: Path) -> None:
    place = await Workspace.start(ROOT / "manifest.yml")
    port = free_port()
    env = environment(
        tmp_path / "data",
        **slack(place, REDIS_URL=f"redis://127.0.0.1:{port}", LEADHAND_OPERATION="127.0.0.1:0"),
        LEADHAND_REHEARSAL_PACE="1.5",
    )
    with tcp_server(tmp_path / "redis", *APPEND, port=port):
        running = await Running.start("run", env=env)
        url = await url_of(running)
        assert (await look(url, "/readyz")).text == "ok\n"
        assert (await look(url, "/healthz")).text == "ok\n"
        assert (await look(url, "/healthz", "HEAD")).status == 200
        for name, status in (
            ("evil.example", 403),
            ("evil.example:9464", 403),
            ("[", 403),
            ("localhost", 200),
            ("bot-1", 200),
        ):
            assert (await look(url, "/metrics", host=name)).status == status, f"a page may rebind its name: {name}"
        for path, method, status in (("/", "GET", 404), ("/metrics/x", "GET", 404), ("/metrics", "POST", 405)):
            assert (await look(url, path, method)).status == status

    away = await until(url, "/readyz", 503)
    assert "127.0.0.1" in away.text
    assert "Traceback" not in away.text
    assert (await look(url, "/healthz")).status == 200, "a restart would not help"
    assert (await look(url, "/metrics")).status == 200

    with tcp_server(tmp_path / "redis", *APPEND, port=port):
        await until(url, "/readyz", 200)
        await place.person("ana").say("#general", "@leadhand write a short note to the board")

        async def is_job_owned() -> bool:
            return Samples((await look(url, "/metrics")).text).of("jobs_owned") == 1

        await eventually(is_job_owned)
        running.process.send_signal(signal.SIGTERM)
        seen = await look(url, "/readyz")
        while seen.status == 200:  # the signal is on its way
            seen = await look(url, "/readyz")
        stopping = [seen]
        while seen.status:
            stopping.append(seen := await look(url, "/readyz"))
        assert stopping[0].text == "stopping\n", "it still has a job in its hands"
        assert {each.status for each in stopping} == {503, 0}, "never ready again"
        await running.process.wait()
        assert running.process.returncode == 0
    await place.stop()


async def test_slack_that_is_gone(tmp_path: Path) -> None:
    place = await Workspace.start(ROOT / "manifest.yml")
    with tcp_server(tmp_path / "redis", *APPEND, "--maxmemory", "100mb", "--maxmemory-policy", "noeviction") as port:
        here = {"REDIS_URL": f"redis://127.0.0.1:{port}", "LEADHAND_OPERATION": "127.0.0.1:0"}
        running = await Running.start("run", env=environment(tmp_path / "data", **slack(place, **here)))
        url = await url_of(running)
        assert (await look(url, "/readyz")).status == 200
        await place.stop()
        assert (await until(url, "/readyz", 503)).text == "Slack is not connected\n"
        assert (await look(url, "/healthz")).status == 200
        assert Samples((await look(url, "/metrics")).text).of("store_memory_limit_bytes") == 100 * 1024 * 1024
        running.process.kill()
        await running.process.communicate()


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    env = environment(tmp_path, **tokens, LEADHAND_OPERATION=f"127.0.0.1:{port}")
    ended = await asyncio.to_thread(leadhand, "run", env=env)
    check_failure(ended, f"LEADHAND_OPERATION: 127.0.0.1:{port} cannot be had", "or off")
    assert os.listdir(tmp_path) == [], "nothing was started"  # noqa: PTH208 - no async one

    async with door(Address("127.0.0.1", port, is_fixed=False)) as url:
        assert not url.endswith(f":{port}"), "where none was asked for, any free one will do"
        assert (await look(url, "/healthz")).status == 200, "it starts"
        assert (await look(url, "/readyz")).text == "starting\nSlack is not connected\n"
        assert "leadhand_store_memory_bytes NaN" in (await look(url, "/metrics")).text
    taken.close()
    async with door(None) as url:
        assert url == ""


def door(address: Address | None) -> AbstractAsyncContextManager[str]:
    """The endpoints of an instance that has just begun."""
    return Instrumentation().serve_health(address)
