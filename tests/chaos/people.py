"""What people do: they ask, answer, stop and ask again, and they try again where Slack or the bot did not react."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from bot.store.values import JobKey
from bot.workspace.person import Person
from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Place
from handoff.engine.unknown_writes import HAPPENED_OPTION, NOT_HAPPENED_OPTION
from tests.chaos.errands import CITIES, Errand
from tests.chaos.teams import Team
from tests.system.scene import Json, buttons

APPROVE = "Approve"
"""What stands on the button by which one call is approved."""
LOOK = 0.25
AGAIN = 8.0
"""Seconds after which a person who sees no reaction tries again."""
UNHEARD = 25.0
"""Seconds within which Slack has tried to deliver an event for the last time."""


class Unheard(Exception):
    """A request came to nobody, and nothing will come of it."""


def key_of(message: Json) -> str:
    """The key that a message of the bot carries; empty where there is none."""
    carried = message.get("metadata") or {}
    return str(carried.get("event_payload", {}).get("key", ""))


@dataclass
class Visit:
    """One errand as it goes: the thread, and the `ts` of each request in it."""

    errand: Errand
    team: Team
    was_entered: Callable[[str], bool]
    """Whether the far side of the write tool has a record."""
    kill_owner: Callable[[JobKey], Awaitable[None]]
    """Kills the instance that has a job."""
    channel: str = ""
    request_timestamps: list[str] = field(default_factory=list)
    is_done: bool = False
    unheard: bool = False
    """Whether the last request came to nobody, as the app was out of the team."""
    doubts: int = 0
    """Questions whether something was carried out."""

    @property
    def workspace(self) -> Workspace:
        """Where it is."""
        return self.team.workspace

    @property
    def root(self) -> str:
        """The thread."""
        return self.request_timestamps[0]

    @property
    def key(self) -> JobKey:
        """The job's address in the store."""
        team = self.workspace.team_id
        return JobKey(team, Place(team=team, channel=self.channel, thread_ts=self.root).job_id)

    def list_bot_messages(self) -> list[Json]:
        """The bot's messages in the thread."""
        bot = self.workspace.bot_user_id
        return [each for each in self.workspace.thread(self.channel, self.root) if each.get("user") == bot]

    def with_key(self, start: str, end: str = "") -> list[Json]:
        """The bot's messages whose key starts and ends so."""
        return [
            each for each in self.list_bot_messages() if (key := key_of(each)).startswith(start) and key.endswith(end)
        ]

    def has_ended(self, ts: str) -> bool:
        """Whether people can see the end of that request."""
        return any(not message["streaming"] for message in self.with_key(f"{ts}:answer"))

    def is_unheard(self) -> bool:
        """Whether nobody may have heard the last request: the app was out then, and has been back for a while."""
        if self.is_done or not self.request_timestamps or not self.team.back:
            return False
        ts = self.request_timestamps[-1]
        gone, back = self.team.removal_times[-1] - UNHEARD, self.team.back[-1]
        silent = ts not in self.team.witness.acknowledged_messages
        return silent and gone <= float(ts) <= back + UNHEARD and time.time() > back + UNHEARD

    # -- what the person does --------------------------------------------------------------------

    async def go(self) -> None:
        """Do the whole errand. Ends when its last request has ended, or came to nobody."""
        with contextlib.suppress(Unheard):
            await self._go()
        self.is_done = True

    async def _go(self) -> None:
        person = self.workspace.person(self.errand.person)
        self.channel = self.workspace.channel_id(self.errand.channel)
        first, *later = self.errand.requests
        await self._until(lambda: self.team.is_installed)
        self.request_timestamps.append(await person.say(self.channel, f"@leadhand {first}"))
        self.team.threads.add((self.channel, self.root))
        if self.errand.kind == "question":
            await self._answer(person)
        elif self.errand.kind == "cancel":
            await self._stop(person)
        elif self.errand.kind == "halted":
            await self._until(
                lambda: self.has_ended(self.root) or any(message["streaming"] for message in self.list_bot_messages())
            )
            await self.kill_owner(self.key)
            await self._stop(person)
        elif self.errand.kind == "write":
            await self._see_to_record(person)
        for text in later:
            if self.errand.way:  # the others ask while it is still at work
                await self._until(lambda: self.has_ended(self.root))
            await asyncio.sleep(self.errand.delay)
            await self._until(lambda: self.team.is_installed)
            self.request_timestamps.append(await person.say(self.channel, f"@leadhand {text}", thread_ts=self.root))
        await self._until(lambda: all(self.has_ended(ts) for ts in self.request_timestamps))

    async def _answer(self, person: Person) -> None:
        """Choose a city, by a click or in words, until the question is closed."""
        start = f"{self.root}:question:"
        await self._until(lambda: self.with_key(start))
        await asyncio.sleep(self.errand.delay)
        city = CITIES[self.errand.choice]
        by_reply = self.errand.way == 0

        async def tell() -> None:
            if by_reply:
                await person.say(self.channel, city, thread_ts=self.root)
                return
            question = self.with_key(start)[-1]
            if city in buttons(question):
                await person.click(self.channel, question["ts"], buttons(question)[city]["action_id"])

        await self._again_and_again(tell, lambda: self.has_ended(self.root) or self._is_closed(start))

    def _is_closed(self, start: str) -> bool:
        return all(not buttons(question) for question in self.with_key(start))

    async def _see_to_record(self, person: Person) -> None:
        """Approve what is to be entered; where the bot does not know whether it was, look into the book and say so."""
        start = f"{self.root}:question:"
        await self._until(lambda: self.has_ended(self.root) or self.with_key(start))
        await asyncio.sleep(self.errand.delay)

        async def tell() -> None:
            for question in self.with_key(start):
                if APPROVE in buttons(question):
                    await self._press(person, question, APPROVE)
                elif HAPPENED_OPTION in buttons(question):
                    self.doubts += 1
                    await asyncio.sleep(max(1.0, self.errand.delay))  # a call that is still under way arrives by then
                    word = HAPPENED_OPTION if self.was_entered(self.errand.record) else NOT_HAPPENED_OPTION
                    await self._press(person, question, word)

        await self._again_and_again(tell, lambda: self.has_ended(self.root))

    async def _press(self, person: Person, message: Json, word: str) -> None:
        await person.click(self.channel, message["ts"], buttons(message)[word]["action_id"])

    async def _stop(self, person: Person) -> None:
        """Stop it: with Slack's own button, with that of the card if it has one, or with a word."""
        await self._until(lambda: self.with_key(self.root, ":card"))
        await asyncio.sleep(self.errand.delay)

        async def tell() -> None:
            card = self.with_key(self.root, ":card")[0]
            if self.errand.way == 1 and "Stop" in buttons(card):  # which it has while Slack shows no button of its own
                await person.click(self.channel, card["ts"], "stop")
            elif self.errand.way <= 1:
                await person.stop(self.channel, self.root)
            else:
                await person.say(self.channel, "@leadhand stop", thread_ts=self.root)

        await self._again_and_again(tell, lambda: self.has_ended(self.root))

    async def _again_and_again(self, tell: Callable[[], Any], until: Callable[[], bool]) -> None:
        while not until():
            with contextlib.suppress(ActionFailed):  # nobody acknowledged it, or there is nothing to press (yet)
                await tell()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGAIN):
                    await self._until(until)

    async def _until(self, condition: Callable[[], object]) -> None:
        while not condition():
            if self.unheard:
                raise Unheard
            await asyncio.sleep(LOOK)
