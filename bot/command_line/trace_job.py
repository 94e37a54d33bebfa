"""`leadhand trace`: prints the trace of a job, or writes it to files as a picture, a page or JSON."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from bot.command_line.check import open_command_store
from bot.command_line.console import say
from bot.command_line.job_list import find_job
from bot.command_line.slack_names import open_name_lookup
from bot.command_line.try_store import TRY_JOBS_HINT, list_store_settings
from bot.settings import Settings, SettingsError
from bot.slack.receive.job_references import parse_job_reference
from bot.tracing.job_trace import Trace, derive_trace

_EXIT_FOUND, _EXIT_INCOMPLETE = 0, 1
_AUDIT_HINT = "If a bot ran it, `leadhand audit --job {job}` lists what was done in it."
_JOB_FORM = "a job is J and ten letters and digits, or Slack's link to a message of its thread"


async def print_or_write_trace(options: argparse.Namespace, settings: Settings) -> int:
    """Print the trace of a job, or write it to files. Returns 0, or 1 if a file could not be made.

    Raises SettingsError if there is no such job or a file cannot be written, and StoreError.
    """
    trace = await _read_job_trace(options.job, settings, options.team)
    suffixes = [name for name in _FILE_MAKERS if getattr(options, name)]
    if options.json and options.out is None:
        from bot.tracing.export import dump_trace  # noqa: PLC0415 - only where it is asked for

        say(dump_trace(trace))
        suffixes.remove("json")
    elif not suffixes:
        from bot.slack.views.status import render_timeline  # noqa: PLC0415 - the same

        async with open_name_lookup(settings, keep_ids=options.ids) as replace_ids:
            say(await replace_ids(render_timeline(trace.job, trace.steps)))
    faults = [fault for name in suffixes if (fault := await _write_file(name, trace, options.out or Path()))]
    for fault in faults:
        print(f"leadhand: {fault}", file=sys.stderr)  # noqa: T201
    return _EXIT_INCOMPLETE if faults else _EXIT_FOUND


async def _read_job_trace(reference: str, settings: Settings, team: str) -> Trace:
    """Read the trace of the job that an id or a link names, from the first store that has it. Raises SettingsError."""
    job, likely_id, erased_id = parse_job_reference("", reference)[0], "", ""
    if not job:
        raise SettingsError(f"{reference!r} names no job: {_JOB_FORM}.")
    for store_settings in list_store_settings(settings):
        async with open_command_store(store_settings) as store:
            key = await find_job(store, reference, team)
            if key is None:
                continue
            if await store.jobs.read_head(key) is not None:
                entries = await store.jobs.read_log(key)
                return await asyncio.to_thread(derive_trace, entries, job=key.job, team=key.team)
            likely_id = likely_id or key.job
            if not erased_id and await store.jobs.read_forget_time(key) is not None:
                erased_id = key.job
    if erased_id:
        raise SettingsError(
            f"Job {erased_id} was erased because somebody asked for that. {_AUDIT_HINT.format(job=erased_id)}"
        )
    job = likely_id or job
    raise SettingsError(f"Job {job} is not in the store, or has expired. {_AUDIT_HINT.format(job=job)} {TRY_JOBS_HINT}")


async def _write_file(suffix: str, trace: Trace, folder: Path) -> str:
    """Write the file with the suffix `suffix`, and print its path. Returns the reason if it could not be made, else "".

    Raises SettingsError if it cannot be written.
    """
    content = await _FILE_MAKERS[suffix](trace)
    if isinstance(content, str):
        return content
    path = folder / f"{trace.job}.{suffix}"
    try:
        await asyncio.to_thread(_write_bytes, path, content)
    except OSError as error:
        raise SettingsError(f"{path} cannot be written ({error.strerror}).") from None
    say(f"wrote {path}")
    return ""


def _write_bytes(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


async def _make_picture(trace: Trace) -> bytes | str:
    from bot.tracing.picture import draw_picture  # noqa: PLC0415 - only where it is asked for

    return await draw_picture(trace)


async def _make_page(trace: Trace) -> bytes | str:
    from bot.tracing.trace_page import render_trace_page  # noqa: PLC0415 - only where it is asked for

    return render_trace_page(trace).encode()


async def _make_json(trace: Trace) -> bytes | str:
    from bot.tracing.export import dump_trace  # noqa: PLC0415 - only where it is asked for

    return dump_trace(trace).encode()


_FILE_MAKERS: dict[str, Callable[[Trace], Awaitable[bytes | str]]] = {
    "html": _make_page,
    "png": _make_picture,
    "json": _make_json,
}
"""The functions that make the files, by suffix. Each returns bytes, or the reason as a text if it cannot."""
