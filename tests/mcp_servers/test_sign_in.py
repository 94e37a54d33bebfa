"""Signing in to a server: what comes back is checked, tokens are renewed and dropped, and a server may lie."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from specialists.mcp.oauth_requests import find_url_fault
from specialists.mcp.server_config import ServerConfig
from specialists.mcp.server_sign_in import LINK_SECONDS, ServerSignIn
from specialists.mcp.server_tools import make_toolkit
from specialists.mcp.tool_lock import make_locked_tool
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL, SignInFailed
from specialists.tools.toolkit import ToolSettings
from tests.mcp_servers.harbour import make_tool_entry
from tests.mcp_servers.oauth_server import HeldSignIns, OAuthServer, oauth_server

ANA, BEN = "U_ANA", "U_BEN"


@pytest.fixture
async def server() -> AsyncIterator[OAuthServer]:
    """A server to which one signs in."""
    async with oauth_server() as found:
        yield found


def signing_in(server: OAuthServer, sign_ins: HeldSignIns, name: str = "tides") -> ServerSignIn:
    """The sign-in to it."""
    return ServerSignIn(ServerConfig(name, "http", url=server.url, uses_oauth=True), "crew", sign_ins.clock)


async def signed_in(server: OAuthServer, sign_ins: HeldSignIns) -> ServerSignIn:
    """A sign-in that somebody has been through."""
    way = signing_in(server, sign_ins)
    await way.finish(sign_ins, ANA, await server.browser(await way.begin(sign_ins, ANA)))
    assert await way.is_signed_in(sign_ins)
    return way


async def test_the_link_asks_for_what_the_server_wants_and_the_address_is_good_once(server: OAuthServer) -> None:
    kept = HeldSignIns()
    way = signing_in(server, kept)
    assert not await way.is_signed_in(kept)
    link = await way.begin(kept, ANA)
    asked = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert asked["redirect_uri"] == LOCAL_RETURN_URL
    assert (asked["resource"], asked["scope"], asked["code_challenge_method"]) == (server.url, "tides", "S256")
    landed = await server.browser(link)
    await way.finish(kept, ANA, f" <{landed}> ")
    assert server.forms[0]["code_verifier"] not in link
    with pytest.raises(SignInFailed, match="was used"):
        await way.finish(kept, ANA, landed)
    assert len(server.forms) == 1
    assert not any(name.startswith("pending") for name in kept.texts)


@pytest.mark.parametrize(
    ("address_form", "words"),
    [
        ("https://evil.example/?code=1&state=2", "That is not the address"),
        ("{lands}?code=1", "is not whole"),
        ("{lands}?code=1&state=wrong", "was used, or is older than 10 minutes"),
        ("{landed}&state=other", "is not whole"),
        ("{landed}&iss=https://evil.example", "not from the page that the link leads to"),
    ],
)
async def test_a_wrong_address_is_told_and_costs_nothing(server: OAuthServer, address_form: str, words: str) -> None:
    kept = HeldSignIns()
    way = signing_in(server, kept)
    landed = await server.browser(await way.begin(kept, ANA))
    with pytest.raises(SignInFailed, match=words) as caught:
        await way.finish(kept, ANA, address_form.format(lands=LOCAL_RETURN_URL, landed=landed))
    assert len(str(caught.value)) <= 150, "a window shows no more"
    assert server.forms == []
    await way.finish(kept, ANA, landed)
    assert await way.is_signed_in(kept)


async def test_an_address_is_for_one_person_one_server_and_ten_minutes(server: OAuthServer) -> None:
    kept = HeldSignIns()
    way = signing_in(server, kept)
    landed = await server.browser(await way.begin(kept, ANA))
    with pytest.raises(SignInFailed, match="somebody else's link"):
        await way.finish(kept, BEN, landed)
    with pytest.raises(SignInFailed, match="was used"):
        await signing_in(server, kept, "other").finish(kept, ANA, landed)
    with pytest.raises(SignInFailed, match=r"begins with https://bot\.example/signed-in"):
        await way.finish(kept, ANA, landed, "https://bot.example/signed-in")
    moved = landed.replace(LOCAL_RETURN_URL, "https://bot.example/signed-in")
    with pytest.raises(SignInFailed, match="My own address has changed"):
        await way.finish(kept, ANA, moved, "https://bot.example/signed-in")
    kept.now += LINK_SECONDS + 1
    with pytest.raises(SignInFailed, match="older than 10 minutes"):
        await way.finish(kept, ANA, landed)
    assert server.forms == []


async def test_who_says_no_at_the_server_is_told_so_and_a_wrong_code_is_no_token(server: OAuthServer) -> None:
    kept = HeldSignIns()
    way = signing_in(server, kept)
    for answer, words in (("error=access_denied", "said “access_denied”"), ("code=wrong", "invalid_grant")):
        state = parse_qs(urlsplit(await way.begin(kept, ANA)).query)["state"][0]
        with pytest.raises(SignInFailed, match=words):
            await way.finish(kept, ANA, f"{LOCAL_RETURN_URL}?{answer}&state={state}")
    assert not await way.is_signed_in(kept)


async def test_a_token_is_renewed_before_its_end_and_dropped_when_it_cannot_be(server: OAuthServer) -> None:
    kept = HeldSignIns()
    way = await signed_in(server, kept)
    first = await way.get_token()
    assert await way.get_token() == first
    kept.now += server.lasts
    second = await way.get_token()
    assert second in server.access - {first}
    server.revoke(all_of_it=False)
    third = await way.get_token(refused_token=second)
    assert third in server.access
    assert await way.get_token(refused_token=second) == third, (
        "somebody else was refused the same, and it is renewed by now"
    )
    server.revoke()
    assert await way.get_token(refused_token=third) == ""
    assert not await way.is_signed_in(kept)
    assert kept.texts == {}


LIES = [
    ({"token_endpoint": "http://169.254.169.254/latest"}, "is not https"),
    ({"authorization_endpoint": "http://login.example/"}, "is not https"),
    ({"registration_endpoint": "https://127.0.0.1:6379/"}, "leads to this machine"),
    ({"authorization_servers": ["https://10.0.0.7"]}, "an address that is not public"),
    ({"authorization_servers": ["http://127.0.0.1:6379"]}, "is not https"),
    ({"resource": "https://bank.example/mcp"}, "says that it is another one"),
    ({"issuer": "https://bank.example"}, "says that it is another one"),
    ({"code_challenge_methods_supported": ["plain"]}, "does not offer PKCE"),
]


@pytest.mark.parametrize(("lie", "words"), LIES, ids=str)
async def test_a_document_that_lies_brings_nobody_anywhere(
    server: OAuthServer, lie: dict[str, object], words: str
) -> None:
    kept = HeldSignIns()
    server.lies = lie
    with pytest.raises(SignInFailed, match=words):
        await signing_in(server, kept).begin(kept, ANA)
    assert kept.texts == {}
    assert not server.clients


async def test_a_check_says_if_people_could_sign_in_and_what_to_write_where_they_cannot(
    server: OAuthServer, tmp_path: Path
) -> None:
    async def prove_toolkit(**ours: str) -> str:
        config = ServerConfig("tides", "http", url=server.url, uses_oauth=bool(ours))
        toolkit = make_toolkit(config, (make_locked_tool(make_tool_entry("look")),), ToolSettings({}, tmp_path), "crew")
        return " ".join(await toolkit.prove())

    assert await prove_toolkit(auth="oauth") == ""
    assert 'whoever runs the bot writes "auth": "oauth" for it into .mcp.json' in await prove_toolkit()
    server.lies = {"code_challenge_methods_supported": []}
    assert "tides: nobody can sign in. The authorization server does not offer PKCE" in await prove_toolkit(
        auth="oauth"
    )


@pytest.mark.parametrize(
    ("url", "is_usable"),
    [
        ("https://mcp.example/token", True),
        ("https://login.example/token", True),
        ("http://mcp.example/token", False),
        ("https://me:secret@login.example/", False),
        ("https://login.example/#x", False),
        ("https://[::1]/", False),
        ("https://localhost/", False),
        ("javascript:alert(1)", False),
        ("https://login.example:port/", False),
    ],
)
def test_only_https_and_nobody_inside(url: str, is_usable: bool) -> None:  # noqa: FBT001 - a case
    assert (find_url_fault(url, "https://mcp.example/mcp") == "") is is_usable
