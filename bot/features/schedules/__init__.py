"""Work at certain times: said, shown back, saved, and begun in a thread of its own."""

from __future__ import annotations

from bot.features.home.service import HomeDesk
from bot.features.kit import Kit
from bot.features.requests.service import Requests
from bot.features.schedules.actions import ScheduleClicks
from bot.features.schedules.commands import SCHEDULE_USAGES, match_words, schedule, spoken_schedule
from bot.features.schedules.service import OPENER
from bot.features.schedules.standing import StandingWork
from bot.features.schedules.talk import ScheduleTalk
from bot.features.schedules.view import render_home_part
from bot.slack.receive.subcommand import SpokenCommand, Subcommand
from bot.slack.views.home_part import HomePart, HomeSection

COMMANDS = (Subcommand("schedule", SCHEDULE_USAGES, schedule, "words", text_after=""),)
SPOKEN = (SpokenCommand("schedule", match_words, spoken_schedule, files=True, typed="schedule"),)


def register(kit: Kit) -> None:
    """Add the commands, the form and the section of the home; begin runs, and open their threads."""
    of, requests = kit.records, kit.find(Requests)

    def service() -> StandingWork:
        touch, terms = kit.find(HomeDesk).touch, kit.settings.terms
        return StandingWork(of.store, kit.messengers, kit.channels, kit.limits, terms, note=of.note, touch=touch)

    async def part_of(team: str, user: str, page: int) -> HomePart:
        return render_home_part(await talk.desk.of(team, user), user, page)

    standing = kit.offer(StandingWork, service)
    talk = kit.offer(ScheduleTalk, lambda: standing.talk)
    kit.add(COMMANDS, SPOKEN)
    kit.openers[OPENER] = standing.opener.open
    kit.beside.append(lambda: standing.run(requests.request))
    kit.sections.append(HomeSection("schedules", part_of))
    ScheduleClicks(talk, requests, kit.services, kit.background).register(kit.router)
