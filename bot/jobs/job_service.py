"""Takes in what people do in Slack: records it in the store, and tells the instance that something came in."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.jobs.instance import Instance
from bot.limits.limits import Limits
from bot.limits.rules import Payer
from bot.slack.receive.service import AnswerVerdict, CancelVerdict, Denied, ReleaseVerdict, ReplyVerdict
from bot.slack.views.status import JobLine
from bot.store.interface import Entry, Head, JobKey, LogBroken, Store
from handoff import events as ev
from handoff.contracts import Place, Request
from handoff.engine.replay import open_log
from handoff.state import ENDED, Job
from handoff.summary import begun
from handoff.upcasters import NewerEvent

log = logging.getLogger(__name__)


class JobDesk:
    """The `Desk` of a running bot. What returns has been recorded; a StoreError means that it was not.

    Args:
        store: where jobs live.
        instance: told at once of what came in for jobs that it owns.
        limits: what is spent and left.
        admins: Slack ids of people who may see and cancel every job, and release those that are set aside.
    """

    def __init__(self, store: Store, instance: Instance, limits: Limits, *, admins: frozenset[str]) -> None:
        self._store = store
        self._instance = instance
        self._limits = limits
        self.admins = admins

    def clock(self) -> float:
        """What time it is on the store's clock."""
        return self._store.clock()

    async def request(self, place: Place, request: Request, *, dedupe: tuple[str, ...], refusal: str = "") -> bool:
        """Record a request; False for a duplicate."""
        request = request.model_copy(update={"at": self._store.clock()})  # which all times of a job are on
        event = ev.RequestAdded(at=request.at, place=place, request=request, refusal=refusal)
        key = _key(place)
        new = await self._store.jobs.ingest(
            key,
            ev.dump(event),
            dedupe=dedupe,
            user=request.user,
            fields=begun(place, request),
        )
        self._instance.nudge(key)
        return new

    async def turns_away(self, place: Place, bot: str) -> bool:
        """See `Desk.turns_away`."""
        return await self._limits.first(f"bot:{place.team}/{place.channel}/{bot}")

    async def over_budget(self, place: Place, user: str, ts: str) -> str | None:
        """See `Desk.over_budget`. Costs nothing where no budget is set."""
        words = await self._limits.over(Payer(place.team, place.channel, user, place.job_id))
        if not words or await self._recorded(_key(place), ts):
            return None
        return words if await self._limits.first(f"over:{place.team}/{place.channel}/{ts}") else ""

    async def _recorded(self, key: JobKey, request: str) -> bool:
        """Whether that request was taken in already: it comes again where Slack was not heard."""
        entries = [*await self._store.jobs.inbox(key), *await self._store.jobs.log(key)]
        kind, named = '"type":"RequestAdded"', json.dumps(request)
        return any(kind in entry.payload and named in entry.payload for entry in entries)

    async def left(self, team: str, channel: str, user: str, job: str = "") -> list[str]:
        """See `Desk.left`."""
        return await self._limits.left(Payer(team, channel, user, job))

    async def reply(self, place: Place, *, user: str, text: str, dedupe: tuple[str, ...]) -> ReplyVerdict:
        """A message in the thread: taken if it answers an open question of its author, else left alone."""
        head = await self._store.jobs.head(_key(place))
        question = next((one for one in _questions(head) if one.user == user), None)
        if question is None or not text.strip():
            return "aside" if head is not None and head.aside else "ignored"
        await self._answered(place, question, user, text, dedupe)
        return "taken"

    async def answer(
        self, place: Place, *, request: str, subtask: str, number: int, user: str, text: str, dedupe: tuple[str, ...]
    ) -> AnswerVerdict:
        """A click on an answer's button."""
        head = await self._store.jobs.head(_key(place))
        if head is None:
            return "unknown"
        for question in _questions(head):
            if (question.request, question.subtask, question.number) == (request, subtask, number):
                if question.user != user:
                    return "not_yours"
                await self._answered(place, question, user, text, dedupe)
                return "taken"
        return "stale"

    async def _answered(self, place: Place, question: _Open, user: str, text: str, dedupe: tuple[str, ...]) -> None:
        event = ev.QuestionAnswered(
            at=self._store.clock(),
            request=question.request,
            subtask=question.subtask,
            user=user,
            text=text.strip(),
            number=question.number,
        )
        await self._store.jobs.signal(_key(place), ev.dump(event), dedupe=dedupe)
        self._instance.nudge(_key(place))

    async def cancel(self, team: str, job: str | None, place: Place | None, *, user: str) -> CancelVerdict:
        """Stop a job, named by its id or by its place. Who asked for something in it may, and admins."""
        key = _key(place) if place is not None else JobKey(team, (job or "").upper())
        head = await self._store.jobs.head(key)
        if head is None:
            return "unknown"
        if not await self._may_see(key, head, user):
            return "not_yours"
        if head.fields.get("state") in ENDED:
            return "nothing"
        event = ev.dump(ev.CancelRequested(at=self._store.clock(), user=user))
        # One that is set aside goes on for this: it ends with its report.
        if not (head.aside and await self._store.jobs.reinstate(key, event)):
            await self._store.jobs.signal(key, event, dedupe=())
        self._instance.nudge(key)
        return "cancelling"

    async def release(self, team: str, job: str, *, user: str) -> ReleaseVerdict:
        """Let a job that is set aside go on. Only admins may."""
        if user not in self.admins:
            return "not_admin"
        key = JobKey(team, job.upper())
        head = await self._store.jobs.head(key)
        if head is None:
            return "unknown"
        event = ev.Released(at=self._store.clock(), user=user)
        if not head.aside or not await self._store.jobs.reinstate(key, ev.dump(event)):
            return "not_aside"
        self._instance.nudge(key)
        return "released"

    async def trouble(self) -> str:
        """Why no work is begun at the moment, in words for people, or empty."""
        return await self._store.full()

    async def jobs(self, team: str, user: str) -> list[JobLine]:
        """The jobs that a person asked for, newest first."""
        return [_line(head) for head in await self._store.jobs.asked_by(team, user)]

    async def job(self, team: str, job: str, user: str) -> Job | Denied:
        """One job, if the person may see it."""
        key = JobKey(team, job.upper())
        try:
            entries = await self.trace(team, job, user)
            if isinstance(entries, str):
                return entries
            waiting = await self._store.jobs.inbox(key) if not entries else []
            folded = open_log([entry.payload for entry in [*entries, *waiting]])
        except NewerEvent:
            return "newer"
        except (LogBroken, ValueError) as error:
            # Only the kind: the message of a validation quotes what people wrote.
            log.error("job %s: its log cannot be read (%s)", job.upper(), type(error).__name__)  # noqa: TRY400 - one line
            return "unreadable"
        return folded if folded is not None else "unknown"

    async def trace(self, team: str, job: str, user: str) -> list[Entry] | Denied:
        """A job's log, if the person may see it."""
        key = JobKey(team, job.upper())
        head = await self._store.jobs.head(key)
        if head is None:
            return "unknown"
        if not await self._may_see(key, head, user):
            return "not_yours"
        try:
            return await self._store.jobs.log(key)
        except LogBroken as error:
            log.error("%s", error)  # noqa: TRY400 - one clear line, no trace
            return "unreadable"

    async def feedback(self, place: Place, *, request: str, user: str, good: bool, dedupe: tuple[str, ...]) -> bool:
        """A thumb below an answer: a fact in the job's log. False where the job is forgotten by now."""
        if await self._store.jobs.head(_key(place)) is None:
            return False
        event = ev.FeedbackGiven(at=self._store.clock(), request=request, user=user, good=good)
        await self._store.jobs.signal(_key(place), ev.dump(event), dedupe=dedupe)
        self._instance.nudge(_key(place))
        return True

    async def _may_see(self, key: JobKey, head: Head, user: str) -> bool:
        """Whether this person asked for something in the job, or is an admin."""
        if user in self.admins or head.fields.get("user") == user:
            return True
        return any(other.key == key for other in await self._store.jobs.asked_by(key.team, user, limit=100))


@dataclass(frozen=True, slots=True)
class _Open:
    """An open question, as the head of a job tells it. `user` is who may answer."""

    request: str
    subtask: str
    number: int
    user: str


def _questions(head: Head | None) -> Sequence[_Open]:
    text = head.fields.get("questions", "") if head else ""
    found: list[dict[str, Any]] = json.loads(text) if text else []
    # A newer release may tell more of a question than this one knows.
    return [_Open(one["request"], one["subtask"], one["number"], one["user"]) for one in found]


def _key(place: Place) -> JobKey:
    return JobKey(place.team, place.job_id)


def _line(head: Head) -> JobLine:
    return JobLine(
        job=head.key.job,
        title=head.fields.get("title", ""),
        state=head.fields.get("state", "submitted"),
        channel=head.fields.get("channel", ""),
        updated=head.updated,
        aside=head.fields.get("step", "") if head.aside else "",
    )
