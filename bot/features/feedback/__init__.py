"""Thumbs on answers, and the reason of a thumb down."""

from __future__ import annotations

from bot.features.feedback.actions import Thumbs
from bot.features.feedback.service import Feedback
from bot.features.kit import Kit


def register(kit: Kit) -> None:
    """Listen to the buttons below answers, and to emoji on them."""
    feedback = kit.offer(Feedback, lambda: Feedback(kit.records))
    Thumbs(feedback, kit.background).register(kit.router)
