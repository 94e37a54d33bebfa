"""The pages for installing the app by OAuth.

`/slack/install` sends the browser to Slack, and Slack sends it back to `/slack/oauth_redirect`. Bolt runs the flow with
our store, and at its end a page says whether the app is installed.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from urllib.parse import urljoin

import aiohttp
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.error import BoltError
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.installation.records import InstallationRecords
from bot.slack.receive.browser_page import PAGE_HEADERS, BrowserPage, render_html
from bot.slack.receive.http import REDIRECT_PATH
from bot.store.redis.redis_records import Installations
from bot.store.values import StoreError

log = logging.getLogger(__name__)

OAUTH_STATE_SECONDS = 600
INSTALL_PATH = "/slack/install"
MAX_STATE_LENGTH = 100
BEGIN_AGAIN = "Begin again, and finish within ten minutes in the same browser."
FAILURE_WORDS: Mapping[str, str] = {
    "access_denied": "It was not allowed on Slack's page, so nothing was changed.",
    "invalid_browser": f"This is not the browser in which it was begun, or its cookies are off. {BEGIN_AGAIN}",
    "invalid_state": f"This installation is over, or this address was used before. {BEGIN_AGAIN}",
    "missing_code": f"Slack sent no code along. {BEGIN_AGAIN}",
    "invalid_code": f"Slack did not take the code, as it was used before or is too old. {BEGIN_AGAIN}",
    "not_listed": "This bot may not be installed in your workspace: ask whoever runs it.",
    "no_answer": "Slack did not answer. Try again in a minute.",
    "store_away": "The bot's store cannot be reached, so nothing was kept. Try again in a minute.",
}
HTML_CONTENT_TYPE = "text/html; charset=utf-8"
NOT_INSTALLED = "The bot was not installed"
OTHER_FAILURE = f"Slack says that something went wrong. {BEGIN_AGAIN}"


class OAuthStates(AsyncOAuthStateStore):
    """The OAuth states of installations under way. Each is valid once, for ten minutes (`OAUTH_STATE_SECONDS`)."""

    def __init__(self, installations: Installations) -> None:
        self._installations = installations

    @property
    def logger(self) -> logging.Logger:
        """The logger that the SDK uses."""
        return log

    async def async_issue(self, *_: object, **__: object) -> str:
        """Make a random state and store it."""
        state = secrets.token_urlsafe(24)
        await self._installations.put_state(state, OAUTH_STATE_SECONDS)
        return state

    async def async_consume(self, state: str) -> bool:
        """Use up a state. Returns True if it was valid."""
        return len(state) <= MAX_STATE_LENGTH and await self._installations.consume_state(state)


class InstallFlow(AsyncOAuthFlow):
    """Bolt's OAuth flow, which also stores the bot's name and the address of the workspace's pages.

    Only the workspaces and organisations in `allowed_ids` may install the app; if it is empty, all may.
    """

    def __init__(self, client: AsyncWebClient, settings: AsyncOAuthSettings, allowed_ids: Collection[str]) -> None:
        super().__init__(client=client, settings=settings, logger=log)
        self._allowed_ids = allowed_ids

    async def run_installation(self, code: str) -> Installation | None:
        """Exchange the code for an installation with its tokens, and add the workspace's URL and the bot's name."""
        installation = await super().run_installation(code)
        if installation is not None:
            auth = await self.client.auth_test(token=installation.bot_token)
            installation.custom_values = {"url": str(auth.get("url") or ""), "bot": str(auth.get("user") or "")}
        return installation

    async def store_installation(self, request: AsyncBoltRequest, installation: Installation) -> None:
        """Store an installation. Raises BoltError("not_listed") if `allowed_ids` excludes it."""
        if self._allowed_ids and not {installation.team_id, installation.enterprise_id} & {*self._allowed_ids}:
            raise BoltError("not_listed")
        await super().store_installation(request, installation)


def make_install_flow(
    client: AsyncWebClient,
    records: InstallationRecords,
    states: OAuthStates,
    *,
    credentials: tuple[str, str],
    scopes: Collection[str],
    allowed_ids: Collection[str] = (),
) -> InstallFlow:
    """Make the OAuth flow of an app. `credentials` are its client id and secret; `client` has no token.

    Only the workspaces and organisations in `allowed_ids` may install the app; if it is empty, all may.
    """
    settings = AsyncOAuthSettings(
        client_id=credentials[0],
        client_secret=credentials[1],
        scopes=sorted(scopes),
        user_scopes=[],
        install_path=INSTALL_PATH,
        redirect_uri_path=REDIRECT_PATH,
        authorization_url=urljoin(client.base_url, "/oauth/v2/authorize"),
        installation_store=records,
        state_store=states,
        state_expiration_seconds=OAUTH_STATE_SECONDS,
        callback_options=AsyncCallbackOptions(success=_show_success, failure=_show_failure),
    )
    return InstallFlow(client, settings, allowed_ids)


def make_install_routes(flow: InstallFlow, on_installed: Callable[[], Awaitable[None]]) -> list[web.RouteDef]:
    """Return the routes of `/slack/install` and `/slack/oauth_redirect`.

    `on_installed` is awaited after a successful installation, before the browser gets its page.
    """

    async def handle_callback(request: AsyncBoltRequest) -> BoltResponse:
        response = await flow.handle_callback(request)
        if response.status == 200:
            await on_installed()
        return response

    def make_page_handler(
        handle: Callable[[AsyncBoltRequest], Awaitable[BoltResponse]],
    ) -> Callable[..., Awaitable[web.Response]]:
        async def handle_request(request: web.Request) -> web.Response:
            try:
                response = await handle(await to_bolt_request(request))
            except StoreError as error:
                log.warning("an installation could not be handled: %s", error)
                response = _render_page(NOT_INSTALLED, FAILURE_WORDS["store_away"], 503, offer_retry=True)
            except (OSError, TimeoutError, aiohttp.ClientError) as error:
                log.warning("Slack did not answer in an installation (%s)", type(error).__name__)
                response = _render_page(NOT_INSTALLED, FAILURE_WORDS["no_answer"], 502, offer_retry=True)
            return await to_aiohttp_response(response)

        return handle_request

    return [
        web.get(INSTALL_PATH, make_page_handler(flow.handle_installation)),
        web.get(REDIRECT_PATH, make_page_handler(handle_callback)),
    ]


async def _show_success(args: AsyncSuccessArgs) -> BoltResponse:
    installation = args.installation
    where = installation.enterprise_name if installation.is_enterprise_install else installation.team_name
    log.info(
        "the app was installed in %s",
        installation.enterprise_id if installation.is_enterprise_install else installation.team_id,
    )
    return _render_page(
        f"The bot is installed in {where}", "Mention it in a channel that it is in. You can close this page."
    )


async def _show_failure(args: AsyncFailureArgs) -> BoltResponse:
    reason = str(args.error) if isinstance(args.error, BoltError) else args.reason
    log.warning("an installation ended: %s", reason if reason in FAILURE_WORDS else "for another reason of Slack's")
    status = 403 if reason == "not_listed" else args.suggested_status_code
    return _render_page(NOT_INSTALLED, FAILURE_WORDS.get(reason, OTHER_FAILURE), status, offer_retry=True)


def _render_page(title: str, text: str, status: int = 200, *, offer_retry: bool = False) -> BoltResponse:
    page = BrowserPage(title, (text,), status, (INSTALL_PATH, "Begin again") if offer_retry else None)
    return BoltResponse(
        status=status, body=render_html(page), headers={**PAGE_HEADERS, "Content-Type": HTML_CONTENT_TYPE}
    )
