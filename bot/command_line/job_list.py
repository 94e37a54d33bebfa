"""`leadhand jobs`: prints the jobs under way, once or repeatedly, or one job in detail, from the store alone."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from bot.command_line.check import open_store
from bot.command_line.console import say
from bot.command_line.slack_names import ReplaceIds, open_name_lookup
from bot.command_line.try_store import NOT_KEPT, list_store_settings
from bot.features.job_controls.lists import MAX_SEARCHED, JobLists
from bot.jobs.job_records import read_job
from bot.settings import Settings
from bot.slack.receive.job_references import find_named_job
from bot.slack.views.job_rows import JobLine
from bot.store.redis.redis_store import Store
from bot.store.values import ANY_TEAM, Head, JobKey
from handoff.state.job_state import Job, RequestState
from handoff.summaries.card_rows import parse_rows
from handoff.summaries.summary import describe_step, list_awaited_people, list_card_rows, render_title
from handoff.text.counts import format_count, format_dollars
from handoff.text.visible_text import remove_invisible

FOUND, NO_JOB = 0, 1
TO_TOP, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K\n", "\x1b[J"
TITLE_WIDTH = 60
UNKNOWN_JOB = f"There is no such job, or it was forgotten. `leadhand jobs` lists those under way. {NOT_KEPT}"
FAULT_TEXTS = {"newer": "A newer release works on that job.", "unreadable": "The record of that job is damaged."}


async def print_jobs(options: argparse.Namespace, settings: Settings) -> int:
    """Print jobs, or one job. Returns the exit code. Raises StoreError."""
    async with open_name_lookup(settings, keep_ids=options.ids or options.json) as put_names:
        if not options.job:
            async with open_store(settings) as store:
                return await _print_list(store, options, put_names)
        why = ""
        for place in list_store_settings(settings):
            async with open_store(place) as store:
                fault = await _print_job(store, options, put_names)
            if not fault:
                return FOUND
            why = why or FAULT_TEXTS.get(fault, "")
    print(f"leadhand: {why or UNKNOWN_JOB}", file=sys.stderr)  # noqa: T201
    return NO_JOB


async def _print_list(store: Store, options: argparse.Namespace, put_names: ReplaceIds) -> int:
    """Print the list; with `--watch` repeatedly: redrawn at a terminal, otherwise printed after each change."""
    redraws = options.watch and sys.stdout.isatty()
    before: list[tuple[JobKey, float]] | None = None
    while True:
        heads = await _list_heads(store, await list_teams(store, options.team), options.user)
        await store.now()  # updates `store.clock`, from which ages are computed
        shown = await _render_list(store, heads, options, put_names)
        if redraws:
            rows = shutil.get_terminal_size().lines - 1
            say(TO_TOP + REST_OF_LINE.join([*shown.split("\n")[:rows], ""]) + REST_OF_SCREEN, end="")
        elif (now := [(head.key, head.updated_at) for head in heads]) != before or not options.watch:
            say(shown)
            before = now
        if not options.watch:
            return FOUND
        await asyncio.sleep(options.every)


async def list_teams(store: Store, named: str) -> list[str]:
    """List the teams whose jobs to read: that of `--team`, otherwise all; none if no bot has used the store yet."""
    team = named or await store.claim_home_team("")
    return sorted(await store.installations.all()) if team == ANY_TEAM else [team] if team else []


async def shows_several_teams(store: Store, team: str) -> bool:
    """Return True if lines of several teams may be printed together, so that each must name its team."""
    return not team and await store.claim_home_team("") == ANY_TEAM


async def find_job(store: Store, reference: str, team: str) -> JobKey | None:
    """Return the key of the job that an id or a link names; None if `reference` is neither.

    `team` is that of `--team`, or empty for any. If there is no such job, the key is one that it could have.
    """
    keys = [JobKey(one, job) for one in await list_teams(store, team) if (job := find_named_job(one, reference)[0])]
    there = await store.jobs.heads(keys)
    return next((head.key for head in there), keys[0] if keys else None)


async def _list_heads(store: Store, teams: Sequence[str], user: str) -> list[Head]:
    if user:
        found = [head for team in teams for head in await store.jobs.list_asked_by(team, user, limit=MAX_SEARCHED)]
        return sorted(found, key=lambda one: one.updated_at, reverse=True) if len(teams) > 1 else found
    return await JobLists(store).read_running_heads(teams) if teams else []


async def _render_list(store: Store, heads: Sequence[Head], options: argparse.Namespace, put_names: ReplaceIds) -> str:
    if options.json:
        return "\n".join(json.dumps(_export_head(head), ensure_ascii=False) for head in heads)
    if not heads:
        return "No jobs." if options.user else "No job is under way."
    lists, now = JobLists(store), store.clock()
    several = await shows_several_teams(store, options.team)
    shown = [(f"{head.key.team:<12} " if several else "", lists.make_line(head)) for head in heads]
    return "\n".join([f"{team}{_render_line(one, await put_names(one.requester), now)}" for team, one in shown])


def _export_head(head: Head) -> dict[str, object]:
    """Turn a head into plain values for JSON. Their names are public: scripts rely on them."""
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
    state = "set aside" if line.quarantine_step else "in part" if line.in_part else line.state.replace("_", " ")
    title = " ".join(remove_invisible(line.title).split())[:TITLE_WIDTH]
    doing = f"  {' '.join(remove_invisible(line.step).split())[:TITLE_WIDTH]}" if line.step else ""
    return f"{line.job}  {state:<14} {_format_age(now - line.updated_at):>7}  {user_name:<12} {title}{doing}".rstrip()


def _format_age(seconds: float) -> str:
    whole = max(0, round(seconds))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


async def _print_job(store: Store, options: argparse.Namespace, put_names: ReplaceIds) -> str:
    """Print the job that an id or a link to its thread names. Returns why it cannot be printed; empty if it was."""
    key = await find_job(store, options.job, options.team)
    found = await read_job(store.jobs, key) if key is not None else "unknown"
    if isinstance(found, str):
        return found
    head = await store.jobs.head(key) if key is not None else None
    if options.json and head is not None:
        say(json.dumps(_export_head(head), ensure_ascii=False))
    else:
        say(await put_names("\n".join(_render_job(found))))
    return ""


def _render_job(job: Job) -> list[str]:
    lines = [f"Job {job.id} in {job.place.channel}, thread {job.place.thread_ts}"]
    if job.quarantine is not None:
        lines.append(f"set aside at: {job.quarantine.step}: {job.quarantine.reason}")
    for ask in job.asks:
        lines += ["", *_render_request(ask)]
    return [remove_invisible(line) for line in lines]


def _render_request(ask: RequestState) -> list[str]:
    at = datetime.fromtimestamp(ask.request.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    first = " ".join(ask.text.split())[:200]
    doing = f": {describe_step(ask)}" if describe_step(ask) else ""
    lines = [f"{at}  {ask.request.user}: {first}", f"  {ask.state.replace('_', ' ')}{doing}"]
    whom = list_awaited_people(ask) if ask.state == "input_required" else None
    if whom is not None:
        lines.append(f"  waits for {', '.join(whom) or 'anyone in its thread'}")
    lines += [f"  - {work.state:<14} {work.specialist}: {render_title(ask, work)}" for work in list_card_rows(ask)]
    if ask.run.failure is not None:
        lines.append(f"  failed at {ask.run.failure.step}: {ask.run.failure.reason}")
    usage = ask.usage
    if usage.calls:
        cost = f", {format_dollars(usage.cost)}" if usage.cost is not None else ""
        calls, tokens = usage.calls, usage.tokens_in + usage.tokens_out
        lines.append(f"  {format_count(calls, 'model call')}, {format_count(tokens, 'token')}{cost}")
    return lines
