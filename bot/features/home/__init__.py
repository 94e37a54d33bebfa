"""The App Home feature: a person's jobs, questions, spending and prompts; for admins also the state of the bot."""

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
    """Register what renders App Homes, updates open ones, suggests prompts, and maps clicks in them to job threads."""
    of = kit.records

    def desk() -> HomeDesk:
        team, calls = kit.gate.people.home.team, kit.messengers.outbox.calls
        return HomeDesk(of.store, team=team, calls=calls, admins=of.admins, groups_of=of.groups_of)

    homes = kit.offer(HomeDesk, desk)
    state = StateParts(kit.crews, kit.limits, kit.board, tuple(dict.fromkeys(kit.model.tiers.values())))
    kit.sections.append(HomeSection("state", state.specialists, admins=True))
    if not kit.settings.is_installable:  # the load of instances would reveal the work of other workspaces
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
