"""What listeners hand in to besides the job service: a desk for each thing that people do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.slack.receive.approval_clicks import Approvals
    from bot.slack.receive.crew_command import CrewGuide
    from bot.slack.receive.home_tab import HomesDesk
    from bot.slack.receive.lists import Lists
    from bot.slack.receive.memory_book import MemoryBook
    from bot.slack.receive.money_command import Money
    from bot.slack.receive.schedule_talk import ScheduleTalk
    from bot.slack.receive.second_tries import SecondTries
    from bot.slack.receive.settings_form import SettingsForm
    from bot.slack.receive.sign_in_clicks import SignIns
    from bot.slack.views.home_part import HomeSection


@dataclass(frozen=True, slots=True, kw_only=True)
class Desks:
    """All desks of a bot. Without one (None), nobody does what it is for."""

    settings: SettingsForm
    approvals: Approvals | None = None
    sign_ins: SignIns | None = None
    lists: Lists | None = None
    crew: CrewGuide | None = None
    money: Money | None = None
    home: HomesDesk | None = None
    sections: tuple[HomeSection, ...] = ()
    """The sections of everybody's home, in their order."""
    memories: MemoryBook | None = None
    schedules: ScheduleTalk | None = None
    second_tries: SecondTries | None = None
