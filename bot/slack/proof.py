"""Proves what Slack gave us before anything runs: the tokens, and the scopes against the manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

AGAIN = "copy it again from the app's page at https://api.slack.com/apps"
INSTALL = "install the app again and copy the new token"
ADVICE: Mapping[str, str] = {
    "invalid_auth": f"the token is not (or no longer) valid: {AGAIN}",
    "not_authed": f"the token is empty: {AGAIN}",
    "account_inactive": f"the app was uninstalled: {INSTALL}",
    "token_revoked": f"the token was revoked: {INSTALL}",
    "token_expired": f"the token has expired: {INSTALL}, with token rotation off",
    "not_allowed_token_type": "this is the wrong kind of token: xoxb-... for the bot, xapp-... for Socket Mode",
    "missing_scope": "the app-level token needs the scope connections:write: make a new one with it",
    "socket_mode_not_enabled": "switch Socket Mode on in the app's settings, or use SLACK_SIGNING_SECRET instead",
    "ratelimited": "Slack wants fewer calls: try again in a minute",
}
"""Advice on Slack's errors; for any other one, look into its documentation."""
_SECRET = re.compile(r"[0-9a-f]{32}")


class NotConnected(Exception):
    """Slack does not let us in, or cannot be reached. The text says what to do."""


@dataclass(frozen=True, slots=True)
class BotAccount:
    """The account that a token belongs to. `user` is our own user id."""

    user: str
    name: str
    team: str
    scopes: frozenset[str]


async def bot_account(client: AsyncWebClient) -> BotAccount:
    """Ask Slack about the bot's token. Raises NotConnected."""
    try:
        who = await client.auth_test()
        granted = str(who.headers.get("x-oauth-scopes", "")).split(",")
        scopes = frozenset(scope.strip() for scope in granted if scope.strip())
        return BotAccount(str(who["user_id"]), str(who["user"]), str(who["team"]), scopes)
    except (SlackApiError, OSError, TimeoutError, aiohttp.ClientError) as error:
        raise explained(error, client, "auth.test") from error


async def prove_app_token(client: AsyncWebClient, app_token: str) -> None:
    """Ask Slack for the address of a connection, without making one. Raises NotConnected."""
    try:
        await client.apps_connections_open(app_token=app_token)
    except (SlackApiError, OSError, TimeoutError, aiohttp.ClientError) as error:
        raise explained(error, client, "apps.connections.open") from error


def explained(error: Exception, client: AsyncWebClient, method: str) -> NotConnected:
    """Say in words for people what went wrong."""
    if not isinstance(error, SlackApiError):
        why = str(error) or type(error).__name__
        return NotConnected(f"{client.base_url} cannot be reached ({why}): look at SLACK_API_URL and the network")
    answer = error.response
    data = getattr(answer, "data", None)
    code = str(data.get("error", "")) if isinstance(data, dict) else ""
    if not code:
        return NotConnected(f"{client.base_url} does not answer as Slack does: look at SLACK_API_URL")
    advice = ADVICE.get(code, f"look it up at https://docs.slack.dev/reference/methods/{method}")
    return NotConnected(f"Slack says {code}: {advice}")


def scope_fault(granted: frozenset[str], wanted: frozenset[str]) -> str:
    """Name the scopes missing of those in the manifest, and what to do; empty if none is."""
    missing = ", ".join(sorted(wanted - granted))
    return f"missing {missing}: update the app from manifest.yml, then install it again" if missing else ""


def secret_fault(signing_secret: str) -> str:
    """Say what is wrong with the form of a signing secret, if anything; only a signed request proves it."""
    if _SECRET.fullmatch(signing_secret):
        return ""
    return "this is no signing secret (32 hexadecimal digits): copy it from the app's Basic Information"
