"""The memory feature: people have the bot remember things, for a channel or about themselves."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.memory.actions import MemoryClicks
from bot.features.memory.commands import forget_this, forget_words, memory, remember_this, remember_words
from bot.features.memory.service import MemoryDesk
from bot.features.memory.view import FORGET_ONE
from bot.slack.receive.subcommand import SpokenCommand, Subcommand, match_alone

COMMANDS = (
    Subcommand(
        "memory",
        (("", "what I remember for this channel and about you: edit, forget, add"), ("add TEXT", "remember it here")),
        memory,
        "words",
        "remembered",
        text_after="add",
    ),
)
SPOKEN = (
    SpokenCommand("remember", remember_words, remember_this, ("remember that ...",), typed="memory add"),
    SpokenCommand("forget", forget_words, forget_this, ("forget that ...",)),
    SpokenCommand("memory", match_alone("memory", "what do you remember"), memory, ("memory",), typed="memory"),
)


def register(kit: Kit) -> None:
    """Register the commands, the window, and the listeners for edits of messages that were remembered."""
    of = kit.records
    memories = kit.offer(
        MemoryDesk, lambda: MemoryDesk(of.store, of.nudge, admins=of.admins, pages=kit.url, note=of.note)
    )
    kit.add(COMMANDS, SPOKEN)
    kit.gate.add_concern_check(memories.has_memories, "edit")
    MemoryClicks(memories, kit.background).register(kit.router)
    kit.note_deeds({FORGET_ONE: "forgot"})
