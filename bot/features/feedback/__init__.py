"""The feedback feature: thumbs on answers, and the reason of a thumb down."""

from __future__ import annotations

from bot.features.feedback.actions import ThumbClicks
from bot.features.feedback.service import FeedbackService
from bot.features.kit import Kit


def register(kit: Kit) -> None:
    """Register the listeners for the buttons below answers, and for emoji on answers."""
    feedback = kit.add_service(FeedbackService, lambda: FeedbackService(kit.records))
    ThumbClicks(feedback, kit.background).register(kit.router)
