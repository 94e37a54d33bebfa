"""Channels and people are found by name as far as the requester could reach them, and told as what they are."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.access.person_facts import HomeWorkspace
from bot.app import find_manifest
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import WebCalls, close_client, make_client
from bot.slack.show import directory as show_directory
from bot.slack.show.admission import INVITE_ADVICE, describe_channel_fault, find_readable_channel
from bot.slack.show.directory import Directory, _FetchedList
from bot.slack.show.people import People
from bot.workspace.workspace_server import Workspace
from specialists.tools.messenger import Addressee


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    workspace = await Workspace.start(find_manifest())
    yield workspace
    await workspace.stop()


@pytest.fixture
async def directory(workspace: Workspace) -> AsyncIterator[Directory]:
    client, calls = make_client(workspace.bot_token, workspace.api_url), WebCalls(CallBudget())
    yield Directory(client, calls, People(client, calls, HomeWorkspace(workspace.team_id)))
    await close_client(client)


async def test_who_and_what_is_found_and_how_it_is_told(workspace: Workspace, directory: Directory) -> None:
    ana, ben, cleo, gus = (workspace.person(name).id for name in ("ana", "ben", "cleo", "gus"))
    sales, leads, shared = (workspace.channel_id(name) for name in ("#sales", "#leads", "#northwind"))
    everybody = "everybody in the workspace may read it"

    async def find_addressee(to: str, requester: str = ana) -> str | Addressee:
        return await directory.find_addressee(to, requester)

    for to in ("#sales", "sales", "#SALES", sales, f"#sales ({sales})", f"<#{sales}|sales>"):
        one = await find_addressee(to)
        assert isinstance(one, Addressee), to
        assert (one.id, one.name, one.kind, one.is_private) == (sales, "#sales", "channel", False)
        assert one.audience.startswith("a public channel of ")
        assert one.audience.endswith(everybody)
        assert one.name_with_id == f"#sales ({sales})"
    private = await find_addressee("#leads")
    assert isinstance(private, Addressee)
    assert (private.id, private.is_private, private.audience) == (leads, True, "a private channel of 4 members")
    northwind = await find_addressee("#northwind")
    assert isinstance(northwind, Addressee)
    assert northwind.is_shared
    assert "shared with another organisation" in northwind.audience
    for to in ("@ben", "Ben Okafor", "@Ben Okafor", ben, f"<@{ben}>", f"Ben Okafor ({ben})"):
        assert await find_addressee(to) == Addressee(ben, "Ben Okafor", "person", "one person: nobody else reads it")
    guest = await find_addressee("@gus")
    assert isinstance(guest, Addressee)
    assert "a guest of the workspace" in guest.audience
    # What its requester could not reach is not found, and its name is not told.
    for to in ("#leads", leads, f"#leads ({leads})"):
        assert "I am in no channel" in str(await find_addressee(to, cleo))
        assert "members" not in str(await find_addressee(to, cleo))
    assert (
        await find_addressee("#general", gus)
        == "The requester is no full member of the workspace, and not in #general."
    )
    assert "I write to nobody else for them" in str(await find_addressee("@ben", gus))
    assert isinstance(await find_addressee("#sales", gus), Addressee)
    assert isinstance(await find_addressee("@gus", gus), Addressee)
    sol = workspace.person("sol").id
    assert "no full member" in str(await find_addressee("#sales", sol))
    assert isinstance(await find_addressee("#northwind", sol), Addressee)
    assert "Public ones that I am in: #sales" in str(await find_addressee("#sale"))
    assert "leads" not in str(await find_addressee("#nowhere"))
    for to in ("@sol", "@buildbot", workspace.bot_user_id):
        assert "whom I could write to" in str(await find_addressee(to)) or "I know nobody" in str(
            await find_addressee(to)
        )
    assert await find_addressee("@nobody") == "I know nobody called '@nobody' in this workspace."
    dm = workspace.person("ben").dm
    assert "could be looked up" not in str(await find_addressee(dm))
    assert not isinstance(await find_addressee(dm), Addressee), "people are named, not their conversations"
    workspace.archive("#sales")
    assert await find_addressee(sales) == "#sales is archived."
    assert describe_channel_fault(sales, str(await find_addressee(sales))) == f"<#{sales}> is archived"
    await workspace.person("ana").kick("#general")
    assert "I am not in #general" in str(await find_addressee(workspace.channel_id("#general")))
    assert shared


async def test_a_channel_is_not_called_archived_because_of_its_name(workspace: Workspace, directory: Directory) -> None:
    ana = workspace.person("ana").id
    old_orders = workspace._world.state.create_channel("archived-orders", "channel", [ana], "").id
    fault = await directory.find_addressee(old_orders, ana)
    assert "I am not in #archived-orders" in str(fault)
    assert describe_channel_fault(old_orders, str(fault)).startswith(f"I am not in <#{old_orders}>")


async def test_a_channel_is_known_and_readable_as_it_is_for_that_person(
    workspace: Workspace, directory: Directory
) -> None:
    async def rights(channel: str, name: str) -> tuple[str, bool, bool] | None:
        found = await directory.find_channel(workspace.channel_id(channel), workspace.person(name).id)
        return None if found is None else (found.name, found.is_readable, found.has_bot)

    assert await rights("#sales", "cleo") == await rights("#sales", "uma") == ("#sales", True, True)
    assert await rights("#general", "gus") == ("#general", False, True)
    assert await rights("#northwind", "cleo") == ("#northwind", True, True), "a member of the workspace may join it"
    assert (await rights("#leads", "ana"), await rights("#leads", "cleo")) == (("#leads", True, True), None)
    group, ana = workspace.channel_id("mpdm-ana--ben--gus-1"), workspace.person("ana").id
    told = await find_readable_channel(directory, group, ana)
    assert told == f"I cannot read that channel: either I am not in it, or you are not. {INVITE_ADVICE}"
    workspace.faults.add("conversations.info", "error", error="restricted_action")
    told = await find_readable_channel(directory, group, ana)
    assert str(told).startswith("I could not find out if you may read that channel: ")
    sales, leads = workspace.channel_id("#sales"), workspace.channel_id("#leads")
    assert await directory.has_bot(leads)
    await workspace.person("ana").kick("#sales")
    await workspace.person("ana").kick("#leads")
    directory._cache.clear()
    assert await rights("#sales", "ana") == ("#sales", True, False)
    assert await rights("#leads", "ana") is None
    assert (await directory.has_bot(sales), await directory.has_bot(leads)) == (False, False)


async def test_a_member_of_a_large_channel_is_known_though_not_all_members_are_listed(
    workspace: Workspace, directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show_directory, "MAX_PAGES", 1)
    monkeypatch.setattr(show_directory, "PAGE_SIZE", 3)
    ana, ben, uma, cleo = (workspace.person(name).id for name in ("ana", "ben", "uma", "cleo"))
    members = [workspace.bot_user_id, ana, ben, uma]
    board = workspace._world.state.create_channel("board", "group", members, "").id
    assert uma not in (await directory.list_readers(board) or ())
    assert [await directory.find_channel(board, user) is not None for user in (ana, uma, cleo)] == [True, True, False]


async def test_two_people_of_one_name_and_a_slack_that_refuses(workspace: Workspace, directory: Directory) -> None:
    ana = workspace.person("ana").id
    named_sam = [
        {"id": "U00001", "name": "sam", "real_name": "Sam A"},
        {"id": "U00002", "name": "x", "real_name": "Sam"},
    ]
    directory._cache["users.list "] = _FetchedList(named_sam, is_complete=True, fetched_at=float("inf"))
    told = await directory.find_addressee("@sam", ana)
    assert told == "Several people are called '@sam': Sam A (U00001), Sam (U00002). Name one by the id."
    workspace.faults.add("users.conversations", "error", error="missing_scope")
    assert "could not be looked up: the app lacks a scope" in str(await directory.find_addressee("#sales", ana))
