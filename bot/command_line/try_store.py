"""The store of `leadhand try`, which lies beside that of the bot on real Slack."""

from __future__ import annotations

import dataclasses

from bot.settings import Settings

NOT_KEPT = (
    "A job of `leadhand try --ask` or `--demo` is gone when that ends: with --json it prints its trace. "
    "Jobs of the page of `leadhand try` are kept, and found here."
)


def settings_of_try(settings: Settings) -> Settings:
    """Return the settings with the store of the page: a bot on real Slack must never take jobs of this workspace."""
    return dataclasses.replace(settings, data=settings.data / "try", redis_url="")


def list_store_settings(settings: Settings) -> list[Settings]:
    """List the settings of each store that a job may be in: the bot's own and, if there is one, that of the page."""
    of_try = settings_of_try(settings)
    return [settings, *([of_try] if of_try.data.is_dir() else [])]
