"""Renders and publishes the App Home: when a person opens it or turns a page, and when something in it changes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.home.prompts import PromptDesk
from bot.features.home.service import HomeDesk, Pages
from bot.slack.receive.payloads import HomeOpened
from bot.slack.send.web_calls import Background
from bot.slack.views.home import home_view
from bot.slack.views.paging import HomePart, HomeSection
from bot.store.values import StoreError

log = logging.getLogger(__name__)


ORDER = ("asks", "running", "recent", "schedules", "month", "aside", "state", "budgets", "instances")
"""The names of the sections of a home, from the top."""


class HomeTab:
    """Renders and publishes App Homes.

    Args:
        client: The Slack client.
        homes: Knows which homes are open.
        sections: The sections of a home, which features may still add to; `ORDER` gives their order.
        background: Runs work after Slack's event was acknowledged.
        prompts: Suggests prompts in direct messages.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        homes: HomeDesk,
        sections: Sequence[HomeSection],
        background: Background,
        prompts: PromptDesk,
    ) -> None:
        self._client = client
        self._homes = homes
        self._sections = sections
        self._background = background
        self._prompts = prompts
        homes.set_publisher(self.publish)

    async def on_home(self, opened: HomeOpened, client: AsyncWebClient) -> None:
        """Publish the home of a person who opened it. In a direct message, suggest prompts instead."""
        del client
        if opened.direct:
            self._prompts.suggest(opened)
        else:
            self.open(opened.user)

    def turn(self, user: str, section: str, page: int) -> None:
        """Start to publish a home with another page of a section."""
        self.open(user, {section: page})

    def open(self, user: str, turned: Mapping[str, int] | None = None) -> None:
        """Start to publish a person's home in the background; `turned` are page numbers by section name."""
        self._background.start(self._open(user, turned), "show the home")

    async def _open(self, user: str, turned: Mapping[str, int] | None) -> None:
        pages = await self._homes.note_opening(user, turned)
        digest = await self.publish(user, pages, "")
        await self._homes.note_drawing(user, digest)
        self._homes.mark_changed(user)  # to redraw it for changes that came meanwhile

    async def publish(self, user: str, pages: Pages, known: str) -> str:
        """Publish a home, unless the digest of its view is `known`. Returns the digest."""
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
        """Build the view of a home. A section that cannot be read is replaced by a line that says so."""
        admin = user in self._homes.admins
        shown = sorted(
            (one for one in self._sections if admin or not one.admins), key=lambda one: ORDER.index(one.name)
        )
        parts = await asyncio.gather(*(self._read_part(one, user, pages.get(one.name, 1)) for one in shown))
        return home_view([(one.name, part) for one, part in zip(shown, parts, strict=True)])

    async def _read_part(self, section: HomeSection, user: str, page: int) -> HomePart | str | None:
        try:
            return await section.part(self._homes.team, user, page)
        except StoreError as error:
            log.info("the section %s of a home could not be read: %s", section.name, error)
        except Exception:
            log.exception("the section %s of a home broke", section.name)
        return "This section cannot be shown right now. It is loaded again as soon as something changes."
