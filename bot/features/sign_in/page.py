"""The page on which a browser lands after a sign-in, in HTTP mode: it says whether the sign-in succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.features.approvals.service import DecisionRefused
from bot.features.sign_in.service import SignedIn, SignInDesk, SignInFault
from bot.slack.receive.own_page import OwnPage
from bot.slack.show import notices
from bot.store.values import StoreError

PATH = "/signed-in"
LONGEST_WAIT = 30.0
"""Seconds that a browser waits for the server to issue its tokens."""
CLOSE = "You can close this tab."
USED = OwnPage(
    "This address is no longer good.",
    ("It was used, or is older than 10 minutes. If the thread does not go on, press “Sign in” in it again.", CLOSE),
    410,
)
NOT_WAITED_FOR = OwnPage(
    "Nothing waits for this sign-in any more.", (f"{CLOSE} The thread in Slack says what came of it.",), 409
)
MAY_NOT = OwnPage(
    "You may not sign in for this any more.", (f"{CLOSE} The card in the thread in Slack says who may.",), 403
)
SLOW = "The server did not answer in time. Press “Sign in” in the thread for a new link."


class SignInPage:
    """Finishes sign-ins for browsers that return from a server's sign-in page.

    Args:
        desk: Finishes the sign-ins.
        team: Returns the id of our workspace.
        name: Returns a person's name, or "" if it is unknown.
    """

    def __init__(self, desk: SignInDesk, team: Callable[[], str], name: Callable[[str], Awaitable[str]]) -> None:
        self._desk, self._team, self._name = desk, team, name

    async def show(self, query: str) -> OwnPage:
        """Finish the sign-in for a browser's query, and return the page on its outcome."""
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                said = await self._desk.finish_from_page(self._team(), query)
        except StoreError:
            said = SignInFault(notices.NOT_RECORDED)
        except TimeoutError:
            said = SignInFault(SLOW)
        if said is None:
            return USED
        if isinstance(said, SignInFault):
            return OwnPage("You are not signed in.", (said.words, CLOSE), 400)
        if isinstance(said, DecisionRefused):
            return MAY_NOT if said.why in {"not_yours", "own"} else NOT_WAITED_FOR
        return await self._show_signed_in(said)

    async def _show_signed_in(self, by: SignedIn) -> OwnPage:
        """Return the page for a success. It names the link's owner: a person may have been lured to another's link."""
        name = await self._name(by.user) or "Somebody"
        warning = (
            f"{name} asked for this sign-in, in Slack. If that is not you, revoke it where you signed in: until then "
            "Leadhand acts there with your rights."
        )
        return OwnPage("You are signed in.", (f"{CLOSE} The thread in Slack goes on by itself.", warning))
