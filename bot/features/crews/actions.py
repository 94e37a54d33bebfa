"""`/leadhand crew` and `/leadhand route`: the members of a crew, and the specialists that a request would go to."""

from __future__ import annotations

import logging

from bot.features.crews.service import CrewService
from bot.features.crews.view import render_crew_page
from bot.slack.receive.subcommand import CommandContext
from bot.slack.show.notices import make_note, show_ephemeral_message
from bot.slack.text.cleaning import clean_mrkdwn, to_plain_line
from bot.slack.views.outgoing import Outgoing
from bot.store.values import StoreError
from handoff.contracts import Place

log = logging.getLogger(__name__)

MAX_REQUEST_CHARS = 2000
"""Maximum characters of a request that is routed; the rest is cut off."""
MISSING_TEXT_NOTE = "Which request? `/leadhand route TEXT` says who would get it, and why, without any work being done."
ROUTING_TEXT = "I am checking who would get that. The answer comes here, for you alone; no work is done."


async def show_crew(ctx: CommandContext) -> Outgoing:
    """Render a page of the members of the named crew, or of the channel's."""
    crews = ctx.find_service(CrewService)
    name = ctx.rest.strip("`")
    crew_page = await crews.find_crew_page(ctx.team, ctx.channel, name)
    if crew_page is None:
        return make_note(
            f"There is no crew “{clean_mrkdwn(to_plain_line(name, 40))}”. `/leadhand crew` shows the one of this "
            "channel."
        )
    return render_crew_page(crew_page, ctx.page, name)


async def start_routing(ctx: CommandContext) -> Outgoing:
    """Start to look up who would get a request. The result follows later, as the planner may have to be called."""
    if not ctx.rest:
        return make_note(MISSING_TEXT_NOTE)
    ctx.background.start(_send_route(ctx, ctx.find_service(CrewService)), "say who would get a request")
    return make_note(ROUTING_TEXT)


async def _send_route(ctx: CommandContext, service: CrewService) -> None:
    try:
        words = await service.describe_route(ctx.team, ctx.channel, ctx.user, ctx.rest[:MAX_REQUEST_CHARS])
    except StoreError as error:
        log.warning("who would get a request could not be looked up: %s", error)
        words = "My store cannot be reached, so I cannot look that up. Try again in a minute."
    request_line = f"_{clean_mrkdwn(to_plain_line(ctx.rest, 200))}_"
    place = Place(team=ctx.team, channel=ctx.channel, thread_ts="")
    await show_ephemeral_message(
        ctx.client, place, ctx.user, make_note(f"{request_line}\n{clean_mrkdwn(words, limit=2500)}")
    )
