"""Handles retries: by a message in the thread, by a button below a request's end, or by `/leadhand retry`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import BudgetService
from bot.features.budgets.view import render_exceeded_budget
from bot.features.retries.service import RecordedRetry, RetryRefusal, RetryRefusalReason, RetryRequest, RetryService
from bot.slack.receive.payloads import Click
from bot.slack.receive.router import ClickReply, Router
from bot.slack.receive.services import FeatureServices
from bot.slack.receive.subcommand import CommandContext, SpokenReply
from bot.slack.show import notices
from bot.slack.show.notices import add_receipt_reaction, make_note
from bot.slack.text.cleaning import clean_mrkdwn, render_mention, to_plain_line
from bot.slack.views.answerers import join_as_list
from bot.slack.views.button_data import RequestRef, decode_data
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.try_again import GO_ON_ACTION, TRY_AGAIN_ACTION
from handoff.contracts import Place
from handoff.conversation.retry_words import RetryMode, RetryWish, parse_retry_wish

SCHEDULE_COMMAND = "schedule"
"""The name of the spoken command that makes a schedule."""


class RetryClicks:
    """The listeners for the buttons below a request's end."""

    def __init__(self, retries: RetryService, services: FeatureServices) -> None:
        self._retries, self._services = retries, services

    def register(self, router: Router) -> None:
        """Register the listeners for the buttons."""
        router.on_click(TRY_AGAIN_ACTION, partial(self.on_retry, mode="retry"))
        router.on_click(GO_ON_ACTION, partial(self.on_retry, mode="continue"))

    async def on_retry(self, click: Click, client: AsyncWebClient, *, mode: RetryMode) -> ClickReply:
        """Retry the parts that failed, or continue a request that was stopped."""
        del client
        about = decode_data(click.value, RequestRef)
        if about is None or about.job != click.place.job_id:
            return notices.OLD_BUTTON
        return await self._record_retry(click, RetryWish(mode, request=about.request))

    async def _record_retry(self, click: Click, wish: RetryWish) -> Outgoing | None:
        """Record a retry. Returns a refusal to show; None if it was recorded, or this click was refused before."""
        place, user = click.place, click.user
        budgets = self._services.find(BudgetService)
        exceeded_budget = await budgets.find_exceeded_budget(place, user, click.dedupe_keys[0])
        if exceeded_budget is not None:
            if not exceeded_budget.refusal:
                return None
            return render_exceeded_budget(
                exceeded_budget, place, user, click.dedupe_keys[0], has_admins=budgets.can_be_raised
            )
        outcome = await self._retries.record_retry(
            place.team, place.job_id, wish, RetryRequest(user, wish.mode), dedupe=click.dedupe_keys
        )
        return make_note(describe_refusal(outcome)) if isinstance(outcome, RetryRefusal) else None


# ---------------------------------------------------------------- words


def match_retry(text: str) -> str | None:
    """Return the text if it asks for a retry; None if it is an ordinary request."""
    return text if parse_retry_wish(text) is not None else None


async def run_spoken_retry(ctx: CommandContext) -> SpokenReply:
    """Run “retry”, “retry from STEP”, “continue” and “again” for the job of their thread."""
    message, wish, retries = ctx.message, parse_retry_wish(ctx.rest), ctx.find_service(RetryService)
    if message is None or wish is None:
        return "no_command"
    job = message.place.job_id
    if wish.time_words:
        return await _propose_retry_schedule(ctx, wish, job)
    budgets = ctx.find_service(BudgetService)
    exceeded_budget = await budgets.find_exceeded_budget(message.place, ctx.user, message.ts)
    if exceeded_budget is not None:
        if not exceeded_budget.refusal:
            return "told"
        return render_exceeded_budget(
            exceeded_budget, message.place, ctx.user, message.ts, has_admins=budgets.can_be_raised
        )
    retry_request = RetryRequest(ctx.user, message.text, message.ts, message.attachments)
    outcome = await retries.record_retry(ctx.team, job, wish, retry_request, dedupe=message.dedupe_keys)
    if isinstance(outcome, RecordedRetry):
        ctx.background.start(
            add_receipt_reaction(ctx.client, message.place.channel, message.ts), "react to a second try"
        )
        return "told"
    if outcome.reason == "asked" or (outcome.reason == "unknown" and not message.in_thread and wish.mode == "continue"):
        return "no_command"
    return make_note(describe_refusal(outcome))


async def _propose_retry_schedule(ctx: CommandContext, wish: RetryWish, job: str) -> SpokenReply:
    """Propose a schedule that repeats a request, with its text and files, at the time in `wish.time_words`."""
    message, tries = ctx.message, ctx.find_service(RetryService)
    if message is None:
        return "no_command"
    repeatable = await tries.read_repeatable(ctx.team, job, ctx.user)
    if isinstance(repeatable, RetryRefusal):
        return make_note(describe_refusal(repeatable))
    text = f"{wish.time_words}: {repeatable.text}"
    schedule = next((one for one in ctx.spoken if one.name == SCHEDULE_COMMAND and one.match(text) is not None), None)
    reply: SpokenReply = "no_command"
    if schedule is not None:
        schedule_message = replace(message, text=text, attachments=message.attachments or repeatable.files)
        reply = await schedule.run(replace(ctx, rest=text, message=schedule_message))
    return make_note(explain_retry_schedule(wish.time_words, repeatable.text)) if reply == "no_command" else reply


async def run_retry_command(ctx: CommandContext) -> Outgoing:
    """Run `/leadhand retry JOB [STEP]`."""
    tries = ctx.find_service(RetryService)
    words = ctx.rest.strip()
    wish = parse_retry_wish(words) if words else RetryWish()
    if wish is None or wish.time_words:
        wish = parse_retry_wish(f"retry {words}") or RetryWish(step_words=words)
    place = Place(team=ctx.team, channel=ctx.channel, thread_ts="")
    budgets = ctx.find_service(BudgetService)
    exceeded_budget = await budgets.find_exceeded_budget(place, ctx.user, ctx.dedupe_key)
    if exceeded_budget is not None:
        return render_exceeded_budget(
            exceeded_budget, place, ctx.user, ctx.dedupe_key, has_admins=budgets.can_be_raised
        )
    retry_request = RetryRequest(ctx.user, f"retry {words}".strip())
    outcome = await tries.record_retry(
        ctx.team, ctx.job, replace(wish, time_words=""), retry_request, dedupe=(f"retry:{ctx.dedupe_key}",)
    )
    return make_note(describe_refusal(outcome) if isinstance(outcome, RetryRefusal) else describe_retry(outcome))


MAX_NAMED_STEPS = 4
_MAX_TITLE_CHARS = 60


def describe_retry(recorded_retry: RecordedRetry) -> str:
    """Render the reply to `/leadhand retry`: which steps run again, and in which channel."""
    place = recorded_retry.place
    where = f"in its thread in <#{place.channel}>"
    if not recorded_retry.steps:
        return f"I take it up again, {where}."
    step_list = join_as_list(
        [f"“{clean_mrkdwn(to_plain_line(one, _MAX_TITLE_CHARS))}”" for one in recorded_retry.steps[:MAX_NAMED_STEPS]],
        "and",
    )
    more = (
        f" and {len(recorded_retry.steps) - MAX_NAMED_STEPS} more"
        if len(recorded_retry.steps) > MAX_NAMED_STEPS
        else ""
    )
    return f"I run {step_list}{more} again, {where}."


def explain_retry_schedule(when: str, text: str) -> str:
    """Render a sentence with words that the person can copy to schedule the request."""
    return (
        f"To have it done {clean_mrkdwn(to_plain_line(when, 60))}, make a schedule with these words: "
        f"“{clean_mrkdwn(to_plain_line(text, 300))}”"
    )


_REFUSAL_TEXTS: Mapping[RetryRefusalReason, str] = {
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


def describe_refusal(refusal: RetryRefusal) -> str:
    """Render why there is no retry, and what to do instead."""
    people = join_as_list([render_mention(one) for one in refusal.users], "or")
    if refusal.reason == "under_way":
        return f"{people or 'Somebody'} is having that tried again already: see the thread."
    if refusal.reason == "not_yours":
        return f"Only {people}, who asked for it, or an admin can have it tried again."
    if refusal.reason == "no_step" and refusal.steps:
        lines = "\n".join(f"• {clean_mrkdwn(to_plain_line(one, 120))}" for one in refusal.steps)
        return (
            f"I do not know which step you mean. The nearest:\n{lines}\nSay “retry from” and its number, id or title."
        )
    if refusal.reason == "no_step":
        return "There are no steps to choose from: nothing was planned. “again” does all of it from the start."
    return _REFUSAL_TEXTS[refusal.reason]
