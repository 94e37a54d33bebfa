"""`/leadhand budget`, the buttons at a used-up budget, and the sections of the App Home on spending."""

from __future__ import annotations

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import BudgetService
from bot.features.budgets.view import (
    ALLOW_MORE,
    ASK_MORE,
    BudgetRequest,
    make_request_place,
    render_allowed_request,
    render_budget_request,
)
from bot.jobs.job_records import JobRecords
from bot.slack.receive.payloads import Click
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.subcommand import CommandContext
from bot.slack.send.web_calls import BackgroundTasks
from bot.slack.show import notices
from bot.slack.show.notices import edit_message, make_note, send_direct_message, show_ephemeral_message
from bot.slack.views.button_data import decode_data
from bot.slack.views.outgoing import Outgoing, make_header, make_sections
from bot.slack.views.paging import HomeList, make_page


class BudgetClicks:
    """The listeners for the buttons to ask for more and to allow more."""

    def __init__(self, budgets: BudgetService, admins: frozenset[str], background: BackgroundTasks) -> None:
        self._budgets = budgets
        self._admins = admins
        self._background = background

    def register(self, router: Router) -> None:
        """Register the listeners for both buttons."""
        router.on_click(ASK_MORE, self.on_ask)
        router.on_click(ALLOW_MORE, self.on_allow)

    async def on_ask(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Send all admins a person's request for more budget, at most once an hour for each budget."""
        budget_request = decode_data(click.value, BudgetRequest)
        if budget_request is None or budget_request.user != click.user:
            return notices.OLD_BUTTON
        if not await self._budgets.claim_admin_request(
            make_request_place(budget_request, click.place.team), click.user, budget_request.scope
        ):
            return notices.BUDGET_REQUEST_REPEATED
        for admin in sorted(self._admins):
            self._background.start(
                send_direct_message(client, admin, render_budget_request(budget_request)), "ask an admin for more"
            )
        return notices.BUDGET_REQUEST_SENT

    async def on_allow(self, click: Click, client: AsyncWebClient) -> ClickReply:
        """Raise a budget after an admin's click, and tell the person who asked for more."""
        budget_request = decode_data(click.value, BudgetRequest)
        if budget_request is None:
            return notices.OLD_BUTTON
        place = make_request_place(budget_request, click.place.team)
        operation = f"more:{budget_request.scope}:{budget_request.ask}"
        now = await self._budgets.raise_budget(
            place, budget_request.user, budget_request.scope, admin=click.user, operation=operation
        )
        if not now:
            return notices.NOT_ADMIN if now is None else notices.OLD_BUTTON
        edit = edit_message(
            client, click.place.channel, click.message_ts, render_allowed_request(budget_request, click.user, now)
        )
        self._background.start(edit, "say that more was allowed")
        note_place = (
            place if budget_request.thread_ts != budget_request.ask else place.model_copy(update={"thread_ts": ""})
        )
        words = make_note(f"An admin allowed more: {now} Mention me again with your request.")
        self._background.start(
            show_ephemeral_message(client, note_place, budget_request.user, words), "tell that more was allowed"
        )
        return None


async def show_budget(ctx: CommandContext) -> Outgoing:
    """Render the person's spending and budgets; for an admin, also the whole workspace's spending."""
    budgets = ctx.find_service(BudgetService)
    lines = [*await budgets.describe_own_spending(ctx.team, ctx.user, ctx.channel)]
    if len(lines) == 1:
        lines.append("No budget is set for you here.")
    blocks = [make_header("Your budget"), *make_sections(lines)]
    if ctx.user in ctx.find_service(JobRecords).admins:
        blocks += [
            make_header("The workspace"),
            *make_sections(await budgets.describe_workspace_spending(ctx.team, ctx.user)),
        ]
    return Outgoing(text="Your budget", blocks=tuple(blocks))


class SpendingSections:
    """The sections of the App Home that show spending and budgets."""

    def __init__(self, budgets: BudgetService) -> None:
        self._budgets = budgets

    async def render_own_spending(self, team: str, user: str, page: int) -> HomeList:
        """Render a person's spending this month and the use of their budgets, as one page. Raises StoreError."""
        del page
        lines = await self._budgets.describe_own_spending(team, user)
        return HomeList("This month", make_page([tuple(make_sections(lines))], 1, 1))

    async def render_all_spending(self, team: str, user: str, page: int) -> HomeList:
        """Render for an admin the spending of all people together and the use of every limit. Raises StoreError."""
        del page
        return HomeList(
            "The workspace",
            make_page([tuple(make_sections(await self._budgets.describe_workspace_spending(team, user)))], 1, 1),
        )
