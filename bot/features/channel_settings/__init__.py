"""The channel settings feature: shows the settings of a channel, such as who may use the bot; admins change them."""

from __future__ import annotations

from bot.features.channel_settings.actions import SettingsForm, show_settings
from bot.features.channel_settings.window import CHANGE_PREFIX
from bot.features.kit import Kit
from bot.slack.receive.subcommand import Subcommand

COMMANDS = (
    Subcommand(
        "settings",
        (("", "who may use me in this channel, and more; admins change it"),),
        show_settings,
        deed="configured",
    ),
)


def register(kit: Kit) -> None:
    """Register the command, its buttons and its windows."""
    of, people = kit.records, kit.gate.people
    form = kit.add_service(
        SettingsForm, lambda: SettingsForm(kit.channels, people, clock=of.clock, record_audit=of.record_audit)
    )
    kit.add_commands(COMMANDS)
    form.register(kit.router, kit.background)
    kit.add_deeds({CHANGE_PREFIX: "configured"})
