"""Workspaces install the app by OAuth: each is answered with its own token, and nothing with one that is gone."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from bot import teams
from bot.jobs import instance
from bot.slack.installation.records import InstallationRecords, TokenCipher
from bot.slack.show import notices
from tests.patience import eventually
from tests.store.kit import free_port
from tests.system.installing import KEY, OTHER_KEY, Town, town_at
from tests.system.scene import block_of

ASKS = "write a short note to the board"


@pytest.fixture
async def town(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Town]:
    monkeypatch.setattr(teams, "SYNC_SECONDS", 0.2)
    monkeypatch.setattr(instance, "UNREACHABLE_TEAM_SECONDS", 0.5)
    async with town_at(server_url, tmp_path) as made:
        yield made


async def has_left(town: Town, team: str) -> bool:
    """Whether it is noted that the app left a workspace."""
    record, _ = await records_of(town).read(team)
    return record is not None and record.left > 0 and not record.fields


def records_of(town: Town) -> InstallationRecords:
    """The installations, as who has the key reads them."""
    return InstallationRecords(town.store.installations, TokenCipher([KEY]), town.store.clock)


def later(patch: pytest.MonkeyPatch, town: Town) -> None:
    """Let a month and a day pass on the store's clock."""
    clock = type(town.store).clock
    patch.setattr(type(town.store), "clock", lambda store: clock(store) + 31 * 86_400)


async def _is_erased(town: Town) -> bool:
    return await town.store.installations.read_all() == {}


async def test_an_installation_that_is_not_whole_is_refused_in_plain_words(town: Town) -> None:
    async with town.bot():
        address, cookie = await town.allow_install("Local workspace")
        status, page, _ = await town.get(address, "slack-app-oauth-state=another")
        assert (status, "not the browser" in page) == (400, True)
        status, page, _ = await town.get(address.replace("state=", "state=x"), cookie)
        assert (status, "not the browser" in page) == (400, True)
        forged = "/slack/oauth_redirect?code=1&state=forged"
        status, page, _ = await town.get(forged, "slack-app-oauth-state=forged")
        assert (status, "this address was used before" in page) == (401, True)
        assert (await town.get(address, cookie))[0] == 200
        status, page, _ = await town.get(address, cookie)
        assert (status, "this address was used before" in page) == (401, True)
        address, cookie = await town.allow_install("Cancel")
        status, page, _ = await town.get(address, cookie)
        assert "was not allowed on Slack" in page
        assert "Begin again" in page
        assert list(await town.store.installations.read_all()) == [town.first.team_id]


async def test_a_workspace_that_is_not_listed_is_not_installed(town: Town) -> None:
    async with town.bot(teams=frozenset({town.second.team_id})):
        address, cookie = await town.allow_install("Local workspace")
        status, page, _ = await town.get(address, cookie)
        assert (status, "may not be installed in your workspace" in page) == (403, True)
        await town.install("Second")
        assert list(await town.store.installations.read_all()) == [town.second.team_id]


async def test_instances_with_the_former_key_alone_lose_nothing_while_the_keys_are_changed(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    async with town.bot():
        await town.install("Local workspace")
        async with town.bot(port=free_port(), keys=(OTHER_KEY, KEY)):
            await eventually(lambda: "cannot be read" in caplog.text)
            talk = await town.scene(town.first).ask(ASKS)
            await talk.over()
            assert talk.words(), "it goes on with what it knows"
    caplog.clear()
    async with town.bot():
        assert not await send_mention(town), "it knows nothing, so that Slack has to try another instance"
    assert "was encrypted with none of the keys" in caplog.text
    async with town.bot(keys=(OTHER_KEY,)):
        assert await send_mention(town)
        talk = await town.scene(town.first).ask(ASKS, channel="#sales")
        await talk.over()
        assert talk.words()


async def send_mention(town: Town) -> bool:
    """Whether a mention is acknowledged that Slack sends once."""
    state, channel = town.first._world.state, town.first.channel_id("#general")
    ts = state.clock.next_ts()
    text = f"<@{town.first.bot_user_id}> do"
    said = {"type": "app_mention", "user": town.first.person("ana").id, "text": text, "channel": channel}
    body = town.first._world.delivery._make_event_callback({**said, "ts": ts, "event_ts": ts})
    return (await town.first._transport.send("events_api", body)).ok


async def test_what_is_under_way_rests_when_the_app_leaves_and_goes_on_when_it_is_back(town: Town) -> None:
    async with town.bot(pace=0.3) as app:
        await town.install("Local workspace")
        await town.install("Second")
        talk = await town.scene(town.first).ask(ASKS)
        await talk.wait_until_seen(talk.cards)
        town.first.uninstall()

        async def rests() -> bool:
            head = await town.store.jobs.read_head(talk.key)
            gone = await has_left(town, town.first.team_id)
            return head is not None and not head.owner and gone and app.instance.owned_job_count == 0

        await eventually(rests)
        left = await talk.job()
        assert left is not None
        assert left.current_request is not None, "it is not over"
        sent = town.first.call_count("chat.postMessage")
        beside = await town.scene(town.second).ask(ASKS)
        await beside.over()
        assert beside.words(), "the other workspace is not concerned"
        assert town.first.call_count("chat.postMessage") == sent, "nothing is sent where it was taken out"
        await town.install("Local workspace")
        await talk.over()
        assert len(talk.replies()) == 2, "the card was edited in place, and the answer is there once"
        assert "note" in talk.join_bot_texts().lower()


async def test_what_was_left_is_erased_when_its_time_is_over_and_its_neighbour_stays(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with town.bot():
        await town.install("Local workspace")
        await town.install("Second")
        talks = [await town.scene(one).ask(ASKS) for one in (town.first, town.second)]
        for talk in talks:
            await talk.over()
        town.first.uninstall()
        await eventually(lambda: has_left(town, town.first.team_id))
        assert await town.store.jobs.read_head(talks[0].key) is not None, "it is kept for a while"
        clock = type(town.store).clock
        later(monkeypatch, town)

        async def is_erased() -> bool:
            return await town.store.installations.read(town.first.team_id) == ""

        await eventually(is_erased)
        monkeypatch.setattr(type(town.store), "clock", clock)
        assert await town.store.jobs.read_head(talks[0].key) is None
        assert await town.store.jobs.read_head(talks[1].key) is not None
        again = await town.scene(town.second).ask("and in one sentence", channel="#sales")
        await again.over()
        assert again.words()


async def test_an_expiring_token_is_refreshed_once_by_one_of_two_instances(server_url: str, tmp_path: Path) -> None:
    async with town_at(server_url, tmp_path, rotates=True) as town:
        town.first.oauth.token_seconds = 7_203  # so that it is time to refresh it after three seconds
        with pytest.MonkeyPatch.context() as often:
            often.setattr(teams, "SYNC_SECONDS", 0.1)
            async with town.bot(), town.bot(port=free_port()):
                await town.install("Local workspace")
                first = await token_of(town)

                async def is_refreshed() -> bool:
                    return await token_of(town) != first

                await eventually(is_refreshed)
                talk = await town.scene(town.first).ask(ASKS)
                await talk.over()
                assert talk.words()
                await eventually(lambda: has_refreshed(town, 3))
        calls = town.first.calls("oauth.v2.access")
        assert [call.error for call in calls if not call.ok] == []
        assert [call.error for call in town.first.calls() if not call.ok] == []


@pytest.mark.parametrize("fault", ["lost_reply", "server_error_before"])
async def test_a_token_whose_answer_is_lost_is_asked_for_again_at_once(
    server_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Literal["lost_reply", "server_error_before"],
) -> None:
    monkeypatch.setattr(teams, "SYNC_SECONDS", 0.1)
    async with town_at(server_url, tmp_path, rotates=True) as town, town.bot():
        oauth = town.first.oauth
        oauth.token_seconds, oauth.grace_seconds = 7_203, 60.0
        await town.install("Local workspace")
        first = await token_of(town)
        town.first.faults.add("oauth.v2.access", fault)

        async def is_refreshed() -> bool:
            return await token_of(town) != first

        await eventually(is_refreshed)
        oauth.token_seconds = 43_200
        talk = await town.scene(town.first).ask(ASKS)
        await talk.over()
        assert talk.words()
        assert not await has_left(town, town.first.team_id)


async def test_an_instance_that_dies_before_it_asks_for_a_token_leaves_that_to_another(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    async with town.bot():
        await town.install("Local workspace")
    records, team = records_of(town), town.first.team_id
    record, row = await records.read(team)
    assert record is not None
    soon = {**record.fields, "bot_token_expires_at": int(time.time()) + 60, "bot_refresh_token": "xoxe-1-used"}
    dead = record.model_copy(update={"fields": soon, "refreshing": town.store.clock() + 2.0})
    assert await records.replace(team, dead, former_row=row)
    async with town.bot():
        assert town.first.calls("oauth.v2.access")[-1].ok, "while another may be at it, nobody else is"
        await eventually(lambda: has_refreshed(town, 1))
        await eventually(lambda: "install the app again at /slack/install" in caplog.text)
        talk = await town.scene(town.first).ask(ASKS)
        await talk.over()
        assert talk.words(), "the old token is good until its time is over"


async def token_of(town: Town) -> str:
    """The token that is kept for the first workspace."""
    record, _ = await records_of(town).read(town.first.team_id)
    return str(record.fields["bot_token"]) if record is not None and record.fields else ""


def has_refreshed(town: Town, number: int) -> bool:
    """Whether tokens were asked for so often by a refresh token."""
    asked = [call.args.get("refresh_token") for call in town.first.calls("oauth.v2.access")]
    named = [each for each in asked if each]
    assert len(named) == len(set(named)), "a refresh token is used once"
    return len(named) >= number


async def test_an_organisation_installs_it_for_all_its_workspaces(server_url: str, tmp_path: Path) -> None:
    async with town_at(server_url, tmp_path, organisation="Acme") as town:
        with pytest.MonkeyPatch.context() as often:
            often.setattr(teams, "SYNC_SECONDS", 0.2)
            async with town.bot():
                assert "installed in Acme" in await town.install("all of Acme")
                for workspace in (town.first, town.second):
                    talk = await town.scene(workspace).ask(ASKS)
                    await talk.over()
                    assert talk.words(), workspace.identity.team_name
                    assert [(call.method, call.error) for call in workspace.calls() if not call.ok] == []
                    assert talk.key.team == workspace.team_id
                assert set(await town.store.installations.read_all()) == {
                    town.first.identity.enterprise_id,
                    town.first.team_id,
                    town.second.team_id,
                }
            # Another start knows from the store which workspaces there are.
            async with town.bot():
                talk = await town.scene(town.second).ask("write a shorter one", channel="#sales")
                await talk.over()
                answer = talk.words()[-1]
                # One bot user is in all of them, and a click says which it is made in.
                thumbs = block_of(answer, "context_actions")
                assert thumbs is not None
                up = thumbs["elements"][0]["positive_button"]["value"]
                await talk.scene.person().click(talk.channel, answer["ts"], "feedback", up)
                await talk.wait_until_seen(lambda: notices.FEEDBACK_RECORDED in talk.join_private_texts())
                town.first.uninstall()
                await eventually(lambda: has_left(town, town.first.identity.enterprise_id))
                later(often, town)
                await eventually(lambda: _is_erased(town))
                assert await town.store.jobs.read_head(talk.key) is None


async def test_what_comes_late_for_a_workspace_that_was_left_is_taken_and_does_nothing(town: Town) -> None:
    async with town.bot():
        await town.install("Local workspace")
        town.first.uninstall()
        await eventually(lambda: has_left(town, town.first.team_id))
        calls = len(town.first.calls())
        for number in range(40):
            assert await send_mention(town), number
        assert len(town.first.calls()) == calls
        assert await town.store.jobs.list_keys_under_way(limit=10) == []
