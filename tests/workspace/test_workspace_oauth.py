"""OAuth: an app is allowed on a page, gets tokens of each workspace, refreshes them and loses them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace.oauth import ALL_TEAMS
from bot.workspace.workspace_server import Workspace
from tests.workspace.conftest import Change, Start

BACK = "https://app.example.com/slack/oauth_redirect"


@pytest.fixture(params=[False])
def manifest(manifest_with: Change, request: pytest.FixtureRequest) -> Path:
    """The tests' app, which may send a browser back to `BACK`; the parameter says if its tokens expire."""

    def allow(raw: dict[str, Any]) -> None:
        raw["oauth_config"]["redirect_urls"] = [BACK]
        raw["settings"]["token_rotation_enabled"] = request.param

    return manifest_with(allow)


class App:
    """An app's side of OAuth: the browser of who allows it, and its calls."""

    def __init__(self, at: Workspace, session: aiohttp.ClientSession) -> None:
        self.at, self.session = at, session
        self.scope = "chat:write"

    async def page(self, **query: str) -> tuple[int, str]:
        """What `/oauth/v2/authorize` shows."""
        asked = {"client_id": self.at.identity.client_id, "scope": self.scope, "state": "s1", **query}
        url = self.at.api_url.replace("/api/", "/oauth/v2/authorize")
        async with self.session.get(url, params=asked) as response:
            return response.status, await response.text()

    async def choose(self, label: str) -> dict[str, str]:
        """Follow a link of the page, and return what the app's address is called with."""
        _, page = await self.page()
        link = next(href for href, text in re.findall(r'<a href="([^"]+)">([^<]+)<', page) if label in text)
        url = self.at.api_url.replace("/api/", link.replace("&amp;", "&"))
        async with self.session.get(url, allow_redirects=False) as response:
            to = urlsplit(response.headers["Location"])
        assert f"{to.scheme}://{to.netloc}{to.path}" == BACK
        return {name: values[0] for name, values in parse_qs(to.query).items()}

    async def access(self, **args: str) -> dict[str, Any]:
        """Call oauth.v2.access with the app's credentials."""
        who, client = self.at.identity, AsyncWebClient(base_url=self.at.api_url, session=self.session)
        given = {"client_id": who.client_id, "client_secret": who.client_secret, **args}
        return dict((await client.oauth_v2_access(**given)).data)  # type: ignore[arg-type]

    async def install(self, label: str) -> dict[str, Any]:
        """Install it where the page says so."""
        return await self.access(code=(await self.choose(label))["code"])

    def client(self, token: str, team: str | None = None) -> AsyncWebClient:
        """A client with a token, at the address of the first workspace."""
        return AsyncWebClient(token=token, base_url=self.at.api_url, session=self.session, team_id=team)


@pytest.fixture
async def app(start: Start, manifest: Path, session: aiohttp.ClientSession) -> App:
    return App(await start(manifest=manifest, rate_limits=False, is_installed=False, organisation="Acme"), session)


async def catch_error_code(call: Callable[[], Any]) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call()
    return str(caught.value.response["error"])


async def test_a_token_is_good_in_the_workspace_it_was_issued_for(app: App) -> None:
    second = await app.at.start_further_workspace("Second")
    try:
        assert await catch_error_code(app.client(app.at.bot_token).auth_test) == "account_inactive"
        first = await app.install("Local workspace")
        other = await app.install("Second")
        assert [each["team"]["id"] for each in (first, other)] == [app.at.team_id, second.team_id]
        assert first["access_token"] != other["access_token"]
        for workspace, issued in ((app.at, first), (second, other)):
            client = app.client(issued["access_token"])
            who = await client.auth_test()
            assert (who["team_id"], who["user_id"]) == (workspace.team_id, workspace.bot_user_id)
            await client.chat_postMessage(channel=workspace.channel_id("#general"), text="hi")
            assert [one["text"] for one in workspace.messages("#general")] == ["hi"]
        post = app.client(first["access_token"]).chat_postMessage
        assert (
            await catch_error_code(lambda: post(channel=second.channel_id("#general"), text="x")) == "channel_not_found"
        )
        second.uninstall()
        assert await catch_error_code(app.client(other["access_token"]).auth_test) == "account_inactive"
        await app.client(first["access_token"]).auth_test()
    finally:
        await second.stop()


async def test_what_the_page_does_not_know_it_refuses(app: App) -> None:
    assert (await app.page())[0] == 200
    for wrong, words in (
        ({"client_id": "1.1"}, "invalid_client_id"),
        ({"scope": "admin"}, "does not list: admin"),
        ({"redirect_uri": "https://elsewhere.example.com/"}, "bad_redirect_uri"),
    ):
        status, page = await app.page(**wrong)
        assert status == 400
        assert words in page
    assert await app.choose("Cancel") == {"error": "access_denied", "state": "s1"}
    back = await app.choose("Local workspace")
    assert back["state"] == "s1"
    assert await catch_error_code(lambda: app.access(code=back["code"], client_secret="x")) == "bad_client_secret"
    await app.access(code=back["code"])
    assert await catch_error_code(lambda: app.access(code=back["code"])) == "invalid_code"


async def test_an_organisations_token_is_good_in_all_of_it_and_names_the_team(app: App) -> None:
    second = await app.at.start_further_workspace("Second")
    try:
        issued = await app.install("all of Acme")
        assert (issued["is_enterprise_install"], issued["team"]) == (True, None)
        assert issued["enterprise"]["name"] == "Acme"
        client = app.client(issued["access_token"])
        for workspace in (app.at, second):
            await client.chat_postMessage(channel=workspace.channel_id("#general"), text="hi")
            assert len(workspace.messages("#general")) == 1
        assert await catch_error_code(client.users_list) == "missing_argument"
        listed = await app.client(issued["access_token"], second.team_id).users_list()
        assert second.person("ana").id in {one["id"] for one in listed["members"]}
        app.at.uninstall()
        assert await catch_error_code(client.auth_test) == "account_inactive"
        assert ALL_TEAMS not in {row.team for row in app.at.oauth._tokens.values()}
    finally:
        await second.stop()


@pytest.mark.parametrize("manifest", [True], indirect=True)
async def test_an_expiring_token_is_refreshed_and_a_refresh_token_works_once(app: App) -> None:
    first = await app.install("Local workspace")
    assert first["expires_in"] == 43_200
    second = await app.access(grant_type="refresh_token", refresh_token=first["refresh_token"])
    await app.client(first["access_token"]).auth_test()
    again = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    assert await catch_error_code(lambda: app.access(**again)) == "invalid_refresh_token"
    third = await app.access(grant_type="refresh_token", refresh_token=second["refresh_token"])
    assert await catch_error_code(app.client(first["access_token"]).auth_test) == "token_revoked"
    app.at.clock.advance(43_201)
    assert await catch_error_code(app.client(third["access_token"]).auth_test) == "token_expired"


@pytest.mark.parametrize("manifest", [True], indirect=True)
async def test_a_refresh_token_works_again_within_the_grace_period_if_one_is_set(app: App) -> None:
    app.at.oauth.grace_seconds = 30
    first = await app.install("Local workspace")
    again = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    lost, kept = await app.access(**again), await app.access(**again)
    assert await catch_error_code(app.client(first["access_token"]).auth_test) == "token_revoked", (
        "two at the most are good"
    )
    for each in (lost, kept):
        await app.client(each["access_token"]).auth_test()
    once = {"grant_type": "refresh_token", "refresh_token": kept["refresh_token"]}
    await app.access(**once)
    app.at.clock.advance(31)
    assert await catch_error_code(lambda: app.access(**once)) == "invalid_refresh_token"


async def test_a_workspace_beside_an_organisation_has_ids_of_the_same_form_and_nothing_else(app: App) -> None:
    inside = await app.at.start_further_workspace("Second")
    beside = await app.at.start_further_workspace("North", in_organisation=False)
    try:
        who = [each.person("ana").id for each in (app.at, inside, beside)]
        assert len(set(who)) == 1, "people are the same in an organisation, and their ids unique in a workspace alone"
        rooms = [each.channel_id("#general") for each in (app.at, inside, beside)]
        assert (rooms[0] == rooms[2], rooms[0] == rooms[1]) == (True, False)
        bots = [each.bot_user_id for each in (app.at, inside, beside)]
        assert (bots[0] == bots[1], bots[0] == bots[2]) == (True, False)
        client = app.client((await app.install("all of Acme"))["access_token"])
        own = app.client((await app.install("North"))["access_token"])
        await client.chat_postMessage(channel=rooms[1], text="inside")
        await own.chat_postMessage(channel=rooms[2], text="beside")
        said = [[one["text"] for one in each.messages("#general")] for each in (app.at, inside, beside)]
        assert said == [[], ["inside"], ["beside"]]
        app.at.uninstall()
        assert await catch_error_code(client.auth_test) == "account_inactive"
        await own.auth_test()
    finally:
        await beside.stop()
        await inside.stop()
