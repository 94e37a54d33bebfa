"""Who asks and where: by the names that Slack has for them, and without them where it does not tell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.access.person_facts import HomeWorkspace, PersonFacts, parse_person_facts
from bot.slack.send.budget import CallBudget
from bot.slack.send.web_calls import WebCalls, close_client, make_client
from bot.slack.show import people
from bot.slack.show.people import DIRECT_MESSAGE, People
from bot.workspace.workspace_server import Workspace
from handoff.contracts import Audience, Place, RequestSetting
from tests.slack.workspaces import MANIFEST, manifest_without, workspace_and_client


@asynccontextmanager
async def slack(manifest: Path = MANIFEST) -> AsyncIterator[tuple[Workspace, People]]:
    """A workspace, and who looks people up in it."""
    async with workspace_and_client(manifest, rate_limits=True) as (workspace, client):
        yield workspace, People(client, WebCalls(CallBudget()))


def place(workspace: Workspace, channel: str) -> Place:
    return Place(team=workspace.team_id, channel=channel, thread_ts="1.0")


async def test_names_are_asked_for_once() -> None:
    async with slack() as (workspace, found):
        ana, general = workspace.person("ana"), workspace.channel_id("#general")
        for _ in range(2):
            setting = await found.fetch_request_setting(place(workspace, general), ana.id)
        assert setting == RequestSetting(
            requester="Ana Duarte", channel="#general", zone="UTC", offset=0, kind="public"
        )
        methods = [call.method for call in workspace.calls() if call.method.endswith(".info")]
        assert sorted(methods) == ["conversations.info", "users.info"]
        direct = ana.find_channel("@leadhand").id
        assert (await found.fetch_request_setting(place(workspace, direct), ana.id)).channel == DIRECT_MESSAGE


async def test_an_app_without_the_scopes_does_without_names(tmp_path: Path) -> None:
    async with slack(manifest_without(tmp_path, "users:read", "channels:read")) as (workspace, found):
        general = place(workspace, workspace.channel_id("#general"))
        assert await found.fetch_request_setting(general, workspace.person("ana").id) == RequestSetting()
        assert await found.fetch_request_setting(general, "U0NOBODY") == RequestSetting()


async def test_a_slack_that_is_away_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client("xoxb-1", "http://127.0.0.1:9/api/")
    try:
        looked = People(client, WebCalls(CallBudget()))
        where = Place(team="T1", channel="C1", thread_ts="1.0")
        assert people.NAME_TIMEOUT_SECONDS <= 3.0
        monkeypatch.setattr(people, "NAME_TIMEOUT_SECONDS", 0.2)
        assert await looked.fetch_request_setting(where, "U1") == RequestSetting()
    finally:
        await close_client(client)


@asynccontextmanager
async def at_home(manifest: Path = MANIFEST) -> AsyncIterator[tuple[Workspace, People]]:
    """The same, and who looks people up knows which workspace is ours."""
    async with slack(manifest) as (workspace, found):
        found.home = HomeWorkspace(workspace.team_id)
        yield workspace, found


async def test_slack_says_who_somebody_is_and_is_asked_once_for_all_of_it() -> None:
    async with at_home() as (workspace, found):
        workspace.deactivate("cleo")
        who = {name: workspace.person(name).id for name in ("ana", "gus", "uma", "sol", "cleo")}
        both = await asyncio.gather(
            found.find_facts(who["ana"]), found.find_facts(who["ana"]), found.find_name(who["ana"])
        )
        assert both[0] == both[1] == PersonFacts("ours", workspace.team_id)
        assert workspace.call_count("users.info") == 1
        told = {name: await found.find_facts(user) for name, user in who.items()}
        assert {name: facts.standing for name, facts in told.items() if facts} == {
            "ana": "ours",
            "gus": "guest",
            "uma": "guest",
            "sol": "stranger",
            "cleo": "gone",
        }
        assert told["sol"] == PersonFacts("stranger", workspace.person("sol").user.team)
        assert await found.find_facts(workspace.bot_user_id) == PersonFacts("bot", workspace.team_id)
        assert await found.find_facts("U0NOBODY") == PersonFacts("stranger")


async def test_what_slack_does_not_say_holds_for_this_once() -> None:
    async with at_home() as (workspace, found):
        ana = workspace.person("ana").id
        workspace.faults.add("users.info", "error", error="team_access_not_granted")
        assert await found.find_facts(ana) is None
        assert await found.find_facts(ana) == PersonFacts("ours", workspace.team_id)
        assert await People(found._client, found._calls).find_facts(ana) is None, "without a home nobody is one of ours"


OURS = {"id": "U1", "team_id": "T1", "is_bot": False, "is_restricted": False, "is_ultra_restricted": False}


@pytest.mark.parametrize("missing_field", ["team_id", "is_bot", "is_restricted", "is_ultra_restricted"])
def test_a_missing_field_is_not_taken_for_false(missing_field: str) -> None:
    assert parse_person_facts({"user": OURS}, HomeWorkspace("T1")) == PersonFacts("ours", "T1")
    assert (
        parse_person_facts(
            {"user": {key: value for key, value in OURS.items() if key != missing_field}}, HomeWorkspace("T1")
        )
        is None
    )


def test_people_of_our_organisation_are_ours_and_of_others_strangers() -> None:
    other = {**OURS, "team_id": "T2", "enterprise_user": {"enterprise_id": "E1"}}
    assert parse_person_facts({"user": other}, HomeWorkspace("T1", "E1")) == PersonFacts("ours", "T2")
    assert parse_person_facts({"user": other}, HomeWorkspace("T1", "E2")) == PersonFacts("stranger", "T2")
    assert parse_person_facts({"user": other}, HomeWorkspace("T1")) == PersonFacts("stranger", "T2")
    assert parse_person_facts({"user": {**OURS, "is_stranger": True}}, HomeWorkspace("T1")) == PersonFacts(
        "stranger", "T1"
    )


async def test_groups_are_read_at_the_click_and_count_as_none_where_slack_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(people, "GROUPS_CACHE_SECONDS", 0.0)
    async with at_home() as (workspace, found):
        ana, ben, group = workspace.person("ana").id, workspace.person("ben").id, workspace.group_id("reviewers")
        assert await found.find_current_groups(ben) == ()
        assert workspace.call_count("usergroups.list") == 0, "no group is named"
        found.add_named_groups(["U0NOGROUP", group, "S0ANOTHER"])
        assert (await found.find_current_groups(ben), await found.find_current_groups(ana)) == ((group,), ())
        workspace.change_group("reviewers", add=["ana"], remove=["ben"])
        assert (await found.find_current_groups(ben), await found.find_current_groups(ana)) == ((), (group,))
        assert await found.list_groups() == ((group, "reviewers"),)
        workspace.faults.add("usergroups.list", "error", error="fatal_error_of_theirs")
        assert await found.find_current_groups(ana) == ()
        workspace.faults.add("usergroups.list", "error", error="fatal_error_of_theirs")
        assert await found.find_groups(ana, max_age=0.0) is None
        assert "count as none" in caplog.text
        assert await found.find_current_groups(ana) == (group,)


async def test_who_may_read_a_place_is_told_by_what_it_is() -> None:
    kinds = {"general": "public", "northwind": "public", "leads": "private"}
    async with slack() as (workspace, found):
        for name, kind in kinds.items():
            channel = workspace.channel_id(name)
            assert await found.find_audience(place(workspace, channel)) == Audience(channel=channel, kind=kind)
        direct = workspace.person("ana").find_channel("@leadhand").id
        assert (await found.find_audience(place(workspace, direct))).kind == "direct"
        for untold in ("C0NOBODYS", workspace.channel_id("mpdm-ana--ben--gus-1")):  # Slack does not tell the app
            assert (await found.find_audience(place(workspace, untold))).kind == "", "it counts as private"


async def test_people_who_may_be_asked_have_names_and_a_zone() -> None:
    async with slack() as (workspace, found):
        ben = workspace.person("ben").id
        (known,) = await found.find_people((ben,))
        assert (known.user, known.offset) == (ben, 0)
        assert "Ben Okafor" in known.names
