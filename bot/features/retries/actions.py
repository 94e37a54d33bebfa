"""People have something tried again: by words in its thread, by a button below its end, by `/leadhand retry`."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.features.budgets.service import Budgets, OverBudget
from bot.features.budgets.view import Wanted, used_up
from bot.features.retries.service import Asked, RetryDesk, Tried, Untried
from bot.features.retries.view import begun_words, later_words, untried_words
from bot.slack.receive.payloads import Click, parse_click
from bot.slack.receive.services import Services
from bot.slack.receive.subcommand import Given, Reply
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, received, soon, tell
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.try_again import GO_ON, TRY_AGAIN
from handoff.contracts import Place
from handoff.conversation.again import AgainMode
from handoff.conversation.again_words import Wish, wish_of

log = logging.getLogger(__name__)

SCHEDULE = "schedule"
"""The name of the spoken command that makes a schedule."""


class TryButtons:
    """The listeners of the buttons below an end."""

    def __init__(self, tries: RetryDesk, services: Services, background: Background) -> None:
        self._tries, self._services, self._background = tries, services, background

    def register(self, app: AsyncApp) -> None:
        """Make the app listen."""
        app.action(TRY_AGAIN)(self.on_try)
        app.action(GO_ON)(self.on_go_on)

    async def on_try(self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient) -> None:
        """Run again what failed."""
        await self._pressed(body, action, client, "retry")
        await ack()

    async def on_go_on(
        self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient
    ) -> None:
        """Go on with what was stopped."""
        await self._pressed(body, action, client, "continue")
        await ack()

    async def _pressed(
        self, body: dict[str, Any], action: dict[str, Any], client: AsyncWebClient, mode: AgainMode
    ) -> None:
        click = parse_click(body, action)
        if not isinstance(click, Click):
            log.warning("a click without %s was left alone", click.reason)
            return
        message: Outgoing | None = note(notices.OLD_BUTTON)
        if request := _request_of(click.value, click.place.job_id):
            try:
                async with soon():
                    message = await self._begin(click, Wish(mode, request=request))
            except Unrecorded:
                message = note(notices.NOT_RECORDED)
        if message is not None:
            self._background.start(tell(client, click.place, click.user, message), "answer a click")

    async def _begin(self, click: Click, wish: Wish) -> Outgoing | None:
        """Begin it, and return what who clicked is told; None: they see it in the thread."""
        place, user = click.place, click.user
        budgets = self._services.find(Budgets)
        over = await budgets.over_budget(place, user, click.dedupe[0])
        if over is not None:
            return _over(over, place, user, click.dedupe[0], admins=budgets.can_be_raised)
        tried = await self._tries.begin(place.team, place.job_id, wish, Asked(user, wish.mode), dedupe=click.dedupe)
        return note(untried_words(tried)) if isinstance(tried, Untried) else None


def _request_of(value: str, job: str) -> str:
    """Read the request that a button is about; empty if it is none of this job."""
    try:
        fields = json.loads(value)
        return str(fields["request"]) if fields["job"] == job else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _over(over: OverBudget, place: Place, user: str, ts: str, *, admins: bool) -> Outgoing:
    wanted = Wanted(over.scope, over.named, user, place.channel, place.thread_ts, ts)
    return used_up(over.words, wanted, admins=admins)


# ---------------------------------------------------------------- words


def match(text: str) -> str | None:
    """Return the text itself if it wants something tried again; None if it is a request like any other."""
    return text if wish_of(text) is not None else None


async def again(given: Given) -> Reply:
    """Carry out “retry”, “retry from STEP”, “continue” and “again” in the thread that they were said in."""
    said, wish, tries = given.said, wish_of(given.rest), given.find(RetryDesk)
    if said is None or wish is None:
        return "no_command"
    job = said.place.job_id
    if wish.when:
        return await _later(given, wish, job)
    over = await given.find(Budgets).over_budget(said.place, given.user, said.ts)
    if over is not None:
        return (
            _over(over, said.place, given.user, said.ts, admins=given.find(Budgets).can_be_raised)
            if over.words
            else "told"
        )
    asked = Asked(given.user, said.text, said.ts, said.attachments)
    tried = await tries.begin(given.team, job, wish, asked, dedupe=said.dedupe)
    if isinstance(tried, Tried):
        given.background.start(received(given.client, said.place.channel, said.ts), "react to a second try")
        return "told"
    if tried.why == "asked" or (tried.why == "unknown" and not said.in_thread and wish.mode == "continue"):
        return "no_command"
    return note(untried_words(tried))


async def _later(given: Given, wish: Wish, job: str) -> Reply:
    """Have it done again at another time: a schedule of the same words and files, which says what it understood."""
    said, tries = given.said, given.find(RetryDesk)
    if said is None:
        return "no_command"
    found = await tries.text_of(given.team, job, given.user)
    if isinstance(found, Untried):
        return note(untried_words(found))
    text = f"{wish.when}: {found.text}"
    schedule = next((one for one in given.spoken if one.name == SCHEDULE and one.match(text) is not None), None)
    told: Reply = "no_command"
    if schedule is not None:
        again = replace(said, text=text, attachments=said.attachments or found.files)
        told = await schedule.run(replace(given, rest=text, said=again))
    return note(later_words(wish.when, found.text)) if told == "no_command" else told


async def retry(given: Given) -> Outgoing:
    """Carry out `/leadhand retry JOB [STEP]`."""
    tries = given.find(RetryDesk)
    words = given.rest.strip()
    wish = wish_of(words) if words else Wish()
    if wish is None or wish.when:
        wish = wish_of(f"retry {words}") or Wish(step=words)
    place = Place(team=given.team, channel=given.channel, thread_ts="")
    over = await given.find(Budgets).over_budget(place, given.user, given.mark)
    if over is not None:
        return _over(over, place, given.user, given.mark, admins=given.find(Budgets).can_be_raised)
    asked = Asked(given.user, f"retry {words}".strip())
    tried = await tries.begin(given.team, given.job, replace(wish, when=""), asked, dedupe=(f"retry:{given.mark}",))
    return note(untried_words(tried) if isinstance(tried, Untried) else begun_words(tried))
