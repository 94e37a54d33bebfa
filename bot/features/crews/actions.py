"""`/leadhand crew` and `/leadhand route`: the members of a crew, and the specialists that a request would go to."""

from __future__ import annotations

import logging

from bot.features.crews.service import CrewDesk
from bot.features.crews.view import crew_page
from bot.slack.receive.subcommand import CommandContext
from bot.slack.show.notices import make_note, tell
from bot.slack.text.cleaning import clean, plain
from bot.slack.views.outgoing import Outgoing
from bot.store.values import StoreError
from handoff.contracts import Place

log = logging.getLogger(__name__)

LONGEST = 2000
"""Maximum characters of a request that is routed; the rest is cut off."""
NO_TEXT = "Which request? `/leadhand route TEXT` says who would get it, and why, without any work being done."
LOOKING = "I am checking who would get that. The answer comes here, for you alone; no work is done."


async def crew(given: CommandContext) -> Outgoing:
    """Render a page of the crew's members."""
    guide = given.find(CrewDesk)
    name = given.rest.strip("`")
    found = await guide.members(given.team, given.channel, name)
    if found is None:
        return make_note(
            f"There is no crew “{clean(plain(name, 40))}”. `/leadhand crew` shows the one of this channel."
        )
    return crew_page(found, given.page, name)


async def route(given: CommandContext) -> Outgoing:
    """Start to look up who would get a request. The result follows later, as the planner may have to be called."""
    if not given.rest:
        return make_note(NO_TEXT)
    given.background.start(_route(given, given.find(CrewDesk)), "say who would get a request")
    return make_note(LOOKING)


async def _route(given: CommandContext, guide: CrewDesk) -> None:
    try:
        words = await guide.route(given.team, given.channel, given.user, given.rest[:LONGEST])
    except StoreError as error:
        log.warning("who would get a request could not be looked up: %s", error)
        words = "My store cannot be reached, so I cannot look that up. Try again in a minute."
    asked = f"_{clean(plain(given.rest, 200))}_"
    place = Place(team=given.team, channel=given.channel, thread_ts="")
    await tell(given.client, place, given.user, make_note(f"{asked}\n{clean(words, limit=2500)}"))
