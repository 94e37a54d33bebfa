"""Handles Stop buttons and the subcommands `status`, `jobs`, `cancel`, `release`, and renders App Home sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import BudgetService
from bot.features.job_controls.lists import JobFilter, JobLists
from bot.features.job_controls.service import JobControlService, ReleaseVerdict
from bot.features.job_controls.view import describe_stop
from bot.jobs.job_records import DenialReason, JobRecords
from bot.slack.receive.payloads import Click, StopPressed
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.subcommand import CommandContext, SpokenReply
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import OutageNotices, make_note, show_ephemeral_message
from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.card import STOP_ACTION
from bot.slack.views.job_lines import render_card_rows, render_job_line
from bot.slack.views.outgoing import Block, Outgoing, make_context, make_section, make_sections
from bot.slack.views.paging import HomeList, HomeRow, ListPage, select_page
from bot.store.values import StoreError
from handoff.state.job_state import Job


class StopClicks:
    """The listeners for the card's Stop button and Slack's own."""

    def __init__(self, controls: JobControlService, background: BackgroundTasks, outages: OutageNotices) -> None:
        self._controls, self._background, self._outages = controls, background, outages

    def register(self, router: Router) -> None:
        """Register the listeners for both buttons."""
        router.on_click(STOP_ACTION, self.on_stop)
        router.on_event(StopPressed, self.on_session_stopped)

    async def on_stop(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Stop a job after a click on the Stop button of its card."""
        del client
        return describe_stop(await self._controls.cancel(click.place.team, None, click.place, user=click.user))

    async def on_session_stopped(self, event: StopPressed, client: AsyncWebClient) -> None:
        """Stop a job after a click on Slack's own Stop button."""
        try:
            words = await stop_thread_job(self._controls, event, client, self._background)
            if words is not None:
                self._background.start(show_ephemeral_message(client, event.place, event.user, words), "answer a stop")
        except StoreError as error:
            self._outages.tell_not_recorded(client, event.place, event.user, event.event_id, error)
            raise


async def run_stop_command(ctx: CommandContext) -> SpokenReply:
    """Stop the job of the thread in which a person said "stop"."""
    if ctx.message is None:
        return "no_command"
    event = StopPressed(ctx.message.place, ctx.user)
    words = await stop_thread_job(
        ctx.find_service(JobControlService), event, ctx.client, ctx.background, is_spoken=True
    )
    return words or "told"


async def stop_thread_job(
    controls: JobControlService,
    event: StopPressed,
    client: AsyncWebClient,
    background: BackgroundTasks,
    *,
    is_spoken: bool = False,
) -> Outgoing | None:
    """Stop the job of a thread. Returns the reply to the person; None if the thread itself shows that it stops."""
    place = event.place
    outcome = await controls.cancel(place.team, None, place, user=event.user)
    if outcome.verdict in {"nothing", "unknown"}:
        background.start(_set_session_active(client, event), "end a session")
        return make_note(notices.NOTHING_TO_STOP)
    if is_spoken or outcome.others or outcome.verdict != "cancelling":
        return make_note(describe_stop(outcome))
    return None


async def _set_session_active(client: AsyncWebClient, event: StopPressed) -> None:
    """Set the status of Slack's session to `active`. Until then, Slack shows it as processing."""
    await client.agents_sessions_setStatus(
        channel_id=event.place.channel, thread_ts=event.place.thread_ts, status="active"
    )


JOB_FILTERS: tuple[JobFilter, ...] = get_args(JobFilter)
DENIAL_TEXTS: dict[DenialReason, str] = {
    "unknown": notices.UNKNOWN_JOB,
    "not_yours": notices.STATUS_NOT_ALLOWED,
    "newer": notices.NEWER_RELEASE,
    "unreadable": notices.UNREADABLE_JOB,
    "forgotten": notices.JOB_FORGOTTEN,
}


async def show_status(ctx: CommandContext) -> Outgoing:
    """Render one job in detail: the named one, or the thread's. Without either, list the person's jobs."""
    from bot.slack.views.status import render_job_status  # noqa: PLC0415 - only for those who ask

    records, job = ctx.find_service(JobRecords), ctx.job
    if not job and ctx.thread is not None and await records.has_job(ctx.thread):
        job = ctx.thread.job_id
    if not job:
        return await _list_jobs(ctx, "")
    job_state = await ctx.find_service(JobControlService).read_visible_job(ctx.team, job, ctx.user)
    if isinstance(job_state, str):
        return make_note(DENIAL_TEXTS[job_state])
    return render_job_status(job_state, records.clock(), ctx.user, await read_budget_lines(ctx, job_state))


async def show_jobs(ctx: CommandContext) -> Outgoing:
    """Render the person's jobs, all or those in one state; for an admin, "all" lists everybody's running jobs."""
    word = ctx.rest.lower().strip("`")
    if word == "all":
        if ctx.user not in ctx.find_service(JobRecords).admins:
            return make_note(notices.NOT_ADMIN_LIST)
        return await _list_jobs(ctx, "", everybody=True)
    kind = next((one for one in JOB_FILTERS if one == word), None)
    if kind is None:
        return make_note(
            f"“{clean_mrkdwn(to_plain_line(ctx.rest, 40))}” is no state of jobs. There are "
            f"{', '.join(JOB_FILTERS[1:])}."
        )
    return await _list_jobs(ctx, kind)


async def _list_jobs(ctx: CommandContext, kind: JobFilter, *, everybody: bool = False) -> Outgoing:
    from bot.slack.views.status import render_job_list  # noqa: PLC0415 - only for those who ask

    lists = ctx.find_service(JobLists)
    if everybody:
        job_page = await lists.list_running(ctx.team, ctx.page)
    else:
        job_page = await lists.list_own(ctx.team, ctx.user, ctx.page, kind)
    first, budgets = ctx.page == 1, ctx.find_service(BudgetService)
    budget_lines = await budgets.describe_usage(ctx.team, ctx.channel, ctx.user) if first and not everybody else []
    halt_reason = await ctx.find_service(JobControlService).find_halt_reason() if first else ""
    word, rest = ctx.command.first_word or "status", "all" if everybody else kind
    return render_job_list(job_page, ctx.user, halt_reason, budget_lines, word=word, rest=rest)


async def read_budget_lines(ctx: CommandContext, job: Job) -> list[str]:
    """Describe the use of the budgets of a job's latest request, for its requester and admins; [] for others."""
    asker = job.latest_request.spec.user
    if ctx.user not in {asker, *ctx.find_service(JobRecords).admins}:
        return []
    return await ctx.find_service(BudgetService).describe_usage(job.place.team, job.place.channel, asker, job.id)


async def cancel_job(ctx: CommandContext) -> Outgoing:
    """Stop the job that the command names."""
    stop = await ctx.find_service(JobControlService).cancel(ctx.team, ctx.job, None, user=ctx.user)
    return make_note(f"{ctx.job} is over already." if stop.verdict == "nothing" else describe_stop(stop))


async def release_job(ctx: CommandContext) -> Outgoing:
    """Release the job that the command names from quarantine."""
    verdict = await ctx.find_service(JobControlService).release(ctx.team, ctx.job, user=ctx.user)
    admins = ", ".join(render_mention(admin) for admin in sorted(ctx.find_service(JobRecords).admins))
    words: dict[ReleaseVerdict, str] = {
        "released": f"{ctx.job} goes on.",
        "not_quarantined": notices.NOT_QUARANTINED,
        "not_admin": f"Only an admin may do that: {admins}." if admins else notices.NO_ADMINS,
        "unknown": notices.UNKNOWN_JOB,
        "forgotten": notices.JOB_FORGOTTEN,
    }
    return make_note(words[verdict])


class JobSections:
    """The sections of the App Home that list jobs: running, recent and quarantined."""

    def __init__(self, lists: JobLists) -> None:
        self._lists = lists

    async def render_running(self, team: str, user: str, page: int) -> HomeList:
        """Render a person's running jobs with the rows of their cards. Raises StoreError."""
        job_page = await self._lists.list_own(team, user, page, "open")
        rows: list[HomeRow] = []
        for line in job_page.rows:
            card = render_card_rows(line)
            rows.append((make_section(render_job_line(line, user, show_id=False) + (f"\n{card}" if card else "")),))
        return HomeList("Under way", _make_row_page(job_page, rows), "Nothing is under way.")

    async def render_recent(self, team: str, user: str, page: int) -> HomeList:
        """Render a person's jobs that ended. Raises StoreError."""
        job_page = await self._lists.list_own(team, user, page, "over")
        rows = (
            [tuple(make_sections(render_job_line(line, user, show_id=False) for line in job_page.rows))]
            if job_page.rows
            else []
        )
        return HomeList("Recent", _make_row_page(job_page, rows), "None yet.")

    async def render_quarantined(self, team: str, user: str, page: int) -> HomeList:
        """Render the jobs in quarantine. Raises StoreError."""
        lines = [self._lists.make_line(head) for head in await self._lists.read_quarantined(team)]
        job_page = select_page(lines, page)
        rows = (
            [tuple(make_sections(render_job_line(line, user, show_requester=True) for line in job_page.rows))]
            if lines
            else []
        )
        hint: list[Block] = [make_context("`/leadhand release JOB` lets one go on.")] if rows else []
        return HomeList("Set aside", _make_row_page(job_page, [*rows, *([tuple(hint)] if hint else [])]))


def _make_row_page(page: ListPage[Any], rows: Sequence[HomeRow]) -> ListPage[HomeRow]:
    return ListPage(tuple(rows), page.number, page.page_count, page.total_rows)
