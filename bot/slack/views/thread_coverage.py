"""Describes how much of a thread was read for a request, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from bot.slack.text.cleaning import clean_mrkdwn
from handoff.state.job_state import RequestState
from handoff.text.counts import format_count

MAX_NAMED_FILES = 3
"""Most unreadable files that are named. Further ones are only counted."""


def describe_thread_coverage(request: RequestState) -> str:
    """Return what was read of the thread, such as `Read 34 messages and 2 files, left out 12 older messages`.

    Returns "" if there was nothing to read. An archive counts as one file.
    """
    threads = [one for one in request.materials if one.kind == "thread" and one.text]
    if not threads:
        return ""
    messages = sum(len(one.outline) for one in threads)
    thread_files = [one for one in request.materials if one.kind == "file" and one.author and "/" not in one.name]
    files = {one.name for one in thread_files if not one.fault}
    unread = list(dict.fromkeys(one.name for one in thread_files if one.fault))
    more = [f"{format_count(len(unread) - MAX_NAMED_FILES, 'file')} more"] if len(unread) > MAX_NAMED_FILES else []
    unreadable_words = (
        [f"could not read {' and '.join((', '.join(unread[:MAX_NAMED_FILES]), *more))}"] if unread else []
    )
    channels = ", ".join(one.name for one in threads if one.is_channel_history)
    coverage_text = f"Read {format_count(messages, 'message')}" + (
        f" and {format_count(len(files), 'file')}" if files else ""
    )
    coverage_text += f" in {channels}" if channels else ""
    if _is_shown_in_part(request, [one.name for one in threads]):
        coverage_text += " (not every step was shown all of them)"
    return clean_mrkdwn(
        ", ".join((coverage_text, *unreadable_words, *(gap.rstrip(".") for one in threads for gap in one.gaps))),
        limit=400,
    )


def _is_shown_in_part(request: RequestState, names: Sequence[str]) -> bool:
    """Return True if the planner or a specialist was given only a part of the messages."""
    left_out = [line for one in request.decisions for line in one.left_out]
    return any(line.startswith(f"{name}: ") for line in left_out for name in names)


def list_thread_faults(request: RequestState) -> tuple[str, ...]:
    """Return the reasons why the thread, or a part of it, could not be read; () if there are none."""
    thread_faults = {line for one in request.materials if one.kind == "thread" for line in (one.fault, *one.gaps)}
    return tuple(fault for fault in request.file_faults if fault in thread_faults)


def list_thread_file_faults(request: RequestState) -> frozenset[str]:
    """Return the faults of the files that other messages of the thread brought."""
    thread_files = (one for one in request.materials if one.kind == "file" and one.author)
    return frozenset(line for one in thread_files for line in (one.fault, *one.gaps) if line)
