"""The app's home: what it shows somebody, when they open it, turn a page, or something changes while it is open."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.send.web_calls import Background, WebCalls
from bot.slack.views.home import home_view
from bot.slack.views.home_part import HomePart, HomeSection
from bot.store.interface import StoreError
from handoff.contracts import Place

if TYPE_CHECKING:
    from bot.slack.receive.service import Service

log = logging.getLogger(__name__)

Pages = Mapping[str, int]
"""The page of each section that is not at its first, by the section's name."""
Publish = Callable[[str, Pages, str], Awaitable[str]]
"""Draws a person's home, unless it looks as the digest says. Returns the digest of how it looks now."""


class HomesDesk(Protocol):
    """Where it is kept whose home is open."""

    calls: WebCalls
    team: str

    def shows_with(self, publish: Publish) -> None:
        """Draw homes with this from now on."""

    def touch(self, *who: str) -> None:
        """Say that something changed for these people and user groups."""

    async def opened(self, user: str, turned: Mapping[str, int] | None = None) -> Pages:
        """Note that somebody opened their home, or turned pages in it, and give its pages. Raises StoreError."""

    async def place_of(self, job: str) -> Place | None:
        """Return the thread of a job; None if there is no such job any more. Raises StoreError."""

    async def drawn(self, user: str, digest: str) -> None:
        """Note what a home looks like now. Raises StoreError."""


class HomeTab:
    """Draws homes.

    Args:
        client: Calls Slack.
        service: Knows the admins.
        homes: Where it is kept whose home is open.
        sections: What a home is made of, in this order.
        background: For what is drawn after Slack was told "received".
    """

    def __init__(
        self,
        client: AsyncWebClient,
        service: Service,
        homes: HomesDesk,
        sections: Sequence[HomeSection],
        background: Background,
    ) -> None:
        self._client = client
        self._service = service
        self._homes = homes
        self._sections = tuple(sections)
        self._background = background
        homes.shows_with(self.publish)

    def open(self, user: str, turned: Mapping[str, int] | None = None) -> None:
        """Show somebody their home, or other pages of it, without waiting for that."""
        self._background.start(self._open(user, turned), "show the home")

    async def _open(self, user: str, turned: Mapping[str, int] | None) -> None:
        pages = await self._homes.opened(user, turned)
        digest = await self.publish(user, pages, "")
        await self._homes.drawn(user, digest)
        self._homes.touch(user)  # what came while it was drawn is looked at once more

    async def publish(self, user: str, pages: Pages, known: str) -> str:
        """Draw a home, unless it looks as `known` says. Returns the digest of how it looks."""
        view = await self.view(user, pages)
        digest = hashlib.sha256(json.dumps(view, sort_keys=True).encode()).hexdigest()[:20]
        if digest != known:
            await self._homes.calls.make(
                "views.publish",
                lambda: self._client.views_publish(user_id=user, view=view),
                priority="answer" if not known else "card",
                again=True,
            )
        return digest

    async def view(self, user: str, pages: Pages) -> dict[str, Any]:
        """Put a home together. A section that breaks is left out, and said to be."""
        admin = user in self._service.admins
        shown = [one for one in self._sections if admin or not one.admins]
        parts = await asyncio.gather(*(self._part(one, user, pages.get(one.name, 1)) for one in shown))
        return home_view([(one.name, part) for one, part in zip(shown, parts, strict=True)])

    async def _part(self, section: HomeSection, user: str, page: int) -> HomePart | str | None:
        try:
            return await section.part(self._homes.team, user, page)
        except StoreError as error:
            log.info("the section %s of a home could not be read: %s", section.name, error)
        except Exception:
            log.exception("the section %s of a home broke", section.name)
        return "This part cannot be shown at the moment. It is looked at again as soon as something changes."
