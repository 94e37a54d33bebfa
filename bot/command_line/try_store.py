"""The settings of the store of `leadhand try`, which is separate from the store of the bot on real Slack."""

from __future__ import annotations

import dataclasses

from bot.settings import Settings

TRY_JOBS_HINT = (
    "A job of `leadhand try --ask` or `--demo` is gone when that ends: with --json it prints its trace. "
    "Jobs of the page of `leadhand try` are kept, and found here."
)


def make_try_settings(settings: Settings) -> Settings:
    """Return the settings with the store of `leadhand try`, so that a bot on real Slack never takes its jobs."""
    return dataclasses.replace(settings, data=settings.data / "try", redis_url="")


def list_store_settings(settings: Settings) -> list[Settings]:
    """List the settings of the stores that may have a job: the bot's, then that of `leadhand try` if it exists."""
    try_settings = make_try_settings(settings)
    return [settings, *([try_settings] if try_settings.data.is_dir() else [])]
