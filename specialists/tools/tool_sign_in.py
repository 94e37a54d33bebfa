"""The ports for signing in to a server: how a tool signs people in, and where the bot keeps their tokens."""

from __future__ import annotations

from typing import Protocol

LANDS = "http://127.0.0.1:41759/signed-in"
"""Where a browser ends that no page of ours can take: at the person's own machine, where nobody answers."""


class SignInFailed(Exception):
    """A sign-in did not come about. The text says why and what to do, in a line for people."""


class KeptSignIns(Protocol):
    """Texts by name, kept for all instances. They hold tokens: nobody logs them, and no model sees one.

    All methods raise WorkbenchLost while the place that keeps them is away.
    """

    async def keep(self, name: str, text: str, lasts: float | None = None) -> None:
        """Keep a text in place of what was there, for so many seconds; None: until it is taken."""

    async def read(self, name: str) -> str:
        """Give a text; empty if there is none."""

    async def take(self, name: str) -> str:
        """Give a text and drop it. Of several who ask at once one gets it, the others an empty one."""


class SignIn(Protocol):
    """How people sign in to one server."""

    @property
    def server(self) -> str:
        """The server's name."""

    @property
    def host(self) -> str:
        """Where it is, as people know it."""

    async def is_signed_in(self, kept: KeptSignIns) -> bool:
        """Say if somebody has signed in, as far as we know: the server has the last word."""

    async def begin(self, kept: KeptSignIns, user: str, lands: str, about: str) -> str:
        """Make the address at which a person (a Slack id) signs in. Raises SignInFailed.

        `lands` is where their browser ends, without a query. `about` is kept with the sign-in under way.
        """

    async def finish(self, kept: KeptSignIns, user: str, landed: str, lands: str) -> None:
        """Take the address at which the browser ended, and keep the tokens it stands for. Raises SignInFailed."""
