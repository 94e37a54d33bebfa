"""`/leadhand crew` and `/leadhand route`: who works here, and who would get a request."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from bot.slack.receive.subcommand import Given
from bot.slack.show.notices import note, tell
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.crew_view import CrewShown, Member, crew_page
from bot.slack.views.outgoing import Outgoing
from bot.store.interface import StoreError
from handoff.contracts import Place

__all__ = ["CrewGuide", "CrewShown", "Member", "crew", "route"]
log = logging.getLogger(__name__)

LONGEST = 2000
"""Characters of a request of which it is said who would get it."""
NO_TEXT = "Which request? `/leadhand route TEXT` says who would get it, and why, without any work being done."
NO_GUIDE = "Nothing is known of the crew here."
LOOKING = "I am looking who would get that. It comes here, for you alone; no work is done."


class CrewGuide(Protocol):
    """What people may know of crews. All raise StoreError."""

    async def members(self, team: str, channel: str, name: str) -> CrewShown | None:
        """Return a crew by its name, an empty one being that of the channel; None if there is none of that name."""

    async def examples(self, team: str, channel: str) -> Sequence[str]:
        """Return up to three requests that the crew of a channel can do, as its specialists' files give them."""

    async def route(self, team: str, channel: str, user: str, text: str) -> str:
        """Say in lines who would get a request, on the account of who asks. May take some seconds."""


async def crew(given: Given) -> Outgoing:
    """List who works here, by the page."""
    guide = given.desks.crew
    if guide is None:
        return note(NO_GUIDE)
    name = given.rest.strip("`")
    found = await guide.members(given.team, given.channel, name)
    if found is None:
        return note(f"There is no crew “{clean(plain(name, 40))}”. `/leadhand crew` shows the one of this channel.")
    return crew_page(found, given.page, name)


async def route(given: Given) -> Outgoing:
    """Say who would get a request. A planner may have to be asked, for which a command does not wait."""
    if given.desks.crew is None:
        return note(NO_GUIDE)
    if not given.rest:
        return note(NO_TEXT)
    given.background.start(_route(given, given.desks.crew), "say who would get a request")
    return note(LOOKING)


async def _route(given: Given, guide: CrewGuide) -> None:
    try:
        words = await guide.route(given.team, given.channel, given.user, given.rest[:LONGEST])
    except StoreError as error:
        log.warning("who would get a request could not be looked up: %s", error)
        words = "My store cannot be reached, so I cannot look that up. Try again in a minute."
    asked = f"_{clean(plain(given.rest, 200))}_"
    place = Place(team=given.team, channel=given.channel, thread_ts="")
    await tell(given.client, place, given.user, note(f"{asked}\n{clean(words, limit=2500)}"))
