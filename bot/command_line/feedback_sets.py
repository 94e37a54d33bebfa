"""`leadhand eval --from-feedback`: makes cases of the requests that got a thumb, for people to label."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import yaml

from bot.app import find_crew_folder, load_crew_of_settings
from bot.command_line.check import open_command_store
from bot.command_line.console import say
from bot.evaluation.cases import CASE_TYPES
from bot.evaluation.feedback_cases import FeedbackCase, make_cases
from bot.evaluation.set_files import SETS_FOLDER_NAME
from bot.jobs.job_records import read_job
from bot.operation.audit_log import AuditQuery, read_entries
from bot.settings import Settings, SettingsError
from bot.store.redis.redis_store import Store
from bot.store.values import JobKey, LogBroken
from handoff import events as ev
from handoff.state.job_state import Job
from specialists.crew import Crew

UNREADABLE_JOB = "forgotten, expired or unreadable"
KNOWN_CASE = "there already"
FILE_HEAD = """\
# What people gave a thumb for, made by `leadhand eval --from-feedback`. For each case write into `expect` what is right
# (docs/evaluation.md says how for each kind), put the files that it names beside this file, or delete the case.
# `feedback` is for you alone: it is not scored. Until all cases are labelled, `leadhand eval` refuses the file.
"""


async def write_feedback_sets(folder: Path, settings: Settings, *, private: bool) -> int:
    """Write the new cases, and print how many were added and left out. Returns 0.

    Raises SettingsError and StoreError.
    """
    crew = load_crew_of_settings(settings)
    try:
        async with open_command_store(settings) as store:
            say(await add_cases(folder, store, crew, find_crew_folder(settings) / SETS_FOLDER_NAME, private=private))
    finally:
        await crew.close()
    return 0


async def add_cases(folder: Path, store: Store, crew: Crew, sets_folder: Path, *, private: bool) -> str:
    """Add the new cases to a folder. Returns a text with the counts of added and left out cases.

    `sets_folder` is the folder from which `eval` reads sets. Raises SettingsError and StoreError.
    """
    known_ids, left_out, new = _collect_case_ids(folder), Counter[str](), list[FeedbackCase]()
    async for one in _iterate_cases(store, crew, private=private):
        if isinstance(one, str):
            left_out[one] += 1
        elif one.id in known_ids:
            left_out[KNOWN_CASE] += 1
        else:
            new.append(one)
    _write_cases(folder, new)
    return _summarize_cases(folder, new, left_out, sets_folder)


async def _iterate_cases(store: Store, crew: Crew, *, private: bool) -> AsyncIterator[FeedbackCase | str]:
    """Yield a case for each request that got a thumb, or the reason why it is left out. The audit names the jobs."""
    jobs: dict[JobKey, set[str]] = {}
    async for entry in read_entries(store, AuditQuery(deed="rated")):
        jobs.setdefault(JobKey(entry.team, entry.job), set()).add(entry.request)
    for key, requests in jobs.items():
        job = await read_job(store.jobs, key)
        if not isinstance(job, Job):
            for _ in requests:
                yield UNREADABLE_JOB
            continue
        try:
            log = await store.jobs.read_log(key)
        except LogBroken:
            yield UNREADABLE_JOB
            continue
        events = (ev.load_event(one.payload) for one in log if '"type":"FeedbackGiven"' in one.payload)
        feedback_events = [one for one in events if isinstance(one, ev.FeedbackGiven)]
        for one in make_cases(
            job, feedback_events, crew=crew.name, specialists=tuple(crew.specialists), include_private=private
        ):
            yield one


def _collect_case_ids(folder: Path) -> set[str]:
    """Collect the ids of the cases in a folder. Raises SettingsError if cases cannot be added to it."""
    known_ids: set[str] = set()
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"--from-feedback {folder}: that is a file; name a folder for the cases.")
    for path in sorted(folder.glob("*.y*ml")) if folder.is_dir() else ():
        try:
            entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            why = " ".join(str(error).split())
            raise SettingsError(f"{path}: it is no YAML, so nothing was added: {why}") from None
        known_ids |= {
            str(one.get("id")) for one in (entries if isinstance(entries, list) else ()) if isinstance(one, dict)
        }
    return known_ids


def _write_cases(folder: Path, new_cases: list[FeedbackCase]) -> None:
    """Append the cases to the files of their kinds. Raises SettingsError."""
    for kind in CASE_TYPES:
        fields = [one.fields for one in new_cases if one.kind == kind]
        if not fields:
            continue
        path = folder / f"{kind}.yml"
        text = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=110)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            before = path.read_text(encoding="utf-8") if path.exists() else FILE_HEAD
            path.write_text(f"{before.rstrip()}\n\n{text}", encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{path} cannot be written ({error.strerror}).") from None


def _summarize_cases(folder: Path, new_cases: list[FeedbackCase], left_out: Counter[str], sets_folder: Path) -> str:
    kinds = Counter(one.kind for one in new_cases)
    wrote = ", ".join(f"{count} in {folder / kind}.yml" for kind, count in kinds.items())
    lines = [f"New cases: {len(new_cases)}" + (f" ({wrote})" if new_cases else "")]
    lines += [f"Left out: {count} {why}" for why, count in left_out.most_common()]
    if new_cases:
        lines.append(
            "Write into each `expect` what is right, or delete the case; `leadhand eval` plays what lies in "
            f"{sets_folder}. "
            "docs/evaluation.md says what each kind of case needs."
        )
    elif not left_out:
        lines.append("Nobody has given a thumb yet, or the audit no longer says so.")
    return "\n".join(lines)
