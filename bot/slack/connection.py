"""The bot's connection to Slack: what Slack gave us is proven first, then Bolt listens over Socket Mode or HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.person_facts import HomeWorkspace
from bot.settings import Address
from bot.slack.receive.bolt_dispatch import AnsweringSocketMode
from bot.slack.receive.http import web_app
from bot.slack.receive.payload_reader import PayloadAddressee, read_addressed
from bot.slack.send.web_calls import close_client, make_client
from bot.slack.token_proof import INSTALLATION_EVENTS, PASSING_ERRORS, REFUSED_TOKEN, TokenProof
from specialists.outbound.faults import network_fault
from specialists.service_url import redact_url

ADVICE: Mapping[str, str] = {
    **REFUSED_TOKEN,
    "not_allowed_token_type": "this is the wrong kind of token: xoxb-... for the bot, xapp-... for Socket Mode",
    "missing_scope": "the app-level token needs the scope connections:write: make a new one with it",
    "socket_mode_not_enabled": "switch Socket Mode on in the app's settings, or use SLACK_SIGNING_SECRET instead",
    "ratelimited": "Slack wants fewer calls: try again in a minute",
}
"""Advice on Slack's errors; for any other one, look into its documentation."""
_NO_NEWS = ("`token` will be unused", "will be ignored", "the AuthorizeResult (returned value from authorize)")
_SECRET = re.compile(r"[0-9a-f]{32}")


Client = AsyncWebClient
"""The client of Slack's Web API, for modules that only pass it on."""


class NotConnected(Exception):
    """Slack does not let us in, or cannot be reached. The text says what to do."""


@dataclass(frozen=True, slots=True)
class BotAccount:
    """The account that a token belongs to. `user` is our own user id, `team` the workspace's name, `home` its ids.

    `url` is the workspace's own address, which links to messages begin with: it ends with a slash.
    """

    user: str
    name: str
    team: str
    scopes: frozenset[str]
    home: HomeWorkspace
    url: str = ""
    bot: str = ""
    """Our own bot id (B...)."""


async def bot_account(client: AsyncWebClient) -> BotAccount:
    """Ask Slack about the bot's token. Raises NotConnected."""
    try:
        who = await client.auth_test()
        granted = str(who.headers.get("x-oauth-scopes", "")).split(",")
        scopes = frozenset(scope.strip() for scope in granted if scope.strip())
        wide = who.get("is_enterprise_install") is True
        home = HomeWorkspace(str(who["team_id"]), str(who.get("enterprise_id") or ""), wide=wide)
        url = str(who.get("url") or "")
        bot = str(who.get("bot_id") or "")
        return BotAccount(str(who["user_id"]), str(who["user"]), str(who["team"]), scopes, home, url, bot)
    except (SlackApiError, OSError, TimeoutError, aiohttp.ClientError) as error:
        raise explain_failure(error, client, "auth.test") from error


def token_proof(client: AsyncWebClient, account: BotAccount) -> TokenProof:
    """Make the proof that Slack still takes a client's token, which was just proven to be the account's."""

    async def prove() -> str | None:
        try:
            await client.auth_test()
        except SlackApiError as error:
            code = _error_code(error)
            return None if code in PASSING_ERRORS else code
        except (OSError, TimeoutError, aiohttp.ClientError):
            return None
        return ""

    return TokenProof(
        prove,
        AuthorizeResult(
            enterprise_id=account.home.enterprise or None,
            team_id=account.home.team,
            bot_id=account.bot,
            bot_user_id=account.user,
            bot_scopes=sorted(account.scopes),
        ),
        lambda: client.token,
    )


async def prove_app_token(client: AsyncWebClient, app_token: str) -> None:
    """Ask Slack for the address of a connection, without making one. Raises NotConnected."""
    try:
        await client.apps_connections_open(app_token=app_token)
    except (SlackApiError, OSError, TimeoutError, aiohttp.ClientError) as error:
        raise explain_failure(error, client, "apps.connections.open") from error


def explain_failure(error: Exception, client: AsyncWebClient, method: str) -> NotConnected:
    """Say in words for people what went wrong, without those of a library: they may quote an address and its login."""
    where = redact_url(client.base_url)
    if not isinstance(error, SlackApiError):
        if fault := network_fault(error):
            return NotConnected(f"{where} cannot be reached: {fault}")
        return NotConnected(
            f"{where} cannot be reached ({_describe_no_answer(error)}): look at SLACK_API_URL and the network"
        )
    code = _error_code(error)
    if not code:
        return NotConnected(f"{where} does not answer as Slack does: look at SLACK_API_URL")
    advice = ADVICE.get(code, f"look it up at https://docs.slack.dev/reference/methods/{method}")
    return NotConnected(f"Slack says {code}: {advice}")


def _error_code(error: SlackApiError) -> str:
    """Return Slack's own word for an error; empty where something else answered."""
    data = getattr(error.response, "data", None)
    return str(data.get("error", "")) if isinstance(data, dict) else ""


def _describe_no_answer(error: Exception) -> str:
    """Say in a few words why a call got no answer."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted; SSL_CERT_FILE names the file of an authority of your own"
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return "the proxy of HTTPS_PROXY does not let it through"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__


def scope_fault(granted: frozenset[str], wanted: frozenset[str]) -> str:
    """Name the scopes of the manifest that are missing, and what to do; empty if none is."""
    missing = ", ".join(sorted(wanted - granted))
    return f"missing {missing}: update the app from manifest.yml, then install it again" if missing else ""


def secret_fault(signing_secret: str) -> str:
    """Say what is wrong with the form of a signing secret, if anything; only a signed request proves it."""
    if _SECRET.fullmatch(signing_secret):
        return ""
    return "this is no signing secret (32 hexadecimal digits): copy it from the app's Basic Information"


Bolt = AsyncApp
CLOSING = 1.0
"""Seconds that requests under way get to end when the connection closes."""


@dataclass(frozen=True, slots=True)
class SlackConnection:
    """A way in for what Slack sends. `where` is it in words; `is_up` asks if Slack reaches us right now."""

    where: str
    is_up: Callable[[], Awaitable[bool]]

    def __str__(self) -> str:
        """Where, in words."""
        return self.where


async def proven_client(token: str, base_url: str) -> tuple[AsyncWebClient, BotAccount]:
    """Make a client, prove its token, and give our own account with it. Raises NotConnected."""
    client = make_client(token, base_url)
    try:
        return client, await _fetch_account(client)
    except BaseException as error:
        await close_client(client)
        if isinstance(error, NotConnected):
            raise NotConnected(f"SLACK_BOT_TOKEN: {error}. `leadhand check` looks at all settings.") from error
        raise


async def _fetch_account(client: AsyncWebClient) -> BotAccount:
    """Ask once more where Slack gave no answer in time: a machine that is starting is often a slow one."""
    try:
        return await bot_account(client)
    except NotConnected as error:
        if not isinstance(error.__cause__, TimeoutError):
            raise
    return await bot_account(client)


def make_bolt(client: AsyncWebClient, proof: TokenProof, *, signing_secret: str) -> Bolt:
    """Make an app that runs its listeners before Slack is told "received": what was not recorded comes again."""
    bolt = AsyncApp(
        client=client,
        authorize=proof,
        signing_secret=signing_secret or "unused in Socket Mode",
        name="leadhand",  # without one, Bolt looks for it on the stack, for 50 ms
        process_before_response=True,
        logger=_make_quiet_logger(logging.getLogger(f"{__name__}.bolt")),
    )
    proof.watch(bolt)
    return bolt


def _make_quiet_logger(logger: logging.Logger) -> logging.Logger:
    """Make a logger for Bolt, without the lines that are no news."""
    logger.setLevel(logging.getLogger().level)
    logger.addFilter(_drop_no_news)
    return logger


class MultiTeamApp(AsyncApp):
    """The app of several workspaces: it hands each payload to its workspace's app, and answers those that have none.

    `find` gives the app that a payload is for. There is none for Slack's questions about the address itself, nor for
    what comes late for a workspace that the app has left.
    """

    def __init__(
        self, client: AsyncWebClient, find: Callable[[PayloadAddressee], Awaitable[Bolt | None]], *, signing_secret: str
    ) -> None:
        super().__init__(
            client=client,
            authorize=_authorize_nothing,
            signing_secret=signing_secret,
            name="leadhand",
            process_before_response=True,
            user_facing_authorize_error_message="I am not installed in this workspace (any more).",
            logger=_make_quiet_logger(logging.getLogger(f"{__name__}.front")),
        )
        for event in INSTALLATION_EVENTS:
            self.event(event)(_acknowledge_event)
        self._find = find

    async def async_dispatch(self, req: AsyncBoltRequest) -> BoltResponse:
        """Have the app of its workspace handle a request."""
        app = await self._find(read_addressed(req))
        if app is None:
            return await super().async_dispatch(req)
        return await app.async_dispatch(req)


async def _authorize_nothing() -> AuthorizeResult:
    """Return nothing, which Bolt takes for a workspace without an installation."""
    return None  # type: ignore[return-value]


async def _acknowledge_event() -> None:
    """Acknowledge an event about an installation that is known to be gone."""


@contextlib.asynccontextmanager
async def socket_mode(bolt: Bolt, app_token: str) -> AsyncIterator[SlackConnection]:
    """Listen over Socket Mode. Raises NotConnected."""
    try:
        # The SDK would try a token that Slack refuses again and again, for ever.
        await prove_app_token(bolt.client, app_token)
    except NotConnected as error:
        raise NotConnected(f"SLACK_APP_TOKEN: {error}. `leadhand check` looks at all settings.") from error
    handler = AnsweringSocketMode(bolt, app_token, logger=_make_traceless_logger())
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call]
        yield SlackConnection("Socket Mode", handler.client.is_connected)
    finally:
        # Slack's side of the closing may be slow to come, and nobody waits for it.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING):
                await handler.close_async()  # type: ignore[no-untyped-call]


@contextlib.asynccontextmanager
async def http(
    bolt: Bolt, *, signing_secret: str, address: Address, pages: Sequence[web.RouteDef] = ()
) -> AsyncIterator[SlackConnection]:
    """Listen over HTTP, with `pages` for browsers beside it. Raises NotConnected where the address cannot be had."""
    server = web_app(bolt, signing_secret=signing_secret, pages=pages)
    runner = web.AppRunner(server, access_log=None, shutdown_timeout=CLOSING)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, address.host, address.port).start()
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error
            raise NotConnected(f"{address} cannot be had ({why}). Choose another with LEADHAND_PORT.") from error
        where = Address(address.host, runner.addresses[0][1])
        yield SlackConnection(f"HTTP, {where}, path /slack/events", _is_listening)
    finally:
        await runner.cleanup()


async def _is_listening() -> bool:
    """Return True, as the port is open; whether Slack reaches it, this side cannot know."""
    return True


def _drop_no_news(record: logging.LogRecord) -> bool:
    """Drop lines that are no news, such as that Bolt uses our client and `authorize`, and not SLACK_BOT_TOKEN.

    A line on what comes late for a workspace that the app has left is no news either.
    """
    return not any(words in record.getMessage() for words in _NO_NEWS)


def _make_traceless_logger() -> logging.Logger:
    """Make a logger that tells of a lost connection, which is made again by itself, in one line without a trace."""
    logger = logging.getLogger(f"{__name__}.socket_mode")
    logger.setLevel(logging.getLogger().level)  # the SDK reads `level` itself, and takes "not set" for debugging
    logger.addFilter(_drop_trace)
    return logger


def _drop_trace(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True
