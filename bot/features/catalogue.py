"""All features of the bot, in the order of the help."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from bot.features import (
    approvals,
    budgets,
    channel_settings,
    crews,
    erasure,
    feedback,
    help,  # noqa: A004 - the feature is named as people call it
    home,
    job_controls,
    memory,
    requests,
    retries,
    schedules,
    sign_in,
    traces,
)
from bot.features.kit import Kit

FEATURES = (
    requests,
    home,
    job_controls,
    traces,
    memory,
    retries,
    erasure,
    schedules,
    crews,
    budgets,
    channel_settings,
    feedback,
    approvals,
    sign_in,
    help,
)
"""A feature comes after those whose services it uses. If two features match the same words, the first gets them."""
SUBCOMMANDS = [one for feature in FEATURES for one in getattr(feature, "COMMANDS", ())]
SPOKEN_COMMANDS = [one for feature in FEATURES for one in getattr(feature, "SPOKEN_COMMANDS", ())]


def register_all(kit: Kit, features: Sequence[ModuleType] = FEATURES) -> None:
    """Register the features with the kit, and connect its gate and router to the Bolt app."""
    for feature in features:
        feature.register(kit)
    kit.app.use(kit.gate.filter_payload)
    kit.router.register_listeners(kit.app)
