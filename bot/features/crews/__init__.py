"""The crews feature: shows the members of a channel's crew, and which specialists a request would go to."""

from __future__ import annotations

from bot.features.crews.actions import crew, route
from bot.features.crews.service import CrewDesk
from bot.features.kit import Kit
from bot.slack.receive.subcommand import Subcommand

COMMANDS = (
    Subcommand("crew", (("", "who works here, and what they can do"),), crew, "words"),
    Subcommand(
        "route", (("TEXT", "who would get a request, and why, without any work"),), route, "words", text_after=""
    ),
)


def register(kit: Kit) -> None:
    """Register the commands."""
    store, terms = kit.records.store, kit.settings.terms
    kit.offer(CrewDesk, lambda: CrewDesk(store, kit.crews, kit.channels, kit.limits, kit.model, terms))
    kit.add(COMMANDS)
