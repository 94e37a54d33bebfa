"""Two workspaces of one app whose people and channels have the same ids: all that is kept or sent is of one of them."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bot import teams
from bot.app import find_manifest
from bot.limits.limit_rules import LimitRules, RateLimit, SpendingBudget
from bot.settings import SettingsError
from bot.slack.show import notices
from bot.store.values import ANY_TEAM
from bot.workspace import workspace_state
from bot.workspace.identity import Identity
from bot.workspace.workspace_server import Workspace
from tests.store.kit import read_entries
from tests.system.installing import Town, town_at
from tests.system.scene import Scene, Talk, bot_in, eventually, extract_shown_text, scene_on
from tests.system.settings_windows import change

NORTH, SOUTH = "zephyr", "sirocco"
"""A word that is said in one workspace alone, and is in the names of its people."""
RULES = LimitRules(
    rates={"": RateLimit(requests=10_000)},
    max_concurrent=10,
    budgets={"job": SpendingBudget(tokens=900_000), "person": SpendingBudget(tokens=9_000_000)},
)
SHARED_KEYS = {
    *("partitions", "home", "board", "installations", "schedule", "audits"),
    *("due", "lease", "newer", "claim"),
    *("op", "audited", "sign-in"),
    *("rate", "breaker"),
}
"""The kinds of keys that are of several teams: each entry of them is of one at most. Those of operations have random
names, rates and breakers are of models, and a sign-in that installs the app is nobody's yet."""


@pytest.fixture
async def town(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Town]:
    """A town whose two workspaces have people and channels of the same ids."""
    numbers = itertools.count()

    def neighbour(identity: Identity, name: str, *, in_organisation: bool) -> Identity:
        nonlocal numbers
        numbers = itertools.count()
        return made(identity, name, in_organisation=in_organisation)

    made = Identity.make_further_workspace
    monkeypatch.setattr(Identity, "make_further_workspace", neighbour)
    monkeypatch.setattr(workspace_state, "make_id", lambda kind: f"{kind}{next(numbers):010}")
    monkeypatch.setattr(teams, "SYNC_SECONDS", 0.2)
    async with town_at(server_url, tmp_path) as both:
        for workspace, mark in ((both.first, NORTH), (both.second, SOUTH)):
            state = workspace._world.state
            for user in state.people:
                state.users[user.id] = state.by_name[user.name] = replace(user, real_name=f"{user.real_name} {mark}")
        yield both


async def do_all(scene: Scene, mark: str) -> Talk:
    """Ask, have something remembered, schedule, be refused, change a setting, open homes; every word has the mark.

    A guest and another bot, who have the same ids in both workspaces, are refused in both.
    """
    table = (f"{mark}.csv", f"place,visits\n{mark},3\n".encode())
    talk = await scene.ask(f"Write a short note about {mark}", files=[table])
    await talk.over()
    assert mark in extract_shown_text(await scene.command(f"memory add {mark} is our fiscal year"))
    assert "Monday" in extract_shown_text(await scene.command(f"every Monday at 9 write a note about {mark}"))
    assert "Only" in extract_shown_text(await scene.command(f"cancel {talk.key.job}", who="ben"))
    await change(scene, "work", who="cleo", instructions=f"Write of {mark}.")
    for name in ("ana", "cleo"):
        await scene.person(name).open_home()
    gus, workspace = scene.person("gus"), scene.workspace
    await gus.say("#sales", f"@leadhand write of {mark}")
    await workspace.until(lambda: gus.ephemerals("#sales"))
    workspace.post_as_other_bot("#sales", f"@leadhand write of {mark}")
    await workspace.until(
        lambda: [call for call in workspace.calls("chat.postMessage") if call.args["text"] == notices.PEOPLE_ONLY]
    )
    return talk


async def test_each_key_and_each_call_is_of_one_team(town: Town) -> None:
    north, south = town.scene(town.first), town.scene(town.second)
    cleo = north.person("cleo").id
    assert (cleo, north.workspace.channel_id("#general")) == (
        south.person("cleo").id,
        south.workspace.channel_id("#general"),
    )
    async with town.bot(rules=RULES, admins=frozenset(f"{one.team_id}:{cleo}" for one in (town.first, town.second))):
        assert "installed in Local workspace" in await town.install("Local workspace")
        await town.install("Second")
        talks = [await do_all(north, NORTH), await do_all(south, SOUTH)]
        assert all(talk.words() for talk in talks), "each got its answer"
        listed = [extract_shown_text(await scene.command("jobs all", who="cleo")) for scene in (north, south)]
        spent = [extract_shown_text(await scene.command("budget", who="cleo")) for scene in (north, south)]
        for text in spent:
            assert "on 1 request" in text, "neither what is refused nor what the other workspace asks is counted"
            assert "used this minute" not in text, "rates are of models, and both use them"
            assert "Model calls at once: 0 of 10" in text
        for talk, text in zip(talks, listed, strict=True):
            assert talk.key.job not in text, "it is over"
        await _homes_are_drawn(town)
        assert await _keys(town) >= 20
        assert await town.store.claim_home_team("") == ANY_TEAM
        rows = await town.store.installations.read_all()
        assert set(rows) == {town.first.team_id, town.second.team_id}
        assert "xoxb" not in "".join(rows.values()), "tokens are encrypted"
        _calls_are_of_one(town.first, town.second, NORTH, SOUTH)
        _calls_are_of_one(town.second, town.first, SOUTH, NORTH)


async def _homes_are_drawn(town: Town) -> None:
    for workspace, mark in ((town.first, NORTH), (town.second, SOUTH)):
        ana = workspace.person("ana")
        await workspace.until(lambda ana=ana, mark=mark: f"note about {mark}" in str(ana.home()))


async def _keys(town: Town) -> int:
    """Look at every key of the server; give the number of those that are of a team."""
    store, owned = town.store, 0
    teams_of = {town.first.team_id: NORTH, town.second.team_id: SOUTH}
    for name in sorted(await store._server.run_command("KEYS", f"{town.prefix}:*")):
        text = name.decode()
        entries = [repr(entry) for entry in await read_entries(store, name)]
        owners = [team for team in teams_of if team in text]
        assert len(owners) <= 1, text
        if owners:
            owned += 1
            for team, mark in teams_of.items():
                if team not in owners:
                    assert not any(team in entry or mark in entry for entry in entries), text
            continue
        assert SHARED_KEYS & set(text.split(":")[2:3]), f"{text} names no team: {entries}"
        for entry in entries:
            within = [team for team in teams_of if team in entry]
            assert len(within) <= 1, (text, entry)
            assert all(team in within or mark not in entry for team, mark in teams_of.items()), (text, entry)
    return owned


def _calls_are_of_one(mine: Workspace, other: Workspace, mark: str, others: str) -> None:
    """Look at every call that came with a workspace's own token."""
    calls = [(call.method, repr(call.args)) for call in mine.calls()]
    for method, args in calls:
        assert others not in args, (method, args)
        assert other.team_id not in args, (method, args)
    assert {method for method, args in calls if mark in args} >= {"chat.postMessage", "views.publish"}
    assert [call.error for call in mine.calls() if not call.ok] == []


async def test_what_one_workspace_erases_is_its_own(town: Town) -> None:
    north, south = town.scene(town.first), town.scene(town.second)
    async with town.bot():
        await town.install("Local workspace")
        await town.install("Second")
        talks = [await scene.ask("Write a short note to the board") for scene in (north, south)]
        for talk in talks:
            await talk.over()
        ana = north.person()
        await ana.command("#general", "/leadhand", "forget me")
        view = (await north.workspace.until(ana.views))[-1]
        assert await ana.submit(view["id"])

        async def is_erased() -> bool:
            return await town.store.jobs.read_head(talks[0].key) is None

        await eventually(is_erased)
        assert await town.store.jobs.read_head(talks[1].key) is not None
        assert len(await town.store.jobs.read_heads_asked_by(town.second.team_id, ana.id)) == 1
        assert talks[1].words(), "its messages stay"
        assert town.second.call_count("chat.delete") == 0


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
