"""Checks whether Slack still accepts the bot's token, and implements Bolt's `authorize` with the outcome.

Bolt's own `authorize` calls `auth.test` for every event after a start. If that call fails, Bolt answers 200, so that
Slack does not send the event again. This one makes no call while the token is accepted: the token was checked at the
start, and its account never changes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.context.async_context import AsyncBoltContext

log = logging.getLogger(__name__)

COPY_AGAIN = "copy it again from the app's page at https://api.slack.com/apps"
INSTALL_AGAIN = "install the app again and copy the new token"
REFUSED_TOKEN_ADVICE: Mapping[str, str] = {
    "invalid_auth": f"the token is not (or no longer) valid: {COPY_AGAIN}",
    "not_authed": f"the token is empty: {COPY_AGAIN}",
    "account_inactive": f"the app was uninstalled: {INSTALL_AGAIN}",
    "token_revoked": f"the token was revoked: {INSTALL_AGAIN}",
    "token_expired": f"the token has expired: {INSTALL_AGAIN}, with token rotation off",
    "team_access_not_granted": "the app may not be used in this workspace: have an admin grant it",
    "org_login_required": "the workspace is being moved to another organisation: wait until that is done",
}
"""Advice for people by the error code with which any method refuses the token. Codes that may also concern the
arguments of a method, such as access_denied, are left out."""

TRANSIENT_SLACK_ERRORS = frozenset(
    {"fatal_error", "internal_error", "ratelimited", "request_timeout", "service_unavailable", "team_added_to_org", ""}
)
"""Errors of `auth.test` that say nothing about the token. Any other error means that the token is refused."""
_LOOK_UP_ADVICE = "look it up at https://docs.slack.dev/reference/methods/auth.test"

INSTALLATION_EVENTS = ("app_uninstalled", "tokens_revoked", "team_access_revoked")
"""Events about tokens that may be void. They come in any order, and also for other tokens than the bot's."""
ACCEPTED_CHECK_SECONDS = 300.0
"""Seconds between two checks while Slack accepts the token."""
REFUSED_CHECK_SECONDS = 10.0
"""Seconds between two checks while Slack refuses the token."""
MIN_CHECK_SECONDS = 1.0
"""Minimum seconds between two checks, however many are requested."""

CheckToken = Callable[[], Awaitable[str | None]]
"""Checks the token. Returns the error code of a refused token, "" for an accepted one, None if Slack does not say."""


class TokenRefused(Exception):
    """Slack refuses the bot's token, so no event can be handled. The text says what to do."""


class TokenMonitor(AsyncAuthorize):
    """Remembers whether Slack accepted the bot's token at the last check, and answers Bolt's `authorize`.

    Args:
        prove: Asks Slack whether it accepts the token.
        account: The account of the token, to which the user of each event is added.
        get_token: Returns the current token, which changes when it is refreshed.
    """

    def __init__(self, prove: CheckToken, account: AuthorizeResult, get_token: Callable[[], str | None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._prove = prove
        self._account = account
        self._get_token = get_token
        self._code = ""
        self._proof: asyncio.Task[None] | None = None
        self._proven_at = time.monotonic()
        self._proof_requested = asyncio.Event()
        self.on_refused: Callable[[str, str], None] = _ignore_refusal
        """Called at each check that fails, with Slack's error code and the refused token."""

    @property
    def fault(self) -> str:
        """Why Slack refuses the token, and what to do; "" while Slack accepts it."""
        why = REFUSED_TOKEN_ADVICE.get(self._code, _LOOK_UP_ADVICE)
        return f"Slack refuses the bot's token ({self._code}): {why}" if self._code else ""

    async def __call__(self, *, context: AsyncBoltContext, user_id: str | None, **_: Any) -> AuthorizeResult:
        """Return the account, with the current token and the user of the event.

        Raises:
            TokenRefused: Slack refuses the token. The event then stays unacknowledged, and Slack sends it again.
        """
        del context
        if self._code:
            await self.check_token()
            if self._code:
                raise TokenRefused(self.fault)
        return AuthorizeResult(**{**self._account, "user_id": user_id, "bot_token": self._get_token()})

    def request_check(self) -> None:
        """Have `check_periodically` check the token at once: Slack refused it in a call or says that it may be void."""
        self._proof_requested.set()

    async def check_token(self) -> None:
        """Check the token, unless that was done within `MIN_CHECK_SECONDS`. Concurrent callers share one call.

        If Slack does not answer, the last outcome stays.
        """
        if self._proof is None and time.monotonic() - self._proven_at >= MIN_CHECK_SECONDS:
            self._proof = asyncio.create_task(self._ask_slack())
        if self._proof is not None:
            await asyncio.shield(self._proof)

    async def check_periodically(self) -> None:
        """Check the token at intervals, and whenever `request_check` was called. Never returns."""
        while True:
            try:
                async with asyncio.timeout(REFUSED_CHECK_SECONDS if self._code else ACCEPTED_CHECK_SECONDS):
                    await self._proof_requested.wait()
            except TimeoutError:
                pass  # the interval is over
            self._proof_requested.clear()
            await self.check_token()

    def register_events(self, bolt: AsyncApp) -> None:
        """Register for the events about the app's installation."""
        for event in INSTALLATION_EVENTS:
            bolt.event(event)(self._handle_token_event)

    async def _handle_token_event(self, body: dict[str, Any]) -> None:
        event = body.get("event")
        log.warning("Slack says %s; the token is looked at", event.get("type") if isinstance(event, dict) else "so")
        self._proven_at = 0.0
        self.request_check()

    async def _ask_slack(self) -> None:
        token = self._get_token()
        try:
            code = await self._prove()
        finally:
            self._proven_at, self._proof = time.monotonic(), None
        if token != self._get_token():
            self.request_check()  # the token was refreshed meanwhile: the answer is about the old one
        elif code is None:
            log.warning("Slack did not say whether it takes the bot's token; it is asked again")
        else:
            self._record_code(code, token or "")

    def _record_code(self, code: str, token: str) -> None:
        before, self._code = self._code, code
        if code:
            self.on_refused(code, token)
        if code and not before:
            log.error("%s; until it is taken again, nothing is begun", self.fault, extra={"event": "token_refused"})
        elif before and not code:
            log.warning("Slack takes the bot's token again")


def _ignore_refusal(_code: str, _token: str) -> None:
    """Do nothing. The default of `on_refused`."""
