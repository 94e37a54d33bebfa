"""Renders and publishes the App Home: when a person opens it or turns a page, and when something in it changes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.home.prompts import PromptService
from bot.features.home.service import HomeService, SectionPages
from bot.slack.receive.payloads import HomeOpened
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.views.home import render_home
from bot.slack.views.paging import HomeList, HomeSection
from bot.store.values import StoreError

log = logging.getLogger(__name__)


SECTION_ORDER = ("asks", "running", "recent", "schedules", "month", "aside", "state", "budgets", "instances")
"""The names of the sections of a home, from the top."""


class HomeTab:
    """Renders and publishes App Homes.

    Args:
        client: The Slack client.
        homes: Knows which homes are open.
        sections: The sections of a home, which features may still add to; `SECTION_ORDER` gives their order.
        background: Runs work after Slack's event was acknowledged.
        prompts: Suggests prompts in people's direct messages with the bot.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        homes: HomeService,
        sections: Sequence[HomeSection],
        background: BackgroundTasks,
        prompts: PromptService,
    ) -> None:
        self._client = client
        self._homes = homes
        self._sections = sections
        self._background = background
        self._prompts = prompts
        homes.set_publisher(self.publish)

    async def on_home_opened(self, event: HomeOpened, client: AsyncWebClient) -> None:
        """Publish the home of a person who opened it. In a direct message, suggest prompts instead."""
        del client
        if event.is_direct:
            self._prompts.start_suggesting(event)
        else:
            self.start_publishing(event.user)

    def start_page_turn(self, user: str, section: str, page: int) -> None:
        """Start to publish a home with another page of a section."""
        self.start_publishing(user, {section: page})

    def start_publishing(self, user: str, new_pages: Mapping[str, int] | None = None) -> None:
        """Start to publish a person's home in the background; `new_pages` are page numbers by section name."""
        self._background.start(self._publish_opened(user, new_pages), "show the home")

    async def _publish_opened(self, user: str, new_pages: Mapping[str, int] | None) -> None:
        pages = await self._homes.store_opening(user, new_pages)
        digest = await self.publish(user, pages, "")
        await self._homes.store_digest(user, digest)
        self._homes.mark_changed(user)  # to redraw it for changes that came meanwhile

    async def publish(self, user: str, pages: SectionPages, known_digest: str) -> str:
        """Publish a home, unless the digest of its view is `known_digest`. Returns the digest."""
        view = await self.build_view(user, pages)
        digest = hashlib.sha256(json.dumps(view, sort_keys=True).encode()).hexdigest()[:20]
        if digest != known_digest:
            await self._homes.calls.make(
                "views.publish",
                lambda: self._client.views_publish(user_id=user, view=view),
                priority="answer" if not known_digest else "card",
                may_repeat=True,
            )
        return digest

    async def build_view(self, user: str, pages: SectionPages) -> dict[str, Any]:
        """Build the view of a home. A section that cannot be read is replaced by an apology."""
        admin = user in self._homes.admins
        shown_sections = sorted(
            (one for one in self._sections if admin or not one.is_for_admins),
            key=lambda one: SECTION_ORDER.index(one.name),
        )
        parts = await asyncio.gather(*(self._read_section(one, user, pages.get(one.name, 1)) for one in shown_sections))
        return render_home([(one.name, part) for one, part in zip(shown_sections, parts, strict=True)])

    async def _read_section(self, section: HomeSection, user: str, page: int) -> HomeList | str | None:
        try:
            return await section.make_list(self._homes.team, user, page)
        except StoreError as error:
            log.info("the section %s of a home could not be read: %s", section.name, error)
        except Exception:
            log.exception("the section %s of a home broke", section.name)
        return "This section cannot be shown right now. It is loaded again as soon as something changes."
