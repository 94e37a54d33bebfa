"""Handles Stop buttons and the subcommands `status`, `jobs`, `cancel`, `release`, and renders App Home sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import BudgetDesk
from bot.features.job_controls.lists import Filter, JobLists
from bot.features.job_controls.service import JobControlDesk, ReleaseVerdict
from bot.features.job_controls.view import stop_words
from bot.jobs.job_records import DenialReason, JobRecords
from bot.slack.receive.payloads import Click, StopPressed
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.subcommand import CommandContext, Reply
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import OutageNotices, make_note, tell
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.card import STOP
from bot.slack.views.job_rows import card_rows, job_line
from bot.slack.views.outgoing import Block, Outgoing, context, section, sections
from bot.slack.views.paging import HomePart, ListPage, Row, take_page
from bot.store.values import StoreError
from handoff.state.job_state import Job


class StopClicks:
    """The listeners for the card's Stop button and Slack's own."""

    def __init__(self, controls: JobControlDesk, background: Background, outages: OutageNotices) -> None:
        self._controls, self._background, self._outages = controls, background, outages

    def register(self, router: Router) -> None:
        """Register the listeners for both buttons."""
        router.on_click(STOP, self.on_stop)
        router.on_event(StopPressed, self.on_session_stopped)

    async def on_stop(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Stop a job after a click on the Stop button of its card."""
        del client
        return stop_words(await self._controls.cancel(click.place.team, None, click.place, user=click.user))

    async def on_session_stopped(self, stopped: StopPressed, client: AsyncWebClient) -> None:
        """Stop a job after a click on Slack's own Stop button."""
        try:
            words = await stop(self._controls, stopped, client, self._background)
            if words is not None:
                self._background.start(tell(client, stopped.place, stopped.user, words), "answer a stop")
        except StoreError as error:
            self._outages.tell_not_recorded(client, stopped.place, stopped.user, stopped.event, error)
            raise


async def stop_here(given: CommandContext) -> Reply:
    """Stop the job of the thread in which a person said "stop"."""
    if given.said is None:
        return "no_command"
    stopped = StopPressed(given.said.place, given.user)
    words = await stop(given.find(JobControlDesk), stopped, given.client, given.background, spoken=True)
    return words or "told"


async def stop(
    controls: JobControlDesk,
    stopped: StopPressed,
    client: AsyncWebClient,
    background: Background,
    *,
    spoken: bool = False,
) -> Outgoing | None:
    """Stop the job of a thread. Returns the reply to the person, or None if the thread shows the stop."""
    place = stopped.place
    came = await controls.cancel(place.team, None, place, user=stopped.user)
    if came.verdict in {"nothing", "unknown"}:
        background.start(_tell_idle(client, stopped), "end a session")
        return make_note(notices.NOTHING_TO_STOP)
    if spoken or came.others or came.verdict != "cancelling":
        return make_note(stop_words(came))
    return None


async def _tell_idle(client: AsyncWebClient, stopped: StopPressed) -> None:
    """Set the status of Slack's session to idle: Slack shows it as busy until then."""
    await client.agents_sessions_setStatus(
        channel_id=stopped.place.channel, thread_ts=stopped.place.thread_ts, status="active"
    )


FILTERS: tuple[Filter, ...] = get_args(Filter)
DENIED: dict[DenialReason, str] = {
    "unknown": notices.UNKNOWN,
    "not_yours": notices.NOT_SEEN,
    "newer": notices.NEWER,
    "unreadable": notices.UNREADABLE,
    "forgotten": notices.IS_FORGOTTEN,
}


async def status(given: CommandContext) -> Outgoing:
    """Render one job in detail: the named one, or the thread's. Without either, list the person's jobs."""
    from bot.slack.views.status import status_job  # noqa: PLC0415 - only for those who ask

    records, job = given.find(JobRecords), given.job
    if not job and given.thread is not None and await records.has_job(given.thread):
        job = given.thread.job_id
    if not job:
        return await _list_jobs(given, "")
    found = await given.find(JobControlDesk).job(given.team, job, given.user)
    if isinstance(found, str):
        return make_note(DENIED[found])
    return status_job(found, records.clock(), given.user, await list_budgets_left(given, found))


async def jobs(given: CommandContext) -> Outgoing:
    """Render the person's jobs, all or those in one state; for an admin, "all" lists everybody's running jobs."""
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
        found = await lists.list_running(given.team, given.page)
    else:
        found = await lists.list_own(given.team, given.user, given.page, kind)
    first, budgets = given.page == 1, given.find(BudgetDesk)
    left = await budgets.list_left(given.team, given.channel, given.user) if first and not everybody else []
    trouble = await given.find(JobControlDesk).find_halt_reason() if first else ""
    word, rest = given.command.word or "status", "all" if everybody else kind
    return status_list(found, given.user, trouble, left, word=word, rest=rest)


async def list_budgets_left(given: CommandContext, job: Job) -> list[str]:
    """Describe the use of the budgets of a job's latest request; empty for all but its requester and admins."""
    asker = job.latest.request.user
    if given.user not in {asker, *given.find(JobRecords).admins}:
        return []
    return await given.find(BudgetDesk).list_left(job.place.team, job.place.channel, asker, job.id)


async def cancel(given: CommandContext) -> Outgoing:
    """Stop the job that the command names."""
    stop = await given.find(JobControlDesk).cancel(given.team, given.job, None, user=given.user)
    return make_note(f"{given.job} is over already." if stop.verdict == "nothing" else stop_words(stop))


async def release(given: CommandContext) -> Outgoing:
    """Release the job that the command names from quarantine."""
    verdict = await given.find(JobControlDesk).release(given.team, given.job, user=given.user)
    admins = ", ".join(mention(admin) for admin in sorted(given.find(JobRecords).admins))
    words: dict[ReleaseVerdict, str] = {
        "released": f"{given.job} goes on.",
        "not_quarantined": notices.NOT_QUARANTINED,
        "not_admin": f"Only an admin may do that: {admins}." if admins else notices.NO_ADMINS,
        "unknown": notices.UNKNOWN,
        "forgotten": notices.IS_FORGOTTEN,
    }
    return make_note(words[verdict])


class JobParts:
    """The sections of the App Home that list jobs: running, recent and quarantined."""

    def __init__(self, lists: JobLists) -> None:
        self._lists = lists

    async def running(self, team: str, user: str, page: int) -> HomePart:
        """Render a person's running jobs with the rows of their cards. Raises StoreError."""
        found = await self._lists.list_own(team, user, page, "open")
        rows: list[Row] = []
        for line in found.rows:
            card = card_rows(line)
            rows.append((section(job_line(line, user, name=False) + (f"\n{card}" if card else "")),))
        return HomePart("Under way", _page_of_rows(found, rows), "Nothing is under way.")

    async def recent(self, team: str, user: str, page: int) -> HomePart:
        """Render a person's jobs that ended. Raises StoreError."""
        found = await self._lists.list_own(team, user, page, "over")
        rows = [tuple(sections(job_line(line, user, name=False) for line in found.rows))] if found.rows else []
        return HomePart("Recent", _page_of_rows(found, rows), "None yet.")

    async def show_quarantined(self, team: str, user: str, page: int) -> HomePart:
        """Render the jobs in quarantine. Raises StoreError."""
        lines = [self._lists.line(head) for head in await self._lists.read_quarantined(team)]
        found = take_page(lines, page)
        rows = [tuple(sections(job_line(line, user, asker=True) for line in found.rows))] if lines else []
        hint: list[Block] = [context("`/leadhand release JOB` lets one go on.")] if rows else []
        return HomePart("Set aside", _page_of_rows(found, [*rows, *([tuple(hint)] if hint else [])]))


def _page_of_rows(found: ListPage[Any], rows: Sequence[Row]) -> ListPage[Row]:
    return ListPage(tuple(rows), found.number, found.pages, found.total)
