"""Subcommands about jobs: `status`, `jobs`, `cancel` and `release`."""

from __future__ import annotations

from typing import get_args

from bot.features.budgets.service import Budgets
from bot.features.job_controls.lists import Filter, JobLists
from bot.features.job_controls.service import JobControls, ReleaseVerdict
from bot.features.job_controls.view import stop_words
from bot.jobs.job_records import Denied, JobRecords
from bot.slack.receive.subcommand import CommandContext
from bot.slack.show import notices
from bot.slack.show.notices import make_note
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.outgoing import Outgoing
from handoff.state.job_state import Job

FILTERS: tuple[Filter, ...] = get_args(Filter)
DENIED: dict[Denied, str] = {
    "unknown": notices.UNKNOWN,
    "not_yours": notices.NOT_SEEN,
    "newer": notices.NEWER,
    "unreadable": notices.UNREADABLE,
    "forgotten": notices.IS_FORGOTTEN,
}


async def status(given: CommandContext) -> Outgoing:
    """Show one job in detail: the one that is named, or that of the thread; else list the person's jobs."""
    from bot.slack.views.status import status_job  # noqa: PLC0415 - only for those who ask

    records, job = given.find(JobRecords), given.job
    if not job and given.thread is not None and await records.knows(given.thread):
        job = given.thread.job_id
    if not job:
        return await _list_jobs(given, "")
    found = await given.find(JobControls).job(given.team, job, given.user)
    if isinstance(found, str):
        return make_note(DENIED[found])
    return status_job(found, records.clock(), given.user, await list_budgets_left(given, found))


async def jobs(given: CommandContext) -> Outgoing:
    """List the person's jobs, all or those in one state; for an admin also those of all that are under way."""
    word = given.rest.lower().strip("`")
    if word == "all":
        if given.user not in given.find(JobRecords).admins:
            return make_note(notices.NOT_ADMIN_LIST)
        return await _list_jobs(given, "", everybody=True)
    kind = next((one for one in FILTERS if one == word), None)
    if kind is None:
        return make_note(f"“{clean(plain(given.rest, 40))}” is no state of jobs. There are {', '.join(FILTERS[1:])}.")
    return await _list_jobs(given, kind)


async def _list_jobs(given: CommandContext, kind: Filter, *, everybody: bool = False) -> Outgoing:
    from bot.slack.views.status import status_list  # noqa: PLC0415 - only for those who ask

    lists = given.find(JobLists)
    if everybody:
        found = await lists.of_all(given.team, given.page)
    else:
        found = await lists.of(given.team, given.user, given.page, kind)
    first, budgets = given.page == 1, given.find(Budgets)
    left = await budgets.list_left(given.team, given.channel, given.user) if first and not everybody else []
    trouble = await given.find(JobControls).trouble() if first else ""
    word, rest = given.command.word or "status", "all" if everybody else kind
    return status_list(found, given.user, trouble, left, word=word, rest=rest)


async def list_budgets_left(given: CommandContext, job: Job) -> list[str]:
    """Say what is spent and left of the budgets of the latest request of a job, to whom they concern."""
    asker = job.latest.request.user
    if given.user not in {asker, *given.find(JobRecords).admins}:
        return []
    return await given.find(Budgets).list_left(job.place.team, job.place.channel, asker, job.id)


async def cancel(given: CommandContext) -> Outgoing:
    """Stop a job."""
    stop = await given.find(JobControls).cancel(given.team, given.job, None, user=given.user)
    return make_note(f"{given.job} is over already." if stop.verdict == "nothing" else stop_words(stop))


async def release(given: CommandContext) -> Outgoing:
    """Let a job in quarantine go on."""
    verdict = await given.find(JobControls).release(given.team, given.job, user=given.user)
    admins = ", ".join(mention(admin) for admin in sorted(given.find(JobRecords).admins))
    words: dict[ReleaseVerdict, str] = {
        "released": f"{given.job} goes on.",
        "not_quarantined": notices.NOT_QUARANTINED,
        "not_admin": f"Only an admin may do that: {admins}." if admins else notices.NO_ADMINS,
        "unknown": notices.UNKNOWN,
        "forgotten": notices.IS_FORGOTTEN,
    }
    return make_note(words[verdict])
