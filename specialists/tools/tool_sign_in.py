"""The interfaces for signing in to a server: how people sign in, and where the bot stores their tokens."""

from __future__ import annotations

from typing import Protocol

LOCAL_RETURN_URL = "http://127.0.0.1:41759/signed-in"
"""The address at which a sign-in ends if the bot has no page for it.

It is on the person's own machine, where nothing answers; the person copies it out of the browser.
"""


class SignInFailed(Exception):
    """A sign-in failed. The message says why and what to do, in one line for people."""


class SignInStore(Protocol):
    """A store of texts by name, shared by all instances. They hold tokens, so they are never logged or shown to models.

    All methods raise WorkbenchLost while the store is unavailable.
    """

    async def keep(self, name: str, text: str, seconds: float | None = None) -> None:
        """Store a text in place of an earlier one, for `seconds` seconds; None: until it is taken."""

    async def read(self, name: str) -> str:
        """Return a text; "" if there is none."""

    async def pop(self, name: str) -> str:
        """Return a text and delete it; "" if there is none. If several callers take it at once, only one gets it."""


class SignIn(Protocol):
    """How people sign in to one server."""

    @property
    def server(self) -> str:
        """The server's name."""

    @property
    def host(self) -> str:
        """The server's host, as people know it."""

    async def is_signed_in(self, store: SignInStore) -> bool:
        """Return whether we have a token of somebody's sign-in. The server may still refuse it."""

    async def begin(self, store: SignInStore, user: str, redirect_url: str, about: str) -> str:
        """Return the address at which a person signs in. Raises SignInFailed.

        `user` is the person's Slack id. `redirect_url` is the address at which their browser ends, without a query.
        `about` is stored until the sign-in ends.
        """

    async def finish(self, store: SignInStore, user: str, final_url: str, redirect_url: str) -> None:
        """Fetch and store the tokens, from the address `final_url` at which the browser ended. Raises SignInFailed."""
