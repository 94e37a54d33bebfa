"""The bot's connection to Slack: its tokens are checked first, then Bolt listens over Socket Mode or HTTP."""

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
from bot.slack.receive.bolt_dispatch import AcknowledgingSocketMode
from bot.slack.receive.http import make_web_app
from bot.slack.receive.payload_reader import PayloadAddressee, read_addressee
from bot.slack.send.web_calls import close_client, make_client
from bot.slack.token_monitor import INSTALLATION_EVENTS, REFUSED_TOKEN_ADVICE, TRANSIENT_SLACK_ERRORS, TokenMonitor
from specialists.outbound.network_faults import describe_network_fault
from specialists.service_url import redact_url

ADVICE_BY_CODE: Mapping[str, str] = {
    **REFUSED_TOKEN_ADVICE,
    "not_allowed_token_type": "this is the wrong kind of token: xoxb-... for the bot, xapp-... for Socket Mode",
    "missing_scope": "the app-level token needs the scope connections:write: make a new one with it",
    "socket_mode_not_enabled": "switch Socket Mode on in the app's settings, or use SLACK_SIGNING_SECRET instead",
    "ratelimited": "Slack wants fewer calls: try again in a minute",
}
"""Advice for people by Slack's error code. For any other code, `make_connection_error` names Slack's documentation."""
_ROUTINE_LINES = ("`token` will be unused", "will be ignored", "the AuthorizeResult (returned value from authorize)")
_SIGNING_SECRET = re.compile(r"[0-9a-f]{32}")


Client = AsyncWebClient
"""The client of Slack's Web API, for modules that only pass it on."""


class NotConnected(Exception):
    """Slack refuses a token or cannot be reached, or the port cannot be opened. The text says what to do."""


@dataclass(frozen=True, slots=True)
class BotAccount:
    """The account of the bot in a workspace, as Slack returns it for the bot's token."""

    user: str
    """The bot's own user id (U...)."""
    name: str
    team_name: str
    """The name of the workspace."""
    scopes: frozenset[str]
    home: HomeWorkspace
    """The ids of the workspace and of its organisation."""
    url: str = ""
    """The address of the workspace, with a slash at its end: links to messages begin with it."""
    bot_id: str = ""
    """The bot's own bot id (B...)."""


async def fetch_bot_account(client: AsyncWebClient) -> BotAccount:
    """Ask Slack for the account that the client's token belongs to. Raises NotConnected."""
    try:
        auth = await client.auth_test()
        scope_texts = str(auth.headers.get("x-oauth-scopes", "")).split(",")
        scopes = frozenset(scope.strip() for scope in scope_texts if scope.strip())
        is_org_wide = auth.get("is_enterprise_install") is True
        home = HomeWorkspace(str(auth["team_id"]), str(auth.get("enterprise_id") or ""), is_org_wide=is_org_wide)
        url = str(auth.get("url") or "")
        bot = str(auth.get("bot_id") or "")
        return BotAccount(str(auth["user_id"]), str(auth["user"]), str(auth["team"]), scopes, home, url, bot)
    except (SlackApiError, OSError, TimeoutError, aiohttp.ClientError) as error:
        raise make_connection_error(error, client, "auth.test") from error


def make_token_monitor(client: AsyncWebClient, account: BotAccount) -> TokenMonitor:
    """Return a `TokenMonitor`, which checks again and again whether Slack still accepts the client's token.

    `account` is the answer that Slack has just given for this token.
    """

    async def check_token() -> str | None:
        try:
            await client.auth_test()
        except SlackApiError as error:
            code = _read_error_code(error)
            return None if code in TRANSIENT_SLACK_ERRORS else code
        except (OSError, TimeoutError, aiohttp.ClientError):
            return None
        return ""

    return TokenMonitor(
        check_token,
        AuthorizeResult(
            enterprise_id=account.home.enterprise or None,
            team_id=account.home.team,
            bot_id=account.bot_id,
            bot_user_id=account.user,
            bot_scopes=sorted(account.scopes),
        ),
        lambda: client.token,
    )


async def check_app_level_token(client: AsyncWebClient, app_token: str) -> None:
    """Check the app-level token by asking Slack for a Socket Mode address, which is not used. Raises NotConnected."""
    try:
        await client.apps_connections_open(app_token=app_token)
    except (SlackApiError, OSError, TimeoutError, aiohttp.ClientError) as error:
        raise make_connection_error(error, client, "apps.connections.open") from error


def make_connection_error(error: Exception, client: AsyncWebClient, method: str) -> NotConnected:
    """Return a NotConnected that says in plain words why a call failed, and what to do.

    The text of `error` is not quoted, as it may hold an address with its password.
    """
    where = redact_url(client.base_url)
    if not isinstance(error, SlackApiError):
        if fault := describe_network_fault(error):
            return NotConnected(f"{where} cannot be reached: {fault}")
        return NotConnected(
            f"{where} cannot be reached ({_describe_no_answer(error)}): look at SLACK_API_URL and the network"
        )
    code = _read_error_code(error)
    if not code:
        return NotConnected(f"{where} does not answer as Slack does: look at SLACK_API_URL")
    advice = ADVICE_BY_CODE.get(code, f"look it up at https://docs.slack.dev/reference/methods/{method}")
    return NotConnected(f"Slack says {code}: {advice}")


def _read_error_code(error: SlackApiError) -> str:
    """Return Slack's code for an error, or "" if the answer did not come from Slack."""
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


def describe_missing_scopes(granted_scopes: frozenset[str], needed_scopes: frozenset[str]) -> str:
    """Return a sentence that names the missing scopes and what to do, or "" if none is missing."""
    missing_scopes = ", ".join(sorted(needed_scopes - granted_scopes))
    return (
        f"missing {missing_scopes}: update the app from manifest.yml, then install it again" if missing_scopes else ""
    )


def describe_secret_fault(signing_secret: str) -> str:
    """Return what is wrong with the form of a signing secret, or "". Only a signed request can prove the secret."""
    if _SIGNING_SECRET.fullmatch(signing_secret):
        return ""
    return "this is no signing secret (32 hexadecimal digits): copy it from the app's Basic Information"


Bolt = AsyncApp
CLOSING_SECONDS = 1.0
"""Seconds that requests under way get to end when the connection closes."""


@dataclass(frozen=True, slots=True)
class SlackConnection:
    """An open connection over which Slack sends its payloads."""

    description: str
    """The transport, and for HTTP the address, in words for people."""
    is_up: Callable[[], Awaitable[bool]]
    """Returns True while the connection is open. Over HTTP, that does not say that Slack can reach it."""

    def __str__(self) -> str:
        """Return `description`."""
        return self.description


async def make_checked_client(token: str, base_url: str) -> tuple[AsyncWebClient, BotAccount]:
    """Make a client, check its token, and return the client with the bot's account. Raises NotConnected."""
    client = make_client(token, base_url)
    try:
        return client, await _fetch_account_with_retry(client)
    except BaseException as error:
        await close_client(client)
        if isinstance(error, NotConnected):
            raise NotConnected(f"SLACK_BOT_TOKEN: {error}. `leadhand check` looks at all settings.") from error
        raise


async def _fetch_account_with_retry(client: AsyncWebClient) -> BotAccount:
    """Fetch the bot's account, with a second try if the first timed out: a machine that is starting is often slow."""
    try:
        return await fetch_bot_account(client)
    except NotConnected as error:
        if not isinstance(error.__cause__, TimeoutError):
            raise
    return await fetch_bot_account(client)


def make_bolt(client: AsyncWebClient, proof: TokenMonitor, *, signing_secret: str) -> Bolt:
    """Make a Bolt app that acknowledges a payload after its listeners ran, so that Slack resends it if they fail."""
    bolt = AsyncApp(
        client=client,
        authorize=proof,
        signing_secret=signing_secret or "unused in Socket Mode",
        name="leadhand",  # without a name, Bolt searches the stack for one, for 50 ms
        process_before_response=True,
        logger=_silence_routine_lines(logging.getLogger(f"{__name__}.bolt")),
    )
    proof.register_events(bolt)
    return bolt


def _silence_routine_lines(logger: logging.Logger) -> logging.Logger:
    """Set up and return a logger for Bolt that drops its routine lines."""
    logger.setLevel(logging.getLogger().level)
    logger.addFilter(_is_worth_logging)
    return logger


class MultiTeamApp(AsyncApp):
    """A Bolt app that hands each payload to the app of its workspace, and answers payloads that have none.

    `find_app` returns the app for a payload. It returns None for Slack's checks of the address itself, and for late
    payloads of a workspace from which the app was removed.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        find_app: Callable[[PayloadAddressee], Awaitable[Bolt | None]],
        *,
        signing_secret: str,
    ) -> None:
        super().__init__(
            client=client,
            authorize=_authorize_nothing,
            signing_secret=signing_secret,
            name="leadhand",
            process_before_response=True,
            user_facing_authorize_error_message="I am not installed in this workspace (any more).",
            logger=_silence_routine_lines(logging.getLogger(f"{__name__}.front")),
        )
        for event in INSTALLATION_EVENTS:
            self.event(event)(_acknowledge_event)
        self._find_app = find_app

    async def async_dispatch(self, req: AsyncBoltRequest) -> BoltResponse:
        """Dispatch a request to the app of its workspace, or to this app if there is none."""
        app = await self._find_app(read_addressee(req))
        if app is None:
            return await super().async_dispatch(req)
        return await app.async_dispatch(req)


async def _authorize_nothing() -> AuthorizeResult:
    """Return None, which Bolt takes to mean that the workspace has no installation."""
    return None  # type: ignore[return-value]


async def _acknowledge_event() -> None:
    """Acknowledge an event about an installation that is known to be gone."""


@contextlib.asynccontextmanager
async def listen_on_socket_mode(bolt: Bolt, app_token: str) -> AsyncIterator[SlackConnection]:
    """Listen over Socket Mode. Raises NotConnected."""
    try:
        # Checked here first, because the SDK would retry a refused token for ever.
        await check_app_level_token(bolt.client, app_token)
    except NotConnected as error:
        raise NotConnected(f"SLACK_APP_TOKEN: {error}. `leadhand check` looks at all settings.") from error
    handler = AcknowledgingSocketMode(bolt, app_token, logger=_make_traceless_logger())
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call]
        yield SlackConnection("Socket Mode", handler.client.is_connected)
    finally:
        # Slack may be slow to confirm the closing, and nothing depends on it.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await handler.close_async()  # type: ignore[no-untyped-call]


@contextlib.asynccontextmanager
async def listen_on_http(
    bolt: Bolt, *, signing_secret: str, address: Address, pages: Sequence[web.RouteDef] = ()
) -> AsyncIterator[SlackConnection]:
    """Listen over HTTP, and serve `pages` to browsers. Raises NotConnected if the port cannot be opened."""
    server = make_web_app(bolt, signing_secret=signing_secret, pages=pages)
    runner = web.AppRunner(server, access_log=None, shutdown_timeout=CLOSING_SECONDS)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, address.host, address.port).start()
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error
            raise NotConnected(f"{address} cannot be had ({why}). Choose another with LEADHAND_PORT.") from error
        bound_address = Address(address.host, runner.addresses[0][1])
        yield SlackConnection(f"HTTP, {bound_address}, path /slack/events", _is_listening)
    finally:
        await runner.cleanup()


async def _is_listening() -> bool:
    """Return True: the port is open. Whether Slack can reach it cannot be known from here."""
    return True


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """Return False for Bolt's routine log lines (`_ROUTINE_LINES`), so that this logging filter drops them.

    One of them is about a late payload from a workspace that removed the app.
    """
    return not any(words in record.getMessage() for words in _ROUTINE_LINES)


def _make_traceless_logger() -> logging.Logger:
    """Make a logger that reports a lost connection in one line, without a traceback: the SDK reconnects by itself."""
    logger = logging.getLogger(f"{__name__}.socket_mode")
    logger.setLevel(logging.getLogger().level)  # the SDK reads `level` itself, and takes "not set" for debugging
    logger.addFilter(_drop_trace)
    return logger


def _drop_trace(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True
