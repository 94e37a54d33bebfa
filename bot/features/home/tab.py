"""The app's home: what it shows somebody, when they open it, turn a page, or something changes while it is open."""

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
"""The sections of a home, the first on top."""


class HomeTab:
    """Draws homes.

    Args:
        client: Calls Slack.
        homes: Knows whose home is open.
        sections: What a home is made of. Features that come later add to it; `ORDER` gives their order.
        background: For what is drawn after Slack was told "received".
        prompts: Suggests what to ask in direct messages.
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
        """Show a person who opened the app's home their jobs. In a direct message, suggest prompts."""
        del client
        if opened.direct:
            self._prompts.suggest(opened)
        else:
            self.open(opened.user)

    def turn(self, user: str, section: str, page: int) -> None:
        """Show somebody another page of a section."""
        self.open(user, {section: page})

    def open(self, user: str, turned: Mapping[str, int] | None = None) -> None:
        """Show somebody their home, or other pages of it, without waiting for that."""
        self._background.start(self._open(user, turned), "show the home")

    async def _open(self, user: str, turned: Mapping[str, int] | None) -> None:
        pages = await self._homes.note_opening(user, turned)
        digest = await self.publish(user, pages, "")
        await self._homes.note_drawing(user, digest)
        self._homes.mark_changed(user)  # what came while it was drawn is looked at once more

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
        """Put a home together. In place of a section that breaks stands a line that says so."""
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
