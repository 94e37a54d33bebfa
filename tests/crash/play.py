"""Plays a scenario: undisturbed, to list its points, and with a bot that dies at one of them and one that goes on."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bot.store.redis.redis_store import Store
from bot.workspace.workspace_server import Workspace
from tests.crash.bot import Start
from tests.crash.ends import End, end_of, without_questions
from tests.crash.points import list_passages, whole
from tests.crash.scenarios import SCENARIOS
from tests.nursery.nursery import Nursery
from tests.patience import patience
from tests.system.scene import Scene, Talk

PATIENCE = patience(60)
LATER = 60.0
POLL = 0.05


@dataclass(frozen=True)
class UndisturbedRun:
    """How a scenario goes if nothing happens: its end, its points, and how often a model or a tool is called.

    Of what was committed together only the last is a point; `passage_text` has all of it.
    """

    end: End
    points: tuple[str, ...]
    passage_text: str
    calls: Counter[str]


class Broke(AssertionError):
    """A run came to another end."""


@dataclass(frozen=True)
class Stage:
    """A workspace to play in, a store's server, and where bots come from."""

    workspace: Workspace
    url: str
    nursery: Nursery
    folder: Path

    def with_bots(self, bots: Nursery) -> Stage:
        """The same place, with other bots."""
        return replace(self, nursery=bots)

    async def play_undisturbed(self, name: str) -> UndisturbedRun:
        """Play a scenario with one bot."""
        start, talk, store = await self._ask(name)
        people = asyncio.create_task(SCENARIOS[name].people(talk, Path(start.far_side)))
        try:
            async with self.nursery.bot(asdict(start)) as dead:
                end = await _over(talk, dead)
            check_letters(name, start)
            check_sent(name, talk)
        finally:
            people.cancel()
            await asyncio.gather(people, return_exceptions=True)
            await store.close()
        points = list_passages(Path(start.passages))
        plainly = without_questions(end) if SCENARIOS[name].may_ask else end
        return UndisturbedRun(plainly, tuple(dict.fromkeys(points)), whole(Path(start.passages)), calls_in(points))

    async def play_with_crash(self, name: str, point: str, expected: UndisturbedRun) -> bool:
        """Play it with a bot that dies at a point. False where it never came there. Raises Broke."""
        start, talk, store = await self._ask(name)
        people = asyncio.create_task(SCENARIOS[name].people(talk, Path(start.far_side)))
        try:
            async with self.nursery.bot(asdict(replace(start, crash_at=point))) as dead:
                reached = await _dies(talk, dead)
            if not reached:
                return False
            async with self.nursery.bot(asdict(replace(start, later=LATER))) as dead:
                await _comes_to(expected.end, talk, dead, may_ask=SCENARIOS[name].may_ask)
            check_letters(name, start)
            check_sent(name, talk)
        except (AssertionError, TimeoutError) as error:
            said = self.nursery.log.read_text(errors="replace").splitlines()[-20:]
            story = "\n".join([await _story(talk, start), "the bots' log:", *said])
            raise Broke(f"{name}, killed {point}: {error}\n{story}") from error
        finally:
            people.cancel()
            await asyncio.gather(people, return_exceptions=True)
            await store.close()
        repeated = calls_in(list_passages(Path(start.passages))) - expected.calls
        allowed = 2 if SCENARIOS[name].may_ask else 1  # what was in flight, and a wish that people say came to nothing
        if any(times > allowed for times in repeated.values()):
            raise Broke(f"{name}, killed {point}: repeated more than was in flight: {repeated}")
        return True

    async def _ask(self, name: str) -> tuple[Start, Talk, Store]:
        prefix = f"c{secrets.token_hex(4)}"
        store = await Store.connect(self.url, prefix=prefix)
        scenario = SCENARIOS[name]
        scene = Scene(self.workspace, self.url, store, prefix)
        start = Start(
            scenario=name,
            bot_token=self.workspace.bot_token,
            app_token=self.workspace.app_token,
            api_url=self.workspace.api_url,
            store_url=self.url,
            prefix=prefix,
            passages=str(self.folder / prefix),
            far_side=str(self.folder / f"{prefix}.letters"),
        )
        talk = await scene.ask(scenario.text, files=scenario.files, channel=scenario.channel)
        return start, talk, store


def calls_in(points: list[str]) -> Counter[str]:
    """How often each model and tool was called."""
    begun = [point.removeprefix("before ").partition("#")[0] for point in points if point.startswith("before ")]
    return Counter(one for one in begun if one.startswith(("model ", "tool ")))


async def _over(talk: Talk, dead: asyncio.Future[int]) -> End:
    """The end, once the job is over. Raises TimeoutError, and AssertionError if the bot dies first."""
    end: End | None = None
    async with asyncio.timeout(PATIENCE):
        while end is None:
            assert not dead.done(), f"the bot ended with {dead.result()}"
            end, _ = await end_of(talk)
            await asyncio.sleep(POLL)
    return end


async def _dies(talk: Talk, dead: asyncio.Future[int]) -> bool:
    """Wait until the bot has died. False where the job is over first, and the bot lives on."""
    over = 0
    async with asyncio.timeout(PATIENCE):
        while not dead.done():
            end, _ = await end_of(talk)
            over = over + 1 if end is not None else 0
            if over > 10:
                return False
            await asyncio.wait([dead], timeout=2 * POLL)
    assert dead.result() == -9, f"the bot ended with {dead.result()}"
    return True


def check_letters(name: str, start: Start) -> None:
    """What a scenario's tool writes has arrived, as often as it should."""
    box = Path(start.far_side)
    came = len(box.read_text().splitlines()) if box.exists() else 0
    assert came == SCENARIOS[name].letters, f"{came} letters"


def check_sent(name: str, talk: Talk) -> None:
    """What a scenario sends to another channel is there, as often as it should."""
    job = talk.key.job
    carried = [one.get("metadata") or {} for one in talk.scene.workspace.messages("#sales")]
    came = sum((one.get("event_payload") or {}).get("job") == job for one in carried)
    assert came == SCENARIOS[name].message_count, f"{came} messages elsewhere"


async def _comes_to(expected: End, talk: Talk, dead: asyncio.Future[int], *, may_ask: bool) -> None:
    """Wait until the job has come to that end. Raises AssertionError."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    end, why = await _read_end(talk, may_ask=may_ask)
    while end != expected:
        assert not dead.done(), f"the second bot ended with {dead.result()}"
        if asyncio.get_running_loop().time() > deadline or (
            end is not None and len(end.messages) > len(expected.messages)
        ):
            raise AssertionError(why or f"\n  expected {expected}\n  came to  {end}")
        await asyncio.sleep(POLL)
        end, why = await _read_end(talk, may_ask=may_ask)


async def _read_end(talk: Talk, *, may_ask: bool) -> tuple[End | None, str]:
    end, why = await end_of(talk)
    return (without_questions(end), why) if end is not None and may_ask else (end, why)


async def _story(talk: Talk, start: Start) -> str:
    events = "\n  ".join(f"{event.type} {str(event)[:160]}" for event in await talk.events())
    return f"the log:\n  {events}\npassages:\n  " + "\n  ".join(list_passages(Path(start.passages)))
