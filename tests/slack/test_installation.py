"""Installations: encrypted with keys that change, changed as they were seen, found by workspace or organisation."""

from __future__ import annotations

import asyncio
import logging

import pytest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.oauth.installation_store import Installation

from bot.settings import SettingsError, read_settings, require_slack
from bot.slack.installation.install_pages import OAuthStates
from bot.slack.installation.records import BadKey, InstallationRecords, TokenCipher
from bot.slack.receive.payload_reader import PayloadAddressee, read_addressee
from bot.slack.token_monitor import TokenMonitor
from bot.store.redis.redis_store import Store
from tests.system.installing import KEY, OTHER_KEY


def make_installation(team: str | None = "T1", organisation: str | None = None, token: str = "") -> Installation:
    """An installation in a workspace; without one, in an organisation."""
    return Installation(
        enterprise_id=organisation,
        team_id=team,
        bot_token=token or "xoxb-1",
        bot_user_id="UBOT",
        bot_scopes=["chat:write"],
        bot_token_expires_at=1_900_000_000,
        user_id="U1",
        user_token="xoxp-1",
        is_enterprise_install=team is None,
        custom_values={"url": "https://acme.slack.com/"},
    )


def records_in(store: Store, *keys: str) -> InstallationRecords:
    return InstallationRecords(store.installations, TokenCipher(keys or (KEY,)), store.clock)


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    old, both, new = TokenCipher([KEY]), TokenCipher([OTHER_KEY, KEY]), TokenCipher([OTHER_KEY])
    text = old.encrypt("xoxb-1")
    assert "xoxb" not in text
    assert both.decrypt(text) == "xoxb-1"
    assert not both.is_under_current_key(text)
    anew = both.encrypt("xoxb-1")
    assert (new.decrypt(anew), both.is_under_current_key(anew)) == ("xoxb-1", True)
    with pytest.raises(BadKey, match="add the former one"):
        new.decrypt(text)
    with pytest.raises(BadKey, match="32 random bytes"):
        TokenCipher(["short"])


async def test_an_installation_is_found_by_workspace_else_by_organisation(store: Store) -> None:
    records = records_in(store)
    await records.async_save(make_installation())
    await records.async_save(make_installation(None, "E1", "xoxb-of-all"))
    found = await records.async_find_installation(enterprise_id="E1", team_id="T1")
    assert found is not None
    assert (found.bot_token, found.bot_scopes, found.bot_token_expires_at) == ("xoxb-1", ["chat:write"], 1_900_000_000)
    assert found.user_token is None, "no token of a person is kept"
    assert found.custom_values == {"url": "https://acme.slack.com/"}
    for of in ({"team_id": "T2"}, {"team_id": "T1", "is_enterprise_install": True}):
        bot = await records.async_find_bot(enterprise_id="E1", **of)  # type: ignore[arg-type]
        assert bot is not None
        assert bot.bot_token == "xoxb-of-all"
    assert await records.async_find_bot(enterprise_id=None, team_id="T2") is None
    await records.async_delete_all(enterprise_id=None, team_id="T1")
    assert await records.async_find_installation(enterprise_id=None, team_id="T1") is None
    kept, row = await records.read("T1")
    assert kept is not None
    assert (kept.fields, kept.left > 0, bool(row)) == ({}, True, True), "the tokens are gone, that it was there is not"
    await records.async_save(make_installation(token="xoxb-2"))
    again = await records.async_find_bot(enterprise_id=None, team_id="T1")
    assert again is not None
    assert again.bot_token == "xoxb-2"


async def test_new_tokens_change_nothing_of_one_that_has_left(store: Store) -> None:
    records = records_in(store)
    await records.async_save(make_installation())
    bot = make_installation(token="xoxb-2").to_bot()
    await records.mark_removed("T1")
    await records.async_save_bot(bot)
    assert await records.async_find_bot(enterprise_id=None, team_id="T1") is None


async def test_what_no_key_opens_is_left_alone_and_installed_anew(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await records_in(store).async_save(make_installation())
    row = await store.installations.read("T1")
    stranger = records_in(store, OTHER_KEY)
    with caplog.at_level(logging.ERROR):
        assert await stranger.read_all() == {}
        assert await stranger.read_all() == {}, "a second look says the same"
    assert caplog.text.count("T1 cannot be read") == 1
    await stranger.mark_removed("T1")
    await stranger.link_to_organisation("T1", "E1")
    assert await stranger.reencrypt_all() == 0
    assert await store.installations.read("T1") == row
    await stranger.async_save(make_installation())
    assert (await stranger.read_all())["T1"].installation is not None


async def test_what_was_read_stays_known_while_the_keys_are_changed(store: Store) -> None:
    former = records_in(store)
    await former.async_save(make_installation())
    before = await former.read_all()
    assert await records_in(store, OTHER_KEY, KEY).reencrypt_all() == 1
    assert await former.read_all() == before
    assert await former.read_all() == before


async def test_a_token_that_is_refused_says_nothing_of_a_later_installation(store: Store) -> None:
    records = records_in(store)
    await records.async_save(make_installation(token="xoxb-2"))
    await records.mark_removed("T1", "xoxb-1")
    assert await records.async_find_bot(enterprise_id=None, team_id="T1") is not None
    await records.mark_removed("T1", "xoxb-2")
    assert await records.async_find_bot(enterprise_id=None, team_id="T1") is None


async def test_of_several_that_encrypt_anew_each_record_is_written_once(store: Store) -> None:
    await records_in(store).async_save(make_installation())
    several = [records_in(store, OTHER_KEY, KEY) for _ in range(3)]
    assert sum(await asyncio.gather(*(one.reencrypt_all() for one in several))) == 1
    assert (await records_in(store, OTHER_KEY).read_all())["T1"].installation is not None


async def test_a_state_is_good_once(store: Store) -> None:
    states = OAuthStates(store.installations)
    one, other = await states.async_issue(), await states.async_issue()
    assert one != other
    assert [await states.async_consume(each) for each in (one, one, other, "forged", "x" * 10_000)] == [
        True,
        False,
        True,
        False,
        False,
    ]


EVENT = {"type": "event_callback", "team_id": "T9", "event": {"type": "app_mention", "user": "U1"}}
OWN = {"team_id": "T1", "enterprise_id": None, "is_enterprise_install": False}
WIDE = {"team_id": None, "enterprise_id": "E1", "is_enterprise_install": True}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"type": "url_verification", "challenge": "x"}, PayloadAddressee()),
        ({**EVENT, "authorizations": [OWN]}, PayloadAddressee("T1")),
        ({**EVENT, "authorizations": [WIDE]}, PayloadAddressee("T9", "E1")),
        ({**EVENT, "authorizations": [WIDE], "context_team_id": "T3"}, PayloadAddressee("T3", "E1")),
        ({"command": "/leadhand", "team_id": "T2", "is_enterprise_install": "false"}, PayloadAddressee("T2")),
        (
            {"type": "block_actions", "team": {"id": "T2"}, "user": {"id": "U1"}, "message": {"user": "UBOT"}},
            PayloadAddressee("T2", author="UBOT"),
        ),
        (
            {"type": "view_submission", "team": {"id": "T2"}, "view": {"app_installed_team_id": "T1"}},
            PayloadAddressee("T1"),
        ),
    ],
)
def test_whom_a_payload_is_for(body: dict[str, object], expected: PayloadAddressee) -> None:
    assert read_addressee(AsyncBoltRequest(body=body, mode="socket_mode")) == expected


def test_settings_of_installations_are_whole_or_refused() -> None:
    whole = {
        "SLACK_CLIENT_ID": "1.2",
        "SLACK_CLIENT_SECRET": "s",
        "SLACK_SIGNING_SECRET": "x" * 32,
        "LEADHAND_TOKEN_KEYS": f"{KEY}, {OTHER_KEY}",
        "LEADHAND_TEAMS": "T1, E1",
    }
    settings = read_settings(whole)
    require_slack(settings)
    assert (settings.uses_oauth_install, settings.token_keys, settings.teams) == (True, (KEY, OTHER_KEY), {"T1", "E1"})
    assert {KEY, OTHER_KEY, "s"} <= settings.secrets
    assert KEY not in repr(settings)
    with pytest.raises(SettingsError, match=r"LEADHAND_TOKEN_KEYS not: .* makes a key"):
        require_slack(read_settings({**whole, "LEADHAND_TOKEN_KEYS": ""}))
    both = read_settings({**whole, "SLACK_BOT_TOKEN": "xoxb-1"})
    assert not both.uses_oauth_install, "`leadhand try` has a token of its own"
    with pytest.raises(SettingsError, match="remove SLACK_BOT_TOKEN"):
        require_slack(both)
    with pytest.raises(SettingsError, match="remove SLACK_APP_TOKEN"):
        require_slack(read_settings({**whole, "SLACK_APP_TOKEN": "xapp-1"}))


def test_admins_are_named_for_a_workspace_or_an_organisation_where_there_are_several() -> None:
    named = {"LEADHAND_ADMINS": "T1:UANA, E1:UBEN, UCLEO"}
    settings = read_settings(named)
    found = [settings.list_admins(*of) for of in (("T1", ""), ("T1", "E1"), ("T2", "E1"), ("T2", "E2"))]
    assert found == [{"UANA", "UCLEO"}, {"UANA", "UBEN", "UCLEO"}, {"UBEN", "UCLEO"}, {"UCLEO"}]
    several = {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s", "SLACK_SIGNING_SECRET": "x" * 32}
    several |= {"LEADHAND_TOKEN_KEYS": KEY}
    with pytest.raises(SettingsError, match=r"names UCLEO in no workspace.* such as T0123ABCD:UCLEO"):
        require_slack(read_settings({**several, **named}))
    require_slack(read_settings({**several, "LEADHAND_ADMINS": "T1:UANA, E1:UBEN"}))


async def test_a_proof_of_a_token_that_was_refreshed_meanwhile_says_nothing_of_the_new_one() -> None:
    token, told = "xoxb-1", []

    async def prove() -> str:
        nonlocal token
        token = "xoxb-2"
        return "token_revoked"

    proof = TokenMonitor(prove, AuthorizeResult(enterprise_id=None, team_id="T1"), lambda: token)
    proof.on_refused = lambda code, of: told.append((code, of))
    proof._proven_at = 0.0
    await proof.check_token()
    assert (proof.fault, told) == ("", [])
    proof._proven_at = 0.0
    await proof.check_token()
    assert told == [("token_revoked", "xoxb-2")]
