"""Handles retries: by a message in the thread, by a button below a request's end, or by `/leadhand retry`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import BudgetDesk, OverBudget
from bot.features.budgets.view import BudgetRequest, render_used_up_budget
from bot.features.retries.service import RetryAsked, RetryDesk, RetryRecorded, RetryRefusalReason, RetryRefused
from bot.slack.receive.payloads import Click
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.services import FeatureServices
from bot.slack.receive.subcommand import CommandContext, Reply
from bot.slack.show import notices
from bot.slack.show.notices import add_receipt_reaction, make_note
from bot.slack.text.cleaning import clean, mention, plain
from bot.slack.views.button_data import AboutRequest, decode_data
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.try_again import GO_ON, TRY_AGAIN
from bot.slack.views.waiting import join_in_row
from handoff.contracts import Place
from handoff.conversation.retry_words import AgainMode, RetryWish, wish_of

SCHEDULE = "schedule"
"""The name of the spoken command that makes a schedule."""


class RetryClicks:
    """The listeners for the buttons below a request's end."""

    def __init__(self, tries: RetryDesk, services: FeatureServices) -> None:
        self._tries, self._services = tries, services

    def register(self, router: Router) -> None:
        """Register the listeners for the buttons."""
        router.on_click(TRY_AGAIN, partial(self.on_press, mode="retry"))
        router.on_click(GO_ON, partial(self.on_press, mode="continue"))

    async def on_press(self, click: Click, client: AsyncWebClient, *, mode: AgainMode) -> ClickReply:
        """Retry the parts that failed, or continue a request that was stopped."""
        del client
        about = decode_data(click.value, AboutRequest)
        if about is None or about.job != click.place.job_id:
            return notices.OLD_BUTTON
        return await self._begin_retry(click, RetryWish(mode, request=about.request))

    async def _begin_retry(self, click: Click, wish: RetryWish) -> Outgoing | None:
        """Start a retry. Returns the reply to the person, or None if the thread shows the retry."""
        place, user = click.place, click.user
        budgets = self._services.find(BudgetDesk)
        over = await budgets.find_exceeded_budget(place, user, click.dedupe[0])
        if over is not None:
            message = render_over_budget(over, place, user, click.dedupe[0], admins=budgets.can_be_raised)
            return message if over.words else None
        tried = await self._tries.begin(
            place.team, place.job_id, wish, RetryAsked(user, wish.mode), dedupe=click.dedupe
        )
        return make_note(describe_refusal(tried)) if isinstance(tried, RetryRefused) else None


def render_over_budget(over: OverBudget, place: Place, user: str, ts: str, *, admins: bool) -> Outgoing:
    """Render the refusal of a retry for lack of budget, shorter if its text was sent already."""
    wanted = BudgetRequest(over.scope, over.named, user, place.channel, place.thread_ts, ts)
    return render_used_up_budget(over.words or f"{over.named} is used up.", wanted, admins=admins)


# ---------------------------------------------------------------- words


def match_retry(text: str) -> str | None:
    """Return the text if it asks for a retry; None if it is an ordinary request."""
    return text if wish_of(text) is not None else None


async def retry_here(given: CommandContext) -> Reply:
    """Run “retry”, “retry from STEP”, “continue” and “again” for the job of their thread."""
    said, wish, tries = given.said, wish_of(given.rest), given.find(RetryDesk)
    if said is None or wish is None:
        return "no_command"
    job = said.place.job_id
    if wish.when:
        return await _schedule_retry(given, wish, job)
    over = await given.find(BudgetDesk).find_exceeded_budget(said.place, given.user, said.ts)
    if over is not None:
        return (
            render_over_budget(over, said.place, given.user, said.ts, admins=given.find(BudgetDesk).can_be_raised)
            if over.words
            else "told"
        )
    asked = RetryAsked(given.user, said.text, said.ts, said.attachments)
    tried = await tries.begin(given.team, job, wish, asked, dedupe=said.dedupe)
    if isinstance(tried, RetryRecorded):
        given.background.start(add_receipt_reaction(given.client, said.place.channel, said.ts), "react to a second try")
        return "told"
    if tried.why == "asked" or (tried.why == "unknown" and not said.in_thread and wish.mode == "continue"):
        return "no_command"
    return make_note(describe_refusal(tried))


async def _schedule_retry(given: CommandContext, wish: RetryWish, job: str) -> Reply:
    """Repeat a request at another time: propose a schedule with its text and files, and the time in `wish.when`."""
    said, tries = given.said, given.find(RetryDesk)
    if said is None:
        return "no_command"
    found = await tries.text_of(given.team, job, given.user)
    if isinstance(found, RetryRefused):
        return make_note(describe_refusal(found))
    text = f"{wish.when}: {found.text}"
    schedule = next((one for one in given.spoken if one.name == SCHEDULE and one.match(text) is not None), None)
    told: Reply = "no_command"
    if schedule is not None:
        again = replace(said, text=text, attachments=said.attachments or found.files)
        told = await schedule.run(replace(given, rest=text, said=again))
    return make_note(later_words(wish.when, found.text)) if told == "no_command" else told


async def retry(given: CommandContext) -> Outgoing:
    """Run `/leadhand retry JOB [STEP]`."""
    tries = given.find(RetryDesk)
    words = given.rest.strip()
    wish = wish_of(words) if words else RetryWish()
    if wish is None or wish.when:
        wish = wish_of(f"retry {words}") or RetryWish(step=words)
    place = Place(team=given.team, channel=given.channel, thread_ts="")
    over = await given.find(BudgetDesk).find_exceeded_budget(place, given.user, given.mark)
    if over is not None:
        return render_over_budget(over, place, given.user, given.mark, admins=given.find(BudgetDesk).can_be_raised)
    asked = RetryAsked(given.user, f"retry {words}".strip())
    tried = await tries.begin(given.team, given.job, replace(wish, when=""), asked, dedupe=(f"retry:{given.mark}",))
    return make_note(describe_refusal(tried) if isinstance(tried, RetryRefused) else describe_begun(tried))


NAMED = 4
_TITLE = 60


def describe_begun(tried: RetryRecorded) -> str:
    """Render the reply to a command: which steps are run again, and in which thread."""
    place = tried.place
    where = f"in its thread in <#{place.channel}>"
    if not tried.steps:
        return f"I take it up again, {where}."
    named = join_in_row([f"“{clean(plain(one, _TITLE))}”" for one in tried.steps[:NAMED]], "and")
    more = f" and {len(tried.steps) - NAMED} more" if len(tried.steps) > NAMED else ""
    return f"I run {named}{more} again, {where}."


def later_words(when: str, text: str) -> str:
    """Render how to schedule a retry: a sentence with a text that the person can use for a schedule."""
    return f"To have it done {clean(plain(when, 60))}, make a schedule with these words: “{clean(plain(text, 300))}”"


_UNTRIED: Mapping[RetryRefusalReason, str] = {
    "unknown": "I found nothing in this thread to try again: finished jobs are forgotten after a while. Say it in "
    "the thread of the request, or mention me with the request itself.",
    "forgotten": "That is forgotten: somebody had its record erased. Mention me with the request itself.",
    "unreadable": "The record of that job is damaged, so I cannot take it up. Mention me with the request itself.",
    "newer": "A newer release of me works on that job, so I cannot take it up here. Try again in a minute.",
    "quarantined": "That job is set aside: nothing is tried again in it until an admin releases it.",
    "nothing": "There is nothing here to try again yet. Mention me with a request.",
    "going_on": "That is still under way: I can try it again once it has ended, or is stopped.",
    "done": "Nothing of it failed. “retry from STEP” runs a step and what builds on it again, “again” all of it; to "
    "have it done differently, say how.",
}


def describe_refusal(untried: RetryRefused) -> str:
    """Render why there is no retry, and what to do instead."""
    people = join_in_row([mention(one) for one in untried.users], "or")
    if untried.why == "under_way":
        return f"{people or 'Somebody'} is having that tried again already: see the thread."
    if untried.why == "not_yours":
        return f"Only {people}, who asked for it, or an admin can have it tried again."
    if untried.why == "no_step" and untried.steps:
        lines = "\n".join(f"• {clean(plain(one, 120))}" for one in untried.steps)
        return (
            f"I do not know which step you mean. The nearest:\n{lines}\nSay “retry from” and its number, id or title."
        )
    if untried.why == "no_step":
        return "There are no steps to choose from: nothing was planned. “again” does all of it from the start."
    return _UNTRIED[untried.why]
