"""A real process is killed at a named point of each scenario; a second one brings the job to the same end.

`after` a passage the world differs from before it, and `before` the next one it is as it was then. So half of the
points after something changed are run here, and of the others a small part, drawn by a seed. Points that every job
comes to are run in the plainest one, and a small part of them in each of the others. `python -m tests.crash` runs
every point.
"""

from __future__ import annotations

import ast
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.store.redis.redis_audit import Audit
from bot.store.redis.redis_jobs import Jobs
from bot.store.redis.redis_store import AdminSettings, Blobs, OutboxRecords, Schedules, Store
from bot.store.redis_server import Server
from tests.crash.__main__ import kill_at_all, stages_on
from tests.crash.play import Broke, Stage, UndisturbedRun
from tests.crash.proxies import READS, WRITES, describe_write, request_name
from tests.crash.scenarios import SCENARIOS
from tests.nursery.nursery import nursery

on_one_loop = pytest.mark.asyncio(loop_scope="module")
SEED = 1
SHARE_CHANGES = 0.5
"""How much of the points is run that change something."""
SHARE = 0.02
"""The same of those that change nothing."""
SHARE_NEW = 0.1
"""The same of those that a scenario is there for."""
SHARE_AGAIN = 0.03
"""How much of those is run again that change something and that the plain scenario has as well."""
PLAIN = "plain"
CHANGES = ("commit", "ingest", "signal", "outbox", "chat.", "files.complete", "upload", "canvases", "tool ", "release")
LANES = 8


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[Stage]]:
    """Workspaces to play in, side by side."""
    async with stages_on(server_url, tmp_path_factory.mktemp("bots"), LANES) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plain(stages: list[Stage]) -> UndisturbedRun:
    """The plainest job, of which every other has the points."""
    return await stages[0].play_undisturbed(PLAIN)


def draw_points(name: str, undisturbed_run: UndisturbedRun, plain: UndisturbedRun) -> list[str]:
    """The points of a scenario that are run here."""
    dice = random.Random(f"{SEED} {name}")
    new = SCENARIOS[name].new

    def share(point: str) -> float:
        changes = point.startswith(tuple(f"after {change}" for change in CHANGES))
        if new:
            return (SHARE_CHANGES if changes else SHARE_NEW) if any(word in point for word in new) else 0.0
        if not changes:
            return SHARE
        return SHARE_AGAIN if name != PLAIN and point in plain.points else SHARE_CHANGES

    return [point for point in undisturbed_run.points if dice.random() < share(point)]


@on_one_loop
@pytest.mark.parametrize("name", sorted(SCENARIOS))
async def test_a_crash_changes_nothing_of_the_end(stages: list[Stage], plain: UndisturbedRun, name: str) -> None:
    undisturbed = plain if name == PLAIN else await stages[0].play_undisturbed(name)
    points = draw_points(name, undisturbed, plain)
    for word in SCENARIOS[name].new:
        assert word in undisturbed.passage_text, f"nothing of {word!r} happens any more"
    faults, missed = await kill_at_all(stages, [(name, point) for point in points], {name: undisturbed})
    assert not faults, "\n\n".join(faults)
    # What happens at one moment (a call, its event before and after) is missed together, by chance of timing.
    assert len(missed) <= max(len(points) // 5, min(3, len(points) // 3)), (
        f"too many points were never reached: {missed}"
    )


@on_one_loop
async def test_a_second_bot_that_does_not_look_is_found_out(
    stages: list[Stage], plain: UndisturbedRun, tmp_path: Path
) -> None:
    """The comparison can fail: with a look-up that finds nothing, a message is there twice."""
    async with nursery(tmp_path, "tests.crash.blind_bot") as blind:
        stage = stages[0].with_bots(blind)
        with pytest.raises(Broke, match=r"came to .*ShownMessage\(key='card'.*ShownMessage\(key='card'"):
            await stage.play_with_crash(PLAIN, "after chat.postMessage#1", plain)


def test_every_method_of_the_store_is_known() -> None:
    parts = {"jobs": Jobs, "outbox": OutboxRecords, "blobs": Blobs, "schedules": Schedules}
    parts |= {"settings": AdminSettings, "audit": Audit}
    # What is put on the board is put anew every few seconds, and read by nobody here; nor does anybody sign in, install
    # the app or have something remembered. What homes are made of follows from the heads of jobs.
    others = {"counters", "board", "sign_ins", "memories", "homes", "installations"}
    shared = Store(Server("redis://localhost", 1.0))
    assert {name for name in vars(shared) if not name.startswith("_")} == {*parts, *others}
    for name, part in parts.items():
        promised = {name for name, value in vars(part).items() if callable(value) and not name.startswith("_")}
        assert promised == WRITES[name] | READS[name]
        assert not WRITES[name] & READS[name]


def test_all_requests_to_slack_go_through_one_session() -> None:
    """The session whose requests have names is the only one of the bot's Slack side, beside that of the socket."""
    root = Path(__file__).parents[2] / "bot" / "slack"
    made = [
        path.name
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open_session"
    ]
    assert made == ["bolt_dispatch.py", "web_calls.py"]


def test_points_are_named_without_ids_that_are_new_in_each_run() -> None:
    for key, name in (("1.0:card", "card"), ("1.0:file:c0ffee", "file"), ("1.0:receipt:2.0", "receipt")):
        assert describe_write("outbox", "record_intent", (None, key)) == [f"outbox.record_intent {name}"]
    assert request_name("https://slack.com/api/chat.postMessage") == "chat.postMessage"
    assert request_name("https://files.slack.com/upload/v1/abc") == "upload"
