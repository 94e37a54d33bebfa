"""The retries feature: runs again what failed or was stopped, by a message, by a button or by a command."""

from __future__ import annotations

from bot.features.kit import Kit
from bot.features.retries.actions import RetryClicks, match_retry, retry, retry_here
from bot.features.retries.service import RetryDesk
from bot.slack.receive.subcommand import SpokenCommand, Subcommand

COMMANDS = (
    Subcommand(
        "retry",
        (
            ("JOB", "run again what failed in it"),
            ("JOB STEP", "a step, by its number, id or title, and what follows it"),
        ),
        retry,
        "job",
    ),
)
SPOKEN = (
    SpokenCommand(
        "again", match_retry, retry_here, ("retry", "retry from STEP", "continue", "again"), files=True, typed="retry"
    ),
)


def register(kit: Kit) -> None:
    """Register the commands, and the buttons below a request's end."""
    of = kit.records
    tries = kit.offer(
        RetryDesk, lambda: RetryDesk(of.store, of.nudge, admins=of.admins, groups=of.groups_of, note=of.note)
    )
    kit.add(COMMANDS, SPOKEN)
    RetryClicks(tries, kit.services).register(kit.router)
