"""Subcommands about jobs: `status`, `cancel` and `release`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.slack.receive.subcommand import Given
from bot.slack.show import notices
from bot.slack.show.notices import note
from bot.slack.text.cleaning import mention
from bot.slack.views.outgoing import Outgoing
from handoff.state import Job

if TYPE_CHECKING:
    from bot.slack.receive.service import Denied, ReleaseVerdict, Service

DENIED: dict[Denied, str] = {
    "unknown": notices.UNKNOWN,
    "not_yours": notices.NOT_SEEN,
    "newer": notices.NEWER,
    "unreadable": notices.UNREADABLE,
    "forgotten": notices.IS_FORGOTTEN,
}


async def status(given: Given) -> Outgoing:
    """List the person's jobs, or show one in detail."""
    from bot.slack.views.status import status_job, status_list  # noqa: PLC0415 - only for those who ask

    service = given.service
    if not given.job:
        left = await service.left(given.team, given.channel, given.user)
        jobs = await service.jobs(given.team, given.user)
        return status_list(jobs, given.user, await service.trouble(), left)
    found = await service.job(given.team, given.job, given.user)
    if isinstance(found, str):
        return note(DENIED[found])
    return status_job(found, service.clock(), given.user, await left_of(service, found, given.user))


async def left_of(service: Service, job: Job, user: str) -> list[str]:
    """Say what is spent and left of the budgets of the latest request of a job, to whom they concern."""
    if user not in {job.latest.request.user, *service.admins}:
        return []
    return await service.left(job.place.team, job.place.channel, job.latest.request.user, job.id)


async def cancel(given: Given) -> Outgoing:
    """Stop a job."""
    stop = await given.service.cancel(given.team, given.job, None, user=given.user)
    return note(f"{given.job} is over already." if stop.verdict == "nothing" else notices.stop_words(stop))


async def release(given: Given) -> Outgoing:
    """Let a job in quarantine go on."""
    verdict = await given.service.release(given.team, given.job, user=given.user)
    admins = ", ".join(mention(admin) for admin in sorted(given.service.admins))
    words: dict[ReleaseVerdict, str] = {
        "released": f"{given.job} goes on.",
        "not_quarantined": notices.NOT_QUARANTINED,
        "not_admin": f"Only an admin may do that: {admins}." if admins else notices.NO_ADMINS,
        "unknown": notices.UNKNOWN,
        "forgotten": notices.IS_FORGOTTEN,
    }
    return note(words[verdict])
