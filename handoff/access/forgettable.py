"""Who may have a job forgotten, and what of it lies elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from handoff.state.job_state import Job


def askers(job: Job) -> dict[str, str]:
    """Return the people who asked in a job, by the ids of their requests, also of those that were not begun."""
    asked = {ask.id: ask.request.user for ask in job.asks}
    return {**{one.message.id: one.message.user for one in job.heard if one.outcome == "request"}, **asked}


def may_forget(who_asked: Iterable[str], user: str, *, admin: bool) -> bool:
    """Return True if a person may have a job forgotten: an admin, or who alone asked for things in it."""
    return admin or set(who_asked) == {user}


def sources(job: Job) -> tuple[str, ...]:
    """List the ids of what a job read: files, as their place knows them, and what was remembered."""
    asked = [file.file_id for ask in job.asks for file in ask.request.attachments]
    there = [one for ask in job.asks for one in ask.materials]
    told = [part.message for one in there if one.kind == "memory" for part in one.outline if part.message]
    return tuple(dict.fromkeys([*asked, *(one.file_id for one in there if one.file_id), *told]))


def kept_files(job: Job) -> tuple[str, ...]:
    """List the digests of what a job read and made: machines may have tables of them in a cache."""
    files = [one.file for ask in job.asks for one in ask.materials if one.file is not None]
    results = [work.result for ask in job.asks for work in ask.work.values() if work.result is not None]
    return tuple(dict.fromkeys(file.id for file in [*files, *(file for one in results for file in one.artifacts)]))
