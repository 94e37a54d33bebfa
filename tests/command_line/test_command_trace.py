"""`leadhand trace`: a job of the embedded store, by its id or a link, while a bot holds that store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bot.command_line.try_store import TRY_JOBS_HINT
from bot.store.embedded import is_server_running, start_embedded, stop_embedded
from bot.store.redis.redis_store import Store
from bot.store.values import Commit, JobKey
from handoff import events as ev
from handoff.access.audit_entry import AuditEntry
from tests.command_line.command import environment, leadhand
from tests.store.kit import take_job
from tests.tracing.made_logs import PLACE, R, a_day

LINK = f"https://x.slack.com/archives/{PLACE.channel}/p{R.replace('.', '')}"


async def _fill(store: Store) -> JobKey:
    """Put the log of a day's work into a store, as an instance does."""
    events = a_day()
    key = JobKey(PLACE.team, PLACE.job_id)
    await store.claim_home_team(PLACE.team)
    await store.jobs.ingest(key, ev.dump_event(events[0]), dedupe=["x"], user="UANA")
    claim = await take_job(store, lease=60.0, schema=ev.SCHEMA)
    lines = [ev.dump_event(event) for event in events]
    done = await store.jobs.commit(claim, "all", 0, lines, fields={"state": "completed"}, schema=ev.SCHEMA)
    assert done is Commit.OK
    return key


async def test_the_trace_is_told_and_written_while_a_bot_holds_the_store(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    store = await Store.connect(await start_embedded(data))
    try:
        key = await _fill(store)

        async def run(*words: str | Path) -> tuple[int, str, str]:
            ended = await asyncio.to_thread(leadhand, "trace", *words, env=environment(data))
            return ended.code, ended.out, ended.err

        told = await run(key.job)
        printed = await run(LINK, "--json")
        written = await run(LINK, "--html", "--png", "--json", "--out", out)
        unknown = await run("JAAAAAAAAAA")
        no_job = await run("tomorrow")
        assert await store.jobs.read_head(key) is not None, "the bot's store goes on"
    finally:
        await store.close()
        await stop_embedded(data)
    assert told[0] == 0, told[2]
    assert "market: attempt 1 failed (model)" in told[1]
    assert printed[0] == 0, printed[2]
    assert json.loads(printed[1])["job"] == key.job
    assert written[0] == 0, written[2]
    assert sorted(path.name for path in out.iterdir()) == [f"{key.job}.{end}" for end in ("html", "json", "png")]
    assert json.loads((out / f"{key.job}.json").read_text()) == json.loads(printed[1])
    assert (unknown[0], no_job[0]) == (1, 1)
    assert "is not in the store" in unknown[2]
    assert TRY_JOBS_HINT in unknown[2]
    assert "names no job" in no_job[2]


async def test_a_job_of_the_page_of_try_is_found_too_and_its_server_is_stopped_again(tmp_path: Path) -> None:
    store = await Store.connect(await start_embedded(tmp_path / "try"))
    try:
        key = await _fill(store)
        asked = AuditEntry(at=1.0, team=key.team, deed="asked", user="U1", job=key.job)
        await store.audit.add_entry(key.team, key.job, asked.model_dump_json())
    finally:
        await store.close()
        await stop_embedded(tmp_path / "try")
    traced = await asyncio.to_thread(leadhand, "trace", key.job, env=environment(tmp_path))
    shown = await asyncio.to_thread(leadhand, "jobs", key.job, env=environment(tmp_path))
    audited = await asyncio.to_thread(leadhand, "audit", "--job", key.job, env=environment(tmp_path))
    unknown = await asyncio.to_thread(leadhand, "jobs", "JAAAAAAAAAA", env=environment(tmp_path))
    assert (traced.code, "market: attempt 1 failed (model)" in traced.out) == (0, True), traced.err
    assert (shown.code, f"Job {key.job}" in shown.out) == (0, True), shown.err
    assert (audited.code, "asked" in audited.out) == (0, True), audited.err
    assert (unknown.code, TRY_JOBS_HINT in unknown.err) == (1, True)
    assert not is_server_running(tmp_path / "try")
