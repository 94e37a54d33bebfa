"""Guests, people of another workspace, private places, user groups and another app's bot, as Slack tells of them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.workspace.refusal import ActionFailed
from bot.workspace.workspace_server import Workspace
from tests.patience import eventually
from tests.workspace.conftest import Change, Clients, Listen, Start, note_bodies
from tests.workspace.test_workspace_events import collect

SCOPES = ["groups:history", "groups:read", "mpim:history", "usergroups:read"]
EVENTS = ["message.groups", "message.mpim", "subteam_members_changed"]


@pytest.fixture
async def town(start: Start, manifest_with: Change) -> Workspace:
    """A workspace whose app may hear and ask everything there is here."""

    def more(raw: dict[str, Any]) -> None:
        raw["oauth_config"]["scopes"]["bot"] += SCOPES
        raw["settings"]["event_subscriptions"]["bot_events"] += EVENTS

    return await start(manifest=manifest_with(more), rate_limits=False)


async def test_slack_says_who_is_a_guest_a_stranger_a_bot_and_gone(town: Workspace, client_of: Clients) -> None:
    client = client_of(town)

    async def about(user: str) -> dict[str, Any]:
        described: dict[str, Any] = (await client.users_info(user=user))["user"]
        return described

    marks = ("is_restricted", "is_ultra_restricted", "is_bot", "deleted")
    told = {name: await about(town.person(name).id) for name in ("ana", "gus", "uma", "sol")}
    assert [[told[name][mark] for mark in marks] for name in told] == [
        [False, False, False, False],
        [True, False, False, False],
        [True, True, False, False],
        [False, False, False, False],
    ]
    assert {name: one["team_id"] == town.team_id for name, one in told.items()} == {
        "ana": True,
        "gus": True,
        "uma": True,
        "sol": False,
    }
    assert "is_stranger" not in told["ana"]
    assert told["sol"]["is_stranger"] is False, "he shares a channel with the bot"
    await town.person("ana").kick("#northwind")
    assert (await about(town.person("sol").id))["is_stranger"] is True
    town.deactivate("cleo")
    gone = await about(town.person("cleo").id)
    assert gone["deleted"] is True
    assert "is_restricted" not in gone, "of an account that is gone Slack says little"
    with pytest.raises(ActionFailed, match="deactivated"):
        await town.person("cleo").say("#general", "still here?")


async def test_a_message_in_a_shared_channel_says_whose_it_is_but_not_with_a_file(
    town: Workspace, listen: Listen
) -> None:
    seen: list[Any] = []
    await listen(town, collect(seen, "app_mention", "message"))
    sol, ana = town.person("sol"), town.person("ana")
    await sol.say("#northwind", "@testhand hello")
    await eventually(lambda: len(seen) == 2)
    theirs = (await sol_team(town), True, town.team_id)
    for body in (body for _, body in seen):
        event = body["event"]
        assert (event["user_team"], body["is_ext_shared_channel"], body["context_team_id"]) == theirs
        assert event["team"] == event["source_team"] == event["user_team"]
        assert body["authorizations"][0]["team_id"] == body["team_id"] == town.team_id
    assert dict(seen)["app_mention"]["event"]["user_profile"]["team"] == theirs[0]
    assert "user_profile" not in dict(seen)["message"]["event"]

    seen.clear()
    await sol.say("#northwind", "and a file", files=[("a.csv", b"x")])
    await eventually(lambda: seen)
    event = seen[0][1]["event"]
    assert event["subtype"] == "file_share"
    assert not {"team", "user_team", "source_team", "client_msg_id"} & set(event), "as on Slack"

    seen.clear()
    await ana.say("#northwind", "ours")
    await ana.say("#general", "at home")
    await eventually(lambda: len(seen) == 2)
    shared, home = (body for _, body in sorted(seen, key=lambda each: each[1]["event"]["ts"]))
    assert (shared["event"]["user_team"], shared["is_ext_shared_channel"]) == (town.team_id, True)
    assert "user_team" not in home["event"]
    assert home["is_ext_shared_channel"] is False


async def sol_team(town: Workspace) -> str:
    return town.person("sol").user.team


async def test_private_places_have_events_and_scopes_of_their_own(
    town: Workspace,
    workspace: Workspace,
    client_of: Clients,
    listen: Listen,
    expect_refusal: Callable[..., Awaitable[Any]],
) -> None:
    seen: list[Any] = []
    await listen(town, collect(seen, "message"))
    group_dm = "mpdm-ana--ben--gus-1"
    await town.person("gus").say("leads", "among us")
    await town.person("ana").say(group_dm, "among the three")
    await eventually(lambda: len(seen) == 2)
    assert {body["event"]["channel_type"] for _, body in seen} == {"group", "mpim"}
    with pytest.raises(ActionFailed, match="cleo is in no channel"):
        await town.person("cleo").say("leads", "let me in")
    client = client_of(town)
    leads = (await client.conversations_info(channel=town.channel_id("leads")))["channel"]
    assert (leads["is_private"], leads["is_group"], leads["is_ext_shared"]) == (True, True, False)
    shared = (await client.conversations_info(channel=town.channel_id("northwind")))["channel"]
    assert (shared["is_private"], shared["is_ext_shared"]) == (False, True)
    await expect_refusal("missing_scope", client.conversations_info(channel=town.channel_id(group_dm)))
    plain = client_of(workspace)
    await expect_refusal("missing_scope", plain.conversations_info(channel=workspace.channel_id("leads")))


async def test_user_groups_are_listed_and_their_changes_told(
    town: Workspace,
    workspace: Workspace,
    client_of: Clients,
    listen: Listen,
    expect_refusal: Callable[..., Awaitable[Any]],
) -> None:
    client, group = client_of(town), town.group_id("reviewers")
    ben, cleo, ana = (town.person(name).id for name in ("ben", "cleo", "ana"))
    (listed,) = (await client.usergroups_list(include_users=True))["usergroups"]
    assert (listed["id"], listed["handle"], listed["users"]) == (group, "reviewers", [ben, cleo])
    assert "users" not in (await client.usergroups_list())["usergroups"][0]
    await expect_refusal("no_such_subteam", client.usergroups_users_list(usergroup="S0NOBODY"))
    await expect_refusal("missing_scope", client_of(workspace).usergroups_list())
    seen: list[Any] = []
    await listen(town, collect(seen, "subteam_members_changed"))
    town.change_group("@reviewers", add=["ana", "ben"], remove=["cleo"])
    await eventually(lambda: seen)
    event = seen[0][1]["event"]
    assert (event["subteam_id"], event["added_users"], event["removed_users"]) == (group, [ana], [cleo])
    assert (await client.usergroups_users_list(usergroup=group))["users"] == [ben, ana]
    town.deactivate("ben")
    assert (await client.usergroups_users_list(usergroup=group))["users"] == [ana]


async def test_another_bot_mentions_the_app(town: Workspace, client_of: Clients, listen: Listen) -> None:
    seen: list[Any] = []
    await listen(town, collect(seen, "app_mention", "message"))
    town.post_as_other_bot("#sales", "@testhand do it")
    await eventually(lambda: len(seen) == 2)
    event = dict(seen)["app_mention"]["event"]
    assert event["bot_id"] == event["bot_profile"]["id"]
    client = client_of(town)
    assert (await client.users_info(user=event["user"]))["user"]["is_bot"] is True
    assert (await client.bots_info(bot=event["bot_id"]))["bot"]["user_id"] == event["user"]


async def test_a_stranger_has_no_commands_shortcuts_or_direct_message_of_the_app(
    town: Workspace, client_of: Clients, listen: Listen, expect_refusal: Callable[..., Awaitable[Any]]
) -> None:
    sol, ana = town.person("sol"), town.person("ana")
    with pytest.raises(ActionFailed, match="not installed in your workspace"):
        await sol.command("#northwind", "/testhand")
    ts = await sol.say("#northwind", "hello")
    with pytest.raises(ActionFailed, match="not installed in your workspace"):
        await sol.shortcut("start_job", "#northwind", ts)
    with pytest.raises(ActionFailed):
        await sol.say("@testhand", "psst")
    await expect_refusal("user_not_visible", client_of(town).conversations_open(users=sol.id))
    clicks: list[Any] = []
    await listen(town, note_bodies(clicks, action="go"))
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    posted = await client_of(town).chat_postMessage(
        channel=town.channel_id("northwind"), text="go?", blocks=[{"type": "actions", "elements": [button]}]
    )
    await sol.click("#northwind", posted["ts"], "go")
    await ana.click("#northwind", posted["ts"], "go")
    theirs, ours = clicks
    assert theirs["user"]["team_id"] == theirs["team"]["id"] == sol.user.team
    assert ours["user"]["team_id"] == ours["team"]["id"] == town.team_id


async def test_a_guest_of_one_channel_comes_into_no_other(town: Workspace) -> None:
    uma, gus = town.person("uma"), town.person("gus")
    with pytest.raises(ActionFailed, match="is a guest of sales and may be in no other channel"):
        await uma.join("#general")
    await gus.join("#general")
    assert await gus.say("#general", "hello")
