"""People sign in to a server that a tool needs, and the job goes on."""

from __future__ import annotations

from bot.features.approvals.service import ApprovalDesk
from bot.features.kit import Kit
from bot.features.sign_in.actions import SignInClicks
from bot.features.sign_in.service import SignInDesk
from bot.slack.views.approval import SIGN_IN


def register(kit: Kit) -> None:
    """Listen to the card that asks for a sign-in, and to its window."""
    desk = kit.offer(SignInDesk, lambda: SignInDesk(kit.records.store, kit.find(ApprovalDesk)))
    SignInClicks(desk, kit.background).register(kit.router)
    kit.audited({SIGN_IN: "approved"})
