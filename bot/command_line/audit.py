"""`leadhand audit`: prints who did what, as a table or as JSON lines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import get_args

from bot.command_line.check import open_command_store
from bot.command_line.console import say
from bot.command_line.job_list import shows_several_teams
from bot.command_line.slack_names import open_name_lookup
from bot.command_line.try_store import list_store_settings
from bot.operation.audit_log import AuditQuery, entry_to_json, read_entries
from bot.settings import Settings, SettingsError
from handoff.access.audit_entry import AuditAction, AuditEntry
from handoff.text.counts import format_dollars

COLUMN_WIDTHS = (20, 9, 12, 8, 12, 12)
COLUMN_HEADS = ("when (UTC)", "deed", "who", "outcome", "job", "channel", "what")


async def print_audit(options: argparse.Namespace, settings: Settings) -> int:
    """Print the audit entries that the options select.

    With `--job`, the store of `leadhand try` is searched if the bot's store has none. Always returns 0.
    Raises SettingsError and StoreError.
    """
    query = AuditQuery(
        since=_parse_time("--since", options.since) if options.since else 0.0,
        until=_parse_time("--until", options.until) if options.until else float("inf"),
        user=options.user,
        job=options.job.upper(),
        deed=options.deed,
        team=options.team,
    )
    if options.deed and options.deed not in get_args(AuditAction):
        raise SettingsError(f"--deed {options.deed}: it is one of {', '.join(get_args(AuditAction))}.")
    count = 0
    async with open_name_lookup(settings, keep_ids=options.ids or options.json) as replace_ids:
        for store_settings in list_store_settings(settings) if query.job else [settings]:
            async with open_command_store(store_settings) as store:
                names_teams = await shows_several_teams(store, options.team)
                async for entry in read_entries(store, query):
                    if not count and not options.json:
                        say(_render_row(COLUMN_HEADS, "workspace" if names_teams else ""))
                    count += 1
                    cells = _render_row(
                        [await replace_ids(cell) for cell in _render_cells(entry)], entry.team if names_teams else ""
                    )
                    say(entry_to_json(entry) if options.json else cells)
            if count:
                break
    if not options.json and not count:
        say("No recorded deed fits.")
    return 0


def _parse_time(name: str, text: str) -> float:
    """Parse a day or a time into seconds since the epoch; without a zone it is UTC. Raises SettingsError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"{name} {text}: write a day (2026-11-01) or a time (2026-11-01T09:30, in UTC).") from None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _render_cells(entry: AuditEntry) -> tuple[str, ...]:
    when = datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    cost = format_dollars(entry.cost) if entry.cost else ""
    by = f"approved by {', '.join(entry.approved_by)}" if entry.approved_by else ""
    what = "; ".join(part for part in (entry.target, by, entry.why, cost) if part)
    return (when, entry.deed, entry.user or "-", entry.outcome, entry.job or "-", entry.channel or "-", what)


def _render_row(cells: Sequence[str], team: str = "") -> str:
    padded_cells = [cell.ljust(width) for cell, width in zip(cells, COLUMN_WIDTHS, strict=False)]
    return "  ".join([*([team.ljust(12)] if team else []), *padded_cells, *cells[len(COLUMN_WIDTHS) :]]).rstrip()
