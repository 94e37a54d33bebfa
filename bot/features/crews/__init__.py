"""The crews feature: shows the members of a channel's crew, and which specialists a request would go to."""

from __future__ import annotations

from bot.features.crews.actions import show_crew, start_routing
from bot.features.crews.service import CrewService
from bot.features.kit import Kit
from bot.slack.receive.subcommand import Subcommand

COMMANDS = (
    Subcommand("crew", (("", "who works here, and what they can do"),), show_crew, "words"),
    Subcommand(
        "route",
        (("TEXT", "who would get a request, and why, without any work"),),
        start_routing,
        "words",
        text_after="",
    ),
)


def register(kit: Kit) -> None:
    """Register the commands."""
    store, terms = kit.records.store, kit.settings.terms
    kit.add_service(CrewService, lambda: CrewService(store, kit.crews, kit.channels, kit.limits, kit.model, terms))
    kit.add_commands(COMMANDS)
