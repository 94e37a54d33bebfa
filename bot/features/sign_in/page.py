"""The page on which a browser lands after a sign-in, in HTTP mode: it says whether the sign-in succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.features.approvals.service import DecisionRefused
from bot.features.sign_in.service import FinishedSignIn, SignInFault, SignInService
from bot.slack.receive.browser_page import BrowserPage
from bot.slack.show import notices
from bot.store.values import StoreError

LANDING_PATH = "/signed-in"
FINISH_WAIT_SECONDS = 30.0
"""Maximum seconds that a browser waits until the server has issued its tokens."""
CLOSE_TAB_TEXT = "You can close this tab."
USED_LINK_PAGE = BrowserPage(
    "This address is no longer good.",
    (
        "It was used, or is older than 10 minutes. If the thread does not go on, press “Sign in” in it again.",
        CLOSE_TAB_TEXT,
    ),
    410,
)
NOT_NEEDED_PAGE = BrowserPage(
    "Nothing waits for this sign-in any more.", (f"{CLOSE_TAB_TEXT} The thread in Slack says what came of it.",), 409
)
NOT_ALLOWED_PAGE = BrowserPage(
    "You may not sign in for this any more.", (f"{CLOSE_TAB_TEXT} The card in the thread in Slack says who may.",), 403
)
SERVER_SLOW_TEXT = "The server did not answer in time. Press “Sign in” in the thread for a new link."


class SignInPage:
    """Finishes sign-ins for browsers that return from a server's sign-in page.

    Args:
        service: Finishes the sign-ins.
        find_team: Returns the id of our workspace.
        find_name: Returns a person's name, or "" if it is unknown.
    """

    def __init__(
        self, service: SignInService, find_team: Callable[[], str], find_name: Callable[[str], Awaitable[str]]
    ) -> None:
        self._service, self._find_team, self._find_name = service, find_team, find_name

    async def finish_and_render(self, query: str) -> BrowserPage:
        """Finish the sign-in for a browser's query, and return the page on its outcome."""
        try:
            async with asyncio.timeout(FINISH_WAIT_SECONDS):
                outcome = await self._service.finish_from_page(self._find_team(), query)
        except StoreError:
            outcome = SignInFault(notices.NOT_RECORDED)
        except TimeoutError:
            outcome = SignInFault(SERVER_SLOW_TEXT)
        if outcome is None:
            return USED_LINK_PAGE
        if isinstance(outcome, SignInFault):
            return BrowserPage("You are not signed in.", (outcome.message, CLOSE_TAB_TEXT), 400)
        if isinstance(outcome, DecisionRefused):
            return NOT_ALLOWED_PAGE if outcome.reason in {"not_yours", "own"} else NOT_NEEDED_PAGE
        return await self._render_success(outcome)

    async def _render_success(self, sign_in: FinishedSignIn) -> BrowserPage:
        """Return the page for a success. It names the owner of the link, to warn people lured to another's link."""
        name = await self._find_name(sign_in.user) or "Somebody"
        warning = (
            f"{name} asked for this sign-in, in Slack. If that is not you, revoke it where you signed in: until then "
            "Leadhand acts there with your rights."
        )
        return BrowserPage("You are signed in.", (f"{CLOSE_TAB_TEXT} The thread in Slack goes on by itself.", warning))
