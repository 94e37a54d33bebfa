"""`/leadhand settings`: what holds in a channel, and the window in which admins change it, on the real workspace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.access.access_values import VALUE_NAMES, ChannelValues
from bot.access.channel_settings import ChannelSettings, FormNotSaved, FormValues
from bot.features.channel_settings.window import (
    CHANGE_PREFIX,
    INHERIT_VALUE,
    WindowContent,
    render_settings,
    render_settings_window,
)
from bot.slack.show import notices
from bot.slack.views.channel_setting_words import EVERYBODY, NAMED_MEMBERS, NO, SETTINGS_SECTIONS, YES
from bot.store.redis.redis_store import Store
from bot.workspace.blocks import check_message_blocks, check_view
from bot.workspace.workspace_server import Workspace
from tests.patience import patience
from tests.slack.gates import MemoryGate
from tests.slack.workspaces import connected_app

Json = dict[str, Any]
MENUS = ("allowed", "users", "guests", "strangers", "approvers", "follow_ups", "highest_tier")


class Town:
    """A workspace whose bot has ana as its admin."""

    def __init__(self, workspace: Workspace, gate: MemoryGate) -> None:
        self.workspace, self.gate = workspace, gate
        self.ana, self.ben = workspace.person("ana"), workspace.person("ben")
        self.change_bodies: list[Json] = []
        workspace._world.state.changes.watchers.add(lambda change: self.change_bodies.append(change.body))

    async def open_window(self, channel: str = "#sales", section: str = "people", who: Any = None) -> Json:
        """A window that an admin (ana) opened with the button of a section."""
        person = who or self.ana
        before = len(person.ephemerals(channel))
        await person.command(channel, "/leadhand", "settings")
        told = await self.workspace.until(lambda: person.ephemerals(channel)[before:])
        await person.click(channel, told[-1]["ts"], f"{CHANGE_PREFIX}{section}")
        views = await self.workspace.until(person.views)
        return dict(views[-1])

    async def read(self, person: Any, channel: str = "#sales") -> str:
        before = len(person.ephemerals(channel))
        await person.command(channel, "/leadhand", "settings")
        (told,) = await self.workspace.until(lambda: person.ephemerals(channel)[before:])
        return json.dumps(told["blocks"], ensure_ascii=False)

    def errors(self) -> Json:
        """What is said at the fields of the window that was sent last."""
        return dict(next(body for body in reversed(self.change_bodies) if body["type"] == "view_errors")["errors"])

    async def holds(self, channel: str = "#sales") -> Any:
        return await self.gate.settings.read_effective_values(
            self.workspace.team_id, self.workspace.channel_id(channel)
        )


@pytest.fixture(autouse=True)
def _time_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said here about a store that is away is said because it is, and not because this machine is slow."""
    monkeypatch.setattr(notices, "ACK_SECONDS", patience(2.5))


@asynccontextmanager
async def town() -> AsyncIterator[Town]:
    async with connected_app("ana", ack_seconds=patience(3)) as made:
        yield Town(made.workspace, made.gate)


def options(block: Json) -> Json:
    return {option["value"]: option for option in block["element"]["options"]}


def fill_window(view: Json, **choices: Any) -> Json:
    """The values of a window with some of its menus chosen."""
    blocks = {block["block_id"]: block for block in view["blocks"] if block["type"] == "input"}
    values: Json = {}
    for name, value in choices.items():
        if name.partition(".")[0] in MENUS:
            values[name] = {name.partition(".")[0]: options(blocks[name])[value]}
        else:
            action = blocks[name]["element"]["action_id"]
            values[name] = {action: [options(blocks[name])[one] for one in value] if action == "groups" else value}
    return values


async def test_an_admin_changes_what_holds_in_a_channel_and_everybody_can_read_it() -> None:
    async with town() as place:
        group = place.workspace.group_id("reviewers")
        view = await place.open_window()
        assert [block["block_id"] for block in view["blocks"] if block["block_id"] in MENUS] == list(MENUS[:5])
        put_in = fill_window(view, users=NAMED_MEMBERS, users_people=[place.ben.id], users_groups=[group], guests=YES)
        assert await place.ana.submit(view["id"], put_in)
        view = await place.open_window(section="times")
        assert await place.ana.submit(view["id"], fill_window(view, follow_ups=NO))
        access = await place.holds()
        assert (access.users, access.guests, access.follow_ups) == ((place.ben.id, group), True, False)
        assert {name: access.find_origin(name).user for name in ("users", "guests", "follow_ups")} == dict.fromkeys(
            ("users", "guests", "follow_ups"), place.ana.id
        )
        assert access.find_origin("strangers").source == "default"
        told = await place.read(place.ben)
        assert f"<@{place.ben.id}>, reviewers ({group}) (set by <@{place.ana.id}>" in told
        assert "may use it (set by" in told
        assert "Admins change this" in told
        assert (await place.holds("#general")).users == (), "elsewhere nothing changed"
        assert [(note.target, note.outcome) for note in place.gate.audit_entries if note.deed == "configured"] == [
            ("users", "done"),
            ("guests", "done"),
            ("follow_ups", "done"),
        ]


async def test_what_stays_keeps_who_set_it_and_what_is_left_to_others_is_no_longer_set() -> None:
    async with town() as place:
        channel, team = place.workspace.channel_id("#sales"), place.workspace.team_id
        await place.gate.settings.save_form(
            team, channel, ChannelValues(guests=True, follow_ups=False), user="U0BEFORE"
        )
        view = await place.open_window()
        assert await place.ana.submit(view["id"], fill_window(view, guests=INHERIT_VALUE, strangers=EVERYBODY))
        access = await place.holds()
        assert access.find_origin("guests").source == "default"
        assert (access.follow_ups, access.find_origin("follow_ups").user) == (False, "U0BEFORE")
        assert (access.strangers, access.find_origin("strangers").user) == ((), place.ana.id)


async def test_what_is_wrong_in_the_window_is_said_there() -> None:
    async with town() as place:
        view = await place.open_window()
        assert not await place.ana.submit(view["id"], fill_window(view, users=NAMED_MEMBERS))
        assert not await place.ana.submit(view["id"], fill_window(view, users=EVERYBODY, strangers=NAMED_MEMBERS))
        wrong = fill_window(view, strangers=NAMED_MEMBERS, strangers_teams="northwind")
        assert not await place.ana.submit(view["id"], wrong)
        assert place.gate.memory_settings.rows == {}
        right = fill_window(view, strangers=NAMED_MEMBERS, strangers_teams=" t0north, T0SOUTH ")
        assert await place.ana.submit(view["id"], right)
        assert (await place.holds()).strangers == ("T0NORTH", "T0SOUTH")


async def test_who_is_no_admin_opens_no_window_and_saves_none() -> None:
    async with town() as place:
        await place.read(place.ben)
        assert place.ben.views() == []
        view = await place.open_window()
        place.gate.people.admins = frozenset()  # taken away while the window was open
        assert await place.ana.submit(view["id"], fill_window(view, guests=YES))
        assert place.gate.memory_settings.rows == {}
        await place.workspace.until(
            lambda: [one for one in place.ana.ephemerals("#sales") if "Only an admin" in one["text"]]
        )
        assert [(note.outcome, note.why) for note in place.gate.audit_entries] == [("refused", "not an admin")]
        list_of_hers = next(one for one in place.ana.ephemerals("#sales") if CHANGE_PREFIX in json.dumps(one["blocks"]))
        await place.ana.click("#sales", list_of_hers["ts"], f"{CHANGE_PREFIX}work")
        await place.workspace.until(lambda: len(place.gate.audit_entries) == 2)
        assert place.ana.views() == [], "nor does a button of before open one"


async def test_a_store_that_is_away_is_said_in_the_window() -> None:
    async with town() as place:
        view = await place.open_window()
        place.gate.memory_settings.away = True
        assert not await place.ana.submit(view["id"], fill_window(view, guests=YES))
        place.gate.memory_settings.away = False
        assert await place.ana.submit(view["id"], fill_window(view, guests=YES))
        assert (await place.holds()).guests


async def test_the_environment_and_the_file_are_shown_as_what_holds_without_the_form() -> None:
    async with town() as place:
        place.gate.everywhere = ChannelValues(guests=True)
        place.gate.file[place.workspace.channel_id("#sales")] = ChannelValues(follow_ups=False)
        told = await place.read(place.ben)
        assert "may use it (from the environment)" in told
        assert "are not heard (from channels.yml)" in told
        assert CHANGE_PREFIX not in told, "who is no admin gets no button"
        view = await place.open_window()
        blocks = {block["block_id"]: block for block in view["blocks"]}
        label = options(blocks["guests"])[INHERIT_VALUE]["text"]["text"]
        assert label == "Environment: may use it"


async def test_a_direct_message_cannot_be_left_out() -> None:
    async with town() as place:
        place.gate.everywhere = ChannelValues(allowed=False)
        assert "Use in this channel" not in await place.read(place.ben, "@leadhand")
        view = await place.open_window("@leadhand")
        assert "allowed" not in [block.get("block_id") for block in view["blocks"]]
        view = await place.open_window("@leadhand", "times")
        assert await place.ana.submit(view["id"], fill_window(view, follow_ups=NO))
        access = await place.gate.settings.read_effective_values(place.workspace.team_id, place.ana.dm)
        assert (access.follow_ups, access.find_origin("allowed").source) == (False, "environment")


async def test_settings_outlive_the_instance_and_are_seen_by_another(store: Store) -> None:
    nothing = ChannelSettings(store, lambda _: ChannelValues(), {})
    other = ChannelSettings(store, lambda _: ChannelValues(), {})
    assert await nothing.save_form("T1", "C0123ABCD", ChannelValues(guests=True, users=("S0123ABCD",)), user="U1") == (
        "users",
        "guests",
    )
    access = await other.read_effective_values("T1", "C0123ABCD")
    assert (access.guests, access.users, access.find_origin("guests").user) == (True, ("S0123ABCD",), "U1")
    assert abs(access.find_origin("guests").at - store.clock()) < 60
    assert await other.read_groups("T1") == {"S0123ABCD"}
    assert not (await other.read_effective_values("T2", "C0123ABCD")).guests, (
        "another team's channel of that id is another channel"
    )
    assert await nothing.save_form("T1", "C0123ABCD", ChannelValues(guests=True, users=("S0123ABCD",)), user="U2") == ()


async def test_two_admins_who_save_at_once_lose_nothing_of_what_they_typed() -> None:
    async with town() as place:
        place.gate.people.admins = frozenset({place.ana.id, place.ben.id})
        hers, his = await place.open_window(section="work"), await place.open_window(section="work", who=place.ben)
        assert await place.ana.submit(hers["id"], {"instructions": "Amounts in EUR.", "budget": "$5"})
        mine = {"instructions": "Answer in German.", "budget": "", **fill_window(his, highest_tier="balanced")}
        assert await place.ben.submit(his["id"], mine)
        (again,) = place.ben.views()
        told = again["blocks"][0]["text"]["text"]
        assert "Somebody else saved" in told
        assert f"*Instructions:* <@{place.ana.id}> set “Amounts in EUR.”; yours stands below instead" in told
        assert f"*Budget a day:* <@{place.ana.id}> set “$5”; taken over below" in told
        stands = {block["block_id"]: block["element"] for block in again["blocks"] if block["type"] == "input"}
        assert stands["instructions.1"]["initial_value"] == "Answer in German."
        assert stands["budget.1"]["initial_value"] == "$5"
        assert stands["highest_tier.1"]["initial_option"]["value"] == "balanced"
        assert (await place.holds()).instructions == "Amounts in EUR.", "nothing is kept before he looked"
        assert await place.ben.submit(again["id"])
        assert place.ben.views() == []
        access = await place.holds()
        assert (access.instructions, access.budget, access.highest_tier) == ("Answer in German.", "$5", "balanced")
        by = {name: access.find_origin(name).user for name in ("instructions", "budget", "highest_tier")}
        assert by == {"instructions": place.ben.id, "budget": place.ana.id, "highest_tier": place.ben.id}


async def test_admins_who_change_other_values_are_not_in_each_others_way(store: Store) -> None:
    one, other = (ChannelSettings(store, lambda _: ChannelValues(), {}) for _ in range(2))
    seen = {name: (await one.read_form("T1", "C0123ABCD")).compute_stamp(name) for name in VALUE_NAMES}
    of: Json = {"user": "U1", "seen_stamps": seen}
    assert await one.save_form("T1", "C0123ABCD", ChannelValues(guests=True), names=("guests",), **of) == ("guests",)
    assert await other.save_form("T1", "C0123ABCD", ChannelValues(zone="UTC"), names=("zone",), **of) == ("zone",)
    both = await asyncio.gather(
        one.save_form("T1", "C0123ABCD", ChannelValues(budget="$1"), names=("budget",), **of),
        other.save_form("T1", "C0123ABCD", ChannelValues(quiet_hours="20-8"), names=("quiet_hours",), **of),
    )
    assert both == [("budget",), ("quiet_hours",)]
    access = await ChannelSettings(store, lambda _: ChannelValues(), {}).read_effective_values("T1", "C0123ABCD")
    assert (access.guests, access.zone, access.budget, access.quiet_hours) == (True, "UTC", "$1", "20-8")
    late = await other.save_form("T1", "C0123ABCD", ChannelValues(guests=False), names=("guests",), **of)
    assert isinstance(late, FormNotSaved)
    assert late.conflicting_names == ("guests",)


async def test_what_is_wrong_with_what_is_typed_is_said_at_the_field() -> None:
    async with town() as place:
        view = await place.open_window(section="work")
        assert not await place.ana.submit(view["id"], {"budget": "lots", "instructions": "x" * 50_000})
        assert place.errors() == {
            "budget": "It takes an amount such as `$2.50`, `400k tokens` or both: `$2.50, 400k tokens`, or off.",
            "instructions": "These are 50,000 characters, and at most 1,500 are allowed, for every request carries "
            "them; what is longer belongs into the crew's knowledge.",
        }
        view = await place.open_window(section="times")
        assert not await place.ana.submit(view["id"], {"quiet_hours": "0-24", "zone": "Europe/Berlni"})
        assert place.errors() == {
            "quiet_hours": "These hours cover the whole day; leave an hour of it at least, or write off.",
            "zone": "There is no time zone Europe/Berlni; did you mean Europe/Berlin?",
        }
        assert place.gate.memory_settings.rows == {}
        assert await place.ana.submit(view["id"], {"quiet_hours": "20:30 - 8, Weekends", "zone": "europe/berlin"})
        access = await place.holds()
        assert (access.quiet_hours, access.zone) == ("20:30-8, weekends", "Europe/Berlin")
        place.gate.file[place.workspace.channel_id("#sales")] = ChannelValues(instructions="Be brief.")
        view = await place.open_window(section="work")
        assert await place.ana.submit(view["id"], {"instructions": "off"})
        access = await place.holds()
        assert (access.instructions, access.find_origin("instructions").source) == ("", "form")


async def test_a_row_that_a_newer_release_wrote_closes_the_channel_and_is_not_written_over() -> None:
    async with town() as place:
        team, channel = place.workspace.team_id, place.workspace.channel_id("#sales")
        view = await place.open_window()
        row = '{"values": {"of_a_newer_release": true, "guests": true}, "set": {}}'
        place.gate.memory_settings.rows[team] = {channel: row}
        assert not await place.ana.submit(view["id"], fill_window(view, allowed=YES))
        assert "A newer release set values here" in place.errors()["allowed"]
        assert not (await place.holds()).allowed
        told = await place.read(place.ana)
        assert "A newer release" in told
        assert CHANGE_PREFIX not in told
        assert place.gate.memory_settings.rows[team] == {channel: row}
        assert (await place.holds("#general")).allowed


async def test_a_row_that_is_broken_closes_the_channel_until_it_is_set_again(store: Store) -> None:
    await store.settings.put("T1", "C0123ABCD", "{broken")
    settings = ChannelSettings(store, lambda _: ChannelValues(), {})
    assert not (await settings.read_effective_values("T1", "C0123ABCD")).allowed
    assert await settings.save_form("T1", "C0123ABCD", ChannelValues(allowed=True), user="U1") == ("allowed",)
    assert (await settings.read_effective_values("T1", "C0123ABCD")).allowed


@pytest.mark.parametrize("count", [0, 1, 150])
def test_slack_takes_the_windows_however_much_is_in_them(count: int) -> None:
    people = tuple(f"U0{number:05}" for number in range(count))
    groups = [(f"S0{number:05}", f"a-group-with-a-long-handle-{number}" * 4) for number in range(count)]
    values = ChannelValues(
        users=(*people[:50], *(key for key, _ in groups[-50:])),
        approvers=people[:100],
        instructions="<&>\n" * (count * 2),
        highest_tier="fast",
    )
    settings = ChannelSettings(None, lambda _: values, {})  # type: ignore[arg-type] - nothing is read
    without = settings.merge_without_form("C0123ABCD")
    for channel in ("C0123ABCD", "D0123ABCD"):
        check_message_blocks(list(render_settings(channel, without, {}, can_change=True, crews=("a", "b")).blocks))
        for section in SETTINGS_SECTIONS:
            form = FormValues(values)
            check_view(
                render_settings_window(
                    WindowContent(section, channel, without, without, form, groups=groups, round=count)
                )
            )
