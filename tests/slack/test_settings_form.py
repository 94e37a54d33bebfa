"""`/leadhand settings`: what holds in a channel, and the window in which admins change it, on the real workspace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp

from bot.access.access_values import ChannelValues
from bot.access.channel_settings import ChannelSettings
from bot.slack.receive.desks import Desks
from bot.slack.receive.listeners import register
from bot.slack.send.web_calls import close_client, make_client
from bot.slack.views.settings_view import AS_BEFORE, EVERYBODY, NAMED, NO, YES, settings_modal
from bot.store.redis.redis_store import RedisStore
from bot.workspace.blocks import check_view
from bot.workspace.workspace_server import Workspace
from tests.slack.gates import MemoryGate
from tests.slack.memory_service import MemoryService
from tests.slack.test_listeners import MANIFEST

Json = dict[str, Any]
MENUS = ("allowed", "users", "guests", "strangers", "approvers", "follow_ups")


class Town:
    """A workspace whose bot has ana as its admin."""

    def __init__(self, workspace: Workspace, gate: MemoryGate) -> None:
        self.workspace, self.gate = workspace, gate
        self.ana, self.ben = workspace.person("ana"), workspace.person("ben")

    async def opened(self, channel: str = "#sales") -> Json:
        await self.ana.command(channel, "/leadhand", "settings")
        views = await self.workspace.until(self.ana.views)
        return dict(views[-1])

    async def read(self, person: Any, channel: str = "#sales") -> str:
        before = len(person.ephemerals(channel))
        await person.command(channel, "/leadhand", "settings")
        (told,) = await self.workspace.until(lambda: person.ephemerals(channel)[before:])
        return json.dumps(told["blocks"], ensure_ascii=False)

    async def holds(self, channel: str = "#sales") -> Any:
        return await self.gate.settings.of(self.workspace.team_id, self.workspace.channel_id(channel))


@asynccontextmanager
async def town() -> AsyncIterator[Town]:
    workspace = await Workspace.start(MANIFEST, rate_limits=False)
    client = make_client(workspace.bot_token, workspace.api_url)
    app = AsyncApp(client=client, process_before_response=True, signing_secret="s")
    gate = MemoryGate(client, workspace.team_id, admins=frozenset({workspace.person("ana").id}))
    background = register(app, MemoryService(), gate, Desks(settings=gate.form))
    handler = AsyncSocketModeHandler(app, workspace.app_token)
    await handler.connect_async()
    await workspace.until(lambda: workspace.connections)
    yield Town(workspace, gate)
    await background.drain()
    await handler.close_async()
    await close_client(client)
    await workspace.stop()


def options(block: Json) -> Json:
    return {option["value"]: option for option in block["element"]["options"]}


def filled(view: Json, **chosen: Any) -> Json:
    """The values of a window with some of its menus chosen."""
    blocks = {block["block_id"]: block for block in view["blocks"] if block["type"] == "input"}
    values: Json = {}
    for name, value in chosen.items():
        if name in MENUS:
            values[name] = {name: options(blocks[name])[value]}
        else:
            action = blocks[name]["element"]["action_id"]
            values[name] = {action: [options(blocks[name])[one] for one in value] if action == "groups" else value}
    return values


async def test_an_admin_changes_what_holds_in_a_channel_and_everybody_can_read_it() -> None:
    async with town() as place:
        group = place.workspace.group_id("reviewers")
        view = await place.opened()
        assert [block["block_id"] for block in view["blocks"] if block["block_id"] in MENUS] == list(MENUS)
        put_in = filled(view, users=NAMED, users_people=[place.ben.id], users_groups=[group], guests=YES, follow_ups=NO)
        assert await place.ana.submit(view["id"], put_in)
        access = await place.holds()
        assert (access.users, access.guests, access.follow_ups) == ((place.ben.id, group), True, False)
        assert {name: access.origin(name).user for name in ("users", "guests", "follow_ups")} == dict.fromkeys(
            ("users", "guests", "follow_ups"), place.ana.id
        )
        assert access.origin("strangers").source == "default"
        told = await place.read(place.ben)
        assert f"<@{place.ben.id}>, reviewers ({group}) (set by <@{place.ana.id}>" in told
        assert "may use it (set by" in told
        assert "Admins change this" in told
        assert (await place.holds("#general")).users == (), "elsewhere nothing changed"
        assert [(note.target, note.outcome) for note in place.gate.noted if note.deed == "configured"] == [
            ("users", "done"),
            ("guests", "done"),
            ("follow_ups", "done"),
        ]


async def test_what_stays_keeps_who_set_it_and_what_is_left_to_others_is_no_longer_set() -> None:
    async with town() as place:
        channel, team = place.workspace.channel_id("#sales"), place.workspace.team_id
        await place.gate.settings.set(team, channel, ChannelValues(guests=True, follow_ups=False), user="U0BEFORE")
        view = await place.opened()
        assert await place.ana.submit(view["id"], filled(view, guests=AS_BEFORE, strangers=EVERYBODY))
        access = await place.holds()
        assert access.origin("guests").source == "default"
        assert (access.follow_ups, access.origin("follow_ups").user) == (False, "U0BEFORE")
        assert (access.strangers, access.origin("strangers").user) == ((), place.ana.id)


async def test_what_is_wrong_in_the_window_is_said_there() -> None:
    async with town() as place:
        view = await place.opened()
        assert not await place.ana.submit(view["id"], filled(view, users=NAMED))
        assert not await place.ana.submit(view["id"], filled(view, users=EVERYBODY, strangers=NAMED))
        wrong = filled(view, strangers=NAMED, strangers_teams="northwind")
        assert not await place.ana.submit(view["id"], wrong)
        assert place.gate.kept.rows == {}
        right = filled(view, strangers=NAMED, strangers_teams=" t0north, T0SOUTH ")
        assert await place.ana.submit(view["id"], right)
        assert (await place.holds()).strangers == ("T0NORTH", "T0SOUTH")


async def test_who_is_no_admin_opens_no_window_and_saves_none() -> None:
    async with town() as place:
        await place.read(place.ben)
        assert place.ben.views() == []
        view = await place.opened()
        place.gate.settings.admins = frozenset()  # taken away while the window was open
        assert await place.ana.submit(view["id"], filled(view, guests=YES))
        assert place.gate.kept.rows == {}
        await place.workspace.until(
            lambda: [one for one in place.ana.ephemerals("#sales") if "Only an admin" in one["text"]]
        )
        assert [(note.outcome, note.why) for note in place.gate.noted] == [("refused", "not an admin")]


async def test_a_store_that_is_away_is_said_in_the_window() -> None:
    async with town() as place:
        view = await place.opened()
        place.gate.kept.away = True
        assert not await place.ana.submit(view["id"], filled(view, guests=YES))
        place.gate.kept.away = False
        assert await place.ana.submit(view["id"], filled(view, guests=YES))
        assert (await place.holds()).guests


async def test_the_environment_and_the_file_are_shown_as_what_holds_without_the_form() -> None:
    async with town() as place:
        place.gate.everywhere = ChannelValues(guests=True)
        place.gate.file[place.workspace.channel_id("#sales")] = ChannelValues(follow_ups=False)
        told = await place.read(place.ben)
        assert "may use it (from the environment)" in told
        assert "are not heard (from channels.yml)" in told
        view = await place.opened()
        blocks = {block["block_id"]: block for block in view["blocks"]}
        label = options(blocks["guests"])[AS_BEFORE]["text"]["text"]
        assert label == "Environment: may use it"


async def test_a_direct_message_cannot_be_left_out() -> None:
    async with town() as place:
        place.gate.everywhere = ChannelValues(allowed=False)
        assert "Use in this channel" not in await place.read(place.ben, "@leadhand")
        view = await place.opened("@leadhand")
        assert "allowed" not in [block.get("block_id") for block in view["blocks"]]
        assert await place.ana.submit(view["id"], filled(view, follow_ups=NO))
        access = await place.gate.settings.of(place.workspace.team_id, place.ana.dm)
        assert (access.follow_ups, access.origin("allowed").source) == (False, "environment")


async def test_settings_outlive_the_instance_and_are_seen_by_another(store: RedisStore) -> None:
    nothing = ChannelSettings(store, lambda _: ChannelValues(), {})
    other = ChannelSettings(store, lambda _: ChannelValues(), {})
    assert await nothing.set("T1", "C0123ABCD", ChannelValues(guests=True, users=("S0123ABCD",)), user="U1") == (
        "users",
        "guests",
    )
    access = await other.of("T1", "C0123ABCD")
    assert (access.guests, access.users, access.origin("guests").user) == (True, ("S0123ABCD",), "U1")
    assert abs(access.origin("guests").at - store.clock()) < 60
    assert await other.groups("T1") == {"S0123ABCD"}
    assert not (await other.of("T2", "C0123ABCD")).guests, "another team's channel of that id is another channel"
    assert await nothing.set("T1", "C0123ABCD", ChannelValues(guests=True, users=("S0123ABCD",)), user="U2") == ()


async def test_a_row_that_cannot_be_read_closes_the_channel(store: RedisStore) -> None:
    await store.settings.put("T1", "C0123ABCD", '{"values": {"of_a_newer_release": true}, "set": {}}')
    settings = ChannelSettings(store, lambda _: ChannelValues(), {})
    assert not (await settings.of("T1", "C0123ABCD")).allowed
    assert (await settings.of("T1", "C0456EFGH")).allowed


@pytest.mark.parametrize("count", [0, 1, 150])
def test_slack_takes_the_window_however_much_is_in_it(count: int) -> None:
    people = tuple(f"U0{number:05}" for number in range(count))
    groups = [(f"S0{number:05}", f"a-group-with-a-long-handle-{number}" * 4) for number in range(count)]
    values = ChannelValues(users=(*people[:50], *(key for key, _ in groups[-50:])), approvers=people[:100])
    settings = ChannelSettings(None, lambda _: values, {})  # type: ignore[arg-type] - nothing is read
    without = settings.without_form("C0123ABCD")
    for channel in ("C0123ABCD", "D0123ABCD"):
        check_view(settings_modal(channel, without, without, values, groups))
