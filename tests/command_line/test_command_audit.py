"""`leadhand audit`: what was done in whole jobs, without a word of what was said in them."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

from bot.logs import make_formatter
from bot.operation.audit_log import AuditLog
from bot.store.redis.redis_store import Store
from bot.store.redis_server import Server
from bot.store.values import StoreError
from handoff.access.audit_entry import AuditEntry
from tests.command_line.command import environment, leadhand
from tests.store.kit import tcp_server
from tests.system.brains import connect, in_turn, plan, provider, result, subtask, tool_call
from tests.system.scene import SAMPLE, scene_on

CANARY = "zanzibar"
DAY = "2026-11-01"


def entry(at: float = 1_793_500_000.0, **more: str) -> AuditEntry:
    return AuditEntry.model_validate({"at": at, "team": "T1", "deed": "asked", "user": "U1", **more})


async def lines_of(store: Store) -> list[dict[str, object]]:
    return [json.loads(line) async for line in store.audit.read()]


async def test_a_whole_job_leaves_deeds_and_no_contents(server_url: str) -> None:
    """Asked with a file, answered a question, refused others; the table was read, a document made."""
    brain = {
        "planner": in_turn(
            plan(subtask("a", "analyst", intent=f"Find {CANARY} in the table"), goal=f"All of {CANARY}")
        ),
        "analyst": in_turn(
            tool_call("escalate", reason="ambiguous_input", message=f"Which {CANARY}?", options=[f"{CANARY} one", "b"]),
            result(f"It is in {CANARY}."),
        ),
    }
    async with scene_on(server_url) as scene, provider(**brain) as server:
        async with scene.bot(connect("chat", server)):
            talk = await scene.ask(f"tell me about {CANARY}", files=[(f"{CANARY}.csv", SAMPLE.read_bytes())])
            await talk.question()
            assert (
                "Only the person who asked for it" in (await scene.command(f"cancel {talk.key.job}", who="ben"))["text"]
            )
            await scene.command(f"trace {talk.key.job}", who="ben")
            await scene.command(f"trace {talk.key.job}")
            await scene.command(f"release {talk.key.job}", who="ben")
            await talk.say(f"{CANARY} one")
            await talk.over()
        found = await lines_of(scene.store)
    people = {name: scene.person(name).id for name in ("ana", "ben")}
    told = [(one["deed"], one.get("user"), one.get("outcome", "done")) for one in found]
    assert told == [
        ("asked", people["ana"], "done"),
        ("stopped", people["ben"], "refused"),
        ("traced", people["ben"], "refused"),
        ("traced", people["ana"], "done"),
        ("released", people["ben"], "refused"),
        ("answered", people["ana"], "done"),
        ("ended", people["ana"], "done"),
    ]
    assert {one["job"] for one in found} == {talk.key.job}
    assert CANARY not in json.dumps(found).lower()


def test_the_command_tells_what_is_wanted_as_a_table_and_as_json(tmp_path: Path) -> None:
    with tcp_server(tmp_path / "redis") as port:
        url = f"redis://127.0.0.1:{port}"

        async def fill() -> None:
            store = await Store.connect(url)
            log = AuditLog(store)
            for one in (
                entry(),
                entry(1_793_600_000.0, user="U2", job="JABCDEFGHJK", deed="sent_out", target="fetch_page a.example"),
                entry(1_796_000_000.0, deed="stopped", outcome="refused", why="no admin"),
                entry(1_796_000_000.0, team="T2", deed="rated"),
            ):
                await log.record(one)
                await asyncio.sleep(0.002)  # the order is that of milliseconds: each entry gets one of its own
            await store.close()

        async def share() -> None:
            store = await Store.connect(url)
            await store.allow_any_team()
            await store.close()

        asyncio.run(fill())
        env = environment(tmp_path / "data", REDIS_URL=url)
        table = leadhand("audit", "--team", "T1", env=env)
        lines = leadhand("audit", "--json", "--user", "U2", env=env)
        within = leadhand("audit", "--json", "--since", DAY, "--until", "2026-11-20", "--deed", "asked", env=env)
        asyncio.run(share())
        several = leadhand("audit", env=env)
        none = leadhand("audit", "--job", "jzzzzzzzzzz", env=env)
        wrong = [leadhand("audit", *words, env=env) for words in (("--since", "soon"), ("--deed", "sang"))]
    assert table.code == 0, table.err
    assert {row.split()[2] for row in table.out.splitlines()[1:]} == {"asked", "sent_out", "stopped"}
    assert "fetch_page a.example" in table.out
    rows = [(row.split()[0], row.split()[3]) for row in several.out.splitlines()[1:]]
    assert rows == [("T1", "asked"), ("T1", "sent_out"), ("T1", "stopped"), ("T2", "rated")]
    assert [json.loads(line)["job"] for line in lines.out.splitlines()] == ["JABCDEFGHJK"]
    assert [json.loads(line)["deed"] for line in within.out.splitlines()] in (["asked"], [])
    assert "No recorded deed fits" in none.out
    assert all(ended.code == 1 for ended in wrong)
    assert "2026-11-01" in wrong[0].err
    assert "asked, answered" in wrong[1].err


async def test_a_deed_is_in_the_log_even_while_the_store_is_away(caplog: pytest.LogCaptureFixture) -> None:
    away = Store(Server("redis://127.0.0.1:9", 0.3))
    try:
        with caplog.at_level(logging.INFO, logger="bot.audit"):
            await AuditLog(away).record(entry(outcome="refused", why="not asked"))
        with pytest.raises(StoreError):
            await away.audit.add_entry("T1", "", "{}")
    finally:
        await away.close()
    record = next(record for record in caplog.records if record.name == "bot.audit")
    line = json.loads(make_formatter("json").format(record))
    assert line["audit"] == {"at": 1_793_500_000.0, "team": "T1", "deed": "asked", "user": "U1", "outcome": "refused",
                             "why": "not asked"}  # fmt: skip
    assert 'deed="asked" user="U1" outcome="refused"' in make_formatter("text").format(record)
