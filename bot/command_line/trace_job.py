"""`leadhand trace`: prints the trace of a job, or writes it to files as a picture, a page or JSON."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from bot.command_line.check import open_store
from bot.command_line.console import say
from bot.command_line.job_list import find_job
from bot.command_line.slack_names import open_names
from bot.command_line.try_store import NOT_KEPT, list_store_settings
from bot.settings import Settings, SettingsError
from bot.slack.receive.job_references import find_named_job
from bot.tracing.whole_trace import Trace, read_trace

_FOUND, _WANTING = 0, 1
_AUDIT = "If a bot ran it, `leadhand audit --job {job}` lists what was done in it."
_WHICH = "a job is J and ten letters and digits, or Slack's link to a message of its thread"


async def trace_job(options: argparse.Namespace, settings: Settings) -> int:
    """Print the trace of a job, or write it to files. Returns 0, or 1 if a file could not be made.

    Raises SettingsError if there is no such job or a file cannot be written, and StoreError.
    """
    trace = await _read(options.job, settings, options.team)
    wanted = [name for name in _FILES if getattr(options, name)]
    if options.json and options.out is None:
        from bot.tracing.export import dump_trace  # noqa: PLC0415 - only where it is asked for

        say(dump_trace(trace))
        wanted.remove("json")
    elif not wanted:
        from bot.slack.views.status import timeline  # noqa: PLC0415 - the same

        async with open_names(settings, ids=options.ids) as put_names:
            say(await put_names(timeline(trace.job, trace.steps)))
    missing = [fault for name in wanted if (fault := await _write(name, trace, options.out or Path()))]
    for fault in missing:
        print(f"leadhand: {fault}", file=sys.stderr)  # noqa: T201
    return _WANTING if missing else _FOUND


async def _read(named: str, settings: Settings, team: str) -> Trace:
    """Read the trace of the job that an id or a link names, from the first store that has it. Raises SettingsError."""
    job, likely, erased = find_named_job("", named)[0], "", ""
    if not job:
        raise SettingsError(f"{named!r} names no job: {_WHICH}.")
    for place in list_store_settings(settings):
        async with open_store(place) as store:
            key = await find_job(store, named, team)
            if key is None:
                continue
            if await store.jobs.head(key) is not None:
                entries = await store.jobs.log(key)
                return await asyncio.to_thread(read_trace, entries, job=key.job, team=key.team)
            likely = likely or key.job
            if not erased and await store.jobs.read_forget_time(key) is not None:
                erased = key.job
    if erased:
        raise SettingsError(f"Job {erased} was erased because somebody asked for that. {_AUDIT.format(job=erased)}")
    job = likely or job
    raise SettingsError(f"Job {job} is not in the store, or has expired. {_AUDIT.format(job=job)} {NOT_KEPT}")


async def _write(name: str, trace: Trace, folder: Path) -> str:
    """Write one file and print its path. Returns why it could not be made; empty if it was."""
    made = await _FILES[name](trace)
    if isinstance(made, str):
        return made
    path = folder / f"{trace.job}.{name}"
    try:
        await asyncio.to_thread(_put, path, made)
    except OSError as error:
        raise SettingsError(f"{path} cannot be written ({error.strerror}).") from None
    say(f"wrote {path}")
    return ""


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


async def _dump_picture(trace: Trace) -> bytes | str:
    from bot.tracing.picture import draw_picture  # noqa: PLC0415 - only where it is asked for

    return await draw_picture(trace)


async def _dump_page(trace: Trace) -> bytes | str:
    from bot.tracing.trace_page import trace_page  # noqa: PLC0415 - only where it is asked for

    return trace_page(trace).encode()


async def _dump_json(trace: Trace) -> bytes | str:
    from bot.tracing.export import dump_trace  # noqa: PLC0415 - only where it is asked for

    return dump_trace(trace).encode()


_FILES: dict[str, Callable[[Trace], Awaitable[bytes | str]]] = {
    "html": _dump_page,
    "png": _dump_picture,
    "json": _dump_json,
}
"""The function that makes each kind of file, by suffix. It returns bytes, or a text on why it cannot."""
