"""Everybody's home: their jobs and questions, what they spent, what they could ask, and for admins how the bot is."""

from __future__ import annotations

from bot.features.home.actions import HomeAnswers, HomeClicks
from bot.features.home.parts import StateParts
from bot.features.home.prompts import PromptDesk
from bot.features.home.service import HomeDesk
from bot.features.home.tab import HomeTab
from bot.features.kit import Kit
from bot.features.requests.service import RequestDesk
from bot.slack.receive.payloads import HomeOpened, ViewChanged
from bot.slack.views.home import HOME_PAGE
from bot.slack.views.paging import HomeSection


def register(kit: Kit) -> None:
    """Draw homes, keep open ones right, suggest prompts, and take clicks in homes as if made in the job's thread."""
    of = kit.records

    def desk() -> HomeDesk:
        team, calls = kit.gate.people.home.team, kit.messengers.outbox.calls
        return HomeDesk(of.store, team=team, calls=calls, admins=of.admins, groups_of=of.groups_of)

    homes = kit.offer(HomeDesk, desk)
    state = StateParts(kit.crews, kit.limits, kit.board, tuple(dict.fromkeys(kit.model.tiers.values())))
    kit.sections.append(HomeSection("state", state.specialists, admins=True))
    if not kit.settings.is_installable:  # how much work instances have says something of other workspaces
        kit.sections.append(HomeSection("instances", state.instances, admins=True))
    kit.gate.locate = HomeClicks(homes, kit.background).locate
    kit.around.append(homes.wrap_effects)
    kit.beside.append(homes.run)
    prompts = PromptDesk(kit.app.client, homes.calls, kit.messengers.directory, kit.background)
    tab = HomeTab(kit.app.client, homes, kit.sections, kit.background, prompts)
    kit.router.on_event(HomeOpened, tab.on_home)
    kit.router.on_event(ViewChanged, prompts.on_view_changed)
    kit.router.on_page(HOME_PAGE, tab.turn)
    HomeAnswers(kit.find(RequestDesk)).register(kit.router)
