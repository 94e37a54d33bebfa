"""People have something tried again: by words in its thread, by a button below its end, by `/leadhand retry`."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from slack_bolt.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.receive.payloads import Click, parse_click
from bot.slack.receive.subcommand import Given, Reply
from bot.slack.send.web_calls import Background
from bot.slack.show import notices
from bot.slack.show.notices import Unrecorded, note, received, soon, tell
from bot.slack.views.outgoing import Outgoing
from bot.slack.views.over_budget import Wanted, used_up
from bot.slack.views.try_again import GO_ON, TRY_AGAIN, begun_words, later_words, untried_words
from handoff.again import AgainMode
from handoff.again_words import Wish, wish_of
from handoff.contracts import Attachment, Place

if TYPE_CHECKING:
    from bot.slack.receive.service import OverBudget, Service

log = logging.getLogger(__name__)

SCHEDULE = "schedule"
"""The name of the spoken command that makes a schedule."""

UntriedWhy = Literal[
    "unknown",
    "forgotten",
    "unreadable",
    "newer",
    "quarantined",
    "nothing",
    "going_on",
    "under_way",
    "not_yours",
    "done",
    "no_step",
    "asked",
]
"""Why nothing is tried again.

- `nothing`: nobody asked for anything that ended. `going_on`: it has not ended yet. `under_way`: it is being tried.
- `done`: nothing of it failed. `no_step`: no step, or more than one, is meant by those words.
- `asked`: the words answer a question that is open in the thread.
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """A second try that is recorded: in which thread, and which steps it runs again, in words, of how many."""

    place: Place
    mode: AgainMode
    steps: tuple[str, ...] = ()
    parts: int = 0


@dataclass(frozen=True, slots=True)
class Untried:
    """Why nothing was recorded. `users` are whose it is, or who tries it already; `steps` are the nearest, in words."""

    why: UntriedWhy
    users: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfAgain:
    """What is to be done again at another time: the words of the request, and the files that came with it."""

    place: Place
    text: str
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """Who has something tried again, and in which words. `message` is the id of theirs; empty: a click or a command."""

    user: str
    words: str
    message: str = ""
    files: tuple[Attachment, ...] = ()


class SecondTries(Protocol):
    """Where second tries begin. Raises StoreError if nothing could be recorded."""

    async def begin(self, team: str, job: str, wish: Wish, asked: Asked, *, dedupe: tuple[str, ...]) -> Tried | Untried:
        """Record a second try of a job's request, if there is something to try, and the person may."""

    async def text_of(self, team: str, job: str, user: str) -> OfAgain | Untried:
        """Return what the last request of a job that this person may have tried again was."""


class TryButtons:
    """The listeners of the buttons below an end."""

    def __init__(self, tries: SecondTries, service: Service, background: Background) -> None:
        self._tries, self._service, self._background = tries, service, background

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
        over = await self._service.over_budget(place, user, click.dedupe[0])
        if over is not None:
            return _over(over, place, user, click.dedupe[0], admins=bool(self._service.admins))
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
    said, wish, tries = given.said, wish_of(given.rest), given.desks.second_tries
    if said is None or wish is None or tries is None:
        return "no_command"
    job = said.place.job_id
    if wish.when:
        return await _later(given, wish, job)
    over = await given.service.over_budget(said.place, given.user, said.ts)
    if over is not None:
        return _over(over, said.place, given.user, said.ts, admins=bool(given.service.admins)) if over.words else "told"
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
    from bot.slack.receive.spoken_commands import SPOKEN  # noqa: PLC0415 - which lists this command, too

    said, tries = given.said, given.desks.second_tries
    if said is None or tries is None:
        return "no_command"
    found = await tries.text_of(given.team, job, given.user)
    if isinstance(found, Untried):
        return note(untried_words(found))
    text = f"{wish.when}: {found.text}"
    schedule = next((one for one in SPOKEN if one.name == SCHEDULE and one.match(text) is not None), None)
    told: Reply = "no_command"
    if schedule is not None:
        again = replace(said, text=text, attachments=said.attachments or found.files)
        told = await schedule.run(replace(given, rest=text, said=again))
    return note(later_words(wish.when, found.text)) if told == "no_command" else told


async def retry(given: Given) -> Outgoing:
    """Carry out `/leadhand retry JOB [STEP]`."""
    tries = given.desks.second_tries
    if tries is None:
        return note(notices.UNKNOWN)
    words = given.rest.strip()
    wish = wish_of(words) if words else Wish()
    if wish is None or wish.when:
        wish = wish_of(f"retry {words}") or Wish(step=words)
    place = Place(team=given.team, channel=given.channel, thread_ts="")
    over = await given.service.over_budget(place, given.user, given.mark)
    if over is not None:
        return _over(over, place, given.user, given.mark, admins=bool(given.service.admins))
    asked = Asked(given.user, f"retry {words}".strip())
    tried = await tries.begin(given.team, given.job, replace(wish, when=""), asked, dedupe=(f"retry:{given.mark}",))
    return note(untried_words(tried) if isinstance(tried, Untried) else begun_words(tried))
