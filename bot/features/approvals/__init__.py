"""The approvals feature: people approve, edit or deny tool calls before they are made."""

from __future__ import annotations

from bot.features.approvals.actions import ApprovalClicks
from bot.features.approvals.service import ApprovalDesk
from bot.features.kit import Kit
from bot.slack.show.admission import Admission
from bot.slack.views.approval import ALIKE, APART, APPROVE, DENY, EDIT


def register(kit: Kit) -> None:
    """Register the listeners for approval cards and their windows."""
    of = kit.records

    def desk() -> ApprovalDesk:
        return ApprovalDesk(
            of.store,
            of.nudge,
            kit.crews,
            admins=of.admins,
            groups=of.groups_of,
            standing=Admission(kit.messengers.people, kit.channels).find_actor,
            approvers_in=kit.channels.read_approvers,
            note=of.note,
        )

    ApprovalClicks(kit.offer(ApprovalDesk, desk), kit.background).register(kit.router)
    kit.note_deeds({DENY: "denied"})
    kit.note_deeds(dict.fromkeys((APPROVE, ALIKE, EDIT, APART), "approved"))
