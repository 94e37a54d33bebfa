"""Describes how much of a thread was read for a request, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from bot.slack.text.cleaning import clean_mrkdwn
from handoff.state.job_state import RequestState
from handoff.text.counts import format_count

FILES_NAMED = 3
"""Most names of unreadable files that are given. Further ones are counted."""


def describe_read(ask: RequestState) -> str:
    """Return what was read of the thread, such as `Read 34 messages and 2 files, left out 12 older messages`.

    Returns "" if there was nothing to read. Files are counted as the messages carry them, not the files inside an
    archive.
    """
    threads = [one for one in ask.materials if one.kind == "thread" and one.text]
    if not threads:
        return ""
    messages = sum(len(one.outline) for one in threads)
    theirs = [one for one in ask.materials if one.kind == "file" and one.author and "/" not in one.name]
    files = {one.name for one in theirs if not one.fault}
    unread = list(dict.fromkeys(one.name for one in theirs if one.fault))
    more = [f"{format_count(len(unread) - FILES_NAMED, 'file')} more"] if len(unread) > FILES_NAMED else []
    lost = [f"could not read {' and '.join((', '.join(unread[:FILES_NAMED]), *more))}"] if unread else []
    channels = ", ".join(one.name for one in threads if one.is_channel_history)
    read = f"Read {format_count(messages, 'message')}" + (f" and {format_count(len(files), 'file')}" if files else "")
    read += f" in {channels}" if channels else ""
    if _is_shown_in_part(ask, [one.name for one in threads]):
        read += " (not every step was shown all of them)"
    return clean_mrkdwn(", ".join((read, *lost, *(gap.rstrip(".") for one in threads for gap in one.gaps))), limit=400)


def _is_shown_in_part(ask: RequestState, names: Sequence[str]) -> bool:
    """Return True if the planner or a specialist was given only a part of the messages."""
    left_out = [line for one in ask.decisions for line in one.left_out]
    return any(line.startswith(f"{name}: ") for line in left_out for name in names)


def list_thread_faults(ask: RequestState) -> tuple[str, ...]:
    """Return the reasons why the thread, or a part of it, could not be read; () if there are none."""
    said = {line for one in ask.materials if one.kind == "thread" for line in (one.fault, *one.gaps)}
    return tuple(fault for fault in ask.file_faults if fault in said)


def list_other_faults(ask: RequestState) -> frozenset[str]:
    """Return the faults of the files that other messages of the thread brought."""
    theirs = (one for one in ask.materials if one.kind == "file" and one.author)
    return frozenset(line for one in theirs for line in (one.fault, *one.gaps) if line)
