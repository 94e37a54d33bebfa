"""Thumbs on answers, and the reason of a thumb down."""

from __future__ import annotations

from bot.features.feedback.actions import ThumbClicks
from bot.features.feedback.service import FeedbackDesk
from bot.features.kit import Kit


def register(kit: Kit) -> None:
    """Listen to the buttons below answers, and to emoji on them."""
    feedback = kit.offer(FeedbackDesk, lambda: FeedbackDesk(kit.records))
    ThumbClicks(feedback, kit.background).register(kit.router)
