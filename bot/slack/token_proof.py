"""Checks whether Slack still accepts the bot's token, and implements Bolt's `authorize` with the outcome.

Bolt's own `authorize` calls `auth.test` for every event of a cold start. If the call fails, it answers 200, so that
Slack does not send the event again. Ours makes no call while the token is good: the start has proven the token, and its
account never changes.
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
REFUSED_TOKEN: Mapping[str, str] = {
    "invalid_auth": f"the token is not (or no longer) valid: {COPY_AGAIN}",
    "not_authed": f"the token is empty: {COPY_AGAIN}",
    "account_inactive": f"the app was uninstalled: {INSTALL_AGAIN}",
    "token_revoked": f"the token was revoked: {INSTALL_AGAIN}",
    "token_expired": f"the token has expired: {INSTALL_AGAIN}, with token rotation off",
    "team_access_not_granted": "the app may not be used in this workspace: have an admin grant it",
    "org_login_required": "the workspace is being moved to another organisation: wait until that is done",
}
"""What to do about each error code with which Slack refuses the token, in any method. Codes that some methods return
for their arguments, such as access_denied, are not among them."""

TRANSIENT_SLACK_ERRORS = frozenset(
    {"fatal_error", "internal_error", "ratelimited", "request_timeout", "service_unavailable", "team_added_to_org", ""}
)
"""Errors of `auth.test` that say nothing about the token. Any other error refuses it, as the call checks only that."""
_LOOK_UP_ADVICE = "look it up at https://docs.slack.dev/reference/methods/auth.test"

INSTALLATION_EVENTS = ("app_uninstalled", "tokens_revoked", "team_access_revoked")
"""Events which say that a token may be void. They come in any order, and also for tokens that are not ours."""
GOOD_PROOF_SECONDS = 300.0
"""Seconds between two proofs while the token is good."""
REFUSED_PROOF_SECONDS = 10.0
"""Seconds between two proofs while it is refused."""
MIN_PROOF_SECONDS = 1.0
"""Least seconds between two proofs, however many events ask for one."""

Prove = Callable[[], Awaitable[str | None]]
"""Asks Slack about the token. Returns the error that refuses it, "" if it is taken, None if Slack does not say."""


class TokenRefused(Exception):
    """Slack refuses the bot's token, so no event can be handled. The text says what to do."""


class TokenProof(AsyncAuthorize):
    """Remembers whether Slack accepted the bot's token at the last check, and answers Bolt's `authorize`.

    Args:
        prove: Asks Slack about the token.
        account: The account of the token. The user of each event is added to it.
        get_token: Returns the current token, which changes when it is refreshed.
    """

    def __init__(self, prove: Prove, account: AuthorizeResult, get_token: Callable[[], str | None]) -> None:
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
        why = REFUSED_TOKEN.get(self._code, _LOOK_UP_ADVICE)
        return f"Slack refuses the bot's token ({self._code}): {why}" if self._code else ""

    async def __call__(self, *, context: AsyncBoltContext, user_id: str | None, **_: Any) -> AuthorizeResult:
        """Return the account and the token to handle an event with.

        Raises:
            TokenRefused: Slack refuses the token now. The event must stay unacknowledged, so that Slack resends it.
        """
        del context
        if self._code:
            await self.prove()
            if self._code:
                raise TokenRefused(self.fault)
        return AuthorizeResult(**{**self._account, "user_id": user_id, "bot_token": self._get_token()})

    def prove_soon(self) -> None:
        """Have `run` check the token at once, because Slack refused it in a call or says that it may be void."""
        self._proof_requested.set()

    async def prove(self) -> None:
        """Ask Slack about the token, unless it was asked within the last second. Concurrent callers share one call.

        If Slack does not answer, the last outcome stays.
        """
        if self._proof is None and time.monotonic() - self._proven_at >= MIN_PROOF_SECONDS:
            self._proof = asyncio.create_task(self._ask_slack())
        if self._proof is not None:
            await asyncio.shield(self._proof)

    async def run(self) -> None:
        """Check the token at intervals, and whenever `prove_soon` asks for it. Never returns."""
        while True:
            try:
                async with asyncio.timeout(REFUSED_PROOF_SECONDS if self._code else GOOD_PROOF_SECONDS):
                    await self._proof_requested.wait()
            except TimeoutError:
                pass  # the interval is over
            self._proof_requested.clear()
            await self.prove()

    def register_events(self, bolt: AsyncApp) -> None:
        """Register for the events about the app's installation."""
        for event in INSTALLATION_EVENTS:
            bolt.event(event)(self._handle_token_event)

    async def _handle_token_event(self, body: dict[str, Any]) -> None:
        event = body.get("event")
        log.warning("Slack says %s; the token is looked at", event.get("type") if isinstance(event, dict) else "so")
        self._proven_at = 0.0
        self.prove_soon()

    async def _ask_slack(self) -> None:
        token = self._get_token()
        try:
            code = await self._prove()
        finally:
            self._proven_at, self._proof = time.monotonic(), None
        if token != self._get_token():
            self.prove_soon()  # the token was refreshed meanwhile: the answer is about the old one
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
    """Do nothing, until another callback is set."""
