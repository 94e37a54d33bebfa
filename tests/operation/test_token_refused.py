"""A token that Slack refuses, met by a real `leadhand run`: it is seen from outside, and nothing said is lost."""

import signal
from pathlib import Path

import pytest

from bot.workspace.workspace_server import Workspace
from tests.command_line.command import ROOT, Running, environment
from tests.command_line.test_command_run import CONTEXT, slack
from tests.operation.probe import Samples, look, url_of
from tests.patience import eventually, patience
from tests.store.kit import free_port, tcp_server


@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_a_refused_token_is_seen_and_what_is_said_meanwhile_is_answered_later(mode: str, tmp_path: Path) -> None:
    port = free_port()
    where = f"http://127.0.0.1:{port}/slack/events" if mode == "http" else None
    place = await Workspace.start(ROOT / "manifest.yml", request_url=where, retry_scale=0.1)
    secret = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": place.signing_secret, "LEADHAND_PORT": str(port)}
    with tcp_server(tmp_path / "redis", "--appendonly", "yes") as redis:
        here = {"LEADHAND_OPERATION": "127.0.0.1:0", "REDIS_URL": f"redis://127.0.0.1:{redis}"}
        env = environment(tmp_path / "data", **slack(place, **(secret if mode == "http" else {}), **here))
        running = await Running.start("run", env=env)
        try:
            url = await url_of(running)

            async def is_ready() -> bool:
                return (await look(url, "/readyz")).status == 200

            async def is_refused() -> bool:
                return "account_inactive" in (await look(url, "/readyz")).text

            await eventually(is_ready)
            assert Samples((await look(url, "/metrics")).text).of("slack_token_accepted") == 1
            place.set_token_error("account_inactive")
            await place.person("ben").say("#general", "@leadhand write a word")  # the answer to it is refused
            await eventually(is_refused)
            page = await look(url, "/readyz")
            assert page.status == 503
            assert "install the app again" in page.text
            assert (await look(url, "/healthz")).status == 200, "a restart would not help"
            counts = Samples((await look(url, "/metrics")).text)
            assert counts.of("slack_token_accepted") == 0
            assert counts.of("slack_token_refusals_total") == 1
            ts = await place.person("ana").say("#general", "@leadhand write a short note to the board")
            place.set_token_error("")
            await eventually(is_ready)

            def is_answered() -> bool:
                return any(CONTEXT in str(reply.get("blocks")) for reply in place.thread("#general", ts)[1:])

            await place.until(is_answered, timeout=patience())
        finally:
            code = await running.stop(signal.SIGTERM)
    await place.stop()
    assert code == 0
    assert "Slack refuses the bot's token (account_inactive)" in running.out
