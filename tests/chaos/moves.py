"""What happens to several teams beside their errands: deeds of their people, an app that leaves, keys that change."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import aiohttp
from cryptography.fernet import Fernet

from bot.slack.installation.records import InstallationRecords, TokenCipher
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, StoreError
from bot.workspace.person import Attachment, Person
from bot.workspace.refusal import ActionFailed
from handoff.contracts import Place
from tests.chaos.crossings import LEARNS, Crossings
from tests.chaos.errands import CHANNELS, PEOPLE, Errand
from tests.chaos.instances import Instance
from tests.chaos.teams import ORGANISATION, Team
from tests.patience import patience
from tests.system.installing import Browser
from tests.system.scene import Json, block_of

LATE_EVENTS = 40
"""How many events of a team come after the app was taken out of it."""
AWAY = LEARNS + 8.0
"""Seconds for which it is out."""
SHORTEST_AWAY = 8.0
LEAVES, CHANGES = 0.25, 0.6
"""When the app leaves, and when the keys are changed: as parts of the run."""
LONG_SECONDS = 43_200
"""How long a token lasts that is not to end in the run."""
CLAIM_LOOKS = 0.5
"""Seconds between two looks for a refresh under way; one that died is tried again after 15 s."""
LOST_ANSWERS = 12.0
"""Seconds from one answer to a refresh that is lost to the next."""
PATIENCE = patience()
DEED_SECONDS = 2.0
"""Seconds from one deed to the next, on average."""


@dataclass
class Moves:
    """The track of the several teams. `keys` encrypts their tokens, the first of them."""

    seed: int
    seconds: float
    teams: Sequence[Team]
    instances: Sequence[Instance]
    store: Store
    browser: Browser
    crossings: Crossings
    keys: list[str] = field(default_factory=lambda: [Fernet.generate_key().decode()])
    move_counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    rolling: bool = False
    """Whether the keys are being changed."""

    async def install_all(self) -> None:
        """Install the app in the organisation and in each team beside it."""
        for name in (f"all of {ORGANISATION}", *(team.name for team in self.teams if not _is_wide(team))):
            await self._install(name)

    async def run(self) -> None:
        """All of it, side by side, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for track in (self._deeds(), self._leave_and_return(), self._change_keys(), self._lose_answers()):
                group.create_task(track)

    # -- the app leaves --------------------------------------------------------------------------

    async def _leave_and_return(self) -> None:
        """Take the app out of a team, send what comes late for it, and install it again."""
        team = self.teams[-1]
        await asyncio.sleep(LEAVES * self.seconds)
        away = max(SHORTEST_AWAY, min(AWAY, self.seconds / 3))
        team.removal_times.append(time.time())
        team.workspace.uninstall()
        self.move_counts["teams: uninstalled"] += 1
        try:
            await self._until_noted(team)
            for number in range(LATE_EVENTS // 2):  # an instance may take these, until it has learnt that it is out
                team.threads.add(await self._send_late(team, number))
            await asyncio.sleep(max(0.0, min(away, LEARNS) - team.away_for()))
            late = [await self._send_late(team, number) for number in range(LATE_EVENTS // 2, LATE_EVENTS)]
            await asyncio.sleep(max(0.0, away - team.away_for()))
            if away > LEARNS:
                await self._look_for_work(team, late)
        finally:
            back = asyncio.create_task(self._return(team))
            try:
                await asyncio.shield(back)
            finally:
                await back  # to its end, though the faults are over meanwhile

    async def _return(self, team: Team) -> None:
        await self._install(team.name)
        team.back.append(time.time())
        self.move_counts["teams: installed again"] += 1

    async def _until_noted(self, team: Team) -> None:
        records = InstallationRecords(self.store.installations, TokenCipher(self.keys), self.store.clock)
        while True:
            with contextlib.suppress(StoreError):
                record, _ = await records.read(team.id)
                if record is not None and record.left:
                    return
            await asyncio.sleep(0.2)

    async def _look_for_work(self, team: Team, late: Sequence[tuple[str, str]]) -> None:
        """Note the jobs of a team that have an owner, and those that began with events that came late."""
        for thread in {*team.threads, *late}:
            key = JobKey(team.id, Place(team=team.id, channel=thread[0], thread_ts=thread[1]).job_id)
            with contextlib.suppress(StoreError):
                head = await self.store.jobs.read_head(key)
                if head is not None and head.owner:
                    self.wrong.append(f"a job of {team.name} has an owner while the app is out: {key.job}")
                if head is not None and thread in late:
                    self.wrong.append(f"a job of {team.name} began while the app was out: {key.job}")

    async def _send_late(self, team: Team, number: int) -> tuple[str, str]:
        """Send an event of the team, as Slack does that were on their way. Gives its channel and ts."""
        world, person = team.workspace._world, team.workspace.person(PEOPLE[number % len(PEOPLE)])
        channel, ts = team.workspace.channel_id("#general"), world.state.clock.next_ts()
        kind = ("app_mention", "message", "app_home_opened", "reaction_added")[number % 4]
        event: Json = {"type": kind, "user": person.id, "channel": channel, "ts": ts, "event_ts": ts}
        text = f"<@{team.workspace.bot_user_id}> {_asks(f'late{number}{team.word}')}"
        about: dict[str, Json] = {
            "app_mention": {"text": text},
            "message": {"text": text, "channel_type": "channel"},
            "app_home_opened": {"tab": "home", "channel": person.dm},
            "reaction_added": {"reaction": "-1", "item": {"type": "message", "channel": channel, "ts": ts}},
        }
        event |= about[kind]
        for _ in range(3):  # an instance is killed now and then
            ack = await world.delivery._transport.send("events_api", world.delivery._make_event_callback(event))
            if ack.ok:
                break
        self.move_counts["teams: events after it"] += ack.ok
        return channel, ts

    async def _install(self, label: str) -> None:
        """Install the app as a person does, who begins again where it fails."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                page = await self.browser.install(label)
                assert "is installed in" in page, page
            except (AssertionError, aiohttp.ClientError, TimeoutError) as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the app cannot be installed: {label}") from error
                await asyncio.sleep(0.5)
            else:
                return

    # -- keys and tokens -------------------------------------------------------------------------

    async def _change_keys(self) -> None:
        """Put a new key before the former one and restart every instance; then remove the former one."""
        await asyncio.sleep(CHANGES * self.seconds)
        change = asyncio.create_task(self._roll_keys())
        try:
            await asyncio.shield(change)
        finally:
            await change  # to its end, though the faults are over meanwhile

    async def _roll_keys(self) -> None:
        # Tokens last for hours: none of them ends twice while the instances are restarted.
        self.teams[0].workspace.oauth.token_seconds = LONG_SECONDS
        self.rolling = True
        former, new = self.keys[0], Fernet.generate_key().decode()
        for keys in ([new, former], [new]):
            for instance in self.instances:
                await self._restart(instance, keys)
            self.keys[:] = keys
        self.rolling = False
        self.move_counts["teams: keys changed"] += 1

    async def _restart(self, instance: Instance, keys: Sequence[str]) -> None:
        instance.env["LEADHAND_TOKEN_KEYS"] = ",".join(keys)
        starts = instance.starts
        await self._until_up(instance)
        await instance.deploy()
        while instance.starts == starts:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.05)
        await self._until_up(instance)

    @staticmethod
    async def _until_up(instance: Instance) -> None:
        while not instance.up:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.05)

    async def _lose_answers(self) -> None:
        """Lose the answer to a refresh of a token now and then, and never twice in a row.

        Slack voids the oldest of three tokens: after two lost answers the app has none, and must be installed again.
        An answer is also lost if its instance dies, which leaves the refresh claimed until it is tried again.
        """
        waiting = self.teams[0].workspace.faults._calls["oauth.v2.access"]
        lost_at = time.monotonic()
        while True:
            await asyncio.sleep(CLAIM_LOOKS)
            if self.rolling or await self._is_refresh_claimed():
                self.move_counts["teams: answer to a refresh lost"] -= len(waiting)
                waiting.clear()
            elif time.monotonic() - lost_at >= LOST_ANSWERS and not (self.crossings.unanswered_tokens or waiting):
                self.teams[0].workspace.faults.add("oauth.v2.access", "lost_reply")
                self.move_counts["teams: answer to a refresh lost"] += 1
                lost_at = time.monotonic()

    async def _is_refresh_claimed(self) -> bool:
        """Whether an instance is refreshing a token, or died while it did; True also while the store does not say."""
        records = InstallationRecords(self.store.installations, TokenCipher(self.keys), self.store.clock)
        try:
            return any(one.refreshing for one in (await records.read_all()).values())
        except StoreError:
            return True

    # -- deeds -----------------------------------------------------------------------------------

    async def _deeds(self) -> None:
        """What people do beside their errands, each for itself."""
        rng = Random(f"{self.seed}/deeds")
        kinds = ("files", "follow-up", "home", "jobs", "budget", "deleted", "thumb")
        async with asyncio.TaskGroup() as group:
            for number in range(100_000):
                await asyncio.sleep(rng.uniform(0.5, 1.5) * DEED_SECONDS)
                team, kind = rng.choice(self.teams), rng.choice(kinds)
                person, channel = rng.choice(PEOPLE), rng.choice(CHANNELS)
                if team.is_installed:
                    self.move_counts[f"deed: {kind}"] += 1
                    group.create_task(self._do(kind, number, team, team.workspace.person(person), channel))

    async def _do(self, kind: str, number: int, team: Team, person: Person, channel: str) -> None:
        with contextlib.suppress(ActionFailed, TimeoutError):  # nobody acknowledged it, or no answer came in time
            if kind == "home":
                await person.open_home()
            elif kind in {"jobs", "budget"}:
                await person.command(channel, "/leadhand", kind)
            else:
                await self._ask(kind, f"deed{number}{team.word}", team, person, channel)

    async def _ask(self, kind: str, label: str, team: Team, person: Person, channel: str) -> None:
        """Ask for something, and do one thing more about it."""
        place = team.workspace.channel_id(channel)
        files: list[Attachment] = [("notes.txt", f"All that {label} is about.\n".encode())] if kind == "files" else []
        ts = await person.say(place, f"@leadhand {_asks(label)}", files=files)
        team.threads.add((place, ts))
        if kind == "deleted":
            await asyncio.sleep(1.0)
            await person.delete(place, ts)
            return
        answer = await team.workspace.until(lambda: _answer_in(team, place, ts), timeout=PATIENCE)
        if kind == "follow-up":
            await person.say(place, f"And who says so, {team.word}?", thread_ts=ts)
        elif kind == "thumb" and answer is not None and (thumbs := block_of(answer, "context_actions")) is not None:
            await person.click(place, answer["ts"], "feedback", thumbs["elements"][0]["positive_button"]["value"])


def _asks(label: str) -> str:
    """A request that the models know."""
    return Errand(0, "single", "", "", 0.0, 0, 0, label).requests[0]


def _answer_in(team: Team, channel: str, ts: str) -> Json | None:
    bot = team.workspace.bot_user_id
    found = [each for each in team.workspace.thread(channel, ts) if each.get("user") == bot]
    return next((each for each in found if block_of(each, "context_actions")), None)


def _is_wide(team: Team) -> bool:
    """Whether a team is part of the organisation."""
    return bool(team.workspace.identity.enterprise_id)
