"""The retries feature: runs again what failed or was stopped, by a message, by a button or by a command."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.retries.actions import RetryClicks, match_retry, run_retry_command, run_spoken_retry
from bot.features.retries.service import RetryService
from bot.slack.receive.subcommand import SpokenCommand, Subcommand

COMMANDS = (
    Subcommand(
        "retry",
        (
            ("JOB", "run again what failed in it"),
            ("JOB STEP", "a step, by its number, id or title, and what follows it"),
        ),
        run_retry_command,
        "job",
    ),
)
SPOKEN_COMMANDS = (
    SpokenCommand(
        "again",
        match_retry,
        run_spoken_retry,
        ("retry", "retry from STEP", "continue", "again"),
        allows_files=True,
        slash_words="retry",
    ),
)


def register(kit: Kit) -> None:
    """Register the commands, and the buttons below the end of a request, such as *Try again*."""
    records = kit.records
    retry_service = kit.add_service(
        RetryService,
        lambda: RetryService(
            records.store,
            records.nudge,
            admins=records.admins,
            find_groups=records.find_groups,
            record_audit=records.record_audit,
        ),
    )
    kit.add_commands(COMMANDS, SPOKEN_COMMANDS)
    RetryClicks(retry_service, kit.services).register(kit.router)
