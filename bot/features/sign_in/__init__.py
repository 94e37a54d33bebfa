"""The sign-in feature: people sign in to a server that a tool needs, and the job goes on."""

from __future__ import annotations

from bot.features.approvals.service import ApprovalService
from bot.features.kit import Kit
from bot.features.sign_in.actions import SignInClicks
from bot.features.sign_in.page import LANDING_PATH, SignInPage
from bot.features.sign_in.service import SignInService
from bot.slack.show.admission import Admission
from bot.slack.views.approval import SIGN_IN
from specialists.tools.tool_sign_in import LOCAL_RETURN_URL


def register(kit: Kit) -> None:
    """Register the listeners for the sign-in card and its window, and in HTTP mode with a URL the landing page."""
    people = kit.gate.people
    landing_url = f"{kit.settings.public_url}{LANDING_PATH}" if kit.settings.has_pages else LOCAL_RETURN_URL
    find_actor = Admission(people, kit.channels).admit_actor
    sign_ins = kit.add_service(
        SignInService,
        lambda: SignInService(kit.records.store, kit.find_service(ApprovalService), find_actor, landing_url),
    )
    if kit.settings.has_pages:
        kit.pages[LANDING_PATH] = SignInPage(sign_ins, lambda: people.home.team, people.find_name).finish_and_render
    SignInClicks(sign_ins, kit.background).register(kit.router)
    kit.add_deeds({SIGN_IN: "approved"})
