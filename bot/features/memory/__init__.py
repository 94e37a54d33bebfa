"""The memory feature: people have the bot remember things, for a channel or about themselves."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.memory.actions import MemoryClicks
from bot.features.memory.commands import (
    match_forget,
    match_remember,
    run_forget_command,
    run_memory_command,
    run_remember_command,
)
from bot.features.memory.service import MemoriesService
from bot.features.memory.view import FORGET_BUTTON
from bot.slack.receive.subcommand import SpokenCommand, Subcommand, make_word_matcher

COMMANDS = (
    Subcommand(
        "memory",
        (("", "what I remember for this channel and about you: edit, forget, add"), ("add TEXT", "remember it here")),
        run_memory_command,
        "words",
        "remembered",
        text_after="add",
    ),
)
SPOKEN_COMMANDS = (
    SpokenCommand("remember", match_remember, run_remember_command, ("remember that ...",), slash_words="memory add"),
    SpokenCommand("forget", match_forget, run_forget_command, ("forget that ...",)),
    SpokenCommand(
        "memory",
        make_word_matcher("memory", "what do you remember"),
        run_memory_command,
        ("memory",),
        slash_words="memory",
    ),
)


def register(kit: Kit) -> None:
    """Register the commands, the windows, and the listeners for edits and deletions of remembered messages."""
    of = kit.records
    memories = kit.add_service(
        MemoriesService,
        lambda: MemoriesService(
            of.store, of.nudge, admins=of.admins, workspace_url=kit.url, record_audit=of.record_audit
        ),
    )
    kit.add_commands(COMMANDS, SPOKEN_COMMANDS)
    kit.gate.add_concern_check(memories.team_has_memories, "edit")
    MemoryClicks(memories, kit.background).register(kit.router)
    kit.add_deeds({FORGET_BUTTON: "forgot"})
