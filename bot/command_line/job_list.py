"""`leadhand jobs`: prints the jobs under way, once or repeatedly, or one job in detail, from the store alone."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from bot.command_line.check import open_command_store
from bot.command_line.console import say
from bot.command_line.slack_names import ReplaceIds, open_name_lookup
from bot.command_line.try_store import TRY_JOBS_HINT, list_store_settings
from bot.features.job_controls.lists import MAX_SEARCHED_JOBS, JobLists
from bot.jobs.job_records import read_job
from bot.settings import Settings
from bot.slack.receive.job_references import parse_job_reference
from bot.slack.views.job_lines import JobLine
from bot.store.redis.redis_store import Store
from bot.store.values import ANY_TEAM, Head, JobKey
from handoff.state.job_state import Job, RequestState
from handoff.summaries.card_rows import parse_rows
from handoff.summaries.summary import describe_step, list_awaited_people, list_card_rows, render_title
from handoff.text.counts import format_count, format_dollars
from handoff.text.invisible_characters import remove_invisible

EXIT_FOUND, EXIT_NO_JOB = 0, 1
CURSOR_HOME, ERASE_LINE_END, ERASE_SCREEN_END = "\x1b[H", "\x1b[K\n", "\x1b[J"
MAX_TITLE_CHARS = 60
UNKNOWN_JOB = f"There is no such job, or it was forgotten. `leadhand jobs` lists those under way. {TRY_JOBS_HINT}"
FAULT_TEXTS = {"newer": "A newer release works on that job.", "unreadable": "The record of that job is damaged."}


async def print_jobs(options: argparse.Namespace, settings: Settings) -> int:
    """Print jobs, or one job. Returns 0, or 1 if the job cannot be read. Raises StoreError."""
    async with open_name_lookup(settings, keep_ids=options.ids or options.json) as replace_ids:
        if not options.job:
            async with open_command_store(settings) as store:
                return await _print_list(store, options, replace_ids)
        why = ""
        for store_settings in list_store_settings(settings):
            async with open_command_store(store_settings) as store:
                fault = await _print_job(store, options, replace_ids)
            if not fault:
                return EXIT_FOUND
            why = why or FAULT_TEXTS.get(fault, "")
    print(f"leadhand: {why or UNKNOWN_JOB}", file=sys.stderr)  # noqa: T201
    return EXIT_NO_JOB


async def _print_list(store: Store, options: argparse.Namespace, replace_ids: ReplaceIds) -> int:
    """Print the list; with `--watch` repeatedly: redrawn at a terminal, otherwise printed after each change."""
    redraws = options.watch and sys.stdout.isatty()
    before: list[tuple[JobKey, float]] | None = None
    while True:
        heads = await _list_heads(store, await list_teams(store, options.team), options.user)
        await store.read_time()  # updates `store.clock`, from which ages are computed
        text = await _render_list(store, heads, options, replace_ids)
        if redraws:
            rows = shutil.get_terminal_size().lines - 1
            say(CURSOR_HOME + ERASE_LINE_END.join([*text.split("\n")[:rows], ""]) + ERASE_SCREEN_END, end="")
        elif (now := [(head.key, head.updated_at) for head in heads]) != before or not options.watch:
            say(text)
            before = now
        if not options.watch:
            return EXIT_FOUND
        await asyncio.sleep(options.every)


async def list_teams(store: Store, team_option: str) -> list[str]:
    """List the ids of the teams whose jobs are read: that of `--team`, else all. Empty for a store not yet used."""
    team = team_option or await store.claim_home_team("")
    return sorted(await store.installations.read_all()) if team == ANY_TEAM else [team] if team else []


async def shows_several_teams(store: Store, team: str) -> bool:
    """Return True if each printed line must name its team, because the store has jobs of several teams."""
    return not team and await store.claim_home_team("") == ANY_TEAM


async def find_job(store: Store, reference: str, team: str) -> JobKey | None:
    """Return the key of the job that an id or a link names; None if `reference` is neither, or there is no team.

    `team` is that of `--team`, or empty for any. If there is no such job, the key has the first possible team.
    """
    keys = [
        JobKey(one, job) for one in await list_teams(store, team) if (job := parse_job_reference(one, reference)[0])
    ]
    there = await store.jobs.read_heads(keys)
    return next((head.key for head in there), keys[0] if keys else None)


async def _list_heads(store: Store, teams: Sequence[str], user: str) -> list[Head]:
    if user:
        heads = [
            head for team in teams for head in await store.jobs.read_heads_asked_by(team, user, limit=MAX_SEARCHED_JOBS)
        ]
        return sorted(heads, key=lambda one: one.updated_at, reverse=True) if len(teams) > 1 else heads
    return await JobLists(store).read_running_heads(teams) if teams else []


async def _render_list(
    store: Store, heads: Sequence[Head], options: argparse.Namespace, replace_ids: ReplaceIds
) -> str:
    if options.json:
        return "\n".join(json.dumps(_export_head(head), ensure_ascii=False) for head in heads)
    if not heads:
        return "No jobs." if options.user else "No job is under way."
    lists, now = JobLists(store), store.clock()
    names_teams = await shows_several_teams(store, options.team)
    rows = [(f"{head.key.team:<12} " if names_teams else "", lists.make_line(head)) for head in heads]
    return "\n".join([f"{team}{_render_line(one, await replace_ids(one.requester), now)}" for team, one in rows])


def _export_head(head: Head) -> dict[str, object]:
    """Return the fields of a head for JSON output. The keys are public, as scripts rely on them."""
    cards, more = parse_rows(head.fields)
    names = ("state", "title", "user", "channel", "thread_ts", "step")
    return {
        "job": head.key.job,
        "team": head.key.team,
        **{name: head.fields.get(name, "") for name in names},
        "updated": head.updated_at,
        "owner": head.owner,
        "set_aside": head.is_quarantined,
        "rows": [{"state": row.state, "title": row.title, "specialist": row.specialist} for row in cards],
        "more_rows": more,
    }


def _render_line(line: JobLine, user_name: str, now: float) -> str:
    state = "set aside" if line.quarantine_step else "in part" if line.is_partial else line.state.replace("_", " ")
    title = " ".join(remove_invisible(line.title).split())[:MAX_TITLE_CHARS]
    doing = f"  {' '.join(remove_invisible(line.step).split())[:MAX_TITLE_CHARS]}" if line.step else ""
    return f"{line.job}  {state:<14} {_format_age(now - line.updated_at):>7}  {user_name:<12} {title}{doing}".rstrip()


def _format_age(seconds: float) -> str:
    whole = max(0, round(seconds))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


async def _print_job(store: Store, options: argparse.Namespace, replace_ids: ReplaceIds) -> str:
    """Print the job that an id or a link to its thread names. Returns "", or "unknown" or a key of `FAULT_TEXTS`."""
    key = await find_job(store, options.job, options.team)
    job = await read_job(store.jobs, key) if key is not None else "unknown"
    if isinstance(job, str):
        return job
    head = await store.jobs.read_head(key) if key is not None else None
    if options.json and head is not None:
        say(json.dumps(_export_head(head), ensure_ascii=False))
    else:
        say(await replace_ids("\n".join(_render_job(job))))
    return ""


def _render_job(job: Job) -> list[str]:
    lines = [f"Job {job.id} in {job.place.channel}, thread {job.place.thread_ts}"]
    if job.quarantine is not None:
        lines.append(f"set aside at: {job.quarantine.step}: {job.quarantine.reason}")
    for request in job.requests:
        lines += ["", *_render_request(request)]
    return [remove_invisible(line) for line in lines]


def _render_request(request: RequestState) -> list[str]:
    at = datetime.fromtimestamp(request.spec.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    first = " ".join(request.text.split())[:200]
    step_note = f": {describe_step(request)}" if describe_step(request) else ""
    lines = [f"{at}  {request.spec.user}: {first}", f"  {request.state.replace('_', ' ')}{step_note}"]
    awaited_people = list_awaited_people(request) if request.state == "input_required" else None
    if awaited_people is not None:
        lines.append(f"  waits for {', '.join(awaited_people) or 'anyone in its thread'}")
    lines += [
        f"  - {subtask.state:<14} {subtask.specialist}: {render_title(request, subtask)}"
        for subtask in list_card_rows(request)
    ]
    if request.run.failure is not None:
        lines.append(f"  failed at {request.run.failure.step}: {request.run.failure.reason}")
    usage = request.usage
    if usage.calls:
        cost = f", {format_dollars(usage.cost)}" if usage.cost is not None else ""
        calls, tokens = usage.calls, usage.tokens_in + usage.tokens_out
        lines.append(f"  {format_count(calls, 'model call')}, {format_count(tokens, 'token')}{cost}")
    return lines
