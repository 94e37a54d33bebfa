"""The App Home feature: a person's jobs, questions, spending and prompts; for admins also the state of the bot."""

from __future__ import annotations

from bot.features.home.actions import AnswerWindowClicks, HomeClickLocator
from bot.features.home.prompts import PromptService
from bot.features.home.service import HomeService
from bot.features.home.state_sections import StateSections
from bot.features.home.tab import HomeTab
from bot.features.kit import Kit
from bot.features.requests.service import RequestService
from bot.slack.receive.payloads import AppContextChanged, HomeOpened
from bot.slack.views.home import HOME_PAGE_PREFIX
from bot.slack.views.paging import HomeSection


def register(kit: Kit) -> None:
    """Register what renders App Homes, updates open ones, suggests prompts, and maps clicks in them to job threads."""
    of = kit.records

    def make_service() -> HomeService:
        team, calls = kit.gate.people.home.team, kit.messengers.outbox.calls
        return HomeService(of.store, team=team, calls=calls, admins=of.admins, find_groups=of.find_groups)

    homes = kit.add_service(HomeService, make_service)
    state = StateSections(kit.crews, kit.limits, kit.board, tuple(dict.fromkeys(kit.model.tiers.values())))
    kit.sections.append(HomeSection("state", state.render_specialists, is_for_admins=True))
    if not kit.settings.uses_oauth_install:  # the load of instances would reveal the work of other workspaces
        kit.sections.append(HomeSection("instances", state.render_instances, is_for_admins=True))
    kit.gate.locate_click = HomeClickLocator(homes, kit.background).locate_click
    kit.effect_wrappers.append(homes.wrap_effects)
    kit.background_tasks.append(homes.run)
    prompts = PromptService(kit.app.client, homes.calls, kit.messengers.directory, kit.background)
    tab = HomeTab(kit.app.client, homes, kit.sections, kit.background, prompts)
    kit.router.on_event(HomeOpened, tab.on_home_opened)
    kit.router.on_event(AppContextChanged, prompts.on_view_changed)
    kit.router.add_paged_list(HOME_PAGE_PREFIX, tab.start_page_turn)
    AnswerWindowClicks(kit.find_service(RequestService)).register(kit.router)
