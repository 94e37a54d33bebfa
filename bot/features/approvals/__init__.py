"""The approvals feature: people approve, edit or deny tool calls before they are made."""

from __future__ import annotations

from bot.features.approvals.actions import ApprovalClicks
from bot.features.approvals.service import ApprovalService
from bot.features.kit import Kit
from bot.slack.show.admission import Admission
from bot.slack.views.approval import APPROVE, APPROVE_SIMILAR, DECIDE_SEPARATELY, DENY, EDIT


def register(kit: Kit) -> None:
    """Register the listeners for approval cards and their windows."""
    of = kit.records

    def make_service() -> ApprovalService:
        return ApprovalService(
            of.store,
            of.nudge,
            kit.crews,
            admins=of.admins,
            find_groups=of.find_groups,
            find_actor=Admission(kit.messengers.people, kit.channels).admit_actor,
            find_approvers=kit.channels.read_approvers,
            record_audit=of.record_audit,
        )

    ApprovalClicks(kit.add_service(ApprovalService, make_service), kit.background).register(kit.router)
    kit.add_deeds({DENY: "denied"})
    kit.add_deeds(dict.fromkeys((APPROVE, APPROVE_SIMILAR, EDIT, DECIDE_SEPARATELY), "approved"))
