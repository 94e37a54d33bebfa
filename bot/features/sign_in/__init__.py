"""The sign-in feature: people sign in to a server that a tool needs, and the job goes on."""

from __future__ import annotations

from bot.features.approvals.service import ApprovalDesk
from bot.features.kit import Kit
from bot.features.sign_in.actions import SignInClicks
from bot.features.sign_in.page import PATH, SignInPage
from bot.features.sign_in.service import SignInDesk
from bot.slack.show.admission import Admission
from bot.slack.views.approval import SIGN_IN
from specialists.tools.tool_sign_in import LANDS


def register(kit: Kit) -> None:
    """Register the listeners for the sign-in card and its window, and in HTTP mode with a URL the page for browsers."""
    people = kit.gate.people
    lands = f"{kit.settings.public_url}{PATH}" if kit.settings.has_pages else LANDS
    standing = Admission(people, kit.channels).find_actor
    desk = kit.offer(SignInDesk, lambda: SignInDesk(kit.records.store, kit.find(ApprovalDesk), standing, lands))
    if kit.settings.has_pages:
        kit.pages[PATH] = SignInPage(desk, lambda: people.home.team, people.name).show
    SignInClicks(desk, kit.background).register(kit.router)
    kit.note_deeds({SIGN_IN: "approved"})
