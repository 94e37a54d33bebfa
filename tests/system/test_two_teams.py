"""Two teams on one server: nothing of one is seen by the other, although all their ids but the team are the same."""

import random
import secrets
from collections import Counter as Count
from contextlib import AsyncExitStack

import pytest

from bot.access.access_values import ChannelValues
from bot.access.channel_settings import ChannelSettings
from bot.app import find_manifest
from bot.features.budgets.service import BudgetService
from bot.features.job_controls.service import JobControlService
from bot.features.requests.service import RequestService
from bot.jobs.job_records import JobRecords
from bot.limits.call_limits import CallLimits
from bot.limits.limit_rules import LimitRules, Payer, SpendingBudget, list_budgets
from bot.models.rehearsal.rehearsal import RehearsalModel
from bot.settings import SettingsError
from bot.slack.receive.payloads import MessageEdited
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey
from bot.workspace.workspace_server import Workspace
from handoff import events as ev
from handoff.contracts import Place, Request
from tests.store.kit import read_entries
from tests.system.scene import bot_in, scene_on

EVENTS = 500
TEAMS = ("T0NORTH", "T0SOUTH")
PEOPLE = ("U0ANA", "U0BEN", "U0CLEO")
CHANNELS = ("C0ONE", "C0TWO")
THREADS = tuple(f"1700000000.{number:06}" for number in range(12))
MARK = "only-of-"


class Team:
    """A team's way into the store, and what it did there."""

    def __init__(self, store: Store, team: str) -> None:
        self.team, self.store, self.mark = team, store, f"{MARK}{team}"
        rules = LimitRules(budgets={"person": SpendingBudget(tokens=1_000_000)})
        self.limits = CallLimits(store.counters, RehearsalModel(), rules, store.clock)
        self.settings = ChannelSettings(store, lambda _: ChannelValues(), {})
        records = JobRecords(store, lambda _: None, admins=frozenset())
        self.requests = RequestService(records, self.limits, self.settings)
        self.controls, self.budgets = JobControlService(records), BudgetService(records, self.limits)
        self.asked_jobs: set[tuple[str, str]] = set()
        self.blobs: dict[tuple[str, str], bytes] = {}
        self.marks: Count[bool] = Count()
        self.spent_tokens: Count[str] = Count()

    def place(self, channel: str, thread: str) -> Place:
        return Place(team=self.team, channel=channel, thread_ts=thread)

    async def do(self, rng: random.Random, number: int) -> None:
        """One thing at random; the ids that say what was delivered twice are the same for both teams."""
        user, place = rng.choice(PEOPLE), self.place(rng.choice(CHANNELS), rng.choice(THREADS))
        dedupe = (f"message:{place.channel}:{number}",)
        said = Request(id=f"1700000001.{number:06}", user=user, text=f"{self.mark} {number}", at=1.0)
        key = JobKey(self.team, place.job_id)
        match rng.randrange(8):
            case 0 | 1:
                assert await self.requests.record_request(place, said, dedupe=dedupe), "the other team's id is not ours"
                self.asked_jobs.add((user, place.job_id))
            case 2:
                await self.requests.record_reply(place, said, mentions_bot=True, mentions_others=False, dedupe=dedupe)
            case 3:
                await self.requests.record_edit(MessageEdited(place, said.id, user, said.text, (), 2.0, dedupe))
            case 4:
                await self.controls.cancel(self.team, place.job_id, None, user=user)
            case 5:
                data = f"{self.mark} {number}".encode()
                self.blobs[place.job_id, await self.store.blobs.put(key, data)] = data
            case 6:
                self.marks[await self.requests.claim_refusal_notice(place, f"B{number % 40}")] += 1
                values = ChannelValues(users=(user,), strangers=(self.team,))
                await self.settings.save_form(self.team, place.channel, values, user=user)
            case _:
                self.spent_tokens[user] += 7
                payer = Payer(self.team, place.channel, user, "")
                taken = tuple(limit.counter for limit in list_budgets(self.limits.rules, payer, tokens=7))
                admitted = await self.store.counters.admit(f"call:{number}:{self.team}", taken, patience=0, hold=1)
                assert admitted.ruling == "ok"


async def test_nothing_crosses_between_two_teams(store: Store) -> None:
    rng = random.Random(11)
    north, south = (Team(store, team) for team in TEAMS)
    for number in range(EVENTS // 2):
        for team in rng.sample([north, south], 2):
            await team.do(rng, number)
    for mine, other in ((north, south), (south, north)):
        await _only_own(store, mine, other)
    await _keys_hold_the_team(store)


async def _only_own(store: Store, mine: Team, other: Team) -> None:
    listed = 0
    for user in PEOPLE:
        heads = await store.jobs.read_heads_asked_by(mine.team, user, limit=100)
        assert {head.key.team for head in heads} <= {mine.team}
        assert {head.key.job for head in heads} == {job for who, job in mine.asked_jobs if who == user}
        listed += len(heads)
    assert listed
    for channel in CHANNELS:
        access = await mine.settings.read_effective_values(mine.team, channel)
        assert access.strangers == (mine.team,)
        for thread in THREADS:
            job = mine.place(channel, thread).job_id
            for entry in await store.jobs.read_inbox(JobKey(mine.team, job)):
                assert other.mark not in entry.payload
                event = ev.load_event(entry.payload)
                assert not isinstance(event, ev.RequestAdded) or event.place.team == mine.team
            assert await mine.controls.read_visible_job(other.team, job, "U0STRANGER") in ("unknown", "not_yours")
    for (job, digest), data in mine.blobs.items():
        assert await store.blobs.get(JobKey(mine.team, job), digest) == data
        with pytest.raises(KeyError):
            await store.blobs.get(JobKey(other.team, job), digest)
    for user in PEOPLE:
        (line,) = await mine.budgets.describe_usage(mine.team, CHANNELS[0], user)
        assert f"{mine.spent_tokens[user]:,}" in line, line
        assert await mine.limits.find_used_up_budget(Payer(mine.team, CHANNELS[0], user, "")) is None


async def _keys_hold_the_team(store: Store) -> None:
    """Look at every key of the server: what holds a team's words has that team in its name, and no other's in it."""
    server, prefix, held = store._server, store._keys.prefix, Count[str]()
    for name in await server.run_command("KEYS", f"{prefix}:*"):
        text = name.decode()
        owners = [team for team in TEAMS if team in text]
        assert len(owners) <= 1, text
        contents = repr(await read_entries(store, name))
        for team in TEAMS:
            if f"{MARK}{team}" in contents:
                assert owners == [team], text
                held[team] += 1
    assert all(held[team] > len(THREADS) for team in TEAMS), held


async def test_a_bot_of_another_workspace_does_not_start_on_the_store(server_url: str) -> None:
    """Its token could not post there, and it would take the jobs of the other all the same."""
    async with scene_on(server_url) as scene, AsyncExitStack() as stack:
        async with scene.bot():
            pass
        async with scene.bot():
            pass
        elsewhere = await Workspace.start(find_manifest())
        stack.push_async_callback(elsewhere.stop)
        with pytest.raises(SettingsError, match=f"another workspace .{scene.workspace.team_id}"):
            await stack.enter_async_context(bot_in(elsewhere, server_url, prefix=scene.prefix))
        await stack.enter_async_context(bot_in(elsewhere, server_url, prefix=f"s{secrets.token_hex(4)}"))
