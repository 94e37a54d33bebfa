"""A rolling deploy there and back, with two releases as processes whose schemas of events really differ."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bot.slack.show.notices import NOT_RECORDED
from bot.store.redis.redis_store import Store
from bot.store.values import Claim, Commit, Head, JobKey
from handoff import events as ev
from handoff.contracts import Place, Request
from tests.patience import patience
from tests.providers.rendering import Reply
from tests.providers.scripts import first_text, task_of
from tests.providers.wire import WireRequest
from tests.store.kit import read_head
from tests.system.brains import escalation, plan, provider, result, subtask
from tests.system.scene import Json, Scene, Talk, eventually, extract_shown_text, scene_on
from tests.versions.next_release import NEXT as NEXT_SCHEMA
from tests.versions.next_release import dump_next
from tests.versions.releases import NEXT, PRESENT, Fleet, Release

MANY = 80
IDLE_SECONDS = 3.0
PATIENCE = patience(60)


class Words:
    """What the models say. A job is told by a word in its request; the reviewer of a held one waits."""

    def __init__(self) -> None:
        self._hold_events: dict[str, asyncio.Event] = {}
        self.wait_counts: Counter[str] = Counter()
        self.ask_counts: Counter[str] = Counter()

    def hold(self, *names: str) -> None:
        self._hold_events.update({name: asyncio.Event() for name in names})

    def let_go(self, *names: str) -> None:
        for name in names:
            self._hold_events.pop(name).set()

    def planner(self, request: WireRequest) -> Reply:
        verb, name = re.findall(r"(Write|Ask) about (\w+)", first_text(request))[0]
        self.ask_counts["planner " + name] += 1
        return plan(
            subtask("first", "writer", intent=f"{verb} one sentence about {name}, please."),
            subtask("second", "reviewer", intent=f"Check one sentence about {name}, please."),
        )

    def writer(self, request: WireRequest) -> Reply:
        name = _name(request)
        self.ask_counts["writer " + name] += 1
        text = first_text(request)
        if "Ask one sentence" in task_of(request) and "Answered by a person:" not in text:
            return escalation("ambiguous_input", f"Which one of {name}?", ["Oslo", "Bergen"])
        chosen = text.rpartition("Answered by a person:")[2].split("\n")[0].strip() if "Answered by" in text else "it"
        return result(f"{name} is {chosen}.")

    async def reviewer(self, request: WireRequest) -> Reply:
        name = _name(request)
        if name in self._hold_events:
            self.wait_counts[name] += 1
            await self._hold_events[name].wait()
        return result(f"Checked {name}.")

    def synthesizer(self, request: WireRequest) -> Reply:
        found = re.findall(r"(\w+ is \w+)\.", first_text(request))
        return Reply("The answer: " + "; ".join(dict.fromkeys(found)) + ".")


def _name(request: WireRequest) -> str:
    found = re.search(r"one sentence about (\w+), please", task_of(request))
    assert found is not None
    return found[1]


class Board:
    """The stage: jobs by name, and what people see of them."""

    def __init__(self, scene: Scene, words: Words, fleet: Fleet) -> None:
        self.scene, self.words, self.fleet = scene, words, fleet
        self.talks: dict[str, Talk] = {}

    async def ask(self, name: str, *, is_held: bool = False, verb: str = "Write") -> Talk:
        """A request. A held one has come to its reviewer when this returns."""
        if is_held:
            self.words.hold(name)
        self.talks[name] = await self.scene.ask(f"{verb} about {name}")
        if is_held:
            await eventually(lambda: _so(self.words.wait_counts[name]))
        return self.talks[name]

    async def head(self, name: str) -> Head:
        return await read_head(self.scene.store, self.talks[name].key)

    async def at(self, name: str, state: str, schema: int) -> None:
        """Wait until the head says so."""

        async def there() -> bool:
            head = await self.scene.store.jobs.read_head(self.talks[name].key)
            return head is not None and (head.fields["state"], head.schema) == (state, schema)

        try:
            await eventually(there, PATIENCE)
        except TimeoutError:
            raise AssertionError(f"{name}: {await self.head(name)}; {self.talks[name].join_bot_texts()}") from None

    async def moved_to_a_new_owner(self, name: str, before: int) -> None:
        """Wait until the reviewer of a held job was asked again."""
        await eventually(lambda: _so(self.words.wait_counts[name] > before), PATIENCE)

    def keys(self, name: str) -> Counter[str]:
        """The keys of the bot's messages in a thread, each with how often it is there."""
        carried = [(message.get("metadata") or {}).get("event_payload", {}) for message in self.talks[name].replies()]
        return Counter(str(one.get("key", "")) for one in carried)

    async def command(self, text: str) -> str:
        """A slash command's answer. A bot that was too slow for Slack says so, and is asked again."""

        async def answer() -> str:
            person = self.scene.person()
            before = len(person.ephemerals("#general"))
            await person.command("#general", "/leadhand", text)
            found: list[Json] = await self.scene.workspace.until(lambda: person.ephemerals("#general")[before:])
            return "" if NOT_RECORDED in extract_shown_text(found[0]) else extract_shown_text(found[0])

        return await eventually(answer, PATIENCE)

    async def claims(self) -> int:
        """Scripts that the server has run."""
        stats = await self.scene.store._server.run_command("INFO", "commandstats")  # type: ignore[attr-defined]
        return int(stats["cmdstat_evalsha"]["calls"])


async def _so(value: object) -> bool:
    return bool(value)


@asynccontextmanager
async def board(url: str, folder: Path) -> AsyncIterator[Board]:
    words = Words()
    said = {name: getattr(words, name) for name in ("planner", "writer", "reviewer", "synthesizer")}
    store = await Store.connect(url)
    async with scene_on(url, rate_limits=False) as scene, provider(**said) as server:
        fleet = Fleet(scene, server, folder)
        try:
            yield Board(replace(scene, store=store, prefix="lh"), words, fleet)
        finally:
            fleet.end()
            await store.close()


async def fill(board: Board) -> None:
    """Many jobs of the next schema that are due: they ended, and somebody has to look at them once more."""
    store, at = board.scene.store, time.time()

    for number in range(MANY):
        place = Place(team=board.scene.workspace.team_id, channel="C0", thread_ts=f"{number}.0")
        request = Request(id=f"{number}.0", user="U0", text="x", at=at)
        log: list[ev.Event] = [
            ev.RequestAdded(at=at, place=place, request=request, refusal="an empty mention"),
            ev.Posted(at=at, request=request.id, key=f"{request.id}:answer", ts="1.0"),
        ]
        key = JobKey(place.team, place.job_id)
        assert await store.jobs.ingest(key, dump_next(log[0]), dedupe=[])
        claim = await _claim_job(store, key)
        done = await store.jobs.commit(claim, "fill", 0, [*map(dump_next, log)], taken_entries=[1], schema=NEXT_SCHEMA)
        assert done in {Commit.OK, Commit.DUP}, "a busy server may be asked twice"
        assert await store.jobs.release(claim, due=await store.read_time())


async def _claim_job(store: Store, key: JobKey) -> Claim:
    """That job. The instance that runs may have been quicker: it leaves it to the next release."""

    async def try_claim() -> Claim | None:
        claim = await store.jobs.claim("filler", lease=60, schema=NEXT_SCHEMA, preferred_job=key)
        if claim is not None and claim.key != key:
            await store.jobs.release(claim, due=await store.read_time())
            return None
        return claim

    claim = await eventually(try_claim)
    assert claim is not None
    return claim


async def test_there_and_back_and_there_again(server_url: str, tmp_path: Path) -> None:
    async with board(server_url, tmp_path) as stage:
        await _there(stage)
        old = await _back(stage)
        await _idle(stage, old)
        await _and_there_again(stage)
        _each_once(stage)


async def _there(stage: Board) -> None:
    """The present release works; the next one is added; the present one leaves."""
    old = await stage.fleet.start(PRESENT)
    await stage.ask("alder")
    await stage.at("alder", "completed", ev.SCHEMA)
    await stage.ask("birch", is_held=True)
    await stage.ask("cedar", verb="Ask")
    await stage.at("cedar", "input_required", ev.SCHEMA)
    await stage.ask("dogwood", verb="Ask")
    await stage.at("dogwood", "input_required", ev.SCHEMA)

    new = await stage.fleet.start(NEXT)
    await stage.ask("elm", is_held=True)  # to either of them
    await stage.scene.person().stop(stage.talks["elm"].channel, stage.talks["elm"].ts)
    await eventually(lambda: _so(stage.keys("elm")[f"{stage.talks['elm'].ts}:answer"]), PATIENCE)
    before = stage.words.wait_counts["birch"]
    await old.stop()
    await stage.moved_to_a_new_owner("birch", before)
    await stage.talks["cedar"].say("Oslo")
    await stage.at("cedar", "completed", NEXT_SCHEMA)
    stage.words.let_go("birch")
    await stage.at("birch", "completed", NEXT_SCHEMA)
    for name in ("fir", "gorse"):
        await stage.ask(name, is_held=True)
    for name in ("hazel", "ivy"):
        await stage.ask(name, verb="Ask")
        await stage.at(name, "input_required", NEXT_SCHEMA)
    assert new.process.returncode is None


async def _back(stage: Board) -> Release:
    """The next release is taken back with its jobs open. The present one leaves them alone, and works."""
    new = stage.fleet._releases[-1]
    old = await stage.fleet.start(PRESENT)
    await new.stop()
    waiting = dict(stage.words.wait_counts)
    await fill(stage)
    await stage.ask("juniper")
    await stage.at("juniper", "completed", ev.SCHEMA)
    await stage.talks["dogwood"].say("Bergen")
    await stage.at("dogwood", "completed", ev.SCHEMA)

    listed = await stage.command("status")
    assert all(f" · {state} · " in listed for state in ("working", "waiting for you")), listed
    for name in ("fir", "hazel"):
        assert stage.talks[name].key.job in listed
        assert "newer release" in await stage.command(f"status {stage.talks[name].key.job}")
        assert "newer release" in await stage.command(f"trace {stage.talks[name].key.job}")
    # What people do to jobs of the next release is taken in by this one, for it.
    await stage.talks["hazel"].say("Bergen")
    await stage.scene.person().stop(stage.talks["gorse"].channel, stage.talks["gorse"].ts)
    await stage.talks["fir"].say("@leadhand Write about kapok")
    for name in ("hazel", "gorse", "fir"):
        key = stage.talks[name].key
        (entry,) = await eventually(partial(stage.scene.store.jobs.read_inbox, key))
        assert json.loads(entry.payload)["v"] == ev.SCHEMA
        assert (await stage.head(name)).schema == NEXT_SCHEMA
    assert {name: stage.words.wait_counts[name] for name in waiting} == waiting, "nobody went on with them"
    return old


async def _idle(stage: Board, old: Release) -> None:
    """With hundreds of jobs due that are not for it, an instance sleeps."""
    await asyncio.sleep(1)  # until what was said above is drawn
    scripts, cpu = await stage.claims(), old.cpu()
    await asyncio.sleep(IDLE_SECONDS)
    scripts, cpu = await stage.claims() - scripts, old.cpu() - cpu
    assert scripts <= 30, f"{scripts} scripts in {IDLE_SECONDS:g} idle seconds"
    assert cpu <= 0.2 * IDLE_SECONDS, f"{cpu:.2f} s of CPU in {IDLE_SECONDS:g} idle seconds"
    for name in ("fir", "gorse", "hazel", "ivy"):
        assert not (await stage.head(name)).owner


async def _and_there_again(stage: Board) -> None:
    """The next release is back, beside the present one: everything comes to its end."""
    await stage.fleet.start(NEXT)
    stage.words.let_go("fir")
    await stage.at("gorse", "cancelled", NEXT_SCHEMA)
    await stage.at("hazel", "completed", NEXT_SCHEMA)
    await stage.talks["ivy"].say("Oslo")
    await stage.at("ivy", "completed", NEXT_SCHEMA)
    await eventually(lambda: _so(sum(key.endswith(":answer") for key in stage.keys("fir")) == 2), PATIENCE)
    await stage.at("fir", "completed", NEXT_SCHEMA)
    await eventually(lambda: _all_looked_at(stage), PATIENCE)


async def _all_looked_at(stage: Board) -> bool:
    due = await stage.scene.store.jobs.read_next_due()
    return due is None


def _each_once(stage: Board) -> None:
    for name in stage.talks:
        keys = stage.keys(name)
        assert set(keys.values()) == {1}, f"{name}: {keys}"
        answers = [key for key in keys if key.endswith(":answer")]
        assert len(answers) == (2 if name == "fir" else 1), f"{name}: {keys}"
        assert sum(key.endswith(":card") for key in keys) == len(answers)
        assert stage.words.ask_counts["planner " + name] == 1, (name, stage.words.ask_counts)
    assert "cedar is Oslo" in stage.talks["cedar"].join_bot_texts()
    assert "dogwood is Bergen" in stage.talks["dogwood"].join_bot_texts()
    assert "hazel is Bergen" in stage.talks["hazel"].join_bot_texts()
    assert "ivy is Oslo" in stage.talks["ivy"].join_bot_texts()
    assert "kapok is it" in stage.talks["fir"].join_bot_texts()
